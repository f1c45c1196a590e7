"""What teaches models from novels: gold examples of every role that the papers give a language model.

`gold` has what fills a role's prompt and the value of the reply, `examples` the prompts and replies themselves, `mixture` those
that the embedded reader is tuned on. The roles are `mindscape.roles`'. Taught in notebook 01_the_reader.

    passages   which passages a question needs, and what is told in them; answers, silver evidence, judging
    summaries  summaries, entities, a document's memory and the reasoning that leads to it
    graphs     changes to a concept graph, answers from one
    building   the same for the builder's adapter: what a block tells first, graphs that err, look-ups; counting
    update     an agent's next step, and what MiA-Emb is trained to find
    baselines  the steps of MindGraph's baselines
    scoring    how well a model plays the roles; prompts with and without the summary, for MCEA
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from mindscape import prompts
from mindscape.errors import one_of
from mindscape.roles import ROLES, Example
from mindscape.text import Tokenizer
from storyworld import Book, training_book
from storyworld.teaching import graphs, passages, summaries, update
from storyworld.teaching.passages import Gold
from storyworld.world import Chance

GOLD: dict[str, Callable[[Book, Chance, Tokenizer], Gold]] = {
    "chunk_summary": summaries.chunk_summary,
    "global_summary": summaries.global_summary,
    "session_summary": summaries.session_summary,
    "silver_chunks": passages.silver_chunks,
    "silver_nodes": passages.silver_nodes,
    "entities": summaries.named_entities,
    "edits": graphs.edits,
    "graph_answer": graphs.graph_answer,
    "update": update.update,
    "memory": summaries.memory,
    "reverse_reasoning": summaries.reverse_reasoning,
    "qa": passages.qa,
    "choice": passages.choice,
    "claim": passages.claim,
    "grade": passages.grade,
    "pairwise": passages.pairwise,
}
# Of one book, at most; the other roles' makers know where to end.
MOST = {"chunk_summary": 12, "global_summary": 6, "session_summary": 6, "graph_answer": 16, "update": 24}
MOST_MEMORIES = {"en": 14, "zh": 8}
SHARES = prompts.short_texts("roles", "shares")["taught"]  # of each role, so many examples of a book


def gold(role: str, book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """What fills a role's prompt, by slot, and the value of a perfect reader's reply.

    `chance` decides which passages and questions. Raises InputError for a role that is not taught.

    >>> slots, grade = next(gold("grade", training_book(0), Chance("example"), tokenizer))   # doctest: +SKIP
    >>> grade.correct                                                                         # doctest: +SKIP
    True
    """
    one_of(GOLD, role=role)
    most = MOST_MEMORIES[book.document.language] if role in ("memory", "reverse_reasoning") else MOST.get(role)
    return islice(GOLD[role](book, chance, tokenizer), most)


def examples(role: str, book: Book, tokenizer: Tokenizer, seed: int = 0) -> Iterator[Example]:
    """A role's gold examples from a book, always the same for the same book and seed.

    >>> next(examples("qa", training_book(0), tokenizer)).reply                          # doctest: +SKIP
    'the north brewery'
    """
    plays, name = ROLES[role], book.document.id
    for slots, value in gold(role, book, Chance(role, name, seed), tokenizer):
        yield Example(role, plays.prompt(book.document.language, **slots), plays.render(value), name)


def mixture(seeds: Iterable[int], tokenizer: Tokenizer, shares: Mapping[str, int] = SHARES) -> list[Example]:
    """The examples of the books of `seeds`: for each book at most `shares[role]` of each role.

    The same arguments give the same list. Raises InputError for a seed that is not for training, so that no test seed slips in,
    and for a role that is not taught.

    >>> [example.role for example in mixture([0], tokenizer, {"grade": 2})]             # doctest: +SKIP
    ['grade', 'grade']
    """
    for role in shares:
        one_of(GOLD, role=role)
    return [
        example
        for book in map(training_book, seeds)
        for role, share in shares.items()
        for example in islice(examples(role, book, tokenizer), share)
    ]
