"""MCEA: does a generator look at the passages that have taken up the summary? (MiA-RAG, appendix E, Eq. 15 to 18.)

A prompt holds a summary S, passages c_1 ... c_n and a question Q. With A the attention weights of a layer, averaged over its
heads, there are two factors for each passage,

    M(c) = mean of A[t, s] over t in c, s in S        how much the passage looks at the summary     (Eq. 15)
    S(c) = mean of A[q, t] over q in Q, t in c        how much the question looks at the passage    (Eq. 16)
    C(c) = z(M(c)) z(S(c)), z over the n passages                                                   (Eq. 17)
    MCEA = mean of C over the relevant passages - mean of C over the others                         (Eq. 18)

Both factors come from one forward pass, and no matrix of n x n weights is kept (`mindscape.attention`). Where the paper is
silent: the mean over heads is taken first, and the standard deviation in z is that of these n passages (divided by n).

What follows from the definition, and notebook 15_mcea shows: the mean of C over all passages is the correlation of M and S; a
passage low on both factors has as high a C as one high on both; with two passages C is the same for both, so that MCEA is 0
whatever the model does; C is never above n - 1; without a summary before the passages M is 0 in a causal model, and so is C.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Any, Literal, cast

import numpy as np
from transformers import PreTrainedModel

from mindscape import store
from mindscape.attention import Segment, mean_segment_mass
from mindscape.cache import digest
from mindscape.errors import require
from mindscape.llm import LanguageModel
from mindscape.metrics import bootstrap
from mindscape.mia.generation import Written
from mindscape.text import Span, Tokenizer

Kind = Literal["", "summary", "chunk", "question"]
UNIT = 1e-9  # of a factor that is kept: six digits of most
ROUNDING = 1e-6  # of the mean: passages that differ by less are taken for equal


@dataclass(frozen=True)
class Part:
    """Tokens of a prompt, what they are ("" for all that stands between), and of a passage whether it is relevant."""

    kind: Kind
    ids: tuple[int, ...]
    relevant: bool = False


@dataclass(frozen=True)
class Layout:
    """A prompt in parts: one summary, one question, two passages or more, none of them empty.

    >>> layout = Layout((Part("summary", (1, 2)), Part("chunk", (3,), True), Part("chunk", (4, 5)), Part("question", (6,))))
    >>> layout.ids, layout.places("chunk"), layout.relevant
    ((1, 2, 3, 4, 5, 6), [(2, 3), (3, 5)], (True, False))
    """

    parts: tuple[Part, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens of the whole prompt."""
        return tuple(chain.from_iterable(part.ids for part in self.parts))

    def places(self, kind: Kind) -> list[Segment]:
        """Where the parts of a kind stand: (start, end) in tokens, in order."""
        ends = pairwise(accumulate((len(part.ids) for part in self.parts), initial=0))
        return [place for part, place in zip(self.parts, ends, strict=True) if part.kind == kind]

    @property
    def relevant(self) -> tuple[bool, ...]:
        """Of each passage, in order."""
        return tuple(part.relevant for part in self.parts if part.kind == "chunk")

    def changed(self, kind: Kind, change: Callable[[Part], Part]) -> "Layout":
        """The layout with other parts in place of those of a kind."""
        return Layout(tuple(change(part) if part.kind == kind else part for part in self.parts))


