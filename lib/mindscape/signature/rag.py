"""Retrieval in two passes, steered by a signature, and answers from what it finds (MiA-Signature, 3.2.1, 3.2.2, B, C.1 and F).

A question wakes the K_0 = 50 chunks nearest to it and the items of the memory that stand for them (step 0, retriever E_1). Of
these at most K = 5 become its signature (Eq. 3). A second pass, by the retriever E_2, ranks all chunks by

    s(c | q, sigma) = (1 - alpha) s_qry(c | q) + alpha s_sig(c | sigma)                     (Eq. 4)

and the best go to a generator, with the signature or without.

A retriever gives vectors of chunks, of questions, and of questions in the light of a signature. Two are here: `Situated` reads
question and signature together with an embedder that has learned to, such as `mindscape.mia.embedding.MiaEmbedder`, and takes
the states behind either (appendix B: h_q for s_qry, h_c for s_sig); `Geometry` does what can be done with any encoder, the
cosine with the mean of the signature's vectors. A signature is a tuple of texts: summaries at first, one text once an agent
has written it anew.

Where the paper is silent: a prompt that is too long for its model loses passages from the worst up, and says how many it kept.

What is searched are series of books, each one memory, and what is asked on them (`Collection`): some novels of one town of the
storyworld with its gold summaries, plays that share characters with the kit's own, or the texts of a benchmark. Questions whose
evidence is in more than a few passages are left out of novels and plays: a question on a whole book points nowhere.

Taught in notebook 22_signature_rag. The picking itself is in `mindscape.signature.objectives`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import Any, Protocol

import numpy as np
from transformers import PreTrainedTokenizerBase

import storyworld
from benchmarks import Loaded
from benchmarks.asking import fill
from mindscape import store
from mindscape.ask import PAPER_LONGEST, ask
from mindscape.cache import digest
from mindscape.corpora import shakespeare
from mindscape.encoders import Encoder
from mindscape.errors import InputError, require
from mindscape.llm.base import LLM, PAPER, form_of
from mindscape.metrics import Language, recall_fraction_at_k, token_f1
from mindscape.prompts import short_texts
from mindscape.question import Answer, ClaimPair, Question
from mindscape.roles import CHOICE, CLAIM, LETTERS, QA, Role, letters
from mindscape.signature import memory as sessions
from mindscape.signature import objectives
from mindscape.signature.memory import Memory, Posed, Write, build, by_textrank, gold, merged, of_series, ranked, scenes
from mindscape.signature.objectives import WEIGHTS, WINDOW, FacilityLocation, Modular, Objective, greedy, relevance
from mindscape.store import Maker
from mindscape.text import split_sentences
from storyworld import SPLITS, TOKENS, Book
from storyworld.world import Chance

SIZE, MOST = 60, 4  # tokens of a passage; passages of evidence at most
BOOKS = 2  # of a series
SEEDS = {split: SPLITS[split][0] for split in ("develop", "test")}
BENCHMARKS = ("detectiveqa-en", "detectiveqa-zh", "narrativeqa", "narrativeqa-hub", "novelhopqa", "nocha")  # of Table 1
PLAYS = ("falstaff", "rome")  # series of which every play has questions and summaries
K0, K, ALPHA = 50, 5, 0.5  # section 4.2
WAYS = ("first_k", "relevance", "coverage", "random", "gold")
DEPTH = 10  # ranks of a second pass
LONGEST = {"choice": 200, "qa": 48, "claim": 200}  # tokens of an answer, by its kind
KINDS: dict[str, Role] = {"choice": CHOICE, "qa": QA, "claim": CLAIM}
TOGETHER = 16  # questions that are read before the first of their rankings is kept
QUERY, FEEDBACK = "query", "feedback"  # no signature; the best passages of the first pass in a signature's place
FRAME = short_texts("signature", "frame")  # by language: what stands over the parts of a context

Signature = tuple[str, ...]
Rows = Callable[[Sequence[int]], Iterator[list[int]]]  # places of questions to the ids for each


# Books and what is asked on them


@dataclass(frozen=True)
class Collection:
    """Books merged into one memory; questions and claims on them whose evidence is in at most `MOST` passages."""

    memory: Memory
    questions: tuple[Posed, ...]
    claims: tuple[Posed, ...]

    @property
    def name(self) -> str:
        """Of its first book, as files are called by it."""
        return self.memory.documents[0].id


def series_memory(books: Sequence[Book], tokenizer: PreTrainedTokenizerBase, width: int = WINDOW, size: int = SIZE) -> Memory:
    """Novels in one memory: passages of `size` tokens, sessions of `width` passages with their gold summaries.

    Taught in notebook 22_signature_rag.

    >>> len(series_memory(storyworld.series(1000, n=2).books, tokenizer).documents)          # doctest: +SKIP
    2
    """
    return merged([build(book.document, split_sentences(book.document, tokenizer, size), gold(book), width) for book in books])


def plays_memory(names: Sequence[str], tokenizer: PreTrainedTokenizerBase, size: int = SIZE) -> Memory:
    """Plays in one memory: passages of `size` tokens, scenes for sessions, the kit's own summaries.

    Raises InputError for a play that the kit does not know or has not summed up. Taught in notebook 22_signature_rag.

    >>> len(plays_memory(["macbeth", "hamlet"], tokenizer).documents)                        # doctest: +SKIP
    2
    """
    return merged([scenes(name, split_sentences(shakespeare.play(name), tokenizer, size)) for name in names])


def town(
    seed: int,
    tokenizer: PreTrainedTokenizerBase,
    width: int = WINDOW,
    size: int = SIZE,
    *,
    books: int = BOOKS,
    language: str = "en",
) -> Collection:
    """A series of the storyworld: passages of `size` tokens, sessions of `width` passages with their gold summaries.

    Raises InputError as `storyworld.series` does. Taught in notebook 22_signature_rag.

    >>> town(1000, tokenizer).name                                                           # doctest: +SKIP
    'series-1000-1'
    """
    series = storyworld.series(seed, n=books, tokens=TOKENS, language=language)
    return _collection(series_memory(series.books, tokenizer, width, size), *of_series(series))


def _of_plays(names: Sequence[str], tokenizer: PreTrainedTokenizerBase, size: int) -> Collection:
    """Plays that share characters: passages of `size` tokens, scenes for sessions, the kit's own summaries and questions."""
    questions, claims = chain(*map(shakespeare.questions, names)), chain(*map(shakespeare.claims, names))
    return _collection(plays_memory(names, tokenizer, size), questions, claims)


