r"""Several readings of a document and the best of them: MoM's N paths, its two scores, and their fusion (section 3.1.2).

`paths` samples memories, `clarity` and `completeness` weigh them by the probabilities of a language model, `choose` ranks
them by both and fuses the ranks, `extract` does all of it on a text of any length. The paper's formulas leave two things
open, and both are arguments here:

- P(b | a_i, a_{i+1}), the probability of a border between two chunks, is called one, yet its means in Table 2 are negative
  in two places. `READINGS` lists what it can be; in all of them more says that the border is clearer.
- 1 / log|c_i| is infinite for a core content of one token, and above 1 for two. `SHORT` lists what to do about it.

Everything that a model is asked goes through `LanguageModel`, which keeps each answer as soon as it has it: the same call
goes on where a killed one was. Taught in notebook 40_memory_extraction. This module trains nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from mindscape import prompts
from mindscape.errors import one_of, require
from mindscape.llm import LLM, Reply
from mindscape.llm.base import form_of
from mindscape.mom.memory import DocumentMemory, Resolved, join, resolve, whole
from mindscape.roles import MEMORY, Role
from mindscape.text import Document, Place, Span, Tokenizer, sentences, split_sentences
from storyworld import Book, Chance

TEMPERATURE, TOP_P = 0.7, 0.8  # section 4.1
K = 60  # of reciprocal rank fusion
WINDOWS = {"en": 600, "zh": 1000}  # tokens of a document that are read at once: as long as the role's examples
LONGEST = {"en": 532, "zh": 800}  # tokens of a reply: what gold takes at most, and a third more
READINGS, SHORT, PLACES = map(prompts.short_texts("mom", "terms").get, ("readings", "short", "places"))
ASKED = prompts.languages("mom", "border")
ANSWERS = {"en": ("Yes", "No"), "zh": ("是", "否")}
WORDS = {"en": r"(?<=[a-z,] )[a-z]", "zh": r"(?<=[\u4e00-\u9fff])[\u4e00-\u9fff]"}  # where one begins inside a sentence
REACH = 600  # characters that are shown on both sides of a place


@dataclass(frozen=True)
class Path:
    """One sampled reply: what it means, or why it means nothing."""

    seed: int
    reply: str
    read: Resolved | None
    invalid: str = ""


@dataclass(frozen=True)
class Choice:
    """The fused scores of the candidates, (candidates,), and the index of the one with the highest."""

    fused: np.ndarray
    best: int


# Paths -------------------------------------------------------------------------------------------------------------


def text_windows(document: Document, tokenizer: Tokenizer, size: int | None = None) -> list[Span]:
    """Whole sentences in parts of at most `size` tokens (`WINDOWS` by default) that tile the document; none is blank.

    Raises InputError for a document without text.
    """
    require(document.text.strip(), f"document {document.id!r} has no text: expected some to be read")
    chunks = split_sentences(document, tokenizer, size or WINDOWS.get(document.language, WINDOWS["en"]))
    starts = [chunk.start for chunk in chunks if document[chunk].strip()]
    return [Span(*ends) for ends in pairwise([0, *starts[1:], len(document.text)])]


def paths(
    model: LLM, documents: Sequence[Document], n: int = 4, *, seed: int = 0, role: Role = MEMORY, **sampling
) -> list[list[Path]]:
    """N readings of each document, sampled with the seeds `seed`, `seed` + 1, ...: the first of more are those of fewer.

    Decoding is held to the form of the reply, where the model's backend can do that. `role`: another prompt and form than
    Table 4's, such as `memreader.BARE`. `sampling`: another temperature, top_p or max_new_tokens. A document is read in one
    piece: `text_windows` cuts a long one. Raises InputError for n < 1 and for a language without a prompt, LLMError if the
    model fails.
    """
    require(n >= 1, f"n={n}: expected at least one path")
    sampled: list[list[Path]] = [[] for _ in documents]
    for language in dict.fromkeys(document.language for document in documents):
        own = [i for i, document in enumerate(documents) if document.language == language]
        prompts = [role.prompt(language, form_of(model), document=documents[i].text.strip()) for i in own]
        talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
        how = {"temperature": TEMPERATURE, "top_p": TOP_P, "max_new_tokens": LONGEST[language]} | sampling
        for drawn in range(seed, seed + n):
            replies = model.chat(talks, schema=role.reply(form_of(model)), seed=drawn, **how)
            for i, reply in zip(own, replies, strict=True):
                sampled[i].append(_read(documents[i], reply, drawn, role))
    return sampled


def _read(document: Document, reply: Reply, seed: int, role: Role) -> Path:
    try:
        if reply.finish == "length":
            raise ValueError(f"cut off after {reply.completion_tokens} tokens")
        memory, repairs = role.parse(reply.whole)
    except ValueError as error:
        return Path(seed, reply.text, None, str(error))
    read = resolve(document, memory)
    read.repairs.update(repairs)
    return Path(seed, reply.text, read)


def extract(
    model: LLM, document: Document, tokenizer: Tokenizer, n: int = 4, *, size: int | None = None, **sampling
) -> Resolved:
    """A document's memory: each window read N times, the best reading of each kept, all joined.

    The model itself weighs its readings, by `clarity` and `completeness`; `sampling` goes to `paths`. A window of which no
    reply can be read becomes one chunk. `repairs` counts what was mended in the readings that are kept, and the windows
    "not read". Raises as `text_windows` and `paths` do.
    """
    parts = text_windows(document, tokenizer, size)
    texts = [Document(f"{document.id}:{part.start}", document[part], document.language) for part in parts]
    sampled = paths(model, texts, n, **sampling)
    kept = [_best(model, text, [path.read for path in drawn if path.read]) for text, drawn in zip(texts, sampled, strict=True)]
    repairs = sum((read.repairs for read in kept), Counter())
    return Resolved(join(document, parts, [read.memory for read in kept]), repairs)


def _best(model: LLM, text: Document, read: Sequence[Resolved]) -> Resolved:
    """The reading that the model's scores choose; one alone is not weighed, and where there is none the text is one chunk."""
    if len(read) < 2:
        return read[0] if read else Resolved(whole(text), Counter(["not read"]))
    candidates = [reading.memory for reading in read]
    clear = clarity(model, text, [memory.chunks for memory in candidates])
    return read[choose(clear, completeness(model, text, candidates)).best]


