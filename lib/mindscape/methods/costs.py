"""What a method costs before the first question and in store; seconds and memory are in `search.Ranks`, as measured.

Money and calls of a language model are in `mindscape.llm.Ledger`. Taught in notebook 50_side_by_side.
"""

from collections.abc import Mapping

from mindscape.lexical import terms
from mindscape.methods.books import Case, starts
from mindscape.methods.search import Ranks, known, ranks_of
from mindscape.signature.rag import K

FRAME, QUESTION = 6, 40  # tokens around a passage, and of a question with what stands around it, about


def index_bytes(case: Case, method: str, ranks: Mapping[str, Ranks] | None = None) -> int:
    """Of vectors as float32, and of BM25 eight bytes for each word of each passage; texts are not counted.

    Raises InputError for an unknown method, and for rankings that lack. Taught in notebook 50_side_by_side.

    >>> index_bytes(case, "bm25") // 1000                                                    # doctest: +SKIP
    98
    """
    if method == "bm25":
        return 8 * sum(len(set(terms(text, case.memory.language))) for text in case.memory.texts)
    return ranks_of(case, method, ranks).bytes.get(method, 0)


def written(case: Case, method: str) -> int:
    """Tokens of the texts that somebody has to write before the first question: summaries, sessions, notes, memories.

    Raises InputError for an unknown method. Taught in notebook 50_side_by_side.

    >>> written(case, "summary")                                                             # doctest: +SKIP
    740
    """
    texts: list[str] = []
    known(method)
    if method in ("summary", "mia_emb", "mia_rag"):
        texts += case.summaries
    elif method in ("signature", "signature_shown"):
        texts += case.memory.summaries
    elif method == "mom":
        texts += [text for it in case.memories for text in (*it.outline, *dict.fromkeys(it.core))]
    elif method == "graphrag":
        texts += [*case.graph.graph.texts, *(it.description for it in case.graph.graph.relations)]
    elif method == "mindgraph":
        texts += case.statements.texts
    return sum(len(starts(text, case.tokenizer)) for text in texts)


def to_embed(case: Case) -> int:
    """About how many tokens the two adapters read to rank for a case: passages, and questions alone, with each summary and
    with a signature. Taught in notebook 50_side_by_side.

    >>> to_embed(case) // 1000                                                               # doctest: +SKIP
    98
    """
    passages = case.tokens + FRAME * len(case.memory.chunks)
    books, items = len(case.summaries), len(case.memory.items)
    signature = min(K, items) * written(case, "signature") // items
    # alone: by SFT-Emb, by MiA-Emb, for s_qry, and again beside each summary and each signature, as h_q is read apart
    a_question = signature + QUESTION * (5 + 2 * books)
    return 2 * passages + written(case, "summary") + len(case.questions) * a_question
