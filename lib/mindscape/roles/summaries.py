"""Summaries: of a chunk and of a whole (MiA-RAG, section 3.2, Figure 10), of a session (MiA-Signature, appendix F).

Gold says what the passage tells, in the words of the book's gold: its events and who is who. What only the rest of the
book bears out is in none of them. A reply is text as it comes; the length that a prompt asks for is not enforced. Taught
in notebook 01_the_reader.
"""

from mindscape.llm.tags import THINKING
from mindscape.prompts import languages, paper, table
from mindscape.roles import passages
from mindscape.roles.base import Gold, Role, first, mended
from mindscape.text import Chunk, Tokenizer
from storyworld import Book
from storyworld.chance import Chance
from storyworld.voice import sentence

CHUNKS, SESSIONS, WHOLES = 12, 6, 6  # of one book
SIZES = (200, 300, 400, 500)  # tokens of a chunk, at most
SESSION = {"en": 700, "zh": 600}  # tokens of a session's text, at most
ROOM = 550  # tokens of the summaries that are merged
LONGEST = 200  # tokens of a reply
PLOT = ("crime", "trace", "tie", "alibi", "false")  # events that a short summary keeps before others
CHARACTERS = 500  # of a chunk's summary, as its prompt asks
QUIET = table("roles", "summaries")["quiet"]

# [INST]_sum_c of Eq. 3 and [INST]_sum_g of Eq. 4. The instructions come first, so that one reading of this common head
# serves every chunk.
CHUNK_PROMPT = languages("roles", "chunk_summary")
GLOBAL_PROMPT = languages("roles", "global_summary")


PROSE_REPAIRS = (
    ("thinking dropped", THINKING, ""),
    ("code fence stripped", r"^```\w*\s*\n|\n?```$", ""),
    ("label dropped", r"^[*#\s]*(?:summary|摘要|总摘要|复述)\s*[:：]\s*\**\s*", ""),
    ("tags dropped", r"</?(?:summary|text|chunk)>\s*", ""),
)


def prose(text: str) -> tuple[str, list[str]]:
    """A summary and the repairs that it took. Raises ValueError where there is none.

    >>> prose("**Summary:** Ann left the inn.")
    ('Ann left the inn.', ['label dropped'])
    """
    return mended(text, PROSE_REPAIRS)


def told(book: Book, statements: list[str]) -> str:
    """The statements as sentences, or that there is nothing to tell."""
    if not statements:
        return QUIET[book.document.language]
    return book.voice.words.scenes.JOIN.join(sentence(says) + book.voice.say.STOP for says in statements)


def merged(book: Book, statements: list[str], tokenizer: Tokenizer) -> str:
    """The statements as one summary: who is who first, then as much of the rest as `LONGEST` allows, the crime before
    all, in the order of the book."""
    voice, summary, join = book.voice, book.voice.say.SUMMARY, book.voice.words.scenes.JOIN
    who = {voice.binding(binding): binding for binding in book.world.bindings}
    bound = {says: who[says] for says in statements if says in who}  # as they come: to be read off from left to right
    people = [
        summary["person"].format(name=voice.name(binding.person), trade=voice.bare_trade(binding.person))
        for binding in bound.values()
        if binding.kind == "trade"
    ]
    parts = [sentence(voice.list(people)) + voice.say.STOP] if people else []
    for kind in ("kin", "guise"):
        if listed := [says for says, binding in bound.items() if binding.kind == kind]:
            parts.append(sentence(summary[kind].format(list=voice.list(listed))))
    rest = [says for says in dict.fromkeys(statements) if says not in bound]
    plot = {voice.fact(event) for event in book.world.events if event.kind in PLOT}
    kept: list[str] = []
    for says in sorted(rest, key=lambda says: says not in plot):
        longer = [one for one in rest if one in kept or one == says]
        if len(tokenizer.encode(join.join([*parts, told(book, longer)]))) > LONGEST:
            break
        kept = longer
    return join.join([*parts, told(book, kept)] if kept else parts)


def _texts(book: Book, chunks: list[Chunk]) -> list[tuple[Chunk, list[str]]]:
    """The chunks that can be summarised by themselves, with what they tell."""
    found = [(chunk, passages.statements(book, chunk.start, chunk.end)) for chunk in chunks]
    return [(chunk, statements) for chunk, statements in found if statements is not None]


def _chunk(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    quiet, chunks = 0, passages.cut(book, tokenizer, chance.pick(SIZES))
    for chunk, statements in chance.shuffled(_texts(book, chunks)):
        value = told(book, statements)
        quiet += not statements
        if (statements or quiet == 1) and _short(value, tokenizer) and len(value) < CHARACTERS:
            yield {"chunk_content": book.document[chunk].strip()}, value


def _session(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    chunks = passages.cut(book, tokenizer, SESSION[book.document.language])
    for chunk, statements in chance.shuffled(_texts(book, chunks)):
        value = told(book, statements)
        if _short(value, tokenizer):
            part = {"idx": str(chunk.index + 1), "total": str(len(chunks))}
            yield {**part, "raw_text": book.document[chunk].strip()}, value


def _global(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Runs of neighbouring summaries, as a fold reads them, and summaries from all over the book, by turns."""
    texts = [text for text in _texts(book, passages.cut(book, tokenizer, SIZES[-1])) if text[1]]
    for i, start in enumerate(chance.shuffled(range(max(1, len(texts) - 5)))):
        order = range(start, len(texts)) if i % 2 else chance.shuffled(range(len(texts)))
        picked: list[int] = []
        used = 0
        for at in order:
            used += len(tokenizer.encode(told(book, texts[at][1]))) + 1
            if used > ROOM:
                break
            picked.append(at)
        picked.sort()
        value = merged(book, [says for at in picked for says in texts[at][1]], tokenizer)
        if _short(value, tokenizer):
            yield {"concatenated_summaries": "\n".join(told(book, texts[at][1]) for at in picked)}, value


def _short(reply: str, tokenizer: Tokenizer) -> bool:
    return len(tokenizer.encode(reply)) <= LONGEST


CHUNK_SUMMARY = Role("chunk_summary", CHUNK_PROMPT, None, first(CHUNKS, _chunk), prose, paper("roles", "chunk_summary"))
GLOBAL_SUMMARY = Role(
    "global_summary", GLOBAL_PROMPT, None, first(WHOLES, _global), prose, paper("roles", "global_summary")
)
SESSION_SUMMARY = Role(
    "session_summary",
    languages("roles", "session_summary"),
    None,
    first(SESSIONS, _session),
    prose,
    paper=paper("roles", "session_summary"),
)
