"""Retrieval in two passes, steered by a signature, and answers from what it finds (MiA-Signature, 3.2.1, 3.2.2, B and F).

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
Taught in notebook 22_signature_rag. The picking itself is in `mindscape.signature.selection`.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mindscape import paths
from mindscape.cache import Cache, digest
from mindscape.corpora.benchmarks.asking import fill
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import BudgetReached, InputError
from mindscape.llm import LLM
from mindscape.metrics import Accuracy, NoAnswer, pair_accuracy, recall_fraction_at_k, token_f1
from mindscape.metrics.words import Language
from mindscape.roles import Role
from mindscape.roles.answers import CHOICE, CLAIM, QA, letters
from mindscape.signature.memory import Memory, Posed, ranked
from mindscape.signature.objectives import (
    WEIGHTS,
    FacilityLocation,
    Mixture,
    Modular,
    Objective,
    relevance,
    signature_objective,
)
from mindscape.signature.selection import Selection, greedy

if TYPE_CHECKING:  # whoever has an encoder has torch already; nobody else needs it here
    from mindscape.encoders import Encoder

K0, K, ALPHA = 50, 5, 0.5  # section 4.2
WAYS = ("first_k", "relevance", "coverage", "random", "gold")
LONGEST = {"choice": 200, "qa": 48, "claim": 200}  # tokens of an answer, by its kind
WARMER = 0.7  # temperature of a second try: at 0 a model would say the same again
FRAME = {
    "en": {"signature": "Storyline:\n{}", "evidence": "Notes:\n{}", "passages": "Passages:\n{}"},
    "zh": {"signature": "主线：\n{}", "evidence": "笔记：\n{}", "passages": "段落：\n{}"},
}

Signature = tuple[str, ...]
Way = str | Callable[[Objective, int], Selection]


# Retrievers


class Retriever(Protocol):
    """What the two passes ask of a retriever: vectors whose inner products are scores. `fingerprint` says which it is."""

    @property
    def fingerprint(self) -> str: ...

    def chunks(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, dim)."""

    def asked(self, questions: Sequence[str]) -> np.ndarray:
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

    def __init__(self, encoder: "Encoder"):
        self.encoder = encoder

    @property
    def fingerprint(self) -> str:
        return digest("geometry", self.encoder.fingerprint)

    def chunks(self, texts: Sequence[str]) -> np.ndarray:
        return self.encoder.encode(texts)

    def asked(self, questions: Sequence[str]) -> np.ndarray:
        return self.encoder.encode(questions, "query")

    def steered(self, questions: Sequence[str], signatures: Sequence[Signature]) -> np.ndarray:
        found = self.asked(questions).copy()
        parts = list(dict.fromkeys(part for signature in signatures for part in signature))
        vectors = dict(zip(parts, self.encoder.encode(parts), strict=True)) if parts else {}
        for i, (_, signature) in enumerate(zip(questions, signatures, strict=True)):
            if signature:
                mean = np.mean([vectors[part] for part in signature], axis=0)
                found[i] = mean / (np.linalg.norm(mean) or 1.0)
        return found