# Clarity -----------------------------------------------------------------------------------------------------------


def around(document: Document, before: Place, after: Place) -> tuple[str, str]:
    """The texts on both sides of a border.

    >>> note = Document("note", "It rained all day. Then Ivo went home.")
    >>> around(note, Span(0, 19), Span(19, 38))
    ('It rained all day.', 'Then Ivo went home.')
    """
    return document[before].strip(), document[after].strip()


def readings(
    model: LLM, pairs: Sequence[tuple[str, str]], language: str = "en", names: Sequence[str] = tuple(READINGS)
) -> dict[str, np.ndarray]:
    """Values of P(b | a_i, a_{i+1}) for pairs of passages, shape (pairs,) for each of the `READINGS` in `names`.

    Yes and no are weighed as replies to a question (`ASKED`), perplexities as continuations: of the first passage and a blank
    line, and of a blank line alone. A server weighs raw text and no replies: ask it for `nats` and `perplexity` only. Raises
    InputError for a blank passage, another language and another reading.

    >>> readings(model, [("It rained.", "Ivo went home.")], names=["yes"])                       # doctest: +SKIP
    {'yes': array([0.62])}
    """
    for name in names:
        require(name in READINGS, f"reading={name!r}: expected some of {', '.join(READINGS)}")
    one_of(ASKED, language=language)
    require(all(text.strip() for pair in pairs for text in pair), "a passage beside a border is blank: expected some text")
    values = {}
    if {"yes", "log_odds", "margin"} & set(names) and pairs:
        talks = [[{"role": "user", "content": ASKED[language].format(a=a, b=b)}] for a, b in pairs]
        scores = model.score(talks, [list(ANSWERS[language])] * len(pairs))
        yes, no = np.array([[score.logprob for score in both] for both in scores]).T
        values |= {"yes": 1 / (1 + np.exp(np.clip(no - yes, -700, 700))), "log_odds": yes - no}
        values["margin"] = np.exp(yes) - np.exp(no)
    if {"nats", "perplexity"} & set(names) and pairs:
        scores = model.score([f"{a}\n\n" for a, _ in pairs] + ["\n\n"] * len(pairs), [[b] for _, b in pairs] * 2)
        given, alone = np.array([score.perplexity for (score,) in scores]).reshape(2, -1)
        values |= {"nats": np.log(given) - np.log(alone), "perplexity": given - alone}
    return {name: values.get(name, np.zeros(0)) for name in names}


def clarity(model: LLM, document: Document, chunkings: Sequence[Sequence[Place]], reading: str = "yes") -> np.ndarray:
    """S_clarity of several ways to cut a document, shape (chunkings,): the mean of P(b | a_i, a_{i+1}) over its borders.

    NaN for a single chunk, which has none. All borders go to the model in one call. Raises as `readings` does.
    """
    pairs = [[around(document, a, b) for a, b in pairwise(chunks)] for chunks in chunkings]
    if not pairs:
        return np.zeros(0)
    values = readings(model, [pair for own in pairs for pair in own], document.language, [reading])[reading]
    cuts = np.cumsum([len(own) for own in pairs])[:-1]
    return np.array([own.mean() if len(own) else np.nan for own in np.split(values, cuts)])


# Places of which all is known --------------------------------------------------------------------------------------


