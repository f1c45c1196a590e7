"""What signatures do for retrieval, answers and an agent on series of books: rankings, replies and traces, kept in files.

A series of the storyworld, or plays that share characters, is one memory (appendix C.1). What takes long is asked for once:

    python -m mindscape.signature.evaluation rank --first data/adapters/sft_emb --second data/adapters/mia_emb --out ranks.jsonl
    python -m mindscape.signature.evaluation answer --ranks ranks.jsonl --out answers.jsonl
    python -m mindscape.signature.evaluation agent --first data/adapters/sft_emb --second data/adapters/mia_emb --out agent

`rank` writes both passes of each question: what it wakes, its signatures, and what a second retrieval finds with each; beside
the ways of `Shelf.choose` there is `FEEDBACK`, the best passages themselves in the place of summaries. `answer` asks a
generator with the passages of a system, with its signature or without (`SYSTEMS`). `agent` runs Algorithm 1 in some variants
(`VARIANTS`), a file each a series. A command that was killed goes on where it was. Series are those of the develop seeds
unless another split is named; questions whose evidence is in more than a few passages are left out. Summaries are gold.

Taught in notebooks 22_signature_rag and 23_signature_agent. Scores are computed there, out of the files.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mindscape import records
from mindscape.corpora import shakespeare, storyworld
from mindscape.corpora.benchmarks import Loaded
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError, MindscapeError
from mindscape.llm import LLM
from mindscape.metrics import recall_fraction_at_k
from mindscape.question import ClaimPair, Question
from mindscape.roles.answers import LETTERS
from mindscape.signature import agent
from mindscape.signature.agent import Settings
from mindscape.signature.memory import (
    Memory,
    Posed,
    Write,
    build,
    by_textrank,
    gold,
    merged,
    of_series,
    posed,
    posed_claims,
    posed_items,
    ranked,
    scenes,
)
from mindscape.signature.objectives import WINDOW
from mindscape.signature.rag import ALPHA, K0, Answer, K, Shelf, answers, blend
from mindscape.text import split_sentences

if TYPE_CHECKING:  # models bring torch, and files of rankings and replies are read without it
    from transformers import PreTrainedTokenizerBase

BATCH = 16  # replies written side by side
OF = "a row as this command writes it"  # a line of the file, in messages
T = TypeVar("T")
SIZE, MOST = 60, 4  # tokens of a passage; passages of evidence: a question on a whole book points nowhere
BOOKS, TOKENS = 2, 15_000  # of a series, and of each of its books
SEEDS = {"develop": storyworld.DEVELOP[:10], "test": storyworld.TEST[10:20]}  # as in `mindscape.reader.evaluation`
PLAYS = ("falstaff", "rome")  # series of which every play has questions and summaries
DEPTH = 10  # ranks that are kept
ALPHAS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
QUERY, FEEDBACK = "query", "feedback"
COMPARED = ("first_k", "coverage", "random", "gold", FEEDBACK)
SHOWN = 4  # passages that a generator of 135 million parameters is given beside a signature: some 1,200 tokens in all
SYSTEMS = {  # which ranking the passages come from (none: the evidence itself), and which signature the generator sees
    "query_only": (QUERY, ""),
    "retrieval": (f"coverage@{ALPHA:g}", ""),
    "both": (f"coverage@{ALPHA:g}", "coverage"),
    "lot": (f"coverage@{ALPHA:g}", "random"),
    "evidence": ("", ""),
}
AGENT_SIZE, AGENT_WIDTH = 90, 3  # the update role was trained on passages and sessions of about this length
FULL = Settings(top=4, k=3, tokens=280)  # what the embedded reader holds of the paper's 20 passages and 5 summaries
VARIANTS = {
    "full": FULL,
    "fixed": replace(FULL, rewrite=False),
    "blind": replace(FULL, signature=False, inputs=()),
    "once": replace(FULL, steps=1, inputs=("chunks", "sig")),
}


# Series of books


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


def town(
    seed: int,
    tokenizer: "PreTrainedTokenizerBase",
    width: int = WINDOW,
    size: int = SIZE,
    *,
    books: int = BOOKS,
    tokens: int = TOKENS,
    language: str = "en",
) -> Collection:
    """A series of the storyworld: passages of `size` tokens, sessions of `width` passages with their gold summaries.

    Raises InputError as `storyworld.series` does. Taught in notebook 22_signature_rag.

    >>> town(1000, tokenizer).name                                                           # doctest: +SKIP
    'series-1000-1'
    """
    series = storyworld.series(seed, n=books, tokens=tokens, language=language)
    built = [
        build(book.document, split_sentences(book.document, tokenizer, size), gold(book), width)
        for book in series.books
    ]
    return _collection(merged(built), *of_series(series))


def plays(name: str, tokenizer: "PreTrainedTokenizerBase", size: int = SIZE) -> Collection:
    """Plays that share characters: passages of `size` tokens, scenes for sessions, the kit's own summaries and questions.

    Raises InputError for a series that the kit does not know, or has not summed up. Taught in notebook 22_signature_rag.

    >>> len(plays("rome", tokenizer).memory.documents)                                       # doctest: +SKIP
    2
    """
    if name not in shakespeare.SERIES:
        raise InputError(f"no series {name!r}: expected one of {', '.join(shakespeare.SERIES)}")
    names = shakespeare.SERIES[name]
    built = [scenes(play, split_sentences(shakespeare.play(play), tokenizer, size)) for play in names]
    questions = [question for play in names for question in shakespeare.questions(play)]
    return _collection(merged(built), questions, [pair for play in names for pair in shakespeare.claims(play)])


def _collection(memory: Memory, questions: Iterable[Question], claims: Iterable[ClaimPair]) -> Collection:
    asked, said = posed(memory, questions), posed_claims(memory, claims)
    return Collection(memory, *(tuple(one for one in some if len(one.evidence) <= MOST) for some in (asked, said)))


def collections(
    corpus: str,
    tokenizer: "PreTrainedTokenizerBase",
    split: str = "develop",
    count: int = 4,
    width: int = WINDOW,
    size: int = SIZE,
) -> list[Collection]:
    """The first `count` series of a corpus, "storyworld" or "shakespeare". Raises InputError for another corpus or split.

    Taught in notebook 22_signature_rag.

    >>> [one.name for one in collections("storyworld", tokenizer, count=2)]                  # doctest: +SKIP
    ['series-1000-1', 'series-1001-1']
    """
    if corpus == "shakespeare":
        return [plays(name, tokenizer, size) for name in PLAYS[:count]]
    if corpus != "storyworld":
        raise InputError(f"corpus={corpus!r}: expected storyworld or shakespeare")
    if split not in SEEDS:
        raise InputError(f"split={split!r}: expected {', '.join(SEEDS)}")
    return [town(seed, tokenizer, width, size) for seed in SEEDS[split][:count]]


def of_benchmark(
    loaded: Loaded,
    tokenizer: "PreTrainedTokenizerBase",
    width: int = WINDOW,
    size: int = SIZE,
    write: Write | None = None,
) -> Collection:
    """The texts of a benchmark as one memory, and what is asked on them: passages of `size` tokens, sessions of `width`.

    `write` sums up the sessions, by default extracts (`by_textrank`). Nothing is left out, however wide its evidence is.
    Taught in notebook 22_signature_rag.

    >>> it = of_benchmark(asking.few("nocha"), tokenizer)                                    # doctest: +SKIP
    >>> len(it.claims)                                                                       # doctest: +SKIP
    4
    """
    texts = loaded.documents.values()
    cut = [(text, split_sentences(text, tokenizer, size)) for text in texts]
    memory = merged([build(text, chunks, write or by_textrank(), width) for text, chunks in cut])
    asked = posed_items(memory, loaded.items)
    questions, claims = (tuple(one for one in asked if (one.kind == "claim") == of) for of in (False, True))
    return Collection(memory, questions, claims)


def share(asked: Sequence[Posed], count: int) -> list[Posed]:
    """At most `count` questions on each book, in their order, always the same; of claims so many pairs, whole.

    A smaller share is part of a larger one. Taught in notebook 22_signature_rag.

    >>> some = [Posed(f"q{i}", "note", "Who?", "qa", (), "Ann", (), (0,)) for i in range(9)]
    >>> [one.id for one in share(some, 3)], set(share(some, 3)) < set(share(some, 5))
    (['q1', 'q3', 'q7'], True)
    """
    units: dict[str, dict[str, None]] = {}
    for one in asked:
        units.setdefault(one.doc_id, {})[one.pair or one.id] = None
    chosen = {unit for book, some in units.items() for unit in Chance("signature", book).some([*some], count)}
    return [one for one in asked if (one.pair or one.id) in chosen]


def freely(one: Posed) -> Posed:
    """A choice as an open question. Raises InputError for what is none. Taught in notebook 22_signature_rag.

    >>> freely(Posed("q", "note", "Who?", "choice", ("Tom", "Ann"), "B", (), (0,))).right
    'Ann'
    """
    if one.kind != "choice":
        raise InputError(f"question {one.id!r} is a {one.kind}: expected a choice")
    return replace(one, kind="qa", options=(), right=one.options[LETTERS.index(one.right)])


# Rankings


@dataclass(frozen=True)
class Ranked:
    """Both passes of a question: the chunks that it wakes; by way its signature's items; by system the `DEPTH` best chunks.

    Systems are `QUERY`, without a signature, and "way@alpha". The items of `FEEDBACK` are chunks.
    """

    id: str
    woken: tuple[int, ...]
    items: Mapping[str, tuple[int, ...]]
    found: Mapping[str, tuple[int, ...]]

    def recall(self, one: Posed, system: str = QUERY, k: int = DEPTH) -> float:
        """The share of a question's evidence among the first k, at most `DEPTH`. Raises InputError for another system."""
        if system not in self.found:
            raise InputError(f"{self.id} is not ranked by {system!r}: expected one of {', '.join(self.found)}")
        return recall_fraction_at_k(self.found[system], one.evidence, k)


