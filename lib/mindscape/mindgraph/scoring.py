"""Is a free answer right? Five rules in turn, each of which can only say yes, and a judge for what is left (MindGraph, D.4).

The paper names the rules and does not define them. Here, for a gold answer and a prediction, normalised as in
`mindscape.metrics` (case, punctuation and articles do not count; Chinese as characters):

    exact           they are equal
    number          the gold answer is a number, and the prediction has this number and no other, in figures or in words
    containment     the gold answer stands in the prediction, in whole words
    first sentence  the first sentence of the gold answer stands in the prediction, in whole words
    key phrase      F1 of their words without function words is at least 0.5 (in Chinese, jieba's words)
    judge           a model says so

An answer that is empty, or says that it is not known in the one word that MindGraph's prompt asks for (`UNKNOWN`), is wrong
without a judge: a weak one takes it for right.

A rule that only asks whether words are there is fooled by "not the miller but the cook": `fooled` makes such answers, and
`stages` says, for each rule, how often it decided and how often wrongly, where the truth is known. Choices are compared by
letter.

Below stand gold graphs: `perfect`, the one that should come out of a novel of the storyworld for a question, and
`graph_agreement`, how far another agrees with it; and what was noted on *Macbeth* for this kit. Two notes count as the same if
their types are and their contents share half of their words, as on the reader's card.

Taught in notebooks 30_mindgraph_build, 31_mindgraph_answer and 32_long_reason. Nothing here asks the method that is judged, or
knows whether a note is true of the text.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import storyworld
from mindscape import paths, trail
from mindscape.ask import ask
from mindscape.corpora import shakespeare
from mindscape.errors import require
from mindscape.llm.base import LLM, form_of
from mindscape.metrics import NoAnswer, check_language, check_texts, exact_match, normalise, token_f1, words
from mindscape.mindgraph.build import Entry, Journal
from mindscape.mindgraph.graph import TYPES, Graph, apply_all
from mindscape.prompts import short_texts
from mindscape.question import Question
from mindscape.roles import GRADE, LETTERS, UNKNOWN, Edits, Operation, letter, matched
from mindscape.text import Chunk, Document, Span, fold, sentences
from storyworld import Book, books
from storyworld.teaching.graphs import Builder, Reading

KEY_F1 = 0.5
JUDGE_TOKENS = 200  # of a verdict, at most
# Stages at which an answer counts as wrong.
NO_ANSWER, NO_JUDGE, UNREADABLE = "no answer", "no judge", "unreadable verdict"

OR = {"en": "{first} (or: {others})", "zh": "{first}（或：{others}）"}
WORDS = short_texts("mindgraph", "scoring")
MEASURES = "个次封人位年月日天岁只张件块名条本样种"  # behind a number of Chinese things

_ONES = "zero one two three four five six seven eight nine ten eleven twelve"
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: i for i, word in enumerate(f"{_ONES} {_TEENS}".split())}
_WORDS |= {word: 10 * i for i, word in enumerate(_TENS.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_FIGURES = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"


def _any(words: Iterable[str]) -> str:
    """A pattern of one of some words, as a whole word."""
    return rf"(?<![a-z])(?:{'|'.join(words)})(?![a-z])"


_GAP, _AND, _SCALE = r"[ \t\n-]*", _any(["and"]), _any(_SCALES)  # what may stand within a number
_PART = rf"(?:{_any(_TENS.split())}{_GAP}{_any(_ONES.split()[1:10])}|{_any(_WORDS)})"  # below a hundred
_BEGUN = rf"(?:{_FIGURES}|{_PART}|{_any('a')}(?={_GAP}{_SCALE}))"
_ENGLISH = re.compile(rf"{_BEGUN}(?:{_GAP}{_SCALE}(?:(?:{_GAP}{_AND})?{_GAP}{_PART})?)*")
_HAN = {character: i for i, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_ADVERBS = "一(?=[共起切定直样般些致旦向律带并])"  # all told, together, everything: no number
_HAN_NUMBER = re.compile(rf"(?:{_FIGURES}|(?!{_ADVERBS})[{''.join((*_HAN, *_HAN_SCALES))}])+")


@dataclass(frozen=True)
class Row:
    """An answer to be scored: `gold` are strings any one of which is right; `predicted` is "" where there is no answer."""

    question: str
    gold: tuple[str, ...]
    predicted: str
    language: str = "en"


@dataclass(frozen=True)
class Scored:
    """Whether an answer counts as right, the stage that decided it, and what the judge said, if it came to that."""

    correct: bool
    stage: str
    reason: str = ""


def numbers(text: str, language: str) -> list[Fraction]:
    """The numbers in a text, in order, in figures and in words.

    English words up to the billions; Chinese numerals with 十, 百, 千, 万, 亿, also behind figures. Not read: ordinals, dozens,
    fractions, dates as such. "No one" and 统一 hold a one, as far as this can see.

    >>> [str(number) for number in numbers("Seven of the twenty-one letters, 1,200.5 crowns, three hundred and six", "en")]
    ['7', '21', '2401/2', '306']
    >>> [str(number) for number in numbers("三百零六封信，12个人，3万两千元，两次", "zh")]
    ['306', '12', '32000', '2']
    """
    check_language(language)
    return [number for number, _, _ in _numbers(fold(text), language)]


def exact(gold: str, predicted: str, language: str) -> bool:
    """The first rule.

    >>> exact("the miller", "The Miller.", "en"), exact("1.5 miles", "15 miles", "en")
    (True, False)
    """
    return bool(exact_match(predicted, gold, language)) and _same_numbers(gold, predicted, language)


def number(gold: str, predicted: str, language: str) -> bool:
    """The second rule. A gold answer that is more than a number, "three letters", is none; a Chinese measure word may be.

    >>> number("eight", "There were 8 of them.", "en"), number("eight", "8 or 9", "en"), number("八", "一共8件", "zh")
    (True, False, True)
    """
    text = fold(gold)
    numbers_in_gold = _numbers(text, language)
    if len(numbers_in_gold) != 1:
        return False
    (wanted, start, end) = numbers_in_gold[0]
    rest = normalise(text[:start] + " " + text[end:], language)
    if rest and not (language == "zh" and len(rest) == 1 and rest in MEASURES):
        return False
    return set(numbers(predicted, language)) == {wanted}


def containment(gold: str, predicted: str, language: str) -> bool:
    """The third rule: the gold answer stands in the prediction in whole words, its numbers as numbers.

    >>> containment("the miller", "It was the old miller of Fallowby.", "en"), containment("磨坊主", "是那位磨坊主。", "zh")
    (True, True)
    >>> containment("the mill", "It was the miller.", "en"), containment("三封", "一共十三封信。", "zh")
    (False, False)
    """
    bare, whole = normalise(gold, language), normalise(predicted, language)
    within = bare in whole if language == "zh" else f" {bare} " in f" {whole} "
    return bool(bare) and within and _same_numbers(gold, predicted, language)


def first_sentence(gold: str, predicted: str, language: str) -> bool:
    """The fourth rule: the prediction has what the gold answer says first, and may lack what it goes on to explain.

    The reverse, a prediction that stands in the gold answer, is no rule here: half of a pair would be right, and "and" as well.

    >>> first_sentence("The miller. It is told in his letter.", "It must have been the miller, I think.", "en")
    True
    >>> first_sentence("Winifred and Marian", "Winifred.", "en")
    False
    """
    gold = gold.strip()
    spans = sentences(gold, language)
    return bool(spans) and containment(gold[: spans[0].end], predicted, language)


def _same_numbers(gold: str, predicted: str, language: str) -> bool:
    """Whether a prediction has the numbers of the gold answer, as numbers: 三封 stands in 十三封, five in five hundred."""
    return set(numbers(gold, language)) <= set(numbers(predicted, language))


def key_phrase(gold: str, predicted: str, language: str) -> bool:
    """The fifth rule.

    >>> key_phrase("he was jealous of the miller's luck", "out of jealousy: the miller had luck", "en")
    False
    >>> key_phrase("the ivory birdcage and the brass lamp", "a birdcage of ivory", "en")
    True
    """
    a, b = _key_words(gold, language), _key_words(predicted, language)
    alike = bool(a and b) and 2 * (a & b).total() / (a.total() + b.total()) >= KEY_F1
    return alike and _same_numbers(gold, predicted, language)


RULES: Mapping[str, Callable[[str, str, str], bool]] = {
    "exact": exact, "number": number, "containment": containment, "first sentence": first_sentence, "key phrase": key_phrase,
}  # fmt: skip
STAGES = (*RULES, "judge", UNREADABLE, NO_JUDGE, NO_ANSWER)


def by_rules(row: Row) -> str:
    """The first rule by which an answer is right, for any of the gold answers; empty if there is none.

    Raises InputError for another language and where there is no gold answer.

    >>> by_rules(Row("Who did it?", ("the miller",), "The miller of Fallowby did it."))
    'containment'
    """
    check_language(row.language)
    listed = check_texts(row.predicted, list(row.gold))
    right = (name for name, rule in RULES.items() if any(rule(gold, row.predicted, row.language) for gold in listed))
    return next(right, "") if row.predicted.strip() else ""


def cascade(rows: Sequence[Row], judge: LLM | None = None) -> list[Scored]:
    """Whether each answer is right: the rules in turn, then the judge, in one batch for all that is left.

    Without a judge what is left counts as wrong, at the stage "no judge"; so does a verdict that cannot be read, and no answer
    at all, or "unknown". The judge sees all gold answers, the first one before the others. Raises InputError as `by_rules`,
    LLMError if the judge fails; its replies are cached.

    >>> [scored.stage for scored in cascade([Row("Who?", ("Ivo",), said) for said in ("Ivo!", "Tom", "", "Unknown.")])]
    ['exact', 'no judge', 'no answer', 'no answer']
    """
    scored = []
    for row in rows:
        stage = by_rules(row)
        silent = normalise(row.predicted, row.language) in ("", normalise(UNKNOWN[row.language], row.language))
        scored.append(Scored(bool(stage), stage or (NO_ANSWER if silent else NO_JUDGE)))
    if judge is None:
        return scored
    left, prompts = [i for i, verdict in enumerate(scored) if verdict.stage == NO_JUDGE], []
    for row in (rows[i] for i in left):
        first, *others = row.gold
        gold = OR[row.language].format(first=first, others="; ".join(others)) if others else first
        slots = {"question": row.question, "gold": gold, "predicted": row.predicted}
        prompts.append(GRADE.prompt(row.language, form_of(judge), **slots))
    for i, answer in zip(left, ask(judge, GRADE, prompts, tokens=JUDGE_TOKENS), strict=True):
        read = answer.value
        scored[i] = Scored(read.correct, "judge", read.reason) if read else Scored(False, UNREADABLE, answer.unread[0])
    return scored


@dataclass(frozen=True)
class Stage:
    """What one stage decided: so many answers, their share of all, how many of them wrongly, and the share of these.

    `errors` and `error` are None where the truth is not known.
    """

    name: str
    count: int
    share: float
    errors: int | None
    error: float | None


def stages(scored: Sequence[Scored], truth: Sequence[bool] | None = None) -> list[Stage]:
    """Each stage that decided something, in the order of `STAGES`; `truth` says of each answer whether it is right.

    >>> said = [Scored(True, "exact"), Scored(True, "containment"), Scored(True, "containment"), Scored(False, "judge")]
    >>> [(stage.name, stage.share, stage.errors) for stage in stages(said, [True, True, False, False])]
    [('exact', 0.25, 0), ('containment', 0.5, 1), ('judge', 0.25, 0)]
    """
    if truth is not None:
        require(len(truth) == len(scored), f"{len(scored)} scores, {len(truth)} truths: expected one each")
    rows = []
    for name in STAGES:
        here = [i for i, score in enumerate(scored) if score.stage == name]
        if here:
            errors = None if truth is None else sum(scored[i].correct != truth[i] for i in here)
            error = None if errors is None else errors / len(here)
            rows.append(Stage(name, len(here), len(here) / len(scored), errors, error))
    return rows


def fooled(gold: str, others: Sequence[str], language: str = "en") -> dict[str, str]:
    """Wrong answers that hold the gold answer's words: one that denies it, one that lists it, one that does not commit itself.

    `others` are at least two wrong answers. Raises InputError for fewer, and for another language.

    >>> fooled("the miller", ["the cook", "the groom"])["denied"]
    'It was not the miller but the cook.'
    """
    check_language(language)
    require(len(others) >= 2, f"{len(others)} other answers: expected two")
    slots = {"gold": gold, "other": others[0], "third": others[1]}
    return {name: form.format(**slots) for name, form in WORDS["fooled"][language].items()}


def chosen(text: str, options: Sequence[str] = (), language: str = "en") -> str:
    """The letter that an answer to a choice gives, or NoAnswer.UNPARSABLE.

    An answer without a letter that holds the words of one option, and of no other, gives that option's. What it is is compared
    with the gold letter by `mindscape.metrics.accuracy`. Raises InputError for more than four options.

    >>> chosen("The answer is (b)."), chosen("It was at the mill.", ["the inn", "the mill"]), str(chosen("I cannot say."))
    ('B', 'B', 'unparsable')
    """
    require(len(options) <= len(LETTERS), f"{len(options)} options: expected at most {len(LETTERS)}")
    held = [LETTERS[i] for i, option in enumerate(options) if containment(option, text, language)]
    equal = [LETTERS[i] for i, option in enumerate(options) if exact(option, text, language)]
    if len(equal) == 1:
        return equal[0]
    try:
        return letter(text)[0]
    except ValueError:
        return held[0] if len(held) == 1 else NoAnswer.UNPARSABLE


def pareto(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The methods on the Pareto front, by (compaction, accuracy), the smallest compaction first (Figure 3).

    A method is on it if none has at most its compaction and at least its accuracy, and is better in one of the two.

    >>> pareto({"Direct": (1.0, 0.64), "CoA": (0.01, 0.55), "GAM": (0.08, 0.62), "MindGraph": (0.07, 0.77)})
    ['CoA', 'MindGraph']
    """

    def beaten(name: str) -> bool:
        x, y = points[name]
        return any(a <= x and b >= y and (a, b) != (x, y) for a, b in points.values())

    return sorted((name for name in points if not beaten(name)), key=lambda name: points[name][0])