def places(book: Book, share: int = 8, seed: int = 0) -> list[tuple[int, str]]:
    """Places of a book and the kind of each, `share` of every kind in `PLACES`, in the order of the text.

    Each has `REACH` characters on both sides. The same arguments give the same places. Taught in notebook 40.
    """
    document, language = book.document, book.document.language
    text, scenes = document.text, book.telling.scenes
    positions: dict[str, list[int]] = {kind: [] for kind in PLACES}
    for before, after in pairwise(scenes):
        if not text[before.end : after.start].strip():
            positions["scene"].append(after.start)
    for scene in scenes:
        inside = text[scene.start : scene.end]
        positions["paragraph"] += [scene.start + match.end() for match in re.finditer(r"\n\s*\n", inside)]
        ends = [span.end for span in sentences(inside, language)[:-1]]
        positions["sentence"] += [scene.start + at for at in ends if "\n" not in inside[max(0, at - 2) : at + 1]]
        positions["middle"] += [scene.start + match.start() for match in re.finditer(WORDS[language], inside)]
    drawn = []
    for kind, own in positions.items():
        own = [at for at in own if REACH <= at <= len(text) - REACH]
        chance = Chance("trials", kind, document.id, *([seed] if seed else []))
        drawn += [(at, kind) for at in chance.sample(own, share)]
    return sorted(drawn)


def sides(document: Document, at: int) -> tuple[str, str]:
    """What stands before a place and behind it, `REACH` characters of each at most.

    >>> sides(Document("note", "It rained. Ivo left."), 11)
    ('It rained.', 'Ivo left.')
    """
    before, after = around(document, Span(0, at), Span(at, len(document.text)))
    return before[-REACH:].strip(), after[:REACH].strip()


# Completeness ------------------------------------------------------------------------------------------------------


def penalty(tokens: ArrayLike, short: str = "raw") -> np.ndarray:
    """The length penalty of core contents of so many tokens: log|c|, or another of `SHORT`.

    >>> penalty([1, 2, 40]).round(2).tolist(), penalty([1, 2, 40], "shifted").round(2).tolist()
    ([0.0, 0.69, 3.69], [0.69, 1.1, 3.71])
    """
    one_of(SHORT, short=short)
    tokens = np.asarray(tokens, dtype=float)
    require(not (tokens < 1).any(), f"tokens={tokens.min(initial=1):g}: expected at least 1 in a core content")
    return np.log({"raw": tokens, "shifted": tokens + 1, "floored": np.maximum(tokens, 3)}[short])


def conditionals(model: LLM, document: Document, memories: Sequence[DocumentMemory]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each memory PPL(a_i | c_i) and |c_i| of its n chunks, two arrays of shape (n,).

    A chunk is weighed as the continuation of its core content and a blank line.
    """
    cores = [f"{core}\n\n" for memory in memories for core in memory.core]
    chunks = [[document[chunk].strip()] for memory in memories for chunk in memory.chunks]
    scores = model.score(cores, chunks) if cores else []
    marks = model.count_tokens("")  # some tokenizers put one before every text
    lengths = {core: max(1, model.count_tokens(core) - marks) for memory in memories for core in memory.core}
    perplexities = iter([score.perplexity for (score,) in scores])
    return [
        (np.array([next(perplexities) for _ in memory.core]), np.array([lengths[core] for core in memory.core]))
        for memory in memories
    ]


def completeness(model: LLM, document: Document, memories: Sequence[DocumentMemory], short: str = "raw") -> np.ndarray:
    """S_comp of several memories of a document, shape (memories,): the mean of 1 / (PPL(a_i | c_i) · log|c_i|).

    Infinite with `short="raw"` where a core content is one token. Raises InputError for another `short`.
    """
    penalty(1, short)
    weighed = conditionals(model, document, memories)
    with np.errstate(divide="ignore"):
        return np.array([np.mean(1 / (perplexity * penalty(tokens, short))) for perplexity, tokens in weighed])


# The choice --------------------------------------------------------------------------------------------------------


def ranks(scores: ArrayLike) -> np.ndarray:
    """Ranks from 1, the highest score first; equal ones share the better rank, NaN comes behind all others.

    >>> ranks([0.2, 0.9, np.nan, 0.9]).tolist()
    [3, 1, 4, 1]
    """
    scores = np.asarray(scores, dtype=float)
    scores = np.where(np.isnan(scores), -np.inf, scores)
    return 1 + (scores[None, :] > scores[:, None]).sum(1)


def rrf(ranks: ArrayLike, k: float = K) -> np.ndarray:
    """Reciprocal rank fusion: the sum of 1 / (k + rank) over lists, for ranks (lists, ...) from 1; infinite where unranked.

    >>> rrf([[1, 2, 3], [3, 1, np.inf]], k=1).round(3).tolist()
    [0.75, 0.833, 0.25]
    """
    require(k >= 0, f"k={k!r}: expected 0 or more")
    return (1 / (k + np.asarray(ranks, dtype=float))).sum(0)


def choose(clarity: ArrayLike, completeness: ArrayLike, k: float = K) -> Choice:
    """The candidate with the highest S_RRF; of equals the one that was sampled first.

    Raises InputError for no candidates, and for scores of different numbers.

    >>> choose([0.9, 0.8, 0.1], [0.01, 0.30, 0.02]).best
    1
    """
    clear, complete = np.asarray(clarity, dtype=float), np.asarray(completeness, dtype=float)
    fits = clear.ndim == 1 and clear.shape == complete.shape and len(clear)
    require(fits, f"scores of shapes {clear.shape} and {complete.shape}: expected one number of candidates each")
    fused = rrf([ranks(clear), ranks(complete)], k)
    return Choice(fused, int(fused.argmax()))
