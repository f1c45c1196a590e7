"""MiA-Emb, and the silver evidence that it is taught (MiA-RAG, section 3.3, Algorithm 1, appendix B).

*MiA-Emb* (section 3.3.2, appendix B.3) embeds a query together with a summary of the whole text. A causal language model reads,
as Eq. 5 orders them,

    instruction, query, d_q, summary, d_n, d_c

and its last layer's states at the three marks d are h_q, h_n and h_c: the query by itself, the query in the light of the
summary as nodes are looked for, and as chunks are. The vector of the query for a task t is

    delta h_q + (1 - delta) h_t                                                     (Eq. 11)

In this order h_q cannot depend on the summary, which comes after it. `order="summary_first"` puts the summary before the query,
where every token of the query can read it; h_q then comes from a second reading without summary. The marks are new tokens, as
in the paper, or a few words that end in one which already means something to a language model.

A unit, which is a chunk or a node ("name: description"), is read with a few words behind it, the same for all. No token of
the tokenizer's own is put around queries or units: a vector is read at a mark, and not at an end token. Taught in notebook
12_mia_emb_training; training is in `mindscape.mia.emb_training`.

*Silver evidence* (Algorithm 1): which chunks, or which entities, bear on a question whose answer is known. A question has an
answer and no evidence. So a frozen retriever is asked three times, with the question, with both, with the answer (line 6); the
lists vote (line 11); a language model that sees question and answer picks from the winners (line 12). What it left is what the
retriever of MiA-RAG is taught to tell apart from the rest (appendix B.2).

Where the paper is silent: a unit has a vote from each list that holds it, equal votes are ordered by the best rank in any
list, then by the sum of the ranks, then by index. A reply that cannot be read chooses nothing, and a number that was not shown
is dropped; both are said. Taught in notebook 11_silver_evidence.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from mindscape import assets, paths, prompts, store, weights
from mindscape.ask import ask
from mindscape.cache import Cache
from mindscape.encoders import Encoder, LastTokenEncoder
from mindscape.errors import InputError, one_of, require
from mindscape.llm import LanguageModel
from mindscape.llm.base import PAPER, SHORT, form_of
from mindscape.roles import ROLES, numbered
from mindscape.search import DEPTH, Retriever, search
from mindscape.store import Maker, watch
from mindscape.text import Tokenizer, token_ids
from mindscape.weights import Packed

Task = Literal["node", "chunk"]
WORDINGS = {SHORT: prompts.short_texts("mia", "embedding"), PAPER: prompts.short_texts("mia", "paper/embedding")}
INSTRUCTION, _, SUMMARY, WORDS = WORDINGS[SHORT].values()  # each by language
NAME = "mia"  # of an embedder whose base and adapter are not known
TOKENS = {"q": "<|query|>", "n": "<|nodes|>", "c": "<|chunks|>"}


@dataclass(frozen=True)
class Form:
    """How queries are written, what reads them, and what is made of the states.

    `order`: "paper" (query, summary) or "summary_first". `marks`: "words" or "tokens". `delta`: the share of h_q in Eq. 11.
    `layers`: how many of the base's first layers read, 0 for all. `wording`: the instruction in "short", as the kit's adapters
    have learned it, or with all that the "paper" says in Figure 15.
    """

    order: Literal["paper", "summary_first"] = "paper"
    marks: Literal["words", "tokens"] = "words"
    delta: float = 0.5
    layers: int = 0
    wording: Literal["short", "paper"] = field(default=SHORT, repr=False)

    def __post_init__(self):
        one_of(("paper", "summary_first"), order=self.order)
        one_of(("words", "tokens"), marks=self.marks)
        one_of((SHORT, PAPER), wording=self.wording)
        require(self.layers >= 0, f"layers={self.layers!r}: expected 0 for all of them, or so many")
        require(0 <= self.delta <= 1, f"delta={self.delta!r}: expected 0 to 1")

    @property
    def stored(self) -> dict[str, Any]:
        """The fields as a store's key and an adapter's `form.json` have them: the wording where it is not the short one."""
        return {name: value for name, value in asdict(self).items() if name != "wording" or value != SHORT}

    @property
    def texts(self) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]:
        """Instruction, question and summary as the wording has them, each by language."""
        words = WORDINGS[self.wording]
        return words["instruction"], words["question"], words["summary"]


@dataclass(frozen=True)
class Written:
    """A query as token ids: what it shares with others of its text, and its own; the places of its marks in both.

    `spans`: where "query" and "summary" stand with the words that introduce them, (start, end) in tokens; without a summary
    that span is empty.
    """

    head: tuple[int, ...]
    tail: tuple[int, ...]
    marks: Mapping[str, int]
    spans: Mapping[str, tuple[int, int]]

    @property
    def to_q(self) -> tuple[int, ...]:
        """The tokens up to the mark of h_q."""
        return (*self.head, *self.tail)[: self.marks["q"] + 1]


def write(question: str, summary: str | None, form: Form, tokenizer: Tokenizer, language: str = "en") -> Written:
    """A query in the form's order, without a summary where there is None.

    >>> written = write("Who has the lamp?", "Ann is the smith.", Form(), tokenizer)     # doctest: +SKIP
    >>> tokenizer.decode(written.tail[: written.marks["q"] + 1])                         # doctest: +SKIP
    'Find what a reader of the story needs to answer the question.\\nQuestion: Who has the lamp?\\nWhat is asked for is'
    """
    one_of(INSTRUCTION, language=language)
    mark = WORDS[language] if form.marks == "words" else TOKENS
    instruction, query, preface = form.texts
    begun = ("", instruction[language])
    short = ("summary", "" if summary is None else preface[language].format(summary))
    request = ("query", query[language].format(question)), ("q", mark["q"])
    ends = ("n", mark["n"]), ("c", mark["c"])
    head, tail = ([], [begun, *request, short, *ends]) if form.order == "paper" else ([begun, short], [*request, *ends])
    ids: list[int] = []
    spans = {}
    for name, text in (*head, *tail):
        if name in mark and form.marks == "tokens":
            own = tokenizer(text, add_special_tokens=False)["input_ids"]  # one token, where the tokenizer has it
        else:
            own = token_ids(text, tokenizer) if text else []
        spans[name] = len(ids), len(ids) + len(own)
        ids += own
    shared = spans["summary"][1] if head else 0
    marks = {name: spans[name][1] - 1 for name in "qnc"}
    named = {name: spans[name] for name in ("query", "summary")}
    return Written(tuple(ids[:shared]), tuple(ids[shared:]), marks, named)


@dataclass(frozen=True)
class Reading:
    """One pass of the decoder: rows of token ids, behind a head that they share, and the places whose states are wanted.

    Every row has as many places, counted from the head's first token. Called with the decoder it gives the last layer's
    states, (rows * places, dim), row by row.
    """

    rows: tuple[tuple[int, ...], ...]
    places: tuple[tuple[int, ...], ...]
    head: tuple[int, ...] = ()

    @classmethod
    def of_ends(cls, rows: Iterable[tuple[int, ...]]) -> "Reading":
        """Of each row the state at its last token."""
        rows = tuple(rows)
        return cls(rows, tuple((len(row) - 1,) for row in rows))

    @classmethod
    def of_queries(cls, written: Sequence[Written]) -> "Reading":
        """Of each query the states at its marks; a head is that of all."""
        marks = (tuple(query.marks[name] for name in "qnc") for query in written)
        return cls(tuple(query.tail for query in written), tuple(marks), written[0].head)

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence that attention sees: behind a head all rows stand in one."""
        return len(self.head) + sum(map(len, self.rows)) if self.head else max(map(len, self.rows))

    @property
    def tokens(self) -> int:
        """Tokens read, padding included."""
        return self.longest if self.head else len(self.rows) * self.longest

    def inputs(self, decoder: PreTrainedModel) -> tuple[dict[str, Tensor], Tensor]:
        """What the decoder is called with, and where the wanted states stand among all, row below row: (rows * places,).

        Without a head padding stands on the right, where causal attention does not look, so no mask is needed.
        """
        if self.head:
            together = Packed(self.head, self.rows)
            inputs, place = together.inputs(decoder), together.place
        else:
            ids = pad_sequence([torch.tensor(row) for row in self.rows], batch_first=True)
            inputs, place = {"input_ids": ids.to(decoder.device)}, lambda text, position: text * ids.shape[1] + position
        places = [place(row, at) for row, marks in enumerate(self.places) for at in marks]
        return inputs, torch.tensor(places, device=decoder.device)

    def __call__(self, decoder: PreTrainedModel) -> Tensor:
        inputs, places = self.inputs(decoder)
        return decoder(**inputs, use_cache=False).last_hidden_state.flatten(0, 1)[places]


