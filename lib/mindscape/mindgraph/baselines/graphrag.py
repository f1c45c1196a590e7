"""GraphRAG (Edge et al., 2024; MindGraph, sections 2.2 and 4.2): a graph of what stands in each block, reports on its parts.

    extract      names and relations of every block, without the question; then once more, for what was missed (one gleaning)
    merge        what has the same name is one entity; relations between the same two weigh more
    partition    Leiden communities of at most ten
    report       title, summary, rating and findings of each
    top 8        of the reports
    map, reduce  points with a score from the reports, at most 8,192 tokens of them a call; the best points, then the answer

Up to the reports the question plays no part, so a second question on the same text finds them in the model's cache; they are
counted again all the same. Where the paper is silent: reports are ranked by the words they share with the question (BM25),
then by rating, then by size, which is kinder to the method than GraphRAG's own order, blind to the question; an entity's
descriptions are handed on as they came, not summed up by another call, and are shortened where the window does not hold them;
of a list that was cut off the whole items count;
points with score 0 are dropped, and where no other is left there is no answer.

Taught in notebook 32_long_reason. There are no levels of communities here, no embeddings and no claims.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from mindscape.budget import Budget, BudgetSpent, Meter
from mindscape.entity_graph import EntityGraph, Told, merged_by_name
from mindscape.folding import fold
from mindscape.lexical import BM25
from mindscape.llm import LLM
from mindscape.llm.base import form_of
from mindscape.mindgraph import asking
from mindscape.mindgraph.asking import PAPER_BLOCK, block_size
from mindscape.mindgraph.communities import COMMUNITY_REPORT, TOKENS, Report, partition
from mindscape.prompts import languages
from mindscape.question import ANSWER, Answer
from mindscape.roles.answers import QA
from mindscape.roles.base import Form
from mindscape.roles.edits import graph_state
from mindscape.text import Document

TOP = 8  # section 4.2
EXTRACTED, POINTS = 2048, 1024  # tokens of a reply, at most
SHORTEST = 40  # characters that a description is not cut below
EXTRACT = languages("mindgraph", "graphrag_extract")
GLEAN = languages("mindgraph", "graphrag_glean")
MAP = languages("mindgraph", "graphrag_map")


class Named(Form):
    name: str
    description: str


class Related(Form):
    source: str
    target: str
    description: str


class Extracted(Form):
    """What a block names and relates."""

    entities: list[Named]
    relations: list[Related]


class Point(Form):
    description: str
    score: Annotated[int, Field(ge=0, le=100)]


class Points(Form):
    """What reports have to say on the question."""

    points: list[Point]


def key(name: str) -> str:
    """What two ways to write a name have in common: case, width and blanks do not count.

    >>> key(" Ivo  the Miller ") == key("ivo the miller"), key("Ｉｖｏ")
    (True, 'ivo')
    """
    return " ".join(fold(name).casefold().split())


def merged_blocks(blocks: Sequence[Extracted]) -> EntityGraph:
    """All that was extracted in one graph. A relation makes an entity of an end that nothing else names; blank names, and
    relations of an entity with itself, are dropped.

    >>> first = Extracted(entities=[Named(name="Ivo", description="A miller.")], relations=[])
    >>> second = Extracted(entities=[Named(name="ivo", description="He sold a lamp.")],
    ...                    relations=[Related(source="IVO", target="Ann", description="sold her the lamp")])
    >>> graph = merged_blocks([first, second])
    >>> graph.names, graph.statements["ivo"], graph.relations
    ({'ivo': 'Ivo', 'ann': 'Ann'}, ['A miller.', 'He sold a lamp.'], [('ivo', 'ann')])
    """
    passages = []
    for i, block in enumerate(blocks):
        entities = [(item.name, item.description if item.description.strip() else "") for item in block.entities]
        entities += [(name, "") for item in block.relations for name in (item.source, item.target)]
        relations = [
            (item.source, item.target, item.description)
            for item in block.relations
            if key(item.source) != key(item.target)
        ]
        passages.append(
            Told(i, tuple((" ".join(name.split()), statement) for name, statement in entities), tuple(relations))
        )
    return merged_by_name(passages, key, directed=True)


def parts(graph: EntityGraph) -> list[tuple[str, ...]]:
    """The communities of the graph, each the keys of its entities; relations weigh as much as they have statements.

    >>> told = Related(source="Ivo", target="Ann", description="sold her the lamp")
    >>> parts(merged_blocks([Extracted(entities=[], relations=[told])]))
    [('ivo', 'ann')]
    """
    edges = [(source, target, float(len(graph.statements[source, target]))) for source, target in graph.relations]
    return partition(list(graph.names), edges)


def part_state(graph: EntityGraph, part: Sequence[str], meter: Meter, room: int | None) -> str:
    """A part of the graph as a report's prompt shows it, with the relations that lead out of it after those within.

    Where the room does not hold it, descriptions are cut shorter and the last relations left out, by halves, until it does.
    """
    inside = set(part)
    relations = [pair for pair in graph.relations if inside & set(pair)]
    relations.sort(key=lambda pair: (not inside >= set(pair), -len(graph.statements[pair])))
    described = {name: " ".join(graph.statements[name]) for name in part}
    longest, most = max(map(len, described.values())), len(relations)
    while True:
        nodes = [{"id": graph.names[name], "type": "entity", "content": described[name][:longest]} for name in part]
        edges = [
            {"source": graph.names[a], "target": graph.names[b], "relation": statements[: max(longest, SHORTEST)]}
            for a, b in relations[:most]
            for statements in ["; ".join(graph.statements[a, b])]
        ]
        state = graph_state(nodes, edges)
        if room is None or meter.count_tokens(state) <= room or (longest <= SHORTEST and most == 0):
            return state
        longest, most = max(SHORTEST, longest // 2), most // 2


def shown(report: Report) -> str:
    """A report as the map step reads it.

    >>> print(shown(Report(title="The lamp", summary="Ivo sold it.", impact_rating=7, findings=["Ann has it."])))
    The lamp
    Ivo sold it.
    - Ann has it.
    """
    return "\n".join([report.title, report.summary, *(f"- {finding}" for finding in report.findings)])


def top(reports: Sequence[Report], sizes: Sequence[int], question: str, language: str, k: int = TOP) -> list[Report]:
    """The `k` reports that share most with the question, by BM25; of equals those with the higher rating, then the larger.

    >>> lamp = Report(title="The lamp", summary="Ivo sold it.", impact_rating=2, findings=[])
    >>> boat = Report(title="The boat", summary="It sank.", impact_rating=9, findings=[])
    >>> [report.title for report in top([boat, lamp], [3, 3], "Who sold the lamp?", "en", k=1)]
    ['The lamp']
    """
    if not reports:
        return []
    ids, scores = BM25([shown(report) for report in reports], language).search([question], len(reports))
    score = dict(zip(ids[0].tolist(), scores[0].tolist(), strict=True))
    order = sorted(score, key=lambda i: (-score[i], -reports[i].impact_rating, -sizes[i], i))
    return [reports[i] for i in order[:k]]


def answer_by_reports(
    question: str, document: Document, llm: LLM, budget: Budget | None = None, *, size: int | None = None
) -> Answer:
    """Answer a question from reports on the parts of a graph of the text, extracted from blocks of at most `size` tokens.

    `size` is `block_size` of the model where it is not given. `tokens_first_call` is the first map call's. Where the budget
    does not hold the build there is no answer, and the trace says where it ended. Errors as in `reading.direct`.

    >>> answer_by_reports("Who has the lamp?", document, model).spent("build")                             # doctest: +SKIP
    52310
    """
    meter = Meter(llm, budget)
    asking.check_question(question, document, meter)
    try:
        reports, sizes = community_reports(document, meter, size)
        meter.stage = ANSWER
        best = top(reports, sizes, question, document.language)
        return meter.answer(_answered(question, document.language, meter, best))
    except BudgetSpent as error:
        meter.note(str(error))
        return meter.answer("")


def community_reports(document: Document, meter: Meter, size: int | None = None) -> tuple[list[Report], list[int]]:
    """The reports on a document's communities, and how many entities each is about; the question has no part in it.

    Raises BudgetSpent where the meter's budget does not hold the next batch of calls.

    >>> reports, sizes = community_reports(document, Meter(model))                                      # doctest: +SKIP
    >>> reports[0].title, sizes[0]                                                          # doctest: +SKIP
    ('The miller and his lamps', 10)
    """
    language = document.language
    size = block_size(meter) if size is None else size
    tokens = asking.reply_tokens(meter, EXTRACTED, 2 * size)
    empty = EXTRACT[language].format(text="") + GLEAN[language]
    # What was extracted is read again where it is gleaned from.
    blocks = asking.blocks(meter, document, empty, 2 * tokens, size)
    talks = [asking.alone(EXTRACT[language].format(text=document[part].strip())) for part in blocks]
    extracted = asking.ask_and_read(meter, talks, language, tokens=tokens, form=Extracted, whole_items=True)
    more = [
        [*talk, {"role": "assistant", "content": block.model_dump_json()}, *asking.alone(GLEAN[language])]
        for talk, block in zip(talks, extracted, strict=True)
        if block is not None
    ]
    extracted += asking.ask_and_read(meter, more, language, tokens=tokens, form=Extracted, whole_items=True)
    graph = merged_blocks([block for block in extracted if block is not None])
    communities = parts(graph)
    found = f"{len(graph.names)} entities, {len(graph.relations)} ties, {len(communities)} parts"
    meter.note(f"{len(blocks)} blocks, {found}")
    tokens = asking.reply_tokens(meter, TOKENS)
    left = asking.room(meter, COMMUNITY_REPORT.prompt(language, graph_state=""), tokens)
    states = [part_state(graph, part, meter, left) for part in communities]
    talks = [asking.alone(COMMUNITY_REPORT.prompt(language, graph_state=state)) for state in states]
    reports = asking.ask_and_read(meter, talks, language, tokens=tokens, form=Report, whole_items=True)
    kept = [(report, len(part)) for report, part in zip(reports, communities, strict=True) if report is not None]
    return [report for report, _ in kept], [count for _, count in kept]


def _answered(question: str, language: str, meter: Meter, reports: Sequence[Report]) -> str:
    """Map and reduce."""
    tokens = asking.reply_tokens(meter, POINTS)
    left = asking.room(meter, MAP[language].format(question=question, reports=""), tokens, PAPER_BLOCK)
    batches = asking.groups(meter, [shown(report) for report in reports], left, language)
    talks = [asking.alone(MAP[language].format(question=question, reports=text)) for text in batches]
    replies = asking.ask_and_read(meter, talks, language, tokens=tokens, form=Points, whole_items=True)
    points = [point for reply in replies if reply is not None for point in reply.points if point.score > 0]
    if not points:
        meter.note("no report has a point that helps")
        return ""
    best = [point.description for point in sorted(points, key=lambda point: -point.score)]
    prompt = QA.prompt(language, form_of(meter), context="", question=question)
    left = asking.room(meter, prompt, asking.BRIEF)
    return asking.last(meter, "\n".join(asking.fitting(meter, best, left)), question, language)