def _collection(memory: Memory, questions: Iterable[Question], claims: Iterable[ClaimPair]) -> Collection:
    both = sessions.posed(memory, questions), sessions.posed_claims(memory, claims)
    narrow = (tuple(question for question in group if len(question.evidence) <= MOST) for group in both)
    return Collection(memory, *narrow)


def collections(
    corpus: str,
    tokenizer: PreTrainedTokenizerBase,
    split: str = "develop",
    count: int = 4,
    width: int = WINDOW,
    size: int = SIZE,
) -> list[Collection]:
    """The first `count` series of a corpus, "storyworld" or "shakespeare". Raises InputError for another corpus or split.

    Taught in notebook 22_signature_rag.

    >>> [town.name for town in collections("storyworld", tokenizer, count=2)]                # doctest: +SKIP
    ['series-1000-1', 'series-1001-1']
    """
    if corpus == "shakespeare":
        return [_of_plays(shakespeare.SERIES[name], tokenizer, size) for name in PLAYS[:count]]
    require(corpus == "storyworld", f"corpus={corpus!r}: expected storyworld or shakespeare")
    require(split in SEEDS, f"split={split!r}: expected {', '.join(SEEDS)}")
    return [town(seed, tokenizer, width, size) for seed in SEEDS[split][:count]]