def query_readings(
    questions: Sequence[str],
    summaries: Sequence[str | None],
    form: Form,
    tokenizer: Tokenizer,
    language: str = "en",
    tokens: int = 4096,
) -> tuple[list[Reading], Tensor]:
    """How to read queries, at most about `tokens` at once; where h_q, h_n and h_c stand in what comes out, (queries, 3).

    A head that neighbours share is read once for them. Where h_q would have seen the summary, the question is read again
    without.
    """
    written = [write(*pair, form, tokenizer, language) for pair in zip(questions, summaries, strict=True)]
    readings = [Reading.of_queries(group) for group in neighbours(written, tokens)]
    at = torch.arange(3 * len(written)).view(-1, 3)
    summed = [i for i, summary in enumerate(summaries) if form.order == "summary_first" and summary is not None]
    bare = [write(questions[i], None, form, tokenizer, language) for i in summed]
    readings += [Reading.of_ends(query.to_q for query in group) for group in neighbours(bare, tokens)]
    at[summed, 0] = 3 * len(written) + torch.arange(len(summed))
    return readings, at


def unit_readings(
    units: Sequence[str], tokenizer: Tokenizer, language: str = "en", tokens: int = 4096
) -> tuple[list[Reading], Tensor]:
    """How to read units, the longest first, and where each one's state stands in what comes out, (units,)."""
    written = [Written((), tuple(token_ids(unit + WORDS[language]["unit"], tokenizer)), {}, {}) for unit in units]
    order = sorted(range(len(written)), key=lambda i: -len(written[i].tail))
    together = neighbours([written[i] for i in order], tokens)
    return [Reading.of_ends(unit.tail for unit in group) for group in together], torch.tensor(order).argsort()