class Situated:
    """An embedder that reads a question in the light of a text: s_qry from the state behind the question, s_sig from the one
    behind both, each of length 1 (appendix B, Figure 2).

    `embedder` has `units` and `queries`, as `mindscape.mia.embedding` has them; its own share of the question, `delta`, is set
    aside, since alpha is that share here. Vectors of questions are kept in `store` as they come, so that a run which was
    killed reads only the rest. Taught in notebook 22_signature_rag.

    >>> from mindscape.mia import embedding
    >>> found = Situated(embedding.load(adapter="data/adapters/mia_emb"))                    # doctest: +SKIP
    """

    def __init__(self, embedder: Any, store: Cache | None = None):
        self.embedder, self.store = embedder, store
        self._alone, self._told = _at_delta(embedder, 1.0), _at_delta(embedder, 0.0)

    @property
    def fingerprint(self) -> str:
        """Changes with the embedder's weights, form and language."""
        if hasattr(self.embedder, "fingerprint"):
            told = self.embedder.fingerprint
        elif hasattr(self.embedder, "encoder"):
            told = self.embedder.encoder.fingerprint
        else:
            from mindscape import weights  # brings torch, which an embedder has brought already

            told = weights.fingerprint(self.embedder.model, self.embedder.model.config)
        form = [repr(self._told.form) if hasattr(self._told, "form") else ""]
        more = [getattr(self.embedder, name, None) for name in ("language", "summaries")]
        return digest("situated", told, *form, *more)

    def chunks(self, texts: Sequence[str]) -> np.ndarray:
        return self.embedder.units(texts)

    def asked(self, questions: Sequence[str]) -> np.ndarray:
        return self._kept([("", question) for question in questions])

    def steered(self, questions: Sequence[str], signatures: Sequence[Signature]) -> np.ndarray:
        pairs = zip(questions, signatures, strict=True)
        return self._kept([("told", question, *signature) for question, signature in pairs])

    def _kept(self, asked: Sequence[tuple[str, ...]]) -> np.ndarray:
        """A vector each, out of the store or read now, one by one: signatures are long and have little in common."""
        fingerprint = self.fingerprint
        keys = [digest(fingerprint, list(one)) for one in asked]
        found = {} if self.store is None else self.store.get(keys)
        for key, (how, question, *signature) in zip(keys, asked, strict=True):
            if key not in found:
                embedder = self._told if how else self._alone
                vector = embedder.queries([question], "\n".join(signature) or None)[0]
                found[key] = vector.astype("<f4").tobytes()
                if self.store is not None:
                    self.store.put({key: found[key]})
        return np.array([np.frombuffer(found[key], dtype="<f4") for key in keys])


def _at_delta(embedder: Any, delta: float) -> Any:
    """The same embedder with another share of h_q (Eq. 11 of MiA-RAG)."""
    other = copy(embedder)
    if hasattr(embedder, "form"):
        other.form = replace(embedder.form, delta=delta)
    elif hasattr(embedder, "delta"):
        other.delta = delta
    return other


