"""GraphRAG mode on novels of the storyworld, of which it is known what they tell of whom (MiA-RAG, appendix D.2, Table 9).

    python -m mindscape.mia.graph_evaluation --out build/graphrag --retrievers vanilla=,mia_emb=data/adapters/mia_emb

A model makes a graph of each novel, retrievers rank its entities for questions on people, a model answers from what they bring,
and a judge compares the answers. Everything is kept in the folder and asked for once. Books come from the develop seeds unless
another split is named.

A question asks what a book tells of a person, by name or by trade. The log knows, so that two things are counted
without a judge: what a context holds and what an answer says (`Log`, `holdings`). A paraphrase counts where
`storyworld.weighing` sees it. Beside the model's answers stand extracts, which leave out nothing that the retrieved graph
says of the person: what retrieval is worth where the one who answers loses nothing. Taught in notebook 16_mia_graphrag.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, llm, records
from mindscape.cache import digest
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book, kinds, weighing
from mindscape.corpora.storyworld.chance import Chance
from mindscape.corpora.storyworld.voice import sentence
from mindscape.errors import InputError, MindscapeError
from mindscape.llm import LanguageModel
from mindscape.mia import embedding
from mindscape.mia.gen_evaluation import Item, Rankings, ranked
from mindscape.mia.graphrag import (
    JOIN,
    TOP,
    Comparison,
    Context,
    Graph,
    agreement,
    assembled,
    build,
    gold_preferences,
    judged,
    nearest,
    of_story,
    sense_answers,
    win_rates,
)
from mindscape.reader.evaluation import Kept, Row
from mindscape.roles import judges, passages
from mindscape.text import Chunk, Span, mentions, sentences
from mindscape.weights import adapter_hash

Way = Literal["name", "trade"]
WAYS: tuple[Way, ...] = ("name", "trade")
LOG, READER = "log", "reader"  # whose graph: that of the book's log, or a model's
SUMMARY = "summary"  # in an adapter's place: the base as it comes, with the summary behind the question
PASSAGE = 150  # tokens of a passage, at most
BUDGET = 1200  # tokens of a context, at most
SHARE = 8  # people of a book that are asked about
LEAST = 5  # facts on somebody who is asked about
SAID = 8  # statements of an extract, at most
PREFERRED = 6  # entities of a book of which gold preferences are made
NOTHING = {"en": "Nothing is told.", "zh": "没有提到。"}  # an answer without words, as a judge is shown it


# -- what a book tells -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fact:
    """An event or a binding of a book's log: in the words of its gold, and where it is told."""

    id: str
    says: str
    spans: tuple[Span, ...]


class Log:
    """What a book tells of its people, fact by fact, and which of it a text repeats.

    `facts` by id: the bindings, and the events that any scene may hold. `of`: the ids of those on each person, under whatever
    name.

    >>> from mindscape.corpora import storyworld
    >>> log = Log(storyworld.book(1000, tokens=15_000))
    >>> one, two = list(log.facts.values())[:2]
    >>> log.told(f"{one.says}. It rained.") == {one.id}, log.told("It rained.")
    (True, set())
    """

    def __init__(self, book: Book):
        voice, world = book.voice, book.world
        self.book, self.language = book, book.document.language
        self._events = [event for event in world.events if event.kind in kinds.SLOTS]
        told = [(f"event{it.id}", voice.fact(it), book.told.events[it.id]) for it in self._events]
        told += [(f"binding{it.id}", voice.binding(it), book.told.bindings[it.id]) for it in world.bindings]
        self.facts = {name: Fact(name, says, tuple(spans)) for name, says, spans in told}
        of: dict[int, list[str]] = defaultdict(list)
        for it in world.bindings:
            for person in dict.fromkeys(one for one in (it.person, it.other) if one is not None):
                of[person].append(f"binding{it.id}")
        for event in self._events:
            for person in dict.fromkeys(event.slots[slot] for slot in "ab" if slot in event.slots):
                of[person].append(f"event{event.id}")
        self.of = dict(of)
        self._known: dict[str, set[str]] = defaultdict(set)
        for fact in self.facts.values():
            self._known[_fold(fact.says)].add(fact.id)
        kin = [it for it in world.bindings if it.kind == "kin"]
        self._ties = {  # as graphs write a kinship
            f"{voice.name(it.person)} – {voice.relation(it)} – {voice.name(it.other)}": f"binding{it.id}" for it in kin
        }

    def names(self, person: int) -> list[str]:
        """What a person is called: the name, and the guise where there is one."""
        voice, guised = self.book.voice, self.book.world.people[person].guise is not None
        return [voice.name(person), *([voice.guise(person)] if guised else [])]

    def told(self, text: str) -> set[str]:
        """The facts that a text states, in the log's own words or in others that name everybody and what was done."""
        found = {name for tie, name in self._ties.items() if tie in text}
        rest = []
        for part in _statements(text, self.language):
            known = self._known.get(_fold(part))
            found |= known or set()
            rest += [] if known else [part]
        if rest:
            voice, text = self.book.voice, "; ".join(rest)
            right = weighing.events(voice, text).right
            found |= {f"event{event.id}" for event, kept in zip(self._events, right, strict=True) if kept}
            right = weighing.bindings(voice, text).right
            found |= {f"binding{it.id}" for it, kept in zip(self.book.world.bindings, right, strict=True) if kept}
        return found


