"""MiA-Emb: a query is embedded together with a summary of the whole text (MiA-RAG, section 3.3.2, appendix B.3).

A causal language model reads, as Eq. 5 orders them,

    instruction, query, d_q, summary, d_n, d_c

and its last layer's states at the three marks d are h_q, h_n and h_c: the query by itself, the query in the light of the
summary as nodes are looked for, and as chunks are. The vector of the query for a task t is

    delta h_q + (1 - delta) h_t                                                     (Eq. 11)

In this order h_q cannot depend on the summary, which comes after it. `order="summary_first"` puts the summary before the query,
where every token of the query can read it; h_q then comes from a second reading without summary. The marks are new tokens, as
in the paper, or a few words that end in one which already means something to a language model.

A unit, which is a chunk or a node ("name: description"), is read with a few words behind it, the same for all. No token of
the tokenizer's own is put around queries or units: a vector is read at a mark, and not at an end token.

Taught in notebook 12_mia_emb_training. Training is in `mindscape.mia.emb_training`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from mindscape import assets, paths, prompts, weights
from mindscape.cache import Cache
from mindscape.encoders import Encoder, LastTokenEncoder
from mindscape.errors import InputError, one_of, require
from mindscape.packing import Packed
from mindscape.store import Maker, watch

Task = Literal["node", "chunk"]
INSTRUCTION, QUESTION, SUMMARY, WORDS = prompts.table("mia", "embedding").values()  # each by language
TOKENS = {"q": "<|query|>", "n": "<|nodes|>", "c": "<|chunks|>"}


@dataclass(frozen=True)
class Form:
    """How queries are written, what reads them, and what is made of the states.

    `order`: "paper" (query, summary) or "summary_first". `marks`: "words" or "tokens". `delta`: the share of h_q in Eq. 11.
    `layers`: how many of the base's first layers read, 0 for all.
    """

    order: Literal["paper", "summary_first"] = "paper"
    marks: Literal["words", "tokens"] = "words"
    delta: float = 0.5
    layers: int = 0

    def __post_init__(self):
        require(self.order in ("paper", "summary_first"), f"order={self.order!r}: expected paper or summary_first")
        require(self.marks in ("words", "tokens"), f"marks={self.marks!r}: expected words or tokens")
        require(self.layers >= 0, f"layers={self.layers!r}: expected 0 for all of them, or so many")
        require(0 <= self.delta <= 1, f"delta={self.delta!r}: expected 0 to 1")


@dataclass(frozen=True)
class Written:
    """A query as token ids: what it shares with others of its text, its own, and the places of its marks in both."""

    head: tuple[int, ...]
    tail: tuple[int, ...]
    marks: Mapping[str, int]

    @property
    def to_q(self) -> tuple[int, ...]:
        """The tokens up to the mark of h_q."""
        return (*self.head, *self.tail)[: self.marks["q"] + 1]


def write(
    question: str, summary: str | None, form: Form, tokenizer: PreTrainedTokenizerBase, language: str = "en"
) -> Written:
    """A query in the form's order, without a summary where there is None.

    >>> written = write("Who has the lamp?", "Ann is the smith.", Form(), tokenizer)     # doctest: +SKIP
    >>> tokenizer.decode(written.tail[: written.marks["q"] + 1])                         # doctest: +SKIP
    'Find what a reader of the story needs to answer the question.\\nQuestion: Who has the lamp?\\nWhat is asked for is'
    """
    require(language in INSTRUCTION, f"no instruction in {language!r}: expected one of {', '.join(INSTRUCTION)}")
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


@dataclass(frozen=True)
class Reading:
    """One pass of the decoder: rows of token ids, behind a head that they share, and the places whose states are wanted.

    Every row has as many places, counted from the head's first token. Called with the decoder it gives the last layer's
    states, (rows * places, dim), row by row.
    """

    rows: tuple[tuple[int, ...], ...]
    places: tuple[tuple[int, ...], ...]
    head: tuple[int, ...] = ()

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence that attention sees: behind a head all rows stand in one."""
        return len(self.head) + sum(map(len, self.rows)) if self.head else max(map(len, self.rows))

    @property
    def tokens(self) -> int:
        """Tokens read, padding included."""
        return self.longest if self.head else len(self.rows) * self.longest

    def __call__(self, decoder: nn.Module) -> Tensor:
        if self.head:
            return _behind(decoder, self.head, self.rows, self.places).flatten(0, 1)
        return _apart(decoder, self.rows, self.places).flatten(0, 1)