def _key_words(text: str, language: str) -> Counter[str]:
    """The words of a text without function words; all of them, where there are no others."""
    kept = normalise(text, "en").split() if language == "en" else words(text, "zh", "words")
    dropped = WORDS["function_words"][language].split()
    return Counter([word for word in kept if word not in dropped] or kept)


def _numbers(text: str, language: str) -> list[tuple[Fraction, int, int]]:
    """The numbers of a folded text, each with its place."""
    pattern, value = (_HAN_NUMBER, _han) if language == "zh" else (_ENGLISH, _english)
    numerals = [(value(match[0]), *match.span()) for match in pattern.finditer(text)]
    return [numeral for numeral in numerals if numeral[0] is not None]


def _english(text: str) -> Fraction:
    """An English number: twenty-one, 3 million, a hundred and five."""
    total = part = Fraction(0)  # thousands and above, and below
    for word in re.findall(rf"{_FIGURES}|[a-z]+", text):
        if word == "hundred":
            part = (part or Fraction(1)) * 100
        elif word in _SCALES:
            total, part = total + (part or 1) * _SCALES[word], Fraction(0)
        elif word not in ("a", "and"):
            part += _WORDS[word] if word in _WORDS else Fraction(word.replace(",", ""))
    return total + part


def _han(text: str) -> Fraction | None:
    """A Chinese numeral: 三百零六, 12, 3万两千, 一九三〇 (figure by figure); None for scales alone, such as 万, but for 十."""
    if all(character in _HAN for character in text):
        return Fraction("".join(str(_HAN[character]) for character in text))
    if text[0] in _HAN_SCALES and text[0] != "十":
        return None
    total = section = Fraction(0)  # 亿 and 万, and below
    digit: Fraction | None = None
    for token in re.findall(rf"{_FIGURES}|.", text):
        scale = _HAN_SCALES.get(token)
        if scale is None:
            digit = Fraction(_HAN[token]) if token in _HAN else Fraction(token.replace(",", ""))
        elif scale < 10**4:
            section, digit = section + (1 if digit is None else digit) * scale, None
        else:
            section += digit or 0
            total = (total + section) * scale if scale == 10**8 else total + section * scale
            section, digit = Fraction(0), None
    return total + section + (digit or 0)


