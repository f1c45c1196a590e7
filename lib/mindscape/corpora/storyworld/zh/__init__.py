"""The storyworld in Chinese."""

from mindscape.corpora.storyworld.zh import bindings, events, names, questions, scenes

__all__ = ["bindings", "events", "names", "questions", "scenes"]