def enriched(states: Tensor, delta: float) -> dict[Task, Tensor]:
    """The vectors of queries for either task (Eq. 11), each (queries, dim) and not of length 1, from h_q, h_n and h_c,
    (queries, 3, dim)."""
    h_q, h_n, h_c = states.unbind(1)
    return {"node": delta * h_q + (1 - delta) * h_n, "chunk": delta * h_q + (1 - delta) * h_c}


def neighbours(written: Sequence[Written], tokens: int) -> Iterator[list[Written]]:
    """Neighbours that share their head, as many as may be read at once: with a head in one row, else side by side."""
    group: list[Written] = []
    for query in written:
        both = [*group, query]
        long = sum(len(member.tail) for member in both) if query.head else len(both) * max(len(member.tail) for member in both)
        if group and (query.head != group[0].head or len(query.head) + long > tokens):
            yield group
            both = [query]
        group = both
    if group:
        yield group


def loaded(base: str | Path, form: Form, dtype: torch.dtype) -> tuple[PreTrainedModel, Tokenizer]:
    """The model that a form asks for: the base's first layers, and its tokenizer with the marks if those are tokens.

    A new token is drawn about the mean of the others, the same each time. Raises InputError for more layers than there are.
    """
    tokenizer = AutoTokenizer.from_pretrained(base)
    config = AutoConfig.from_pretrained(base)
    require(form.layers <= config.num_hidden_layers, f"layers={form.layers}: {base} has {config.num_hidden_layers}")
    cut = {"num_hidden_layers": form.layers} if form.layers else {}
    with weights.quiet(warnings=not cut):
        model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype, **cut)
    if form.marks == "tokens" and tokenizer.add_tokens(list(TOKENS.values()), special_tokens=True):
        with weights.quiet(warnings=False), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model.resize_token_embeddings(len(tokenizer))
    return model, tokenizer


