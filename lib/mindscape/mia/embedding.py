"""MiA-Emb: a query is embedded together with a summary of the whole text (MiA-RAG, section 3.3.2, appendix B.3).

A causal language model reads, as Eq. 5 orders them,

    instruction, query, d_q, summary, d_n, d_c

and its last layer's states at the three marks d are h_q, h_n and h_c: the query by itself, the query in the light of the
summary as nodes are looked for, and as chunks are. The vector of the query for a task t is

    delta h_q + (1 - delta) h_t                                                     (Eq. 11)

In this order h_q cannot depend on the summary, which comes after it. `order="summary_first"` puts the summary before the query,
where every token of the query can read it; h_q then comes from a second reading without summary. The marks are new tokens, as
in the paper, or a few words that end in one which already means something to a language model.

Taught in notebook 12_mia_emb_training. Training is in `mindscape.mia.emb_training`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from mindscape.errors import InputError

Task = Literal["node", "chunk"]
INSTRUCTION = {
    "en": "Find what a reader of the story needs to answer the question.\n",
    "zh": "找出读者回答问题所需的内容。\n",
}
QUESTION = {"en": "Question: {}", "zh": "问题：{}"}
SUMMARY = {"en": "\nThe story in short: {}", "zh": "\n故事梗概：{}"}
WORDS = {
    "en": {
        "q": "\nWhat is asked for is",
        "n": "\nTo answer it one must know who",
        "c": "\nThe passage that answers it tells how",
        "unit": "\nThis tells how",
    },
    "zh": {"q": "\n所问的是", "n": "\n要回答须知道谁", "c": "\n能回答的段落讲的是", "unit": "\n这里讲的是"},
}
TOKENS = {"q": "<|query|>", "n": "<|nodes|>", "c": "<|chunks|>"}


@dataclass(frozen=True)
class Form:
    """How queries are written and what is made of their states.

    `order`: "paper" (query, summary) or "summary_first". `marks`: "words" or "tokens". `delta`: the share of h_q in Eq. 11.
    """

    order: Literal["paper", "summary_first"] = "paper"
    marks: Literal["words", "tokens"] = "words"
    delta: float = 0.5

    def __post_init__(self):
        if self.order not in ("paper", "summary_first"):
            raise InputError(f"order={self.order!r}: expected paper or summary_first")
        if self.marks not in ("words", "tokens"):
            raise InputError(f"marks={self.marks!r}: expected words or tokens")
        if not 0 <= self.delta <= 1:
            raise InputError(f"delta={self.delta!r}: expected 0 to 1")


@dataclass(frozen=True)
class Written:
    """A query as token ids: what it shares with others of its text, its own, and the places of its marks in both."""

    head: tuple[int, ...]
    tail: tuple[int, ...]
    marks: Mapping[str, int]


def write(
    question: str, summary: str | None, form: Form, tokenizer: PreTrainedTokenizerBase, language: str = "en"
) -> Written:
    """A query in the form's order, without a summary where there is None.

    >>> written = write("Who has the lamp?", "Ann is the smith.", Form(), tokenizer)     # doctest: +SKIP
    >>> tokenizer.decode(written.tail[: written.marks["q"] + 1])                         # doctest: +SKIP
    'Find what a reader of the story needs to answer the question.\\nQuestion: Who has the lamp?\\nWhat is asked for is'
    """
    if language not in INSTRUCTION:
        raise InputError(f"no instruction in {language!r}: expected one of {', '.join(INSTRUCTION)}")
    mark = WORDS[language] if form.marks == "words" else TOKENS
    asked = ("", QUESTION[language].format(question)), ("q", mark["q"])
    told = [("", SUMMARY[language].format(summary))] if summary is not None else []
    ends = ("n", mark["n"]), ("c", mark["c"])
    if form.order == "paper":
        head, tail = [], [("", INSTRUCTION[language]), *asked, *told, *ends]
    else:
        head, tail = [("", INSTRUCTION[language]), *told], [*asked, *ends]
    shared = [token for _, text in head for token in _ids(text, tokenizer)]
    own: list[int] = []
    places = {}
    for name, text in tail:
        own += _ids(text, tokenizer)
        if name:
            places[name] = len(shared) + len(own) - 1
    return Written(tuple(shared), tuple(own), places)


def _ids(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    return tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]


def states(decoder: nn.Module, rows: Sequence[Sequence[int]], places: Sequence[Sequence[int]]) -> Tensor:
    """Last-layer states of rows of token ids at their places, (rows, places, dim); every row has as many places.

    Padding stands on the right, where causal attention does not look, so no mask is needed.
    """
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
    device = next(decoder.parameters()).device
    hidden = decoder(input_ids=ids.to(device), use_cache=False).last_hidden_state
    at = torch.tensor(places, device=device)
    return hidden.gather(1, at[..., None].expand(-1, -1, hidden.shape[-1]))


def states_behind(
    decoder: nn.Module, head: Sequence[int], tails: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
) -> Tensor:
    """The same for rows that begin with the same head, which is read once: (tails, places, dim).

    All stand in one sequence, head first. A tail sees the head and itself, and its positions count from the head's end, so
    the states are those of rows read apart.
    """
    n, starts = len(head), [len(head)]
    for tail in tails:
        starts.append(starts[-1] + len(tail))
    device, dtype = next(decoder.parameters()).device, next(decoder.parameters()).dtype
    ids = torch.tensor([[*head, *(token for tail in tails for token in tail)]], device=device)
    branch = torch.full((starts[-1],), -1)
    position = torch.arange(starts[-1])
    for i, (start, end) in enumerate(zip(starts, starts[1:], strict=False)):
        branch[start:end] = i
        position[start:end] = torch.arange(n, n + end - start)
    seen = torch.ones(starts[-1], starts[-1], dtype=torch.bool).tril()
    seen &= (branch[None, :] == -1) | (branch[None, :] == branch[:, None])
    if torch.is_autocast_enabled(device.type):
        dtype = torch.get_autocast_dtype(device.type)
    mask = torch.zeros(seen.shape, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)[None, None].to(device)
    hidden = decoder(
        input_ids=ids, attention_mask=mask, position_ids=position[None].to(device), use_cache=False
    ).last_hidden_state[0]
    at = torch.tensor(
        [[starts[i] + place - n if place >= n else place for place in some] for i, some in enumerate(places)]
    )
    return hidden[at.to(device)]