def query_readings(
    questions: Sequence[str],
    summaries: Sequence[str | None],
    form: Form,
    tokenizer: PreTrainedTokenizerBase,
    language: str = "en",
    tokens: int = 4096,
) -> tuple[list[Reading], Tensor]:
    """How to read queries, at most about `tokens` at once; where h_q, h_n and h_c stand in what comes out, (queries, 3).

    A head that neighbours share is read once for them. Where h_q would have seen the summary, the question is read again
    without.
    """
    written = [write(*one, form, tokenizer, language) for one in zip(questions, summaries, strict=True)]
    readings: list[Reading] = []
    at = torch.zeros(len(written), 3, dtype=torch.long)
    done = 0
    for some in neighbours(written, tokens):
        marks = [tuple(one.marks[name] for name in "qnc") for one in some]
        rows = tuple(one.tail for one in some)
        readings.append(Reading(rows, tuple(marks), some[0].head))
        at[done : done + len(some)] = 3 * torch.arange(done, done + len(some))[:, None] + torch.arange(3)
        done += len(some)
    told = [i for i, one in enumerate(written) if form.order == "summary_first" and summaries[i] is not None]
    bare = [write(questions[i], None, form, tokenizer, language) for i in told]
    done *= 3
    for some in neighbours(bare, tokens):
        rows = tuple(one.to_q for one in some)
        readings.append(Reading(rows, tuple((len(row) - 1,) for row in rows)))
        at[told[: len(some)], 0] = torch.arange(done, done + len(some))
        told, done = told[len(some) :], done + len(some)
    return readings, at