def retriever(model: Any) -> Retriever:
    """An encoder as `Geometry`, an embedder that reads a question with a text as `Situated` with a cache on disk.

    A retriever is given back as it is. Raises InputError for anything else. Taught in notebook 22_signature_rag.

    >>> retriever("minilm")
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: 'minilm' is no retriever: expected an encoder (encode) or an embedder (units, queries)
    """
    if hasattr(model, "steered"):
        return model
    if hasattr(model, "queries") and hasattr(model, "units"):
        return Situated(model, Cache(paths.cache() / "vectors.sqlite"))
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
    Taught in notebook 22_signature_rag.

    >>> shelf = Shelf(memory, encoders.load("minilm"), embedder)                             # doctest: +SKIP
    >>> shelf.search(["Who has the lamp?"], [("Ann is the smith.",)], k=3)                   # doctest: +SKIP
    [(17, 4, 60)]
    """

    def __init__(self, memory: Memory, first: Any, second: Any = None, weigher: "Encoder | None" = None):
        self.memory = memory
        self.first = retriever(first)
        self.second = self.first if second is None else retriever(second)
        self.weigher = getattr(self.first, "encoder", None) if weigher is None else weigher
        self._asked: dict[str, np.ndarray] = {}

    @cached_property
    def _first(self) -> np.ndarray:
        return self.first.chunks(self.memory.texts).astype(np.float64)

    @cached_property
    def _second(self) -> np.ndarray:
        if self.second is self.first:
            return self._first
        return self.second.chunks(self.memory.texts).astype(np.float64)

    @cached_property
    def _weighed(self) -> tuple[np.ndarray, np.ndarray]:
        """e_s of all items and e_c of all chunks."""
        encoder = self._encoder()
        same = getattr(self.first, "encoder", None) is encoder
        chunks = self._first if same else encoder.encode(self.memory.texts)
        return encoder.encode(self.memory.summaries), chunks

    def _encoder(self) -> "Encoder":
        if self.weigher is None:
            raise InputError("the shelf has no encoder for Eq. 7 to 9: expected weigher=encoders.load(...)")
        return self.weigher

    def _query(self, question: str) -> np.ndarray:
        """e_q, once a question."""
        if question not in self._asked:
            self._asked[question] = self._encoder().encode([question], "query")[0]
        return self._asked[question]

    @property
    def fingerprint(self) -> str:
        """A hash of the memory and of everything that embeds it."""
        weigher = self.weigher.fingerprint if self.weigher is not None else ""
        return digest(self.memory.fingerprint, self.first.fingerprint, self.second.fingerprint, weigher)

    def wake(self, questions: Sequence[str], k0: int = K0) -> list[Woken]:
        """Step 0: the `k0` chunks nearest to each question by E_1, and their items."""
        found: list[Woken] = []
        if not questions:
            return found
        for question, row in zip(questions, _products(self.first.asked(questions), self._first), strict=True):
            chunks = tuple(ranked(row, k0).tolist())
            found.append(Woken(question, chunks, self.memory.of(chunks)))
        return found

    def objective(self, woken: Woken, weights: Sequence[float] = WEIGHTS, marked: bool = False) -> Mixture:
        """Eq. 10 over what a question woke, for any optimiser of `selection`: its picks are places in `woken.items`.

        Where a chunk has several items, its cover has them all. `marked` counts coverage as line 20 of Algorithm 2 does.
        """
        summaries, chunks = self._weighed
        rows, columns = list(woken.items), list(woken.chunks)
        cover = self.memory.cover[rows][:, columns]
        ranks = range(1, len(columns) + 1)
        vectors = self._query(woken.question), summaries[rows], chunks[columns]
        return signature_objective(*vectors, cover, ranks, weights, marked)

    def choose(
        self,
        woken: Woken,
        way: Way = "coverage",
        k: int = K,
        *,
        weights: Sequence[float] = WEIGHTS,
        seed: int = 0,
        evidence: Sequence[int] = (),
    ) -> tuple[int, ...]:
        """At most `k` items for a signature, in the order of their picking (Eq. 3).

        `way`: "first_k", the first different ones (section 3.2.1); "relevance", those most like the question (appendices A
        and E); "coverage", Algorithm 2 with `weights`; an optimiser of `selection`, such as `lazy_greedy`, on the same
        objective; "random", by lot; "gold", those that stand for most of `evidence`, woken or not, which no system can know.
        Raises InputError for another way, for k < 1, and for "gold" without evidence.
        """
        if k < 1:
            raise InputError(f"k={k}: expected at least 1")
        if way == "gold":
            if not evidence:
                raise InputError('way="gold": expected the chunks that hold the evidence')
            best = greedy(FacilityLocation(self.memory.cover[:, list(evidence)]), k)
            return tuple(pick for pick, gain in zip(best.picks, best.gains, strict=True) if gain > 0)
        if way == "random":
            return tuple(Chance("signature", seed, woken.question).some(woken.items, k))
        if way == "first_k":
            return woken.items[:k]
        if way == "relevance":
            of_query = relevance(self._query(woken.question), self._weighed[0][list(woken.items)])
            picks = greedy(Modular(of_query), k).picks
        elif way == "coverage":
            picks = greedy(self.objective(woken, weights), k).picks
        elif callable(way):
            picks = way(self.objective(woken, weights), k).picks
        else:
            raise InputError(f"way={way!r}: expected {', '.join(WAYS)}, or an optimiser")
        return tuple(woken.items[pick] for pick in picks)

    def signature(self, items: Sequence[int]) -> Signature:
        """The texts of items."""
        return tuple(self.memory.items[item].text for item in items)

    def scores(self, questions: Sequence[str], signatures: Sequence[Signature]) -> tuple[np.ndarray, np.ndarray]:
        """s_qry and s_sig of every chunk, each (questions, chunks), by E_2: what an alpha then blends."""
        asked, steered = self.second.asked(questions), self.second.steered(questions, signatures)
        return _products(asked, self._second), _products(steered, self._second)

    def search(
        self,
        questions: Sequence[str],
        signatures: Sequence[Signature] | None = None,
        k: int = 10,
        alpha: float = ALPHA,
    ) -> list[tuple[int, ...]]:
        """The `k` best chunks for each question by Eq. 4, best first; without signatures by s_qry alone."""
        if not questions:
            return []
        if signatures is None:
            scores = _products(self.second.asked(questions), self._second)
        else:
            scores = blend(*self.scores(questions, signatures), alpha)
        return [tuple(ranked(row, k).tolist()) for row in scores]


def _products(queries: np.ndarray, units: np.ndarray) -> np.ndarray:
    """All inner products, (queries, units), in float64. Equal units get equal bits, which a matrix product does not promise."""
    return np.einsum("qd,md->qm", queries.astype(np.float64), units)


def blend(of_query: np.ndarray, of_signature: np.ndarray, alpha: float) -> np.ndarray:
    """Eq. 4. Raises InputError for an alpha that is not from 0 to 1. Taught in notebook 22_signature_rag.

    >>> blend(np.array([1.0, 0.0]), np.array([0.0, 0.5]), 0.75).tolist()
    [0.25, 0.375]
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha={alpha}: expected 0 to 1")
    return (1 - alpha) * of_query + alpha * of_signature