def of_benchmark(
    loaded: Loaded, tokenizer: PreTrainedTokenizerBase, width: int = WINDOW, size: int = SIZE, write: Write | None = None
) -> Collection:
    """The texts of a benchmark as one memory, and what is asked on them: passages of `size` tokens, sessions of `width`.

    `write` sums up the sessions, by default extracts (`by_textrank`). Nothing is left out, however wide its evidence is.
    Taught in notebook 22_signature_rag.

    >>> town = of_benchmark(asking.few("nocha"), tokenizer)                                  # doctest: +SKIP
    >>> len(town.claims)                                                                     # doctest: +SKIP
    4
    """
    texts, write = loaded.documents.values(), write or by_textrank()
    memory = merged([build(text, split_sentences(text, tokenizer, size), write, width) for text in texts])
    items = sessions.posed_items(memory, loaded.items)
    claims = tuple(item for item in items if item.kind == "claim")
    return Collection(memory, tuple(item for item in items if item.kind != "claim"), claims)


def share(questions: Sequence[Posed], count: int, seed: int = 0) -> list[Posed]:
    """At most `count` questions on each book, in their order, the same for a seed; of claims so many pairs, whole.

    A smaller share is part of a larger one. Taught in notebook 22_signature_rag.

    >>> questions = [Posed(f"q{i}", "note", "Who?", "qa", (), "Ann", (), (0,)) for i in range(9)]
    >>> [q.id for q in share(questions, 3)], set(share(questions, 3)) < set(share(questions, 5))
    (['q1', 'q3', 'q7'], True)
    """
    units: dict[str, dict[str, None]] = {}
    for question in questions:
        units.setdefault(question.doc_id, {})[question.pair or question.id] = None
    more = [seed] if seed else []
    chosen = {unit for book, keys in units.items() for unit in Chance("signature", book, *more).sample([*keys], count)}
    return [question for question in questions if (question.pair or question.id) in chosen]


def freely(question: Posed) -> Posed:
    """A choice as an open question. Raises InputError for what is none. Taught in notebook 22_signature_rag.

    >>> freely(Posed("q", "note", "Who?", "choice", ("Tom", "Ann"), "B", (), (0,))).right
    'Ann'
    """
    require(question.kind == "choice", f"question {question.id!r} is a {question.kind}: expected a choice")
    return replace(question, kind="qa", options=(), right=question.options[LETTERS.index(question.right)])


# Retrievers


class Retriever(Protocol):
    """What the two passes ask of a retriever: vectors whose inner products are scores. `maker` says which it is."""

    @property
    def maker(self) -> Maker: ...

    def chunks(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, dim)."""

    def unsteered(self, questions: Sequence[str]) -> np.ndarray:
        """Of the questions alone, for s_qry: (questions, dim)."""

    def steered(self, questions: Sequence[str], signatures: Sequence[Signature]) -> np.ndarray:
        """Of each question's signature, for s_sig: (questions, dim). An empty signature says nothing."""


class Geometry:
    """An encoder that has learned nothing of signatures: s_sig is the cosine with the mean of the signature's vectors.

    Where a signature is empty the question stands in its place. Taught in notebook 22_signature_rag.

    >>> from mindscape import encoders
    >>> Geometry(encoders.load("minilm")).steered(["Who left?"], [("Ann left.",)]).shape     # doctest: +SKIP
    (1, 384)
    """

    def __init__(self, encoder: Encoder):
        self.encoder = encoder

    @property
    def maker(self) -> Maker:
        maker = self.encoder.maker
        return Maker(maker.name, {**maker.about, "signature": "mean"}, maker.dtype)

    def chunks(self, texts: Sequence[str]) -> np.ndarray:
        return self.encoder.encode(texts)

    def unsteered(self, questions: Sequence[str]) -> np.ndarray:
        return self.encoder.encode(questions, "query")

    def steered(self, questions: Sequence[str], signatures: Sequence[Signature]) -> np.ndarray:
        steered = self.unsteered(questions).copy()
        parts = list(dict.fromkeys(chain(*signatures)))
        vectors = dict(zip(parts, self.encoder.encode(parts), strict=True)) if parts else {}
        for row, signature in zip(steered, signatures, strict=True):
            if signature:
                mean = np.mean([vectors[part] for part in signature], axis=0)
                row[:] = mean / (np.linalg.norm(mean) or 1.0)
        return steered