def lay_out(written: Written, relevant: Sequence[bool], tokenizer: Tokenizer) -> Layout:
    """A prompt of `generation.write` in tokens, through the chat template as a model is asked it.

    A token belongs to the part that holds its first character that is no blank: tokenizers put the blank before a word, and
    some the line break behind a full stop, into the same token. Raises InputError for a prompt without summary, and for one in
    which a control token stands.

    >>> lay_out(write("qa", slots, ["Tom left.", "It rained."], summary), [True, False], tokenizer)  # doctest: +SKIP
    """
    require(written.summary is not None, "the prompt has no summary: expected one")
    for token in tokenizer.all_special_tokens:
        require(token not in written.text, f"the prompt holds the control token {token!r}: expected text alone")
    messages = [{"role": "user", "content": written.text}]
    text = cast(str, tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    before = text.index(written.text)
    read = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    ids, starts = read["input_ids"], [_begins(text, start, end) for start, end in read["offset_mapping"]]
    parts, at = [], 0
    marked: list[tuple[Span, Kind, bool]] = [(written.summary, "summary", False), (written.question, "question", False)]
    marked += [(span, "chunk", bool(flag)) for span, flag in zip(written.chunks, relevant, strict=True)]
    for span, kind, flag in sorted(marked):
        start, end = (bisect_left(starts, before + place) for place in (span.start, span.end))
        parts += [Part("", tuple(ids[at:start])), Part(kind, tuple(ids[start:end]), flag)]
        at = end
    return Layout((*parts, Part("", tuple(ids[at:]))))


def _begins(text: str, start: int, end: int) -> int:
    """Where the first character stands that is no blank, or the first one."""
    blanks = end - start - len(text[start:end].lstrip())
    return start + blanks if start + blanks < end else start


# -- controls ----------------------------------------------------------------------------------------------------------


def with_summary(layout: Layout, ids: Sequence[int]) -> Layout:
    """The layout with other tokens, at least as many, in place of the summary's, cut to its length: the paper's
    summary-replaced control."""
    return layout.changed("summary", lambda part: replace(part, ids=tuple(map(int, ids[: len(part.ids)]))))


def shuffled(layout: Layout, seed: int = 0) -> Layout:
    """The layout with its passages in another order: a control for position. What stands between them stays."""
    chunks = [part for part in layout.parts if part.kind == "chunk"]
    order = iter(np.random.default_rng(seed).permutation(len(chunks)).tolist())
    return layout.changed("chunk", lambda _: chunks[next(order)])


def equal_lengths(layout: Layout) -> Layout:
    """The layout with its passages cut to the shortest one's length: a control for length.

    >>> layout = Layout((Part("summary", (1,)), Part("chunk", (2, 3)), Part("chunk", (4,)), Part("question", (5,))))
    >>> equal_lengths(layout).ids
    (1, 2, 4, 5)
    """
    shortest = min(end - start for start, end in layout.places("chunk"))
    return layout.changed("chunk", lambda part: replace(part, ids=part.ids[:shortest]))


def summary_last(layout: Layout) -> Layout:
    """The layout with the summary behind the last passage, where a causal model's passages cannot look at it."""
    (summary,) = (part for part in layout.parts if part.kind == "summary")
    others = [part for part in layout.parts if part.kind != "summary"]
    behind = 1 + max(i for i, part in enumerate(others) if part.kind == "chunk")
    return Layout((*others[:behind], summary, *others[behind:]))


# -- the measure -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Factors:
    """Eq. 15 and Eq. 16 for each layer and passage: arrays of shape (layers, passages), mean attention weights."""

    to_summary: np.ndarray
    from_question: np.ndarray


def factors(model: PreTrainedModel, layout: Layout) -> Factors:
    """Both factors of every passage at every layer, by one forward pass.

    Raises InputError as `attention.mean_segment_mass` does.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> toy = LlamaForCausalLM(LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
    ...                                    num_attention_heads=4, num_key_value_heads=2)).eval()
    >>> parts = Part("summary", (1, 2, 3)), Part("chunk", (4, 5)), Part("chunk", (6, 7, 8)), Part("question", (9,))
    >>> factors(toy, Layout(parts)).to_summary.shape
    (2, 2)
    """
    (summary,), (question,), chunks = (layout.places(kind) for kind in ("summary", "question", "chunk"))
    mass = mean_segment_mass(model, layout.ids, [*chunks, question], [summary, *chunks]).double().cpu().numpy()
    lengths = np.array([end - start for start, end in chunks])
    return Factors(mass[:, :-1, 0] / (summary[1] - summary[0]), mass[:, -1, 1:] / lengths)


def zscores(values: np.ndarray) -> np.ndarray:
    """How many standard deviations each value is above the mean of its row; 0 where all in the row are equal, or but for
    `ROUNDING`.

    >>> zscores(np.array([[1.0, 2.0, 3.0], [0.1, 0.1, 0.1 * (1 + 1e-9)], [0.0, 0.0, 0.0]])).round(3).tolist()
    [[-1.225, 0.0, 1.225], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    mean, spread = values.mean(-1, keepdims=True), values.std(-1, keepdims=True)
    equal = spread <= ROUNDING * np.abs(mean)
    return np.where(equal, 0.0, (values - mean) / np.where(equal, 1.0, spread))


def alignment(pair: Factors) -> np.ndarray:
    """C of Eq. 17, shape (layers, passages).

    A passage low on both factors, the first, scores as high as one high on both, the last:

    >>> alignment(Factors(np.array([[1.0, 2.0, 3.0]]), np.array([[10.0, 20.0, 30.0]]))).round(3).tolist()
    [[1.5, 0.0, 1.5]]
    """
    return zscores(pair.to_summary) * zscores(pair.from_question)


def mcea(scores: np.ndarray, relevant: Sequence[bool]) -> np.ndarray:
    """Eq. 18 from C: of shape (layers,), or (...,) for scores (..., passages).

    Raises InputError unless there are relevant passages and others.

    >>> mcea(np.array([[1.5, 0.0, 1.5]]), [True, False, False]).tolist()
    [0.75]
    """
    return scores @ _weights(relevant)


def _weights(relevant: Sequence[bool]) -> np.ndarray:
    """1 / |R| for the relevant, -1 / |N| for the others: with these the sum of C is Eq. 18."""
    flags = np.asarray(relevant, dtype=bool)
    which = "relevant" if flags.all() else "noise"
    require(flags.any() and not flags.all(), f"all {len(flags)} passages are {which}: expected relevant ones and others")
    return flags / flags.sum() - ~flags / (~flags).sum()


def correlation(pair: Factors) -> np.ndarray:
    """Pearson's correlation of both factors over the passages, shape (layers,): the mean of C over all of them.

    It says whether the question looks at what has taken up the summary, and does not ask which passages are relevant. 0 where
    a factor is the same for all passages.

    >>> correlation(Factors(np.array([[1.0, 2.0, 3.0]]), np.array([[30.0, 20.0, 10.0]]))).round(3).tolist()
    [-1.0]
    """
    return alignment(pair).mean(-1)


def gaps(pair: Factors, relevant: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    """How far each factor's z is higher for relevant passages than for others: two arrays of shape (layers,).

    With MCEA they tell whether relevant passages are high on both factors or low on both. Raises InputError as `mcea`.

    >>> low = Factors(np.array([[1.0, 2.0, 3.0]]), np.array([[10.0, 20.0, 30.0]]))
    >>> [gap.round(3).tolist() for gap in gaps(low, [True, False, False])]
    [[-1.837], [-1.837]]
    """
    return mcea(zscores(pair.to_summary), relevant), mcea(zscores(pair.from_question), relevant)


# -- over questions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Null:
    """Mean MCEA by layer beside what it would be if relevance were dealt out by chance; arrays of shape (layers,).

    `low` and `high` hold 95 % of the latter. `p` is the share of deals that stand out as far as the observed mean at that
    layer, upwards or downwards, `p_any` that of deals of which any layer does: of as many layers as models have, some are
    beyond the band by chance.
    """

    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    p_any: np.ndarray


def permuted(scores: Sequence[np.ndarray], relevant: Sequence[Sequence[bool]], draws: int = 2000, seed: int = 0) -> Null:
    """The permutation null of the mean MCEA over questions: within each, relevance is dealt out anew among its passages.

    `scores`: C for each question, shape (layers, passages), `relevant` its flags. Layers are compared by how many standard
    deviations of their null they are from its mean. Raises InputError as `mcea` does.

    >>> c = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    >>> null = permuted([c] * 5, [[True, False, False, False]] * 5)
    >>> null.observed.round(3).tolist(), bool(null.p[0] < 0.05), bool(null.p[1] < 0.05)
    ([2.0, -0.333], True, False)
    """
    rng = np.random.default_rng(seed)
    observed = chance = np.zeros(())  # becomes (layers,) and (draws, layers)
    for values, flags in zip(scores, relevant, strict=True):
        weights = _weights(flags)
        observed = observed + values @ weights / len(scores)
        dealt = rng.permuted(np.tile(weights, (draws, 1)), axis=1)
        chance = chance + dealt @ values.T / len(scores)  # (draws, layers)
    low, high = np.quantile(chance, [0.025, 0.975], axis=0)
    spread = chance.std(0)
    spread = np.where(spread > 1e-12, spread, np.inf)  # a layer where every deal gives the same stands out by nothing
    dealt, apart = (np.abs(values - chance.mean(0)) / spread for values in (chance, observed))
    p = (1 + (dealt >= apart - 1e-9).sum(0)) / (draws + 1)
    p_any = (1 + (dealt.max(1)[:, None] >= apart - 1e-9).sum(0)) / (draws + 1)
    return Null(observed, low, high, p, p_any)


def bands(curves: np.ndarray, groups: Sequence[Hashable] | None = None, resamples: int = 2000, seed: int = 0) -> np.ndarray:
    """Mean, low and high end of the 95 % interval for each layer, shape (3, layers), by `metrics.bootstrap` over questions.

    `curves`: (questions, layers); with `groups` whole groups are drawn, as books. Raises InputError as `bootstrap` does.

    >>> bands(np.array([[1.0, 0.0], [3.0, 0.0]]))[:, 0].tolist()
    [2.0, 1.0, 3.0]
    """
    intervals = [bootstrap(column, groups=groups, resamples=resamples, seed=seed) for column in curves.T]
    return np.array([[band.value for band in intervals], [band.low for band in intervals], [band.high for band in intervals]])


def measured(model: LanguageModel, layouts: Sequence[Layout]) -> list[Factors]:
    """The factors of each layout, out of the store or by a pass each, in units of `UNIT`.

    `model` is one on this machine. Raises InputError as `attention.mean_segment_mass` does.

    >>> measured(llm.load("smollm2"), [layout])[0].to_summary.shape                      # doctest: +SKIP
    (30, 8)
    """

    def compute(place: int) -> dict[str, list[list[int]]]:
        result = factors(cast(Any, model.backend).model, layouts[place])
        return {name: np.rint(values / UNIT).astype(int).tolist() for name, values in vars(result).items()}

    keys = [{"layout": digest([[part.kind, part.ids] for part in layout.parts])} for layout in layouts]
    rows = store.current().fetch("mcea", model.maker, keys, store.each(compute))
    return [Factors(**{name: UNIT * np.array(values, dtype=float) for name, values in row.items()}) for row in rows]