def at(way: str, alpha: float = ALPHA) -> str:
    """The name of a system. Taught in notebook 22_signature_rag.

    >>> at("coverage"), at("first_k", 0.25)
    ('coverage@0.5', 'first_k@0.25')
    """
    return f"{way}@{alpha:g}"


def rank(
    shelf: Shelf,
    asked: Sequence[Posed],
    ways: Sequence[str] = COMPARED,
    alphas: Sequence[float] = ALPHAS,
    *,
    k: int = K,
    k0: int = K0,
    seed: int = 0,
) -> list[Ranked]:
    """Both passes with several signatures: each way at alpha 0.5, "coverage" at all `alphas`, and the question alone.

    Taught in notebook 22_signature_rag.

    >>> rank(shelf, asked)[0].found["coverage@0.5"]                                          # doctest: +SKIP
    (17, 4, 60, 9, 2, 31, 8, 77, 5, 40)
    """
    texts = [one.text for one in asked]
    woken = shelf.wake(texts, k0)
    items: list[dict[str, tuple[int, ...]]] = [{} for _ in asked]
    found: list[dict[str, tuple[int, ...]]] = [{} for _ in asked]
    for row, chunks in zip(found, shelf.search(texts, None, DEPTH), strict=True):
        row[QUERY] = chunks
    for way in ways if asked else ():
        for one, it, row in zip(asked, woken, items, strict=True):
            evidence = one.evidence if way == "gold" else ()
            row[way] = it.chunks[:k] if way == FEEDBACK else shelf.choose(it, way, k, seed=seed, evidence=evidence)
        told = shelf.memory.texts if way == FEEDBACK else shelf.memory.summaries
        of_both = shelf.scores(texts, [tuple(told[i] for i in row[way]) for row in items])
        for alpha in alphas if way == "coverage" else (ALPHA,):
            for row, scores in zip(found, blend(*of_both, alpha), strict=True):
                row[at(way, alpha)] = tuple(ranked(scores, DEPTH).tolist())
    return [Ranked(one.id, *more) for one, *more in zip(asked, (it.chunks for it in woken), items, found, strict=True)]