@dataclass(frozen=True)
class Retrieved:
    """What was found for a question: what it woke, the items of its signature (None without one), the chunks, best first."""

    id: str
    woken: Woken
    items: tuple[int, ...] | None
    chunks: tuple[int, ...]


def retrieve(
    shelf: Shelf,
    asked: Sequence[Posed],
    way: Way | None = "coverage",
    *,
    k: int = K,
    k0: int = K0,
    alpha: float = ALPHA,
    top: int = 10,
    weights: Sequence[float] = WEIGHTS,
    seed: int = 0,
) -> list[Retrieved]:
    """Both passes for each question: `top` chunks; with `way=None` by the second retriever and the question alone.

    `way` and the rest are those of `Shelf.choose` and `Shelf.search`; the evidence is looked at by "gold" and by no other.
    Taught in notebook 22_signature_rag.

    >>> found = retrieve(shelf, asked, "coverage")                                           # doctest: +SKIP
    >>> [recall_fraction_at_k(it.chunks, one.evidence, 10) for it, one in zip(found, asked)]  # doctest: +SKIP
    """
    questions = [one.text for one in asked]
    woken = shelf.wake(questions, k0)
    chosen: list[tuple[int, ...] | None] = [None] * len(asked)
    if way is not None:
        chosen = [
            shelf.choose(it, way, k, weights=weights, seed=seed, evidence=one.evidence if way == "gold" else ())
            for it, one in zip(woken, asked, strict=True)
        ]
    signatures = None if way is None else [shelf.signature(items or ()) for items in chosen]
    chunks = shelf.search(questions, signatures, top, alpha)
    return [Retrieved(one.id, *found) for one, *found in zip(asked, woken, chosen, chunks, strict=True)]


def by_alpha(
    shelf: Shelf, asked: Sequence[Posed], signatures: Sequence[Signature], alphas: Sequence[float], k: int = 10
) -> dict[float, list[float]]:
    """Recall@k of each question's evidence for each alpha of Eq. 4; the model reads every question once.

    Taught in notebook 22_signature_rag.

    >>> swept = by_alpha(shelf, asked, signatures, [0, 0.25, 0.5, 0.75, 1])                  # doctest: +SKIP
    """
    of_query, of_signature = shelf.scores([one.text for one in asked], signatures)
    return {
        alpha: [
            recall_fraction_at_k(ranked(row, k).tolist(), one.evidence, k)
            for one, row in zip(asked, blend(of_query, of_signature, alpha), strict=True)
        ]
        for alpha in alphas
    }


# Asking a model


@dataclass
class Meter:
    """Calls and tokens of a run, read and written, and its caps; cached replies count like others, so that a run stops where
    it stopped before.

    No calls are begun that could cross a cap. (`mindscape.llm.Ledger` has caps on what is paid, across runs and models.)

    >>> Meter(most_calls=3, calls=2).ready([100, 100])
    Traceback (most recent call last):
    ...
    mindscape.errors.BudgetReached: the budget of 3 calls is spent: 2 are made, and the next step takes 2
    """

    most_calls: int | None = None
    most_tokens: int | None = None
    calls: int = 0
    tokens: int = 0

    def __post_init__(self):
        for name, cap in (("calls", self.most_calls), ("tokens", self.most_tokens)):
            if cap is not None and cap < 1:
                raise InputError(f"{name}={cap}: expected at least 1, or None for no cap")

    def ready(self, needs: Sequence[int]) -> None:
        """Raises BudgetReached where so many calls, or their tokens at most, would cross a cap."""
        for name, cap, used, more in (
            ("calls", self.most_calls, self.calls, len(needs)),
            ("tokens", self.most_tokens, self.tokens, sum(needs)),
        ):
            if cap is not None and used + more > cap:
                made = "made" if name == "calls" else "used"
                takes = f"{more:,}" if name == "calls" else f"up to {more:,}"
                raise BudgetReached(
                    f"the budget of {cap:,} {name} is spent: {used:,} are {made}, and the next step takes {takes}"
                )

    def add(self, tokens: int) -> None:
        """Count a call."""
        self.calls += 1
        self.tokens += tokens