def unit_readings(
    units: Sequence[str], tokenizer: PreTrainedTokenizerBase, language: str = "en", tokens: int = 4096
) -> tuple[list[Reading], Tensor]:
    """How to read units, the longest first, and where each one's state stands in what comes out, (units,)."""
    rows = [tuple(_ids(unit + WORDS[language]["unit"], tokenizer)) for unit in units]
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    readings, start = [], 0
    while start < len(order):
        longest = len(rows[order[start]])
        some = [rows[i] for i in order[start : start + max(1, tokens // longest)]]
        readings.append(Reading(tuple(some), tuple((len(row) - 1,) for row in some)))
        start += len(some)
    at = torch.zeros(len(rows), dtype=torch.long)
    at[order] = torch.arange(len(rows))
    return readings, at


def enriched(states: Tensor, delta: float) -> dict[Task, Tensor]:
    """The vectors of queries for either task (Eq. 11), each (queries, dim) and not of length 1, from h_q, h_n and h_c,
    (queries, 3, dim)."""
    h_q, h_n, h_c = states.unbind(1)
    return {"node": delta * h_q + (1 - delta) * h_n, "chunk": delta * h_q + (1 - delta) * h_c}


def neighbours(written: Sequence[Written], tokens: int) -> Iterator[list[Written]]:
    """Neighbours that share their head, as many as may be read at once: with a head in one row, else side by side."""
    some: list[Written] = []
    for one in written:
        both = [*some, one]
        long = sum(len(it.tail) for it in both) if one.head else len(both) * max(len(it.tail) for it in both)
        if some and (one.head != some[0].head or len(one.head) + long > tokens):
            yield some
            both = [one]
        some = both
    if some:
        yield some


def _apart(decoder: PreTrainedModel, rows: Sequence[Sequence[int]], places: Sequence[Sequence[int]]) -> Tensor:
    """States of rows at their places, (rows, places, dim).

    Padding stands on the right, where causal attention does not look, so no mask is needed.
    """
    ids = pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    hidden = decoder(input_ids=ids.to(decoder.device), use_cache=False).last_hidden_state
    at = torch.tensor(places, device=hidden.device)
    return hidden.gather(1, at[..., None].expand(-1, -1, hidden.shape[-1]))


def _behind(
    decoder: PreTrainedModel, head: Sequence[int], tails: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
) -> Tensor:
    """The same behind a head, which is read once: (tails, places, dim)."""
    together = Packed(tuple(head), tuple(map(tuple, tails)))
    hidden = decoder(**together.inputs(decoder), use_cache=False).last_hidden_state[0]
    at = torch.tensor([[together.place(i, place) for place in some] for i, some in enumerate(places)])
    return hidden[at.to(hidden.device)]


def loaded(base: str | Path, form: Form, dtype: torch.dtype) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model that a form asks for: the base's first layers, and its tokenizer with the marks if those are tokens.

    A new token is drawn about the mean of the others. Raises InputError for more layers than there are.
    """
    tokenizer = AutoTokenizer.from_pretrained(base)
    config = AutoConfig.from_pretrained(base)
    require(form.layers <= config.num_hidden_layers, f"layers={form.layers}: {base} has {config.num_hidden_layers}")
    cut = {"num_hidden_layers": form.layers} if form.layers else {}
    with weights.quiet(warnings=not cut):
        model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype, **cut)
    if form.marks == "tokens" and tokenizer.add_tokens(list(TOKENS.values()), special_tokens=True):
        with weights.quiet(warnings=False):
            model.resize_token_embeddings(len(tokenizer))
    return model, tokenizer


class MiaEmbedder:
    """A causal language model that embeds queries in the light of a summary, and units to be found.

    `summaries=False` leaves summaries out even where they are given, as SFT-Emb does. Vectors are float32 of length 1;
    those of units are kept in the cache.

    >>> embedder = load(adapter="data/adapters/mia_emb")                                 # doctest: +SKIP
    >>> embedder.queries(["Who has the smith's lamp?"], "Ann is the smith.").shape       # doctest: +SKIP
    (1, 576)
    """

    def __init__(
        self,
        model: PreTrainedModel | Callable[[], PreTrainedModel],
        tokenizer: PreTrainedTokenizerBase,
        form: Form | None = None,
        *,
        summaries: bool = True,
        language: str = "en",
        name: str = "mia",
        batch_tokens: int = 4096,
        store: Cache | None = None,
        maker: Maker | None = None,
    ):
        one_of(INSTRUCTION, language=language)
        self.form, self.summaries, self.language, self.batch_tokens = form or Form(), summaries, language, batch_tokens
        self.tokenizer, self.name, self._load, self._maker, self._store = tokenizer, name, model, maker, store
        self._loaded = ""  # the fingerprint of a named model's weights as they were loaded
        if isinstance(model, nn.Module):
            self.model = watch(model.eval(), name)

    @cached_property
    def model(self) -> PreTrainedModel:
        """The network; a named one is loaded when it is first asked for."""
        model = self._load().eval()
        self._loaded = weights.fingerprint(model, model.config)
        return watch(model, self.name if self._maker is None else self._maker.label)

    @cached_property
    def _units(self) -> LastTokenEncoder:
        plain = {"special_tokens": False, "batch_tokens": self.batch_tokens, "store": self._store}
        return LastTokenEncoder(self.model, self.tokenizer, name=self.name, **plain)

    @property
    def maker(self) -> Maker:
        """Base, adapter and form: who a ranking is by."""
        form = {**asdict(self.form), "summaries": self.summaries, "language": self.language}
        model = self.__dict__.get("model")
        same = model is None or (self._loaded and self._loaded == weights.fingerprint(model, model.config))
        if self._maker is not None and same:
            return Maker(self._maker.name, {**self._maker.about, "embedder": form}, self._maker.dtype)
        dtype = str(self.model.dtype).removeprefix("torch.")
        return Maker(self.name, {"weights": self._units.fingerprint, "embedder": form}, dtype)

    def units(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, dim). Raises InputError for an empty text."""
        empty = [i for i, text in enumerate(texts) if not text.strip()]
        if empty:
            raise InputError(f"text {empty[0]} is empty: expected some text")
        return self._units.encode([text + WORDS[self.language]["unit"] for text in texts])

    def queries(self, questions: Sequence[str], summary: str | None = None, task: Task = "chunk") -> np.ndarray:
        """(questions, dim), all on the text that `summary` sums up."""
        told = [summary if self.summaries else None] * len(questions)
        readings, at = query_readings(questions, told, self.form, self.tokenizer, self.language, self.batch_tokens)
        if not readings:
            return np.zeros((0, self._units.dim), dtype=np.float32)
        with torch.no_grad():
            states = torch.cat([reading(self.model.get_decoder()) for reading in readings])[at.to(self.model.device)]
        vectors = nn.functional.normalize(enriched(states.float(), self.form.delta)[task], dim=-1)
        return vectors.cpu().numpy()


class PlainEmbedder:
    """Any encoder in an embedder's place: the summary is put behind the question, and Eq. 11 mixes both vectors.

    `delta` 1 leaves the summary out, 0 the question by itself. An encoder reads no further than its window.

    >>> embedder = PlainEmbedder(encoders.load("minilm"), delta=0.5)                     # doctest: +SKIP
    >>> embedder.queries(["Who has the smith's lamp?"], "Ann is the smith.").shape       # doctest: +SKIP
    (1, 384)
    """

    def __init__(self, encoder: Encoder, delta: float = 0.5):
        require(0 <= delta <= 1, f"delta={delta!r}: expected 0 to 1")
        self.encoder, self.delta = encoder, delta

    @property
    def maker(self) -> Maker:
        """The encoder and its delta."""
        of = self.encoder.maker
        return Maker(of.name, {**of.about, "delta": self.delta}, of.dtype)

    def units(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, dim)."""
        return self.encoder.encode(texts)

    def queries(self, questions: Sequence[str], summary: str | None = None, task: Task = "chunk") -> np.ndarray:
        """(questions, dim), the same for both tasks."""
        alone = self.encoder.encode(questions, "query")
        if summary is None or not len(questions):
            return alone
        told = self.encoder.encode([f"{question}\n{summary}" for question in questions], "query")
        mixed = self.delta * alone + (1 - self.delta) * told
        return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


def load(
    base: str | Path = "",
    adapter: str | Path | None = None,
    *,
    delta: float | None = None,
    dtype: str = "auto",
    device: str | None = None,
    cache: bool = True,
    **options: Any,
) -> MiaEmbedder:
    """The embedder in an adapter's folder, with the form that it was trained in; without one, the model as it comes.

    `base`: a folder or a name on the hub, the embedded model by default. `delta`: the form's, if another is wanted. Other
    options go to `MiaEmbedder`. Raises InputError where the adapter does not fit.
    """
    dtype_of, device = weights.placed(dtype, device)
    if adapter is not None:
        told = json.loads((Path(adapter) / "form.json").read_text(encoding="utf-8"))
        options = {"form": Form(**told["form"]), "summaries": told["summaries"], **options}
    if delta is not None:
        options["form"] = replace(options.get("form") or Form(), delta=delta)
    source, form = base or assets.language_model(), options.get("form") or Form()
    options["store"] = Cache(paths.cache() / "vectors.sqlite") if cache else None

    def model() -> PreTrainedModel:
        network = loaded(source, form, dtype_of)[0]
        return (network if adapter is None else weights.merged(network, adapter)).to(device)

    maker = weights.known_maker(source, adapter, dtype_of, "smollm2")
    if maker is not None and form.marks == "words" and (adapter is None or weights.is_shipped(adapter)):
        return MiaEmbedder(model, AutoTokenizer.from_pretrained(source), maker=maker, **options)
    network, tokenizer = loaded(source, form, dtype_of)
    if adapter is not None:
        network = weights.merged(network, adapter)
    return MiaEmbedder(network.to(device), tokenizer, **options)
