"""Silver supervision for a retriever: which chunks, and which entities, bear on a question whose answer is known (MiA-RAG,
section 3.3, Figures 11 and 12).

A reply is a JSON array of indices, [-1] for none. Whether an index is among those shown is not checked here: the caller
knows how many there were. Taught in notebook 01_the_reader.
"""

from collections.abc import Sequence
from itertools import islice

from mindscape.prompts import languages, paper
from mindscape.question import Question
from mindscape.roles import passages
from mindscape.roles.base import Gold, Role
from mindscape.text import Tokenizer, mentions
from storyworld import Book, Entity
from storyworld.chance import Chance

QUESTIONS = 12  # asked of one book
NONE = 0.15  # how often nothing that is shown is relevant
ROOM, MOST = 500, 10  # tokens and number of the entities in a prompt

_INDEX = {"type": "integer", "minimum": -1, "maximum": 999}
INDICES = {"title": "Indices", "type": "array", "items": _INDEX, "minItems": 1}


def numbered(texts: Sequence[str]) -> str:
    """Texts with their indices, as a prompt has them: before each, and behind it, where a model has read it.

    >>> numbered(["It rained.", "He sang."])
    '[0] It rained. [/0]\\n[1] He sang. [/1]'
    """
    return "\n".join(f"[{i}] {text} [/{i}]" for i, text in enumerate(texts))


def bears_on(question: Question, entity: Entity, supporting: Sequence[str]) -> bool:
    """Whether the question or its answer names an entity, or its description says what the evidence or a binding says."""
    described = entity.description.lower()
    asked = f"{question.question}\n{question.answer}"
    return mentions(entity.name, asked) or any(says.lower() in described for says in supporting)


def _picked(flags: Sequence[bool]) -> list[int]:
    return [i for i, flag in enumerate(flags) if flag] or [-1]


def _chunks(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    chunks = passages.cut(book, tokenizer)
    for question, _, keep in islice(passages.answerable(book, chance, chunks), QUESTIONS):
        keep = [] if chance.hit(NONE) else chance.some(keep, chance.between(1, len(keep)))
        mixed = passages.mixed(book, question, keep, chunks, chance.between(max(3, len(keep)), passages.MOST), chance)
        texts = [" ".join(book.document[chunk].split()) for chunk in mixed]
        value = _picked([passages.relevant(book, question, chunk) for chunk in mixed])
        yield {"question": question.question, "answer": question.answer, "chunks": numbered(texts)}, value


def _nodes(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    narrow = (one for one, _ in passages.asked(book, chance) if one.kind not in passages.WHOLE)
    for question in islice(narrow, QUESTIONS):
        supporting = passages.supporting(book, question)
        bearing = {entity.name: bears_on(question, entity, supporting) for entity in book.entities}
        keep = [] if chance.hit(NONE) else [entity for entity in book.entities if bearing[entity.name]]
        others = [entity for entity in book.entities if not bearing[entity.name]]
        keep = chance.some(keep, MOST // 2)
        shown, room = [], ROOM
        for entity in [*keep, *chance.some(others, chance.between(3, MOST - len(keep)))]:
            text = f"{entity.name}: {entity.description}"
            room -= len(tokenizer.encode(text))
            if room < 0:
                break
            shown.append((entity, text))
        shown = chance.shuffled(shown)
        value = _picked([bearing[entity.name] for entity, _ in shown])
        entities = numbered([text for _, text in shown])
        yield {"question": question.question, "answer": question.answer, "entities": entities}, value


SILVER_CHUNKS = Role(
    "silver_chunks", languages("roles", "silver_chunks"), INDICES, _chunks, paper=paper("roles", "silver_chunks")
)
SILVER_NODES = Role(
    "silver_nodes", languages("roles", "silver_nodes"), INDICES, _nodes, paper=paper("roles", "silver_nodes")
)