class Situated:
    """An embedder that reads a question in the light of a text: s_qry from the state behind the question, s_sig from the one
    behind both, each of length 1 (appendix B, Figure 2).

    `embedder` has `units` and `queries`, as `mindscape.mia.embedding` has them; its own share of the question, `delta`, is set
    aside, since alpha is that share here. Taught in notebook 22_signature_rag.

    >>> from mindscape.mia import embedding
    >>> situated = Situated(embedding.embedder(adapter="data/adapters/mia_emb"))                 # doctest: +SKIP
    """

    def __init__(self, embedder: Any):
        self.embedder = embedder

    @property
    def maker(self) -> Maker:
        maker = _at_delta(self.embedder, 0.0).maker
        return Maker(maker.name, {**maker.about, "signature": "read"}, maker.dtype)

    def chunks(self, texts: Sequence[str]) -> np.ndarray:
        return self.embedder.units(texts)

    def unsteered(self, questions: Sequence[str]) -> np.ndarray:
        return self._read(1.0, questions, [()] * len(questions))

    def steered(self, questions: Sequence[str], signatures: Sequence[Signature]) -> np.ndarray:
        return self._read(0.0, questions, signatures)

    def _read(self, delta: float, questions: Sequence[str], signatures: Sequence[Signature]) -> np.ndarray:
        """One by one: signatures are long and have little in common."""
        getattr(self.embedder, "model", None)  # loaded now, once for all copies
        reader = _at_delta(self.embedder, delta)
        pairs = zip(questions, signatures, strict=True)
        return np.array([reader.queries([question], "\n".join(signature) or None)[0] for question, signature in pairs])


def _at_delta(embedder: Any, delta: float) -> Any:
    """The same embedder with another share of h_q (Eq. 11 of MiA-RAG)."""
    other = copy(embedder)
    if hasattr(embedder, "form"):
        other.form = replace(embedder.form, delta=delta)
    elif hasattr(embedder, "delta"):
        other.delta = delta
    return other


def retriever(model: Any) -> Retriever:
    """An encoder as `Geometry`, an embedder that reads a question with a text as `Situated`.

    A retriever is given back as it is. Raises InputError for anything else. Taught in notebook 22_signature_rag.

    >>> retriever("minilm")
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: 'minilm' is no retriever: expected an encoder (encode) or an embedder (units, queries)
    """
    if hasattr(model, "steered"):
        return model
    if hasattr(model, "queries") and hasattr(model, "units"):
        return Situated(model)
    if hasattr(model, "encode") and not isinstance(model, str):
        return Geometry(model)
    raise InputError(f"{model!r:.60} is no retriever: expected an encoder (encode) or an embedder (units, queries)")


# The two passes


@dataclass(frozen=True)
class Woken:
    """What a question wakes: its nearest chunks, best first, and their items, in the order in which those bring them up."""

    question: str
    chunks: tuple[int, ...]
    items: tuple[int, ...]