class MiaEmbedder:
    """A causal language model that embeds queries in the light of a summary, and units to be found.

    `summaries=False` leaves summaries out even where they are given, as SFT-Emb does. Vectors are float32 of length 1;
    those of units are kept in the cache.

    >>> mia_emb = embedder(adapter="data/adapters/mia_emb")                              # doctest: +SKIP
    >>> mia_emb.queries(["Who has the smith's lamp?"], "Ann is the smith.").shape       # doctest: +SKIP
    (1, 576)
    """

    def __init__(
        self,
        model: PreTrainedModel | Callable[[], PreTrainedModel],
        tokenizer: Tokenizer,
        form: Form | None = None,
        *,
        summaries: bool = True,
        language: str = "en",
        batch_tokens: int = 4096,
        store: Cache | None = None,
        maker: Maker | None = None,
    ):
        one_of(INSTRUCTION, language=language)
        self.form, self.summaries, self.language, self.batch_tokens = form or Form(), summaries, language, batch_tokens
        self.tokenizer, self._load, self._maker, self._store = tokenizer, model, maker, store
        self._loaded = ""  # the fingerprint of a named model's weights as they were loaded
        if isinstance(model, nn.Module):
            self.model = watch(model.eval(), NAME)

    @cached_property
    def model(self) -> PreTrainedModel:
        """The network; a named one is loaded when it is first asked for."""
        model = self._load().eval()
        self._loaded = weights.fingerprint(model, model.config)
        return watch(model, NAME if self._maker is None else self._maker.label)

    @cached_property
    def _units(self) -> LastTokenEncoder:
        options: dict[str, Any] = {"batch_tokens": self.batch_tokens, "store": self._store}
        return LastTokenEncoder(self.model, self.tokenizer, name=NAME, special_tokens=False, **options)

    @property
    def maker(self) -> Maker:
        """Base, adapter and form: who a ranking is by."""
        form = {**self.form.stored, "summaries": self.summaries, "language": self.language}
        model = self.__dict__.get("model")
        same = model is None or (self._loaded and self._loaded == weights.fingerprint(model, model.config))
        if self._maker is not None and same:
            return replace(self._maker, about={**self._maker.about, "embedder": form})
        dtype = str(self.model.dtype).removeprefix("torch.")
        return Maker(NAME, {"weights": self._units.fingerprint, "embedder": form}, dtype)

    def written(self, questions: Sequence[str], summary: str | None) -> list[Written]:
        """Queries on one text as token ids."""
        return [write(question, summary, self.form, self.tokenizer, self.language) for question in questions]

    def units(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, dim)."""
        return self._units.encode([text + WORDS[self.language]["unit"] for text in texts])

    def queries(self, questions: Sequence[str], summary: str | None = None, task: Task = "chunk") -> np.ndarray:
        """(questions, dim), all on the text that `summary` sums up."""
        summaries = [summary if self.summaries else None] * len(questions)
        readings, at = query_readings(questions, summaries, self.form, self.tokenizer, self.language, self.batch_tokens)
        if not readings:
            return np.zeros((0, self._units.dim), dtype=np.float32)
        with torch.no_grad():
            states = torch.cat([reading(self.model.get_decoder()) for reading in readings])[at.to(self.model.device)]
        return unit_length(enriched(states.float(), self.form.delta)[task])


def unit_length(states: Tensor) -> np.ndarray:
    """States (..., dim) of any type and on any device as float32 of length 1 along the last dimension.

    >>> unit_length(torch.tensor([[3.0, 4.0]])).round(2)
    array([[0.6, 0.8]], dtype=float32)
    """
    return nn.functional.normalize(states.float(), dim=-1).cpu().numpy()


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
        return replace(self.encoder.maker, about={**self.encoder.maker.about, "delta": self.delta})

    def units(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, dim)."""
        return self.encoder.encode(texts)

    def queries(self, questions: Sequence[str], summary: str | None = None, task: Task = "chunk") -> np.ndarray:
        """(questions, dim), the same for both tasks."""
        alone = self.encoder.encode(questions, "query")
        if summary is None or not len(questions):
            return alone
        situated = self.encoder.encode([f"{question}\n{summary}" for question in questions], "query")
        mixed = self.delta * alone + (1 - self.delta) * situated
        return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


