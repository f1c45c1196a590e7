"""What MindGraph and its five baselines have in common (section 4.2): how they are asked, how a text is cut for them, what is
counted.

`answer(question, document, llm, budget) -> Answer` is the interface of all six. Taught in notebooks 31_mindgraph_answer and
32_long_reason. Nothing here knows a method or says whether an answer is right.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from mindscape.budget import Budget
from mindscape.errors import require
from mindscape.llm.base import LLM
from mindscape.prompts import languages
from mindscape.question import Answer
from mindscape.roles.answers import LETTERS, letters
from mindscape.roles.edits import BLOCK
from mindscape.text import Chunk, Document, Span, sentences

PAPER_BLOCK = 8192  # tokens
SAMPLE = 8000  # characters of a text by which an endpoint's count of its tokens is scaled
CHOICES = languages("mindgraph", "choices")


class Method(Protocol):
    """A way to answer a question about a document. Raises LLMError where the model fails; a budget is no error."""

    def __call__(self, question: str, document: Document, llm: LLM, budget: Budget) -> Answer: ...


def compaction(answer: Answer, length: int) -> float:
    """The compaction ratio f₁/L: tokens of the first call over tokens of the document (section 4.2), as a fraction.

    `length` must be counted as the model counts; see `length`.

    >>> from mindscape.question import ANSWER, Step
    >>> first = Step(ANSWER, "the miller", read=300, written=4, asked=True)
    >>> compaction(Answer("the miller", trace=(first,)), 30_000)
    0.01
    """
    require(length >= 1, f"length={length}: expected the tokens of a document, at least 1")
    return answer.tokens_first_call / length


def length(document: Document, llm: LLM) -> int:
    """The tokens of a document, at least 1. An endpoint's own count of a text is an estimate, too high by up to a half, while
    what a call read is what the server says: so a call is made that reads some of the text, and the estimate scaled by it.

    >>> from types import SimpleNamespace
    >>> words = SimpleNamespace(name="embedded", count_tokens=lambda text: len(text.split()))
    >>> length(Document("note", "Ivo sold the lamp."), words)
    4
    """
    counted = max(1, llm.count_tokens(document.text))
    if not llm.name.startswith(("openai:", "replay:")):
        return counted
    sample = document.text[:SAMPLE]
    read = llm.chat([{"role": "user", "content": sample}], max_new_tokens=1).prompt_tokens
    return max(1, round(counted * read / max(1, llm.count_tokens(sample))))


def amortised(build: int, answers: Sequence[int]) -> float:
    """Tokens a question where one build serves several: what the paper's ratio leaves out.

    `build` are the tokens of the build, `answers` those of each question without it. Raises InputError without a question.

    >>> amortised(60_000, [3000, 5000])
    34000.0
    """
    require(answers, "there is no question to share the build among: expected at least one")
    return build / len(answers) + sum(answers) / len(answers)


def posed(question: str, options: Sequence[str] = (), language: str = "en") -> str:
    """A question as methods are asked it: with its options by letter where there are some.

    Raises InputError for another language than English and Chinese, and for one option or more than four.

    >>> print(posed("Where is the lamp?", ["at the inn", "at the mill"]))
    Where is the lamp?
    <BLANKLINE>
    Options:
    A. at the inn
    B. at the mill
    <BLANKLINE>
    Answer with the letter of the right option.
    """
    require(language in CHOICES, f"language={language!r}: expected one of {', '.join(CHOICES)}")
    if not options:
        return question
    require(2 <= len(options) <= len(LETTERS), f"{len(options)} options: expected 2 to {len(LETTERS)}, or none")
    return CHOICES[language].format(question=question, options=letters(list(options)))


def block_size(llm: LLM) -> int:
    """How many tokens a block has, for all methods alike: 8,192 (section 4.2), or a quarter of a window that is smaller.

    The embedded reader gets the blocks that it was trained on, of 280 tokens.

    >>> from types import SimpleNamespace
    >>> block_size(SimpleNamespace(name="openai:gpt-4o", context=None)), block_size(SimpleNamespace(name="mine", context=4096))
    (8192, 1024)
    """
    if llm.name == "embedded":
        return BLOCK
    return PAPER_BLOCK if llm.context is None else max(1, min(PAPER_BLOCK, llm.context // 4))


def cut(document: Document, llm: LLM, size: int) -> list[Chunk]:
    """The document in blocks of whole sentences, each of at most `size` tokens as the model counts them; they tile the text.

    A sentence that is longer is cut at a blank, or where there is none in the middle.
    Raises InputError for a size below 1.

    >>> from types import SimpleNamespace
    >>> words = SimpleNamespace(count_tokens=lambda text: len(text.split()))
    >>> note = Document("note", "Who is there? Nay, answer me. Stand, and unfold yourself.")
    >>> [note[chunk] for chunk in cut(note, words, size=6)]
    ['Who is there? Nay, answer me. ', 'Stand, and unfold yourself.']
    """
    require(size >= 1, f"size={size}: expected at least one token a block")
    text, pieces = document.text, []
    for span in sentences(document.text, document.language):
        pieces += _pieces(text, span, llm, size)
    chunks: list[Chunk] = []
    i = 0
    while i < len(pieces):
        j, tokens = i, 0
        while j < len(pieces) and (j == i or tokens + pieces[j][1] <= size):
            tokens += pieces[j][1]
            j += 1
        start = pieces[i][0].start
        while j > i + 1 and llm.count_tokens(text[start : pieces[j - 1][0].end]) > size:  # joined, they may have more
            j -= 1
        chunks.append(Chunk(document.id, len(chunks), start, pieces[j - 1][0].end))
        i = j
    return chunks


def _pieces(text: str, span: Span, llm: LLM, size: int) -> Iterator[tuple[Span, int]]:
    """A sentence with its tokens, or its halves until each has at most `size` or is a single character."""
    tokens = llm.count_tokens(text[span.start : span.end])
    if tokens <= size or span.end - span.start < 2:
        yield span, tokens
        return
    middle = (span.start + span.end) // 2
    blank = text.rfind(" ", span.start, middle) + 1
    at = blank if blank > span.start else max(middle, span.start + 1)
    yield from _pieces(text, Span(span.start, at), llm, size)
    yield from _pieces(text, Span(at, span.end), llm, size)