# Gold graphs ----------------------------------------------------------------------------------------------------------


SHORT = 6  # novels of the split that three graphs are built of
LONGER = {"develop": storyworld.DEVELOP[20:34], "test": storyworld.TEST[20:34]}  # the seeds of longer novels, by split
LENGTHS = (16_000, 19_000, 23_000, 28_000)  # of longer novels, in turn
MORE = {"develop": storyworld.DEVELOP[34:68], "test": storyworld.TEST[34:68]}  # of further novels of the usual length
KINDS = ("bound", "liar", "people")  # questions that a graph is built for


@dataclass(frozen=True)
class Counts:
    """So many are in the gold graph, so many in the one that was built, and so many of these are the same."""

    gold: int
    built: int
    both: int


def shelf(split: str) -> list[Book]:
    """Six novels of a split, then fourteen longer ones. Raises InputError for a split without longer ones."""
    require(split in LONGER, f"split={split!r}: expected {', '.join(LONGER)}")
    longer = [storyworld.book(seed, LENGTHS[i % len(LENGTHS)]) for i, seed in enumerate(LONGER[split])]
    return [*books(split)[:SHORT], *longer]


def many(split: str) -> list[Book]:
    """Forty novels of 15,000 tokens each: the first six of the shelf, and 34 more. Raises InputError as `shelf` does."""
    require(split in MORE, f"split={split!r}: expected {', '.join(MORE)}")
    return [*books(split)[:SHORT], *(storyworld.book(seed, tokens=15_000) for seed in MORE[split])]