class Shelf:
    """A memory with the vectors that both passes need, computed when they are first asked for.

    `first` is E_1, which knows no signature, `second` E_2, by default the same; each a retriever, or a model as `retriever`
    takes it. `weigher` is the encoder of Eq. 7 to 9, in the paper BGE-M3; by default the first retriever's, if it has one.
    Rankings and choices come out of the store where they are there (`mindscape.store`); a `live` shelf asks no store.
    Taught in notebook 22_signature_rag.

    >>> shelf = Shelf(memory, encoders.load("minilm"), embedder)                             # doctest: +SKIP
    >>> shelf.search(["Who has the lamp?"], [("Ann is the smith.",)], k=3)                   # doctest: +SKIP
    [(17, 4, 60)]
    """

    def __init__(self, memory: Memory, first: Any, second: Any = None, weigher: Encoder | None = None, live: bool = False):
        self.memory, self.live = memory, live
        self.first = retriever(first)
        self.second = self.first if second is None else retriever(second)
        self.weigher = getattr(self.first, "encoder", None) if weigher is None else weigher
        self._query = cache(lambda question: self._encoder().encode([question], "query")[0])  # e_q, once a question
        self._maker = cache(lambda model: model.maker)  # once: all weights are looked at
        self._chunks: Callable[[Any], np.ndarray]  # once a retriever
        self._chunks = cache(lambda model: model.chunks(self.memory.texts).astype(np.float64))

    @cached_property
    def _texts(self) -> str:
        return digest(self.memory.texts)

    @cached_property
    def _weighed(self) -> tuple[np.ndarray, np.ndarray]:
        """e_s of all items and e_c of all chunks."""
        encoder = self._encoder()
        same = getattr(self.first, "encoder", None) is encoder
        chunks = self._chunks(self.first) if same else encoder.encode(self.memory.texts)
        return encoder.encode(self.memory.summaries), chunks

    def _encoder(self) -> Encoder:
        require(self.weigher is not None, "the shelf has no encoder for Eq. 7 to 9: expected weigher=encoders.load(...)")
        return self.weigher

    def _kept(self, kind: str, model: Any, keys: Sequence[dict[str, Any]], compute: Rows) -> list[list[int]]:
        """Places for each question: out of the store, or computed."""
        if self.live:
            return list(compute(range(len(keys))))

        def kept(places: Sequence[int]) -> Iterator[tuple[int, dict[str, list[int]]]]:
            return ((i, {"ids": ids}) for i, ids in enumerate(compute(places)))

        return [value["ids"] for value in store.current().fetch(kind, self._maker(model), keys, kept)]

    def wake(self, questions: Sequence[str], k0: int = K0) -> list[Woken]:
        """Step 0: the `k0` chunks nearest to each question by E_1, and their items."""

        def compute(places: Sequence[int]) -> Iterator[list[int]]:
            for batch in _some_at_a_time(places):
                for row in _products(self.first.unsteered([questions[i] for i in batch]), self._chunks(self.first)):
                    yield ranked(row, k0).tolist()

        keys = [{"texts": self._texts, "query": question, "k": k0} for question in questions]
        nearest = map(tuple, self._kept("ranking", self.first, keys, compute))
        return [Woken(question, ids, self.memory.items_of(ids)) for question, ids in zip(questions, nearest, strict=True)]

    def objective(self, woken: Woken, weights: Sequence[float] = WEIGHTS, marked: bool = False) -> Objective:
        """Eq. 10 over what a question woke, for any optimiser of `objectives`: its picks are places in `woken.items`.

        Where a chunk has several items, its cover has them all. `marked` counts coverage as line 20 of Algorithm 2 does.
        """
        summaries, chunks = self._weighed
        rows, columns = list(woken.items), list(woken.chunks)
        cover = self.memory.cover[rows][:, columns]
        ranks = range(1, len(columns) + 1)
        vectors = self._query(woken.question), summaries[rows], chunks[columns]
        return objectives.signature_objective(*vectors, cover, ranks, weights, marked)

    def choose(
        self, woken: Woken, way: str = "coverage", k: int = K, *, seed: int = 0, evidence: Sequence[int] = ()
    ) -> tuple[int, ...]:
        """At most `k` items for a signature, in the order of their picking (Eq. 3).

        `way`: "first_k", the first different ones (section 3.2.1); "relevance", those most like the question (appendices A
        and E); "coverage", Algorithm 2; "random", any; "gold", those that stand for most of `evidence`, woken or not, which
        no system can know. Raises InputError for another way, for k < 1, and for "gold" without evidence.
        """
        require(k >= 1, f"k={k}: expected at least 1")
        if way == "gold":
            require(evidence, 'way="gold": expected the chunks that hold the evidence')
            best = greedy(FacilityLocation(self.memory.cover[:, list(evidence)]), k)
            return tuple(pick for pick, gain in zip(best.picks, best.gains, strict=True) if gain > 0)
        if way == "random":
            return tuple(Chance("signature", seed, woken.question).sample(woken.items, k))
        if way == "first_k":
            return woken.items[:k]
        require(way in ("relevance", "coverage"), f"way={way!r}: expected one of {', '.join(WAYS)}")

        def compute(places: Sequence[int]) -> Iterator[list[int]]:
            of_query = relevance(self._query(woken.question), self._weighed[0][list(woken.items)])
            objective = self.objective(woken) if way == "coverage" else Modular(of_query)
            yield [woken.items[pick] for pick in greedy(objective, k).picks]

        key: dict[str, Any] = {"memory": self.memory.fingerprint, "query": woken.question, "woken": list(woken.chunks)}
        key |= {"way": way, "k": k, "weights": list(WEIGHTS)}
        return tuple(self._kept("choice", self._encoder(), [key], compute)[0])

    def signature(self, items: Sequence[int]) -> Signature:
        """The texts of items."""
        return tuple(self.memory.items[item].text for item in items)

    def scores(self, questions: Sequence[str], signatures: Sequence[Signature]) -> tuple[np.ndarray, np.ndarray]:
        """s_qry and s_sig of every chunk, each (questions, chunks), by E_2: what an alpha then blends."""
        alone, steered = self.second.unsteered(questions), self.second.steered(questions, signatures)
        return _products(alone, self._chunks(self.second)), _products(steered, self._chunks(self.second))

    def search(
        self, questions: Sequence[str], signatures: Sequence[Signature] | None = None, k: int = DEPTH, alpha: float = ALPHA
    ) -> list[tuple[int, ...]]:
        """The `k` best chunks for each question by Eq. 4, best first; without signatures by s_qry alone."""
        return [rows[0] for rows in self.sweep(questions, signatures, [alpha], k)]

    def sweep(
        self, questions: Sequence[str], signatures: Sequence[Signature] | None, alphas: Sequence[float], k: int = DEPTH
    ) -> list[list[tuple[int, ...]]]:
        """The same for each of some alphas; the model reads every question once."""
        k = min(k, len(self.memory.chunks))

        def compute(places: Sequence[int]) -> Iterator[list[int]]:
            for batch in _some_at_a_time(places):
                texts = [questions[i] for i in batch]
                if signatures is None:
                    of_both = (_products(self.second.unsteered(texts), self._chunks(self.second)),) * 2
                else:
                    of_both = self.scores(texts, [signatures[i] for i in batch])
                for qry, sig in zip(*of_both, strict=True):
                    yield [i for a in alphas for i in ranked(blend(qry, sig, a), k).tolist()]

        keys: list[dict[str, Any]] = [{"texts": self._texts, "query": question, "k": k} for question in questions]
        alphas = [0.0] if signatures is None else [float(alpha) for alpha in alphas]
        for alpha in alphas:
            blend(0.0, 0.0, alpha)  # refuses what is no share, whatever is in the store
        for key, signature in zip(keys, signatures or (), strict=signatures is not None):
            key |= {"alphas": alphas, "signature": list(signature)}
        rankings = self._kept("ranking", self.second, keys, compute)
        return [[tuple(ids[start : start + k]) for start in range(0, len(ids), k)] for ids in rankings]