def _fold(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .。;；")


def _statements(text: str, language: str) -> list[str]:
    parts = (part for span in sentences(text, language) for part in re.split("[;；\n]", text[span.start : span.end]))
    return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True)
class Holdings:
    """The facts in each entity, relation and passage of a graph, by id."""

    entities: tuple[frozenset[str], ...]
    relations: tuple[frozenset[str], ...]
    chunks: tuple[frozenset[str], ...]

    def of(self, context: Context) -> frozenset[str]:
        """The facts in a context."""
        parts = [self.entities[i] for i in context.entities] + [self.relations[i] for i in context.relations]
        return frozenset().union(*parts, *(self.chunks[i] for i in context.chunks))


def holdings(log: Log, graph: Graph, chunks: Sequence[Chunk]) -> Holdings:
    """What a graph's parts tell: its descriptions by their words, its passages by the places where the book tells it."""
    held = (
        frozenset(fact.id for fact in log.facts.values() if any(passages.holds(log.book, it, at) for at in fact.spans))
        for it in chunks
    )
    described = (
        tuple(frozenset(log.told(it.description)) for it in some) for some in (graph.entities, graph.relations)
    )
    return Holdings(*described, tuple(held))


# -- questions, retrieval, answers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sense:
    """A question on all that a book tells of a person. `question` calls them by `way`, `resolved` by name; `facts` by id."""

    book: Book
    person: int
    way: Way
    question: str
    resolved: str
    facts: tuple[str, ...]


def posed(log: Log, share: int = SHARE) -> list[Sense]:
    """Questions on `share` people of whom a book tells `LEAST` facts or more, each by name and by trade.

    >>> from mindscape.corpora import storyworld
    >>> [one.question for one in posed(Log(storyworld.book(1000, tokens=15_000)), 1)]         # doctest: +SKIP
    ['What is known of Kathleen?', 'What is known of the organist?']
    """
    book, voice = log.book, log.book.voice
    chance = Chance("graph questions", book.document.id)
    rich = [person.id for person in book.world.people if len(log.of.get(person.id, ())) >= LEAST]
    found = []
    for person in chance.some(rich, share):
        form = chance.pick(judges.ASKED[log.language])
        by = {"name": voice.name(person), "trade": voice.trade(person)}
        asked = {way: sentence(form.format(name=name)) for way, name in by.items()}
        found += [Sense(book, person, way, asked[way], asked["name"], tuple(log.of[person])) for way in WAYS]
    return found


def nodes(
    folder: str | Path,
    retriever: str,
    source: str,
    sort: str,
    graphs: Sequence[Graph],
    asked: Sequence[Sense],
    dtype: str = "auto",
) -> Rankings:
    """The `TOP` entities for each question, kept in the folder; a model is loaded only if some are missing.

    `source`: the folder of an adapter, "" for the base as it comes and the question alone, or `SUMMARY`. `sort`: whose the
    graphs are, one for each book that is asked about, in their order. Raises InputError for a file of other graphs or another
    adapter.

    >>> nodes("build/graphrag", "mia_emb", "data/adapters/mia_emb", LOG, graphs, asked)      # doctest: +SKIP
    """
    of_graphs = list({one.book.document.id: one.book for one in asked}.values())
    if [book.document.id for book in of_graphs] != [graph.document for graph in graphs]:
        raise InputError(
            f"{len(graphs)} graphs, but questions on {len(of_graphs)} books: expected a graph each, in order"
        )
    tuned = source not in ("", SUMMARY)
    about = {"retriever": source if not tuned else retriever, "graphs": sort, "dtype": dtype}
    about |= {"adapter_sha256": adapter_hash(source) if tuned else ""}
    about |= {"entities": digest([graph.texts for graph in graphs])[:16]}

    @lru_cache(maxsize=1)
    def embedder() -> embedding.MiaEmbedder:
        return embedding.load(adapter=source if tuned else None, delta=None if source else 1.0, dtype=dtype)

    def search(i: int, queries: Sequence[str]) -> list[list[int]]:
        return nearest(embedder(), graphs[i], queries, of_graphs[i].summary if source else None)

    rows = [Item(one.question, Row("sense_answer", one.book, {}, None), one.question, ()) for one in asked]
    return ranked(Path(folder) / f"nodes_{sort}_{retriever}.jsonl", about, rows, of_graphs, search)