def kept_ranks(path: str | Path, **sources: str | Path) -> dict[str, Ranked]:
    """The rankings in a file, by question. With `first=` or `second=`, folders of adapters, those of these alone.

    Raises InputError for a file of others, and for what are no rankings. Taught in notebook 22_signature_rag.

    >>> rows = kept_ranks("data/signature/ranks.jsonl", second="data/adapters/mia_emb")      # doctest: +SKIP
    """
    about, rows = records.read(path, _ranked, of=OF)
    for name, source in sources.items():
        if about.get(name) != (expected := _whose(str(source))):
            raise InputError(f"{path} holds rankings of {about.get(name)!r:.40}: expected those of {expected!r:.40}")
    return {row.id: row for row in rows}


def _ranked(row: Mapping[str, Any]) -> Ranked:
    items, found = ({name: tuple(some) for name, some in row[of].items()} for of in ("items", "found"))
    return Ranked(row["id"], tuple(row["woken"]), items, found)


# Replies


def system_answers(
    llm: LLM,
    memory: Memory,
    asked: Sequence[Posed],
    ranks: Mapping[str, Ranked],
    system: str,
    shown: int = SHOWN,
    template: str = "",
) -> list[Answer]:
    """What a generator says to questions or claims in one of the `SYSTEMS`, from at most `shown` passages.

    `template` as in `rag.answers`. Raises InputError for another system and for a question without a ranking, LLMError if the
    model fails.
    Taught in notebook 22_signature_rag.

    >>> system_answers(model, memory, asked, ranks, "both")[0].value                         # doctest: +SKIP
    'B'
    """
    if system not in SYSTEMS:
        raise InputError(f"system={system!r}: expected one of {', '.join(SYSTEMS)}")
    passages, way = SYSTEMS[system]
    if lacking := [one.id for one in asked if one.id not in ranks]:
        raise InputError(f"question {lacking[0]!r} has no ranking: expected one for each of {len(asked)}")
    chunks = [(ranks[one.id].found[passages] if passages else one.evidence)[:shown] for one in asked]
    signatures = None
    if way:
        signatures = [tuple(memory.items[i].text for i in ranks[one.id].items[way]) for one in asked]
    return answers(llm, memory, asked, chunks, signatures, template=template)