def _some_at_a_time(places: Sequence[int]) -> Iterator[Sequence[int]]:
    return (places[start : start + TOGETHER] for start in range(0, len(places), TOGETHER))


def _products(queries: np.ndarray, units: np.ndarray) -> np.ndarray:
    """All inner products, (queries, units), in float64. Equal units get equal bits, which a matrix product does not promise."""
    return np.einsum("qd,md->qm", queries.astype(np.float64), units)


def blend(of_query: Any, of_signature: Any, alpha: float) -> Any:
    """Eq. 4. Raises InputError for an alpha that is not from 0 to 1. Taught in notebook 22_signature_rag.

    >>> blend(np.array([1.0, 0.0]), np.array([0.0, 0.5]), 0.75).tolist()
    [0.25, 0.375]
    """
    require(0 <= alpha <= 1, f"alpha={alpha}: expected 0 to 1")
    return (1 - alpha) * of_query + alpha * of_signature


@dataclass(frozen=True)
class Ranked:
    """Both passes of a question: the chunks that it wakes; by way its signature's items; by system the `DEPTH` best chunks.

    Systems are `QUERY`, without a signature, and "way@alpha". The items of `FEEDBACK` are chunks.
    """

    id: str
    woken: tuple[int, ...]
    items: dict[str, tuple[int, ...]]
    rankings: dict[str, tuple[int, ...]]

    def recall(self, question: Posed, system: str = QUERY, k: int = DEPTH) -> float:
        """The share of a question's evidence among the first k, at most `DEPTH`. Raises InputError for another system."""
        require(system in self.rankings, f"{self.id} is not ranked by {system!r}: expected one of {', '.join(self.rankings)}")
        return recall_fraction_at_k(self.rankings[system], question.evidence, k)


