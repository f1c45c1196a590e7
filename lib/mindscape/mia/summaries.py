"""The mindscape, a summary of the whole text, what stands beside it, and what silver passages are worth to its reader.

*The mindscape* (`summarise_document`; MiA-RAG, section 3.2, Eq. 3 and 4) is built bottom-up. The prompts are those of the
roles `chunk_summary` and `global_summary`. A summary is kept as the model gave it, without thinking and fences: nothing else
is cut or repaired here, and whether it is any good is for the notebooks to measure. `of_books` sums up novels of the
storyworld; what it wrote is in the store. Taught in notebook 10_hierarchical_summaries.

*An extract* (`summarise`) only picks sentences: the baseline for summaries written by a model. TextRank (Mihalcea and Tarau,
2004) by the library `sumy`: a sentence is central if it shares words with many others, and more so if those are central
themselves. (`sumy` counts a sentence's likeness to itself too, so one that shares nothing keeps an average rank.) `sumy`'s
LexRank was tried on three plays: at 500 characters a chunk it kept a little less of the chunk's content words, since it fills
them with short rejoinders, and it divides by zero where two sentences are all. An extract resolves no pronoun, and two picks
may say the same in other words. It is meant for chunks: time grows with the square of the number of sentences. Taught in
notebook 10.

*The oracle* (`cases`; Table 1): a reader's answers from silver passages, from gold ones, from half the book. The paper gives
its reader the whole book. The window of the kit's reader holds half a novel, so it gets the half that has all that a question
needs: the evidence, and who is meant. Questions for which no half has it are left out. Taught in notebook 11_silver_evidence.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from sumy.summarizers.text_rank import TextRankSummarizer
from sumy.utils import get_stop_words

from mindscape import store
from mindscape.cache import digest
from mindscape.errors import InputError, LLMError, require
from mindscape.llm import LLM, LanguageModel
from mindscape.llm.base import PAPER, SHORT, form_of
from mindscape.metrics import Language, check_language, exact_match, token_f1, words
from mindscape.mia.embedding import Silver
from mindscape.question import Answer, Question
from mindscape.roles import CHUNK_SUMMARY, GLOBAL_SUMMARY, ROLES, mended
from mindscape.text import Chunk, Document, Span, Tokenizer, mentions, sentences
from storyworld import Book
from storyworld.teaching import passages

_BETWEEN = {"en": " ", "zh": ""}  # what joins two picked sentences


@dataclass(frozen=True, eq=False)  # by identity: sumy keeps ratings in a dict, and a sentence may recur
class _Sentence:
    span: Span
    text: str
    words: tuple[str, ...]


def summarise(text: str, language: Language, max_characters: int = 500) -> str:
    """The picked sentences of a text, verbatim and in the order of the source, as one string.

    It is never empty and never longer than `max_characters`. Arguments and errors: `select`.

    >>> text = "The ghost walks. The dead king walks again. Guards call the prince. The prince meets the dead king."
    >>> summarise(text, "en", 60)
    'The dead king walks again. The prince meets the dead king.'
    """
    spans = select(text, language, max_characters)
    return _BETWEEN[language].join(text[span.start : span.end] for span in spans)


def select(text: str, language: Language, max_characters: int = 500) -> list[Span]:
    """The places of the most central sentences, in source order, without the blanks around them.

    Sentences are taken from the most central down, passing over those that do not fit any more and those whose words
    were picked already. `max_characters` counts what `summarise` puts between
    sentences. If not even one sentence fits, the most central is cut at the last blank that fits, or at the limit.
    Deterministic; about 10 ms for 1,200 tokens of a play.

    Raises InputError for an empty text, an unknown language, and a limit below 1.

    >>> text = "他是王子。下雨了。王子见到鬼魂。鬼魂是老国王。"
    >>> [text[span.start : span.end] for span in select(text, "zh", 7)]
    ['王子见到鬼魂。']
    """
    check_language(language)
    require(max_characters >= 1, f"max_characters is {max_characters}: expected 1 or more")
    require(text.strip(), "the text to summarise is empty: expected at least one sentence")
    ranked = _ranked(text, language)
    between = len(_BETWEEN[language])
    picked, left = {}, max_characters + between  # by their words
    for sentence in ranked:
        length = len(sentence.text) + between
        if length <= left and sentence.words not in picked:
            picked[sentence.words] = sentence
            left -= length
    if picked:
        return sorted((sentence.span for sentence in picked.values()), key=lambda span: span.start)
    only = ranked[0]  # it is cut at the last blank that fits, if there is one
    inner = only.text[: max_characters + 1]
    blank = max((i for i, character in enumerate(inner) if character.isspace()), default=max_characters)
    return [_stripped(text, Span(only.span.start, only.span.start + blank))]


@lru_cache(maxsize=16)  # a text is asked for extracts of several lengths
def _ranked(text: str, language: Language) -> tuple[_Sentence, ...]:
    """The sentences of a text, the most central first. Ratings count to twelve digits: many are equal but for the last digit
    of a matrix product, which differs by processor."""
    stripped = [_stripped(text, span) for span in sentences(text, language)]
    candidates = [
        _Sentence(span, text[span.start : span.end], tuple(words(text[span.start : span.end], language, unit="words")))
        for span in stripped
        if span.start < span.end
    ]
    ratings = _textrank(language).rate_sentences(SimpleNamespace(sentences=candidates))
    return tuple(sorted(candidates, key=lambda sentence: -round(float(ratings[sentence]), 12)))


@cache
def _textrank(language: Language) -> TextRankSummarizer:
    summariser = TextRankSummarizer()
    summariser.stop_words = get_stop_words({"en": "english", "zh": "chinese"}[language])
    return summariser


def _stripped(text: str, span: Span) -> Span:
    """The span without blanks at its ends."""
    inner = text[span.start : span.end]
    start = span.start + len(inner) - len(inner.lstrip())
    return Span(start, max(start, span.start + len(inner.rstrip())))


CHUNK_PROMPT = CHUNK_SUMMARY.prompts  # its short form
CIRCLES, STRANGE = 0.2, 0.1  # shares of repeated runs of four words, and of names that the text does not have


@dataclass(frozen=True)
class Mindscape:
    """A text's global summary and what it was made of.

    `levels[0]` are the chunk summaries in order, `levels[-1]` is `[text]`; there are levels in between only where the
    concatenation did not fit the model. `source` names what wrote it.
    """

    doc_id: str
    source: str
    levels: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        return self.levels[-1][0]


def summarise_document(
    llm: LLM, document: Document, chunks: Sequence[Chunk], chunk_tokens: int = 160, tokens: int = 320, read: int | None = None
) -> Mindscape:
    """The mindscape of a document by a language model: Eq. 3 for each chunk, then Eq. 4 over their concatenation.

    Where the concatenation is longer than the model can read, or than `read` tokens, it is summarised in as few runs of
    neighbours as fit, and their summaries again: a fold that the paper does not need, since its summariser reads 128k tokens.
    `chunk_tokens` and `tokens` bound the length of a reply. Every reply is cached as it comes, so an interrupted run goes on
    where it was.

    Raises InputError for a document without chunks or in a language without prompts, LLMError if the model fails.

    >>> summarise_document(llm.load("embedded"), play, split_tokens(play, tokenizer)).text   # doctest: +SKIP
    """
    require(chunks, f"{document.id} has no chunks to summarise")
    form, language = form_of(llm), document.language
    prompts = [CHUNK_SUMMARY.prompt(language, form, chunk_content=document[chunk]) for chunk in chunks]
    levels = [retold(llm, prompts, chunk_tokens)]
    while len(levels[-1]) > 1 or len(levels) == 1:
        groups = _fitting(llm, levels[-1], language, tokens, read)
        if len(groups) == len(levels[-1]) > 1:
            raise InputError(f"{llm.name} cannot read two summaries of {document.id} at once: shorten chunk_tokens")
        joined = ["\n".join(group) for group in groups]
        prompts = [GLOBAL_SUMMARY.prompt(language, form, concatenated_summaries=text) for text in joined]
        levels.append(retold(llm, prompts, tokens))
    return Mindscape(document.id, llm.name, tuple(tuple(level) for level in levels))


def build_with(summarise: Callable[[str], str], source: str, document: Document, chunks: Sequence[Chunk]) -> Mindscape:
    """The same two steps with any function from text to summary, for baselines that are no language models.

    >>> document, chunks = Document("note", "Ann left. Tom came."), [Chunk("note", 0, 0, 10), Chunk("note", 1, 10, 19)]
    >>> build_with(lambda text: text[:3], "first three characters", document, chunks).levels
    (('Ann', 'Tom'), ('Ann',))
    """
    first = tuple(summarise(document[chunk]) for chunk in chunks)
    return Mindscape(document.id, source, (first, (summarise("\n".join(first)),)))


def of_books(llm: LanguageModel, books: Sequence[Book], tokenizer: Tokenizer) -> dict[str, str]:
    """The global summaries of novels by a model, by document: of passages of at most 400 tokens, merged at most 550
    tokens at a time, as the kit's reader has learned it. In the store as a whole, without the summaries that it was made of.

    >>> of_books(llm.load("embedded"), books("test"), tokenizer)["storyworld-2010"]       # doctest: +SKIP
    """
    size, tokens, read = 400, 268, 550
    how = {"size": size, "tokens": tokens, "read": read} | ({"form": PAPER} if form_of(llm) == PAPER else {})
    keys = [{"document": digest(book.document.text), "language": book.document.language, **how} for book in books]

    def compute(place: int) -> dict[str, Any]:
        book = books[place]
        summary = summarise_document(llm, book.document, passages.cut(book, tokenizer, size), tokens=tokens, read=read)
        return {"text": summary.text, "levels": [len(level) for level in summary.levels]}

    summaries = store.current().fetch("mindscape", llm.maker, keys, store.each(compute), how, seconds=120)
    return {book.document.id: summary["text"] for book, summary in zip(books, summaries, strict=True)}


def kept(summary: str, facts: Mapping[str, Iterable[str]]) -> dict[str, bool]:
    """Which facts a summary still holds: those of which at least one wording stands in it, as whole words, in any case.

    `facts` maps a name to its accepted wordings. For a play they can be its cast; for a text whose every fact is known,
    its bindings and events.

    >>> kept("The thane murders Duncan's sons.", {"Duncan": ["king", "duncan"], "son": ["son"], "Banquo": ["Banquo", ""]})
    {'Duncan': True, 'son': False, 'Banquo': False}
    >>> kept("莱娣娅就是夏洛特。", {"binding": ["莱娣娅就是夏洛特"]})
    {'binding': True}
    """
    return {name: any(mentions(wording, summary) for wording in wordings) for name, wordings in facts.items()}


def repetition(text: str, language: Language = "en", n: int = 4) -> float:
    """The share of a text's runs of `n` words (in Chinese, characters) that repeat an earlier one.

    >>> repetition("the king is dead, the king is dead, the king is dead"), repetition("他来了。")
    (0.5555555555555556, 0.0)
    """
    units = words(text, language)
    runs = list(zip(*(units[i:] for i in range(n)), strict=False))
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def names(text: str, language: Language = "en") -> list[str]:
    """What may be names in a text, each once: English words in capitals that do not begin a sentence alone; in Chinese, where
    nothing marks a name, none.

    >>> names("The thane Macbeth met Banquo. Banquo fled."), names("Then Mercédès met Roy MacGregor.")
    (['Banquo', 'Macbeth'], ['MacGregor', 'Mercédès', 'Roy'])
    """
    return sorted(set(re.findall(r"(?<=[\w,;:] )[A-Z][a-z](?:[^\W\d_]|[\u0300-\u036f])+", text))) if language == "en" else []


def unfit(summary: str, document: Document) -> str:
    """Why a summary must not guide anything on its document; empty where nothing speaks against it.

    It goes in circles (more than `CIRCLES` of its runs of four words are repeats), it names nobody of the document, or more
    than `STRANGE` of its names are not there. It sees no other error.

    >>> play = Document("play", "Macbeth met Banquo on the heath. Then Macbeth, as Banquo feared, killed Duncan.")
    >>> unfit("The thane Macbeth killed Duncan.", play), unfit("Then Sibyl met Mistress Ford.", play)
    ('', '3 of 3 names are not in the text: Ford, Mistress, Sibyl')
    """
    repeats = repetition(summary, document.language)
    if repeats > CIRCLES:
        return f"{repeats:.0%} of it repeats what stands before"
    named = names(summary, document.language)
    strange = [name for name in named if not mentions(name, document.text)]
    if len(strange) > STRANGE * len(named):
        return f"{len(strange)} of {len(named)} names are not in the text: {', '.join(strange[:8])}"
    if document.language == "en" and names(document.text[:100_000]) and not named:
        return "it names nobody"
    return ""


def retold(
    llm: LLM, prompts: Sequence[str], tokens: int, what: str = "summary", read: Callable[[str], Any] = mended
) -> list[str]:
    """The summaries that are asked for, each of at most so many tokens, as `read` takes them from the replies.

    Raises LLMError, with `what` and its number, for a reply that cannot be used.

    >>> retold(llm.load("embedded"), [prompt], 128)                                          # doctest: +SKIP
    ['Ann left the inn.']
    """
    conversations = [[{"role": "user", "content": prompt}] for prompt in prompts]
    summaries = []
    for i, reply in enumerate(llm.chat(conversations, max_new_tokens=tokens), start=1):
        try:
            if reply.invalid:
                raise ValueError(reply.invalid)
            summaries.append(read(reply.text)[0])
        except ValueError as error:
            raise LLMError(f"{llm.name}, {what} {i} of {len(prompts)}: {error}") from None
    return summaries


def _fitting(llm: LLM, summaries: Sequence[str], language: str, tokens: int, read: int | None) -> list[list[str]]:
    """Runs of neighbouring summaries, each as long as fits the model beside the instructions and its reply, or `read`."""
    rooms = [] if read is None else [read]
    if llm.context is not None:
        frame = 64  # tokens that a chat template may add around a message
        instructions = GLOBAL_SUMMARY.prompt(language, form_of(llm), concatenated_summaries="")
        rooms.append(llm.context - tokens - frame - llm.count_tokens(instructions))
    if not rooms:  # an endpoint does not say how much its model reads, and refuses what is too long
        return [list(summaries)]
    groups, used = [[]], 0
    for summary in summaries:
        length = llm.count_tokens(summary) + 1
        if groups[-1] and used + length > min(rooms):
            groups.append([])
            used = 0
        groups[-1].append(summary)
        used += length
    return groups


HALF = 7_000  # tokens of passages in a prompt
CONDITIONS = ("silver", "gold", "half")


@dataclass(frozen=True)
class OracleCase:
    """A question and the passages that its reader is shown, by condition, in the order of the text."""

    book: Book
    question: Question
    shown: Mapping[str, tuple[int, ...]]


def halves(lengths: Sequence[int], most: int = HALF) -> tuple[range, range]:
    """The passages that fit within `most` tokens from the start of a book, and from its end; `lengths` is theirs in tokens.

    >>> halves([3, 4, 5, 2], most=8)
    (range(0, 2), range(2, 4))
    """
    first, last = (int(np.searchsorted(np.cumsum(sizes), most, side="right")) for sizes in (lengths, lengths[::-1]))
    return range(first), range(len(lengths) - last, len(lengths))


def cases(book: Book, tokenizer: Tokenizer, annotated: Sequence[Silver]) -> list[OracleCase]:
    """The annotated questions of a book that one of its halves can answer; those on the same half stand together."""
    chunks = passages.cut(book, tokenizer)
    gap = len(tokenizer.encode("\n\n"))
    both = halves([len(tokenizer.encode(book.document[chunk].strip())) + gap for chunk in chunks])
    questions = {question.id: question for question in book.questions}
    by_half: list[list[OracleCase]] = [[], []]
    for annotation in annotated:
        question = questions[annotation.question]
        needed = {chunks.index(chunk) for chunk in passages.needed(book, question, chunks) or []}
        fitting = [i for i, half in enumerate(both) if needed and needed <= set(half)]
        if fitting:
            shown = {"silver": sorted(annotation.silver), "gold": sorted(needed), "half": both[fitting[0]]}
            by_half[fitting[0]].append(OracleCase(book, question, {name: tuple(places) for name, places in shown.items()}))
    return by_half[0] + by_half[1]


def prompt(case: OracleCase, condition: str, tokenizer: Tokenizer, form: str = SHORT) -> str:
    """What the reader is asked, in the form that it is sent: passages and question. Without passages the context is a dash."""
    chunks = passages.cut(case.book, tokenizer)
    context = passages.shown(case.book, [chunks[i] for i in case.shown[condition]]) or "-"
    return ROLES["qa"].prompt(case.book.document.language, form, context=context, question=case.question.question)


def f1_and_exact(case: Any, answer: Answer) -> tuple[float, float]:
    """F1 of words and exact match; a reply that cannot be read scores 0. `case` has a book and a question on it, as an
    `OracleCase` has."""
    said, language = answer.value, case.book.document.language
    right = [case.question.answer, *case.question.accepted]
    return (token_f1(said, right, language), exact_match(said, right, language)) if said is not None else (0.0, 0.0)