@dataclass(frozen=True)
class Heard:
    """What a model replied in a role: the last reply's text, its value or None, and of every reply that could not be read why.

    `tries` counts the replies, tokens are those of all of them.
    """

    text: str
    value: Any
    invalid: tuple[str, ...]
    tries: int
    prompt_tokens: int
    completion_tokens: int


def hear(
    llm: LLM, role: Role, prompts: Sequence[str], tokens: int, *, retries: int = 1, meter: Meter | None = None
) -> list[Heard]:
    """Replies to prompts of a role, at most `tokens` long, all asked at once; those that cannot be read are asked for again.

    First try greedy, further ones at temperature `WARMER`, each with a seed of its own. A reply that was cut off counts as
    unreadable. Raises BudgetReached before a call that could cross the meter's cap, LLMError if the model fails.
    Taught in notebook 23_signature_agent.

    >>> hear(model, ROLES["qa"], [prompt], 48)[0].value                                      # doctest: +SKIP
    'the smith'
    """
    talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
    meter = Meter() if meter is None else meter
    heard = [Heard("", None, (), 0, 0, 0)] * len(prompts)
    waiting = list(range(len(prompts)))
    for trial in range(retries + 1):
        if not waiting:
            break
        counted = meter.most_tokens is not None
        meter.ready([llm.count_tokens(talks[i]) + tokens if counted else 0 for i in waiting])
        how = {"temperature": WARMER, "seed": trial} if trial else {}
        replies = llm.chat([talks[i] for i in waiting], schema=role.form, max_new_tokens=tokens, **how)
        for i, reply in zip(waiting, replies, strict=True):
            meter.add(reply.prompt_tokens + reply.completion_tokens)
            before, value, why = heard[i], None, ()
            try:
                if reply.finish == "length":
                    raise ValueError(f"cut off after {reply.completion_tokens} tokens")
                if reply.invalid and role.form is None:
                    raise ValueError(reply.invalid)
                value = role.parse(reply.text)[0]
            except ValueError as error:
                why = (str(error),)
            heard[i] = Heard(
                reply.text,
                value,
                (*before.invalid, *why),
                before.tries + 1,
                before.prompt_tokens + reply.prompt_tokens,
                before.completion_tokens + reply.completion_tokens,
            )
        waiting = [i for i in waiting if heard[i].value is None]
    return heard


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


@dataclass(frozen=True)
class Answer:
    """An answer as it came, what it says (a letter, a phrase, TRUE or FALSE; empty where it cannot be read), and what it took.

    `shown`: passages in the prompt. `invalid`: why replies could not be read, one each; `tries`: all replies.
    """

    text: str
    value: str
    shown: int
    invalid: tuple[str, ...]
    tries: int
    prompt_tokens: int
    completion_tokens: int

    @property
    def said(self) -> str:
        """The value, or `NoAnswer.UNPARSABLE`, as `mindscape.metrics` counts it."""
        return self.value or NoAnswer.UNPARSABLE


def context(
    passages: Sequence[str], signature: Signature = (), evidence: Sequence[str] = (), language: Language = "en"
) -> str:
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
    if language not in FRAME:
        raise InputError(f"no headings in {language!r}: expected one of {', '.join(FRAME)}")
    frame, told = FRAME[language], "\n\n".join(passages)
    parts = []
    if signature:
        parts.append(frame["signature"].format("\n".join(signature)))
    if evidence:
        parts.append(frame["evidence"].format("\n".join(f"- {note}" for note in evidence)))
    return "\n\n".join([*parts, frame["passages"].format(told)]) if parts else told