def at(way: str, alpha: float = ALPHA) -> str:
    """The name of a system. Taught in notebook 22_signature_rag.

    >>> at("coverage"), at("first_k", 0.25)
    ('coverage@0.5', 'first_k@0.25')
    """
    return f"{way}@{alpha:g}"


def rank(
    shelf: Shelf, questions: Sequence[Posed], ways: Sequence[str], alphas: Sequence[float] = (ALPHA,), *, seed: int = 0
) -> list[Ranked]:
    """Both passes with several signatures: each way at alpha 0.5, "coverage" at all `alphas`, and the question alone.

    Of a question's evidence only "gold" knows. Taught in notebook 22_signature_rag.

    >>> rank(shelf, questions, ["coverage"])[0].rankings["coverage@0.5"]                  # doctest: +SKIP
    (17, 4, 60, 9, 2, 31, 8, 77, 5, 40)
    """
    texts = [question.text for question in questions]
    woken = shelf.wake(texts)
    passes = zip(questions, woken, shelf.search(texts), strict=True)
    rows = [Ranked(question.id, wakes.chunks, {}, {QUERY: chunks}) for question, wakes, chunks in passes]
    for way in ways:
        for question, wakes, row in zip(questions, woken, rows, strict=True):
            evidence = question.evidence if way == "gold" else ()
            row.items[way] = wakes.chunks[:K] if way == FEEDBACK else shelf.choose(wakes, way, seed=seed, evidence=evidence)
        unit_texts = shelf.memory.texts if way == FEEDBACK else shelf.memory.summaries
        swept_alphas = alphas if way == "coverage" else (ALPHA,)
        swept = shelf.sweep(texts, [tuple(unit_texts[i] for i in row.items[way]) for row in rows], swept_alphas)
        for row, rankings in zip(rows, swept, strict=True):
            row.rankings.update(zip((at(way, alpha) for alpha in swept_alphas), rankings, strict=True))
    return rows


# Asking a model


def fitted(llm: LLM, prompt: Callable[[Sequence[str]], str], passages: Sequence[str], tokens: int) -> tuple[str, int]:
    """The prompt of as many passages, from the first on, as the model can read before a reply of `tokens`; and how many.

    Raises InputError where not even one fits. Taught in notebook 23_signature_agent.

    >>> fitted(model, "\\n".join, ["Ann left.", "Tom came."], 10)                             # doctest: +SKIP
    ('Ann left.\\nTom came.', 2)
    """
    for kept in range(len(passages), 0, -1):
        text = prompt(passages[:kept])
        if llm.context is None or llm.count_tokens([{"role": "user", "content": text}]) + tokens <= llm.context:
            return text, kept
    raise InputError(
        f"{llm.name} holds {llm.context:,} tokens: a prompt with one of {len(passages)} passages and a reply of "
        f"{tokens} do not fit; use shorter passages or fewer summaries"
    )


# Answers


def context(passages: Sequence[str], signature: Signature = (), evidence: Sequence[str] = (), language: Language = "en") -> str:
    """What a generator is given to answer from: the memory states that it is shown, then the passages (appendix F).

    Raises InputError for a language without headings. Taught in notebook 22_signature_rag.

    >>> print(context(["Ann left."], ("Ann is the smith.",), ["Ann has the lamp."]))
    Storyline:
    Ann is the smith.
    <BLANKLINE>
    Notes:
    - Ann has the lamp.
    <BLANKLINE>
    Passages:
    Ann left.
    """
    require(language in FRAME, f"no headings in {language!r}: expected one of {', '.join(FRAME)}")
    frame, body = FRAME[language], "\n\n".join(passages)
    parts = []
    if signature:
        parts.append(frame["signature"].format("\n".join(signature)))
    if evidence:
        parts.append(frame["evidence"].format("\n".join(f"- {note}" for note in evidence)))
    return "\n\n".join([*parts, frame["passages"].format(body)]) if parts else body


