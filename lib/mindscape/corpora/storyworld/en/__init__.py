"""The storyworld in English."""

from mindscape.corpora.storyworld.en import bindings, events, names, questions, scenes

__all__ = ["bindings", "events", "names", "questions", "scenes"]