def kept_answers(path: str | Path) -> dict[tuple[str, str, str], Answer]:
    """The replies in a file, by system, kind and question. Raises InputError for what are none.

    Taught in notebook 22_signature_rag.

    >>> kept_answers("data/signature/answers.jsonl")["both", "choice", "series-1000-1-q004"].value  # doctest: +SKIP
    'B'
    """
    return dict(records.read(path, _answered, of=OF)[1])


def _answered(row: Mapping[str, Any]) -> tuple[tuple[str, str, str], Answer]:
    more = {name: value for name, value in row.items() if name not in ("system", "kind", "id")}
    return (row["system"], row["kind"], row["id"]), Answer(**more | {"invalid": tuple(more["invalid"])})


# Files


def ranks_into(
    path: str | Path,
    about: Mapping[str, Any],
    shelves: Iterable[tuple[Shelf, Sequence[Posed]]],
    batch: int = 8,
    **how: Any,
) -> int:
    """Rank what the file lacks, `batch` questions at a time, each of which is then in it; returns how many that were.

    `about` is the file's first line; other options go to `rank`. Raises InputError for a file of others.
    Taught in notebook 22_signature_rag.

    >>> ranks_into("build/ranks.jsonl", {"second": "mine"}, [(shelf, asked)])                # doctest: +SKIP
    120
    """
    done, new = {row.id for row in records.opened(path, about, _ranked, of=OF)}, 0
    for shelf, asked in shelves:
        lacking = [one for one in asked if one.id not in done]
        for start in range(0, len(lacking), batch):
            rows = rank(shelf, lacking[start : start + batch], **how)
            records.append(path, map(asdict, rows))
            new += len(rows)
    return new