def answers(
    llm: LLM,
    memory: Memory,
    asked: Sequence[Posed],
    chunks: Sequence[Sequence[int]],
    signatures: Sequence[Signature] | None = None,
    evidence: Sequence[Sequence[str]] | None = None,
    *,
    retries: int = 1,
    longest: Mapping[str, int] = LONGEST,
    meter: Meter | None = None,
    template: str = "",
) -> list[Answer]:
    """An answer to each question from its chunks, and from its signature and its notes where they are given.

    A model with a cache keeps each reply as it comes. `longest`: tokens of a reply by kind. `template`: a prompt that takes the
    role's place, see `corpora.benchmarks.asking`. Errors: as `hear` and `fitted`.
    Taught in notebook 22_signature_rag.

    >>> said = answers(model, shelf.memory, asked, [it.chunks for it in found])              # doctest: +SKIP
    """
    nothing: list[Any] = [()] * len(asked)
    signatures, evidence = signatures or nothing, evidence or nothing
    prompts, shown = [], []
    for one, some, signature, notes in zip(asked, chunks, signatures, evidence, strict=True):
        prompt = partial(_prompt, one, signature, notes, memory.language, template)
        text, kept = fitted(llm, prompt, [memory.texts[i] for i in some], longest[one.kind])
        prompts.append(text)
        shown.append(kept)
    said: dict[int, Answer] = {}
    for kind, role in KINDS.items():
        places = [i for i, one in enumerate(asked) if one.kind == kind]
        heard = hear(llm, role, [prompts[i] for i in places], longest[kind], retries=retries, meter=meter)
        for i, it in zip(places, heard, strict=True):
            value = "" if it.value is None else getattr(it.value, "answer", it.value)
            said[i] = Answer(it.text, value, shown[i], it.invalid, it.tries, it.prompt_tokens, it.completion_tokens)
    return [said[i] for i in range(len(asked))]


def _prompt(
    one: Posed,
    signature: Signature,
    notes: Sequence[str],
    language: Language,
    template: str,
    passages: Sequence[str],
) -> str:
    told = context(passages, signature, notes, language)
    if template:
        return fill(template, told, one.text)
    if one.kind == "claim":
        return CLAIM.prompt(language, context=told, claim=one.text)
    if one.kind == "qa":
        return QA.prompt(language, context=told, question=one.text)
    return CHOICE.prompt(language, context=told, question=one.text, options_str=letters(list(one.options)))


KINDS: dict[str, Role] = {"choice": CHOICE, "qa": QA, "claim": CLAIM}


def score(one: Posed, answer: Answer, language: Language = "en") -> float:
    """Whether a choice or a verdict is right, the F1 of a free answer; 0 for what cannot be read.

    Taught in notebook 22_signature_rag.

    >>> one = Posed("q", "note", "Who left?", "qa", (), "Ann the smith", ("Ann",), (0,))
    >>> score(one, Answer("Ann", "Ann", 1, (), 1, 90, 2)), score(one, Answer("", "", 1, ("empty",), 1, 90, 0))
    (1.0, 0.0)
    """
    if one.kind == "qa":
        return token_f1(answer.value, [one.right, *one.accepted], language) if answer.value else 0.0
    return float(answer.value == one.right)


def judged_pairs(asked: Sequence[Posed], said: Sequence[Answer]) -> Accuracy:
    """How many pairs of claims were judged rightly on both sides; what is not a claim is passed over.

    Raises InputError for half a pair. Taught in notebook 22_signature_rag.

    >>> claims = [Posed(right, "note", "...", "claim", (), right, (), (0,), pair="p") for right in ("TRUE", "FALSE")]
    >>> judged_pairs(claims, [Answer("", "TRUE", 1, (), 1, 9, 9)] * 2).value
    0.0
    """
    verdicts = {"TRUE": True, "FALSE": False}
    return pair_accuracy(
        {"pair": one.pair, "answer": verdicts[one.right], "prediction": verdicts.get(it.value, NoAnswer.UNPARSABLE)}
        for one, it in zip(asked, said, strict=True)
        if one.kind == "claim"
    )