def answers(
    llm: LLM,
    memory: Memory,
    questions: Sequence[Posed],
    chunks: Sequence[Sequence[int]],
    signatures: Sequence[Signature] | None = None,
    evidence: Sequence[Sequence[str]] | None = None,
    *,
    tries: int = 2,
    template: str = "",
) -> list[Answer]:
    """An answer to each question from its chunks, and from its signature and its notes where they are given.

    `value` is what it says: a letter, a phrase, TRUE or FALSE; None where no reply can be read. A reply has at most
    `LONGEST` tokens, or what `ask` allows a model that is sent the papers' forms. `template`: a prompt that takes the role's
    place, see `benchmarks.asking`. `tries` and errors as in `mindscape.ask.ask`; InputError where not even one passage fits.
    Taught in notebook 22_signature_rag.

    >>> said = answers(model, shelf.memory, questions, [row.chunks for row in woken])        # doctest: +SKIP
    """
    nothing: list[Any] = [()] * len(questions)
    form = form_of(llm)
    longest = dict.fromkeys(KINDS, PAPER_LONGEST) if form == PAPER else LONGEST
    signatures, evidence = signatures or nothing, evidence or nothing

    def prompt(i: int, passages: Sequence[str]) -> str:
        question, shown = questions[i], context(passages, signatures[i], evidence[i], memory.language)
        if template:
            return fill(template, shown, question.text)
        words = {"claim": question.text} if question.kind == "claim" else {"question": question.text}
        if question.kind == "choice":
            words["options_str"] = letters(list(question.options))
        return KINDS[question.kind].prompt(memory.language, form, context=shown, **words)

    prompts = []
    for i, (question, row) in enumerate(zip(questions, chunks, strict=True)):
        passages = [memory.texts[chunk] for chunk in row]
        prompts.append(fitted(llm, partial(prompt, i), passages, longest[question.kind])[0])
    answer_of: dict[int, Answer] = {}
    for kind, role in KINDS.items():
        places = [i for i, question in enumerate(questions) if question.kind == kind]
        replies = ask(llm, role, [prompts[i] for i in places], tokens=longest[kind], tries=tries)
        for i, reply in zip(places, replies, strict=True):
            answer_of[i] = replace(reply, value=getattr(reply.value, "answer", reply.value))
    return [answer_of[i] for i in range(len(questions))]


def score(question: Posed, answer: Answer, language: Language = "en") -> float:
    """Whether a choice or a verdict is right, the F1 of a free answer; 0 for what cannot be read.

    Taught in notebook 22_signature_rag.

    >>> posed = Posed("q", "note", "Who left?", "qa", (), "Ann the smith", ("Ann",), (0,))
    >>> score(posed, Answer("Ann", "Ann")), score(posed, Answer(""))
    (1.0, 0.0)
    """
    if question.kind == "qa":
        return token_f1(answer.value, [question.right, *question.accepted], language) if answer.value else 0.0
    return float(answer.value == question.right)


def by_pair(claims: Sequence[Posed], scores: Sequence[float]) -> tuple[list[float], list[str]]:
    """The score of each pair of claims, 1 where both are judged rightly, and its book. Taught in notebook 22_signature_rag.

    >>> posed = Posed("a", "note", "Ann left.", "claim", (), "TRUE", (), (0,), pair="leaving")
    >>> by_pair([posed, replace(posed, id="b", text="Tom left.", right="FALSE")], [1.0, 0.0])
    ([0.0], ['note'])
    """
    pairs: dict[tuple, list[float]] = {}
    for claim, value in zip(claims, scores, strict=True):
        pairs.setdefault((claim.doc_id, claim.pair), []).append(value)
    return [min(both) for both in pairs.values()], [book for book, _ in pairs]
