"""Examples as token ids with labels, and batches of like length in an order that only the seed decides.

The loss is on the reply alone: a label is -100 wherever the prompt stands. Taught in notebook 01_the_reader.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase

from mindscape.errors import require
from mindscape.roles import Example

IGNORED = -100  # the label of a token that is not learned
BUCKET = 64  # batches whose examples are sorted by length together


@dataclass(frozen=True)
class Encoded:
    """One example: `ids` are the conversation's tokens, of which the last `reply` are to be learned."""

    role: str
    ids: tuple[int, ...]
    reply: int


def encode(example: Example, tokenizer: PreTrainedTokenizerBase) -> Encoded:
    """The conversation through the model's chat template, as `llm.chat` asks it, and the reply with its end.

    >>> from transformers import AutoTokenizer
    >>> from mindscape import assets
    >>> tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    >>> one = encode(Example("qa", "Who?", "Ann", "book"), tokenizer)
    >>> tokenizer.decode(one.ids[-one.reply :])
    'Ann<|im_end|>'
    """
    asked = [{"role": "user", "content": example.prompt}]
    asked += [{"role": ("assistant", "user")[i % 2], "content": text} for i, text in enumerate(example.history)]
    prompt = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    head = tokenizer(prompt, add_special_tokens=False).input_ids
    reply = tokenizer(example.reply, add_special_tokens=False).input_ids
    require(reply, f"an example of role {example.role!r} from {example.book!r} has an empty reply")
    return Encoded(example.role, (*head, *reply, end_of_turn(tokenizer)), len(reply) + 1)


def end_of_turn(tokenizer: PreTrainedTokenizerBase) -> int:
    """The token with which the chat template ends a reply: what a model that learns to reply has to write at its end.

    Not `eos_token`, which need not be that token: a model that learned another one never stops.

    Raises InputError for a template that puts nothing behind a reply.

    >>> end_of_turn(tokenizer) == tokenizer.convert_tokens_to_ids("<|im_end|>")                        # doctest: +SKIP
    True
    """
    turns = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ann"}]
    end = str(tokenizer.apply_chat_template(turns, tokenize=False)).rpartition("Ann")[2]
    require(end.strip(), "the chat template ends a reply with nothing: expected a token, such as <|im_end|>")
    return tokenizer(end, add_special_tokens=False).input_ids[0]


def plan(examples: Sequence[Encoded], tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch: indices of examples, each batch at most `tokens` tokens with its padding.

    Shuffled, then sorted by length within buckets, so that little is padded and the order still is random. An example
    longer than `tokens` is a batch of its own. Every example is in one batch.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(examples))
    mean = max(1, round(float(np.mean([len(one.ids) for one in examples]))))
    size = BUCKET * max(1, tokens // mean)
    batches = []
    for start in range(0, len(order), size):
        bucket = sorted(order[start : start + size].tolist(), key=lambda i: len(examples[i].ids))
        batch: list[int] = []
        for i in bucket:  # sorted: the one that comes is the longest
            if batch and len(examples[i].ids) * (len(batch) + 1) > tokens:
                batches.append(batch)
                batch = []
            batch.append(i)
        batches.append(batch)
    return [batches[i] for i in rng.permutation(len(batches))]


def collate(batch: Sequence[Encoded], pad: int) -> dict[str, torch.Tensor]:
    """Input ids and labels, shape (batch, longest), padded on the right."""
    labels = [(IGNORED,) * (len(one.ids) - one.reply) + one.ids[-one.reply :] for one in batch]
    return {
        "input_ids": pad_sequence([torch.tensor(one.ids) for one in batch], True, pad),
        "labels": pad_sequence([torch.tensor(row) for row in labels], True, IGNORED),
    }