def named(base: str, adapters: str = "") -> tuple[str | Path, Path]:
    """The base that a notebook's parameters name, and the folder of its adapters, which for "smollm2" may be the kit's own.

    Raises InputError for another base, and for a folder without the two embedders.

    >>> named("gpt2")
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: base='gpt2': expected smollm2, or hf:NAME with adapters of that base
    """
    known = base == "smollm2" or (base.startswith("hf:") and adapters)
    require(known, f"base={base!r}: expected smollm2, or hf:NAME with adapters of that base")
    home = Path(adapters or paths.data("adapters"))
    for file in ("sft_emb/form.json", "mia_emb/form.json"):
        require((home / file).is_file(), f"adapters={adapters!r}: expected a folder with {file}")
    source = assets.language_model() if base == "smollm2" else base.removeprefix("hf:")
    return source, home


def embedder(
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
        file = Path(adapter) / "form.json"
        try:
            saved = json.loads(file.read_text(encoding="utf-8"))
            known = {"form": Form(**saved["form"]), "summaries": saved["summaries"], "language": saved.get("language", "en")}
            options = known | options
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise InputError(f"{file}: expected the form of a trained embedder, as training writes it: {error}") from error
    if delta is not None:
        options["form"] = replace(options.get("form") or Form(), delta=delta)
    source, form = base or assets.language_model(), options.get("form") or Form()
    options["store"] = Cache(paths.cache() / "vectors.sqlite") if cache else None

    def read() -> tuple[PreTrainedModel, Tokenizer]:
        network, tokenizer = loaded(source, form, dtype_of)
        whole: Any = network if adapter is None else weights.merged_model(network, adapter)
        return whole.to(device), tokenizer

    maker = weights.known_maker(source, adapter, dtype_of, "smollm2")
    if maker is not None and form.marks == "words" and (adapter is None or weights.is_shipped(adapter)):
        return MiaEmbedder(lambda: read()[0], AutoTokenizer.from_pretrained(source), maker=maker, **options)
    return MiaEmbedder(*read(), **options)


HARD, SIMPLE = 5, 5  # negatives of each sort, at most (appendix B.2)
SLOT = {"chunk": "chunks", "node": "entities"}


@dataclass(frozen=True)
class Silver:
    """What Algorithm 1 found for a question; all numbers are indices of units, best first.

    `lists` are the retrieved units for each augmentation, `candidates` those that won the vote, `silver` those that the
    model kept, `hard` and `simple` the negatives. `invalid` says what of a reply could not be used, or is empty.
    """

    question: str
    lists: Mapping[str, tuple[int, ...]]
    candidates: tuple[int, ...]
    silver: tuple[int, ...]
    hard: tuple[int, ...]
    simple: tuple[int, ...]
    invalid: str = ""


def augmented(question: str, answer: str) -> dict[str, str]:
    """The three queries of line 6, by name.

    >>> augmented("Who has the lamp?", "Ann")
    {'q': 'Who has the lamp?', 'q+a': 'Who has the lamp? Ann', 'a': 'Ann'}
    """
    return {"q": question, "q+a": f"{question} {answer}", "a": answer}


def vote(lists: Sequence[Sequence[int]], k: int) -> list[int]:
    """The k units with most votes (line 11): a vote from each list that holds them, ties by rank as the module says.

    >>> vote([[4, 1, 2], [1, 7, 4], [9, 1, 3]], 3)
    [1, 4, 9]
    """
    ranks: dict[int, list[int]] = {}
    for units in lists:
        for rank, unit in enumerate(units):
            ranks.setdefault(int(unit), []).append(rank)
    return sorted(ranks, key=lambda unit: (-len(ranks[unit]), min(ranks[unit]), sum(ranks[unit]), unit))[:k]


def negatives(
    candidates: Sequence[int], silver: Sequence[int], units: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Hard negatives, the first candidates that were not kept, and simple ones, drawn from all that is neither.

    >>> negatives([3, 1, 4], [1], 6, np.random.default_rng(0))
    ([3, 4], [5, 0, 2])
    """
    hard = [unit for unit in candidates if unit not in silver][:HARD]
    rest = np.setdiff1d(np.arange(units), [*silver, *hard])
    return hard, rng.permutation(rest)[:SIMPLE].tolist()


def annotate(
    llm: LanguageModel,
    retriever: Retriever,
    units: Sequence[str],
    questions: Sequence[tuple[str, str, str]],
    *,
    k: int = 5,
    task: Task = "chunk",
    language: str = "en",
    seed: int = 0,
) -> list[Silver]:
    """Algorithm 1 for each (id, question, answer). Rankings are in the store, and so are the model's choices (kind "choice").

    `units` are the texts of chunks, or "name: description" of entities. Raises InputError for questions with equal ids,
    LLMError if the model fails: what was annotated before is in the store.

    >>> annotate(llm.load("embedded"), PlainEmbedder(encoder, 1.0), passages, questions)   # doctest: +SKIP
    """
    require(len({name for name, *_ in questions}) == len(questions), "two questions have the same id: expected each once")
    queries = [augmented(question, answer) for _, question, answer in questions]
    rows = iter(search(retriever, units, [text for forms in queries for text in forms.values()], max(k, DEPTH)))
    lists = [{name: next(rows).first(k) for name in forms} for forms in queries]
    won = [vote(list(rankings.values()), k) for rankings in lists]
    role, prompts = ROLES[f"silver_{task}s"], []
    for (_, question, answer), candidates in zip(questions, won, strict=True):
        shown = numbered([" ".join(units[i].split()) for i in candidates])
        prompts.append(role.prompt(language, form_of(llm), question=question, answer=answer, **{SLOT[task]: shown}))

    def compute(places: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        answers = ask(llm, role, [prompts[i] for i in places])
        for position, (place, answer) in enumerate(zip(places, answers, strict=True)):
            numbers, invalid = chosen(answer.text, len(won[place]))
            yield position, {"chosen": numbers, "invalid": invalid}

    keys = [{"role": role.name, "prompt": prompt, "shown": len(seen)} for prompt, seen in zip(prompts, won, strict=True)]
    choices = store.current().fetch("choice", llm.maker, keys, compute, {"role": role.name}, seconds=2)
    annotations = []
    for (name, *_), rankings, candidates, choice in zip(questions, lists, won, choices, strict=True):
        silver = [candidates[i] for i in choice["chosen"]]
        rng = np.random.default_rng([seed, int.from_bytes(name.encode()[-8:], "big")])
        hard, simple = negatives(candidates, silver, len(units), rng)
        annotations.append(
            Silver(name, rankings, tuple(candidates), tuple(silver), tuple(hard), tuple(simple), choice["invalid"])
        )
    return annotations


def chosen(reply: str, shown: int) -> tuple[list[int], str]:
    """The indices in a reply, each once and in order, and why it cannot be used, if so. Numbers not shown are dropped.

    >>> chosen("[2, 0, 2]", 3), chosen("```json\\n[1]\\n```", 3), chosen("[-1]", 3), chosen("[1, 9]", 3)
    (([0, 2], ''), ([1], ''), ([], ''), ([1], 'there is no 9'))
    >>> [(numbers, bool(invalid)) for numbers, invalid in (chosen("the first", 3), chosen("[]", 3))]
    [([], True), ([], True)]
    """
    try:
        numbers, _ = ROLES["silver_chunks"].parse(reply)
    except ValueError as error:
        return [], str(error)
    wrong = sorted({i for i in numbers if i >= shown})
    return sorted({i for i in numbers if 0 <= i < shown}), f"there is no {wrong[0]}" if wrong else ""
