"""Models of a few lines: one says what a function of the conversation says, and keeps what it was asked; one counts letters.

And documents of a few sentences."""

from functools import cache
from itertools import accumulate, pairwise

import numpy as np

from mindscape.llm.base import Reply, Score
from mindscape.llm.recording import Scripted
from mindscape.store import Maker
from mindscape.text import Chunk, Document


class Stub(Scripted):
    """A script of any name, which decides the form that it is sent, and context; `weigh(prompt, continuation)` gives a
    log-probability of so many words."""

    def __init__(self, say=None, *, weigh=None, name="stub", context=None, dies=None):
        super().__init__(say, dies=dies, form="")
        self.weigh, self.name, self.fingerprint, self.context = weigh, name, name, context

    def score(self, pairs):
        for i, (prompt, continuation) in enumerate(pairs):
            self.hear(prompt, continuation)
            yield i, Score(self.weigh(prompt, continuation), max(1, len(continuation.split())))


def in_turn(*said):
    """What to say: one thing after the other, whatever is asked."""
    left = list(said)
    return lambda *_: left.pop(0)


def user(text):
    """A conversation of one message."""
    return [{"role": "user", "content": text}]


def to_last(say):
    """What to say: a function of the last message."""
    return lambda talk, *_: say(talk[-1]["content"])


class Model:
    """In the place of a `LanguageModel` that is asked in one message: `say(prompt)` replies; it dies, as of a kill, at the call
    `dies`."""

    def __init__(self, say, *, dies=None):
        self.say, self.dies, self.calls, self.requests = say, dies, 0, []
        self.backend = self

    def could_write(self, text, schema):
        return True

    def chat(self, talks, max_new_tokens, schema=None):
        self.calls += 1
        if self.calls == self.dies:
            raise KeyboardInterrupt
        prompts = [message["content"] for (message,) in talks]
        self.requests += prompts
        return [Reply(self.say(prompt), prompt_tokens=1, completion_tokens=1) for prompt in prompts]


class Letters:
    """An encoder: counts of letters, length 1."""

    name, dim, fingerprint, maker = "letters", 27, "letters", Maker("letters", {})

    def encode(self, texts, kind="passage"):
        letters = "abcdefghijklmnopqrstuvwxyz"
        vectors = np.array([[0.1, *(text.lower().count(letter) for letter in letters)] for text in texts], np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def cut(name, texts, language="en"):
    """A document of texts, one after the other, and a chunk for each."""
    ends = accumulate(map(len, texts), initial=0)
    chunks = [Chunk(name, i, *place) for i, place in enumerate(pairwise(ends))]
    return Document(name, "".join(texts), language), chunks


@cache
def vocabulary(tokenizer):
    """llguidance's view of it, which takes half a second to make."""
    from llguidance.hf import from_tokenizer

    return from_tokenizer(tokenizer)


def accepts(form, reply, tokenizer):
    """Whether a model whose decoding is held to a form, a grammar (`lark`), could write the reply and end there."""
    from llguidance import LLMatcher

    matcher, tokens = LLMatcher(vocabulary(tokenizer), LLMatcher.grammar_from_lark(form["lark"])), tokenizer(reply)["input_ids"]
    assert not matcher.is_error(), matcher.get_error()
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def plain(model, prompt, continuation):
    """Log-probability and number of tokens by one forward pass of a loaded model over one row."""
    import torch

    backend = model.backend
    before = backend.tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else backend._tokens(prompt)
    after = backend.tokenizer(continuation, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        logprobs = backend.model(torch.tensor([before + after])).logits[0].float().log_softmax(-1)
    return sum(logprobs[len(before) - 1 + i, token].item() for i, token in enumerate(after)), len(after)