def question_for(book: Book, kind: str) -> Question:
    """The question of a kind that a graph of a novel is built for.

    "bound": on one event, with a trade, kin or guise in the place of a name; "liar": who told an untruth on oath, so that two
    notes contradict each other; "people": how many different people did something in the whole book. The first in the book's
    order. Raises InputError for another kind.

    >>> question_for(storyworld.book(1010, tokens=15_000), "liar").question                    # doctest: +ELLIPSIS
    'Who gave an untrue account on oath of the person who ...'
    """
    require(kind in KINDS, f"kind={kind!r}: expected {', '.join(KINDS)}")
    if kind == "bound":
        return next(question for question in _narrow(book) if question.needs_binding)
    return next(question for question in book.questions if question.kind == kind)


def more(book: Book, n: int = 4) -> list[Question]:
    """Up to n more questions on one or two events that name their answer, from all over the list; none of `question_for`."""
    taken = {question_for(book, kind).id for kind in KINDS}
    rest = [question for question in _narrow(book) if question.id not in taken]
    return rest[:: max(1, len(rest) // n)][:n]


def perfect(book: Book, question: Question, blocks: Sequence[Chunk]) -> Journal:
    """What a perfect builder notes for a question, block by block: its events and its bindings, where they are first told.

    The notes are those that the reader was trained to write (`mindscape.roles`), held to the same checks: of an event
    that is cut by a border within its first words the quote is not in the block, and it is rejected like any other.
    `rebuild(journal, blocks=t)` is the gold at step t. Raises InputError for blocks that are not the book's.

    >>> from mindscape.mindgraph.build import rebuild
    >>> book = storyworld.book(1010, tokens=15_000)
    >>> text = book.document.text
    >>> journal = perfect(book, question_for(book, "people"), [Chunk(book.document.id, 0, 0, len(text))])
    >>> {node.type for node in rebuild(journal).nodes.values()} >= {"event", "entity"}
    True
    """
    builder, reading, graph, entries = Builder(book), Reading(), Graph(book.document.id), []
    events = sorted((book.telling.events[event.id][0], event.id) for event in builder.events(question))
    for block in blocks:
        within = Span(block.start, block.end)
        operations: list[Operation] = []
        for span, event in events:
            if block.start <= span.start < block.end:
                operations += builder.event(book.world.events[event], within, reading, answer=question.answer)
        for binding in builder.bindings(question):
            span = book.telling.bindings[binding.id][0]
            if block.start <= span.start < block.end:
                operations += builder.binding(binding, span, within, reading)
        reading.apply(operations)
        graph, edits = apply_all(graph, operations, book.document, block)
        entries.append(Entry(block.index, Edits(operations=operations).model_dump_json(), edits))
    return Journal({"document": book.document.id, "question": question.question}, tuple(entries))


def macbeth() -> tuple[Document, list[Chunk], list[dict[str, Any]]]:
    """The play, its blocks, and what was noted on each: the `operations`, for a `question`, and the `scenes` it is of.

    >>> len(macbeth()[1])                                                                   # doctest: +SKIP
    24
    """
    play, path = shakespeare.play("macbeth"), paths.data("shakespeare", "mindgraph_macbeth.jsonl")
    rows = [json.loads(line) for line in trail.lines(path)]
    return play, [Chunk(play.id, i, row["start"], row["end"]) for i, row in enumerate(rows)], rows


def same(gold: Graph, built: Graph, language: str = "en") -> dict[str, str]:
    """The ids of found nodes with those of the gold nodes that they are; each of them once, the likest pairs first.

    >>> from mindscape.mindgraph.graph import Node
    >>> ivo, miller = (Node(name, "entity", said, "Ivo", 0, 3, 0, 0) for name, said in [("ivo", "Ivo"), ("m", "Ivo, a miller")])
    >>> same(Graph("note", {"ivo": ivo}), Graph("note", {"m": miller}))
    {'m': 'ivo'}
    """
    alike = {
        (gold_node.id, built_node.id): token_f1(built_node.content, gold_node.content, language)
        for built_node in built.nodes.values()
        for gold_node in gold.nodes.values()
        if built_node.type == gold_node.type
    }
    return {built_node: gold_node for gold_node, built_node in matched(alike).items()}


def graph_agreement(gold: Graph, built: Graph, language: str = "en") -> dict[str, Counts]:
    """How far a graph agrees with the gold one: counts by type of node, and of "node", "edge" and "tie".

    Edges are the same if their ends are and the relation is, in any case; "tie" counts pairs of nodes with an edge between
    them, whichever way and in whatever words.

    >>> graph_agreement(Graph("note"), Graph("note"))["node"]
    Counts(gold=0, built=0, both=0)
    """
    pairs = same(gold, built, language)
    counts = {}
    for name in TYPES:
        there, here = (sum(node.type == name for node in graph.nodes.values()) for graph in (gold, built))
        counts[name] = Counts(there, here, sum(built.nodes[in_built].type == name for in_built in pairs))
    counts["node"] = Counts(len(gold.nodes), len(built.nodes), len(pairs))
    # Of a node that is none of gold's the id in a tuple is equal to no id.
    edges = [(pairs.get(source, (source,)), pairs.get(target, (target,)), said) for source, target, said in built.edges]
    directed: list[set[Any]] = [
        {(source, target, said.lower()) for source, target, said in side} for side in (gold.edges, edges)
    ]
    ties: list[set[Any]] = [{frozenset(edge[:2]) for edge in side} for side in directed]
    for name, (in_gold, in_built) in {"edge": directed, "tie": ties}.items():
        counts[name] = Counts(len(in_gold), len(in_built), len(in_gold & in_built))
    return counts


def _narrow(book: Book) -> list[Question]:
    """Questions on one or two events whose gold notes name the answer, counts left out."""
    builder, narrow = Builder(book), []
    for question in book.questions:
        events = builder.events(question)
        said = [text for event in events for text in (builder.nodes[builder.key(event)].content, *builder.said(event))]
        if question.answer.lower() in " ".join(said).lower() and len(events) <= 2 and question.depth != "set-aggregation":
            narrow.append(question)
    return narrow