def answers_into(
    path: str | Path,
    about: Mapping[str, Any],
    llm: LLM,
    collections: Iterable[tuple[Memory, Sequence[Posed]]],
    ranks: Mapping[str, Ranked],
    systems: Sequence[str] = tuple(SYSTEMS),
    batch: int = BATCH,
) -> int:
    """Ask for the answers that the file lacks, `batch` at a time; returns how many that were. Errors as in `ranks_into`.

    Taught in notebook 22_signature_rag.

    >>> answers_into("build/answers.jsonl", {"llm": "mine"}, model, [(memory, asked)], ranks)  # doctest: +SKIP
    640
    """
    done, new = {key for key, _ in records.opened(path, about, _answered, of=OF)}, 0
    for memory, asked in collections:
        for system in systems:
            lacking = [one for one in asked if (system, one.kind, one.id) not in done]
            for start in range(0, len(lacking), batch):
                some = lacking[start : start + batch]
                said = system_answers(llm, memory, some, ranks, system)
                rows = [{"system": system, "kind": one.kind, "id": one.id} for one in some]
                records.append(path, [row | asdict(it) for row, it in zip(rows, said, strict=True)])
                new += len(some)
    return new


# The command


def main(arguments: Sequence[str] | None = None) -> None:
    """Rank, ask or run an agent for what the files lack. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.signature.evaluation", description=main.__doc__)
    commands = told.add_subparsers(dest="command", required=True)
    for name, does in (("rank", _rank), ("answer", _answer), ("agent", _agent)):
        asked = commands.add_parser(name)
        asked.set_defaults(does=does)
        asked.add_argument(
            "--out", required=True, help="the folder of traces" if name == "agent" else "the file of rows"
        )
        asked.add_argument("--share", type=int, default=40 if name == "rank" else 8, help="questions on a book")
        asked.add_argument("--pairs", type=int, default=3 if name == "agent" else 6, help="pairs of claims on a book")
        if name == "answer":
            asked.add_argument("--ranks", required=True, help="the file of rankings, which says on what books")
        else:
            asked.add_argument("--first", default="encoder:minilm", help="E_1: an adapter's folder, or encoder:NAME")
            asked.add_argument("--second", default="encoder:minilm", help="E_2: an adapter's folder, or encoder:NAME")
            asked.add_argument("--dtype", default="auto", help="precision of the retrievers")
            asked.add_argument("--corpus", default="storyworld", choices=("storyworld", "shakespeare"))
            asked.add_argument("--split", default="develop", choices=list(SEEDS))
            asked.add_argument("--series", type=int, default=4, help="the first so many")
        if name != "rank":
            asked.add_argument("--llm", default="embedded", help="as mindscape.llm.load has it")
            asked.add_argument("--adapter", default="", help="folder of its adapter; the reader's by default")
            asked.add_argument("--batch", type=int, default=BATCH, help="replies written side by side")
        if name == "agent":
            asked.add_argument("--variants", default=",".join(VARIANTS), help="with commas")
    given = told.parse_args(arguments)
    try:
        given.does(given)
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _rank(given: argparse.Namespace) -> None:
    books, first, second, weigher = _corpus(given), *_retrievers(given)
    asked = [[*share(it.questions, given.share), *share(it.claims, given.pairs)] for it in books]
    about = _about(given, SIZE, WINDOW)
    for it, some in zip(books, asked, strict=True):
        shelf = Shelf(it.memory, first, second, weigher)
        questions, claims = ([one for one in some if (one.kind == "claim") == of] for of in (False, True))
        new = ranks_into(given.out, about, [(shelf, questions)])
        new += ranks_into(given.out, about, [(shelf, claims)], ways=("coverage", "random"), alphas=(ALPHA,))
        print(f"{it.name}: {new} of {len(some)} ranked now", flush=True)


def _answer(given: argparse.Namespace) -> None:
    first, _ = records.read(given.ranks)
    ranks, model = kept_ranks(given.ranks), _model(given)
    about = {"llm": given.llm, "adapter": _whose(given.adapter), "shown": SHOWN, "ranks": first}
    for it in _corpus(argparse.Namespace(**first)):
        choices = share(it.questions, given.share)
        asked = [*choices, *map(freely, choices), *share(it.claims, given.pairs)]
        new = answers_into(given.out, about, model, [(it.memory, asked)], ranks, batch=given.batch)
        print(f"{it.name}: {new} answers to {len(asked)} questions and claims asked for now", flush=True)


def _agent(given: argparse.Namespace) -> None:
    names = given.variants.split(",")
    if unknown := [name for name in names if name not in VARIANTS]:
        raise InputError(f"--variants {unknown[0]}: expected some of {', '.join(VARIANTS)}")
    books, models, model = _corpus(given, AGENT_WIDTH, AGENT_SIZE), _retrievers(given), _model(given)
    for it in books:
        shelf = Shelf(it.memory, *models)
        asked = [*share(it.questions, given.share), *share(it.claims, given.pairs)]
        for name in names:
            path = Path(given.out) / f"{name}_{it.name}.jsonl"
            traces = agent.run(model, shelf, asked, path, VARIANTS[name], batch=given.batch)
            told = ", ".join(f"{count} {what}" for what, count in agent.counts(traces).items() if count)
            print(f"{name}, {it.name}: {told}", flush=True)


def _corpus(given: argparse.Namespace, width: int = WINDOW, size: int = SIZE) -> list[Collection]:
    return collections(given.corpus, _tokenizer(), given.split, given.series, width, size)


def _tokenizer() -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer

    from mindscape import assets

    return AutoTokenizer.from_pretrained(assets.language_model())


def _retrievers(given: argparse.Namespace) -> tuple[Any, Any, Any]:
    """E_1, E_2 and the encoder of Eq. 7 to 9."""
    from mindscape import encoders
    from mindscape.mia import embedding

    loaded: dict[str, Any] = {}
    for source in (given.first, given.second):
        if source not in loaded:
            named = source.startswith("encoder:")
            loaded[source] = encoders.load(source[8:]) if named else embedding.load(adapter=source, dtype=given.dtype)
    return loaded[given.first], loaded[given.second], encoders.load("minilm")


def _model(given: argparse.Namespace) -> LLM:
    from mindscape import llm

    if given.batch < 1:
        raise InputError(f"--batch {given.batch}: expected at least 1")
    options: dict[str, Any] = {"adapter": given.adapter} if given.adapter else {}
    if not given.llm.startswith(("openai:", "replay:")):
        options |= {"batch_size": given.batch, "batch_tokens": 2048 * given.batch}
    return llm.load(given.llm, **options)


def _about(given: argparse.Namespace, size: int, width: int) -> dict[str, Any]:
    """Whose rankings a file holds, and of what."""
    told = {"corpus": given.corpus, "split": given.split, "series": given.series, "size": size, "width": width}
    return told | {"first": _whose(given.first), "second": _whose(given.second), "dtype": given.dtype}


def _whose(source: str) -> str:
    """The hash of an adapter's weights; the name of what is no adapter."""
    if not source or source.startswith("encoder:"):
        return source
    from mindscape.weights import adapter_hash

    return adapter_hash(source)


if __name__ == "__main__":
    main()