def counter(tokenizer: PreTrainedTokenizerBase) -> Callable[[str], int]:
    """Counts tokens line by line and remembers each line, so that a context can grow line by line without being read anew.

    >>> counter(tokenizer)("People:\\n- Ann: She is the smith.")                              # doctest: +SKIP
    11
    """

    @lru_cache(maxsize=1 << 16)
    def of_line(line: str) -> int:
        return len(tokenizer(line, add_special_tokens=False, verbose=False)["input_ids"])

    return lambda text: sum(of_line(line) + 1 for line in text.split("\n")) - 1


def contexts(
    asked: Sequence[Sense],
    rankings: Rankings,
    graphs: Mapping[str, Graph],
    chunks: Mapping[str, Sequence[Chunk]],
    count: Callable[[str], int],
    budget: int = BUDGET,
    k: int = TOP,
) -> list[Context]:
    """What each question is answered from; graphs and passages by document. Raises InputError as `graphrag.assembled` does."""
    found = []
    for one in asked:
        name = one.book.document.id
        picked = rankings[name, one.question][:k]
        found.append(assembled(graphs[name], picked, one.book.document, chunks[name], budget, count))
    return found


def extract(graph: Graph, context: Context, names: Sequence[str], language: str = "en", most: int = SAID) -> str:
    """The first statements on somebody among the entities and ties of a context: an answer that nobody had to write.

    >>> from mindscape.mia.graphrag import Told, merged
    >>> graph = merged("book", [Told(0, (("Ann", "Ann has a forge. It rained."),), (("Eve", "Tom", "Eve met Tom."),))])
    >>> extract(graph, Context("", (0,), (0,), (), 0), ["Ann"]), extract(graph, Context("", (), (), (), 0), ["Ann"])
    ('Ann has a forge.', '')
    """
    lines = [graph.entities[i].description for i in context.entities]
    lines += [graph.relations[i].description for i in context.relations]
    parts = [part.strip(" .。") for line in lines for part in _statements(line, language)]
    kept = [sentence(part) for part in parts if any(mentions(name, part) for name in names)]
    stop = {"en": ".", "zh": "。"}[language]
    return JOIN[language].join(part + stop for part in list(dict.fromkeys(kept))[:most])


def answers(
    model: LanguageModel, kept: Kept, asked: Sequence[tuple[str, str]], language: str = "en", batch: int = 16
) -> list[str]:
    """Answers to (question, context) pairs (`graphrag.sense_answers`), kept in a file and asked for once.

    `kept` says whose they are; it holds no replies of roles. Raises InputError for a line that is no answer, LLMError if the
    model fails, after which the same call goes on where it was.

    >>> answers(model, Kept.of("answers.jsonl", "embedded", llm.READER, "float32"), pairs)   # doctest: +SKIP
    """
    rows = records.read(kept.path, lambda row: (row["key"], row["answer"]), of="a key and an answer")[1]
    found = dict(rows)
    keys = [digest(language, *pair)[:16] for pair in asked]
    new = {key: pair for key, pair in zip(keys, asked, strict=True) if key not in found}
    for start in range(0, len(new), batch):
        some = list(new)[start : start + batch]
        said = sense_answers(model, [new[key] for key in some], language)
        records.append(kept.path, [{"key": key, "answer": answer} for key, answer in zip(some, said, strict=True)])
        found |= zip(some, said, strict=True)
    return [found[key] for key in keys]


def compared(asked: Sequence[Sense], a: Sequence[str], b: Sequence[str]) -> list[Comparison]:
    """Two systems' answers side by side. A judge, who has not read the book, is asked by name."""
    none = {one.book.document.id: NOTHING[one.book.document.language] for one in asked}
    rows = ((one.resolved, one.book.document.id, x, y) for one, x, y in zip(asked, a, b, strict=True))
    return [Comparison(question, x or none[book], y or none[book], book) for question, book, x, y in rows]


def alike(asked: Sequence[Sense], given: Sequence[str]) -> list[Comparison]:
    """Each answer beside itself: whatever a judge prefers here, it prefers for its place."""
    return compared(asked, given, given)


# -- the command -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Make graphs, rank entities, answer and judge, and print what came of it. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mia.graph_evaluation", description=main.__doc__)
    told.add_argument("--out", required=True, help="the folder of the files")
    told.add_argument(
        "--retrievers",
        default="vanilla=",
        help=f"with commas NAME=ADAPTER, NAME= for the base as it comes, NAME={SUMMARY} for the base with the summary",
    )
    told.add_argument(
        "--system", default="", help="the retriever that is judged against the others; the last by default"
    )
    told.add_argument("--against", default="", help="the others, with commas; all by default")
    told.add_argument("--llm", default="embedded", help="the model that reads, answers and judges")
    told.add_argument("--adapter", default="", help="folder of its adapter; the reader's by default where it has one")
    told.add_argument("--dtype", default="auto", help="precision of the models")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--share", type=int, default=SHARE, help="people of a book that are asked about")
    told.add_argument("--batch", type=int, default=16, help="rows that the model reads at once")
    try:
        _run(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> None:
    retrievers = dict(part.partition("=")[::2] for part in given.retrievers.split(","))
    system = given.system or list(retrievers)[-1]
    others = given.against.split(",") if given.against else [name for name in retrievers if name != system]
    for name in (system, *others):
        if name not in retrievers:
            raise InputError(f"no retriever {name!r}: expected some of {', '.join(retrievers)}")
    if given.books < 1 or given.share < 1:
        raise InputError(f"--books {given.books} --share {given.share}: expected at least 1 of each")
    folder, tokenizer = Path(given.out), AutoTokenizer.from_pretrained(assets.language_model())
    logs = {book.document.id: Log(book) for book in books(given.split)[: given.books]}
    asked = [one for log in logs.values() for one in posed(log, given.share)]
    chunks = {name: passages.cut(log.book, tokenizer, PASSAGE) for name, log in logs.items()}
    options = {"adapter": given.adapter} if given.adapter else {}
    if given.llm == "embedded":
        options = {"adapter": str(llm.READER), **options}
    local = {} if given.llm.startswith(("openai:", "replay:")) else {"dtype": given.dtype, "batch_size": given.batch}
    model = llm.load(given.llm, **options, **local)
    dtype = str(model.backend.model.dtype).removeprefix("torch.") if local else "unknown"
    replies, said, verdicts = (
        Kept.of(folder / f"{name}.jsonl", given.llm, options.get("adapter"), dtype)
        for name in ("graphs", "answers", "verdicts")
    )
    made: dict[str, dict[str, Graph]] = {LOG: {}, READER: {}}
    for name, log in logs.items():
        made[LOG][name] = of_story(log.book, chunks[name])
        made[READER][name] = graph = build(model, replies, log.book.document, chunks[name], batch=given.batch)
        print(f"{name}: {len(graph.entities)} entities, {len(graph.relations)} ties, unread {graph.unread}", flush=True)
    count = counter(tokenizer)
    given_by: dict[str, dict[str, list[str]]] = {"answers": {}, "extracts": {}}
    by_trade = [one for one in asked if one.way == "trade"]
    for name, source in retrievers.items():
        for sort, graphs in made.items():
            found = nodes(folder, name, source, sort, list(graphs.values()), asked, given.dtype)
            if sort == READER and name in (system, *others):
                shown = contexts(by_trade, found, graphs, chunks, count)
                pairs = [(one.question, of.text) for one, of in zip(by_trade, shown, strict=True)]
                given_by["answers"][name] = answers(model, said, pairs, batch=given.batch)
                given_by["extracts"][name] = [
                    extract(graphs[one.book.document.id], of, logs[one.book.document.id].names(one.person))
                    for one, of in zip(by_trade, shown, strict=True)
                ]
        print(f"{name}: {len(asked)} questions on each graph", flush=True)
    for sort, of in given_by.items():
        for other in others:
            some = compared(by_trade, of[system], of[other])
            for criterion, rate in win_rates(some, judged(model, verdicts, some, batch=given.batch)).items():
                shares = f"won {rate.a:.2f}, lost {rate.b:.2f}, tied {rate.tie:.2f}, unread {rate.unread:.2f}"
                print(f"{sort}, {system} against {other}, {criterion}: {shares}", flush=True)
        judged(model, verdicts, alike(by_trade, of[system]), batch=given.batch)
    gold = [one for log in logs.values() for one in gold_preferences(log.book, PREFERRED)]
    right = agreement(gold, judged(model, verdicts, [one.comparison for one in gold], batch=given.batch))
    print("agreement with gold:", {kind: round(of.value, 2) for kind, of in right.items() if of}, flush=True)


if __name__ == "__main__":
    main()
