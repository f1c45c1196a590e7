"""The cascade that grades free answers: numbers, each rule by hand, how rules are fooled, the judge, stages against truth;
and the graphs that should come out of novels: questions, the perfect builder, agreement of graphs."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Stub

import storyworld
from mindscape.llm import LanguageModel
from mindscape.llm.base import estimated_tokens
from mindscape.metrics import NoAnswer, exact_match
from mindscape.mindgraph import scoring
from mindscape.mindgraph.answer import cut
from mindscape.mindgraph.build import counts, rebuild
from mindscape.mindgraph.graph import Edge, Graph, Node, verify
from mindscape.mindgraph.scoring import Counts, Row, by_rules, cascade, containment, first_sentence, key_phrase, number
from mindscape.roles import GRADE, Edits, node_and_edge_f1
from storyworld import teaching
from storyworld.teaching.graphs import Builder
from storyworld.world import Chance

ONES = "zero one two three four five six seven eight nine ten eleven twelve"
TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety"


def english(n):
    """A number in words, slowly: what `numbers` has to read back."""
    ones, tens = [*ONES.split(), *TEENS.split()], TENS.split()
    if n < 20:
        return ones[n]
    if n < 100:
        return tens[n // 10] + (f"-{ones[n % 10]}" if n % 10 else "")
    for size, name in ((10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if n >= size:
            rest = n % size
            joint = " and " if rest < 100 and size == 100 else " "
            return f"{english(n // size)} {name}" + (joint + english(rest) if rest else "")
    raise AssertionError


def chinese(n):
    digits = "零一二三四五六七八九"
    if n >= 10_000:
        high, low = divmod(n, 10_000)
        return chinese(high) + "万" + (("零" if low < 1000 else "") + chinese(low) if low else "")
    words, gap = "", False
    for size, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, n = divmod(n, size)
        if digit:
            words += ("零" if gap else "") + digits[digit] + name
            gap = False
        elif words and n:
            gap = True
    return words or "零"


@given(st.integers(0, 9_999_999))
def test_numbers_in_words_read_back(n):
    assert scoring.numbers(english(n), "en") == [n] == scoring.numbers(f"It was {n:,} in all.", "en")
    assert scoring.numbers(english(n).upper().replace("-", " "), "en") == [n]


@given(st.integers(0, 99_999_999))
def test_chinese_numbers_read_back(n):
    assert scoring.numbers(f"共有{chinese(n)}个人", "zh") == [n] == scoring.numbers(f"有{n}人", "zh")


@pytest.mark.parametrize(
    "text, language, numbers",
    [
        ("seven and eight", "en", [7, 8]), ("two hundred and the five", "en", [200, 5]),
        ("a hundred, a thousand and a half", "en", [100, 1000]), ("3 million of 2.5 thousand", "en", [3_000_000, 2500]),
        ("nineteen ninety", "en", [19, 90]), ("Room 12b, 1990-1995", "en", [12, 1990, 1995]),
        ("a, thousand; a. Hundreds", "en", []),
        ("one two three", "en", [1, 2, 3]), ("none, anyone, tenant, often", "en", []),
        ("１２ letters, ３.５ crowns", "en", [12, Fraction(7, 2)]),
        ("十二、两百零五、三千万、一九三〇年、12万", "zh", [12, 205, 30_000_000, 1930, 120_000]),
        ("一起走了，一共三次，千万不要，百姓", "zh", [3]),
        ("", "en", []), ("没有", "zh", []),
    ],
)  # fmt: skip
def test_numbers(text, language, numbers):
    assert scoring.numbers(text, language) == numbers


RIGHT = {
    number: [("8", "eight letters"), ("twenty-one", "There are 21."), ("1,200", "1200.0"), ("八", "八个"), ("三次", "3")],
    containment: [("Ivo", "It was IVO, the miller!"), ("伊沃", "是伊沃。")],
    first_sentence: [
        ("The brass lamp. It hung in the inn.", "I think the brass lamp."), ("伊沃和安娜。两人同去。", "我想是伊沃和安娜吧。"),
    ],
    key_phrase: [("he was afraid of the dogs", "afraid of dogs"), ("磨坊主卖了铜灯", "铜灯是磨坊主卖的")],
}  # fmt: skip
WRONG = {  # among them what is more than a number, what normalising leaves nothing of, and half of an answer
    number: [("8", "8 of the 12"), ("three letters", "3 letters"), ("Ivo", "Ivo"), ("三次", "两次")],
    containment: [("Ann", "Anna did it."), ("Ivo Marsh", "Ivo the miller, Marsh by name"), ("a", "anything at all")],
    first_sentence: [
        *(("Winifred and Marian", "Winifred."), ("Winifred and Marian", "and"), ("the miller of Fallowby", "of")),
        ("the brass lamp", "It hung in the inn. The lamp was of brass."),
    ],
    key_phrase: [("he was afraid of the dogs", "the inn at the mill"), ("磨坊主", "木匠")],
}  # fmt: skip


@pytest.mark.parametrize("rule", RIGHT)
def test_rules(rule):
    for cases, right in ((RIGHT, True), (WRONG, False)):
        for gold, predicted in cases[rule]:
            assert rule(gold, predicted, "en" if gold.isascii() else "zh") is right, (gold, predicted)


texts = st.text(st.sampled_from("abc ivo THE .,!12 \n灯他的。"), max_size=20)


@given(texts, texts, st.sampled_from(["en", "zh"]))
def test_rules_take_any_text_and_the_first_one_that_says_yes_decides(gold, predicted, language):
    if not gold.strip():
        refused(lambda: by_rules(Row("?", (gold,), predicted, language)), "expected")
        return
    said = [name for name, rule in scoring.RULES.items() if rule(gold, predicted, language)]
    stage = by_rules(Row("?", (gold,), predicted, language))
    assert stage == (said[0] if said and predicted.strip() else "")
    if predicted.strip():
        same = {*scoring.numbers(gold, language)} <= {*scoring.numbers(predicted, language)}
        assert (stage == "exact") == (same and bool(exact_match(predicted, gold, language)))
    (scored,) = cascade([Row("?", (gold,), predicted, language)])
    assert scored.correct == bool(stage) and scored.stage in scoring.STAGES


def judge(verdict="correct"):
    def say(prompt, tools, schema):
        return {"reason": "because", "correct": verdict in prompt[0]["content"]}

    return Stub(say)


@pytest.mark.parametrize(
    "gold, predicted, language, stage",
    [  # a point and a hyphen are parts of a number
        ("1.5 miles", "It was 15 miles away.", "en", ""), ("1.5 million", "15 million", "en", ""),
        ("twenty-one letters", "There were a hundred and twenty-one letters.", "en", ""), ("3.5万", "大约35万", "zh", ""),
        ("1.5 miles", "It is told near the end that he walked 1.5 miles before the storm.", "en", "containment"),
        ("twenty-one letters", "There were twenty-one letters.", "en", "containment"), ("3.5万", "大约3.5万", "zh", "number"),
    ],
)  # fmt: skip
def test_a_number_is_read_before_its_marks_are_dropped(gold, predicted, language, stage):
    assert by_rules(Row("?", (gold,), predicted, language)) == stage


@given(st.integers(1, 999), st.integers(1, 999))
def test_another_number_is_never_right(n, m):
    """三封 stands in 十三封, five in five hundred: the words alone do not tell."""
    for gold, said, language in (
        (f"{chinese(n)}封", f"一共{chinese(m)}封信。", "zh"),
        (f"{english(n)} letters", f"There were {english(m)} letters.", "en"),
        (str(n), f"{m} letters", "en"),
    ):
        assert bool(by_rules(Row("?", (gold,), said, language))) == (n == m)


def test_only_what_the_rules_leave_goes_to_the_judge():
    stub = judge("in other words")
    rows = [
        Row("Who?", ("the miller", "Ivo"), "Ivo."),
        Row("Who?", ("the miller", "Ivo"), "he who grinds the corn, in other words"),
        Row("Who?", ("the miller", "Ivo"), "the cook"),
        Row("Who?", ("the miller",), "  "),
        Row("谁？", ("磨坊主",), "木匠", "zh"),
    ]
    scored = cascade(rows, LanguageModel(stub))
    expected = [(True, "exact"), (True, "judge"), (False, "judge"), (False, "no answer"), (False, "judge")]
    assert [(row.correct, row.stage) for row in scored] == expected
    assert len(stub.requests) == 3 and scored[1].reason == "because"
    prompts = [talk[0]["content"] for talk, *_ in stub.requests]
    assert "the miller (or: Ivo)" in prompts[0] and "标准答案：磨坊主" in prompts[2]
    assert all(schema["title"] == GRADE.form.__name__ for _, _, schema in stub.requests)
    assert [row.stage for row in cascade(rows)].count("no judge") == 3
    unread = cascade(rows[2:3], LanguageModel(Stub(lambda *_: "yes")))
    assert (unread[0].correct, unread[0].stage) == (False, "unreadable verdict")
    assert cascade([], LanguageModel(Stub(None))) == []


def test_containment_is_fooled(language):
    gold, others = {"en": ("the miller", ["the cook", "the groom"]), "zh": ("磨坊主", ["厨子", "马夫"])}[language]
    for name, predicted in scoring.fooled(gold, others, language).items():
        assert by_rules(Row("?", (gold,), predicted, language)) == "containment", name
    refused(lambda: scoring.fooled(gold, others[:1], language), "expected two")


def test_stages_against_the_storyworld(tokenizer, language):
    """Answers whose truth is known: the rules let wrong ones through where a part of a list will do, and little else."""
    rows, truth = [], []
    for seed in (1003, 1004):
        book = storyworld.book(seed, tokens=15_000, language=language)
        for slots, grade in teaching.gold("grade", book, Chance("cascade"), tokenizer):
            rows.append(Row(slots["question"], (slots["gold"],), slots["predicted"], language))
            truth.append(grade.correct)
    scored = cascade(rows)
    stages = {stage.name: stage for stage in scoring.stages(scored, truth)}
    assert sum(stage.count for stage in stages.values()) == len(rows) > 15
    assert sum(stage.share for stage in stages.values()) == pytest.approx(1)
    assert stages["exact"].errors == 0 and stages["containment"].errors == 0
    wrong = sum(row.correct != right for row, right in zip(scored, truth, strict=True))
    assert sum(stage.errors for stage in stages.values()) == wrong
    assert all(stage.errors is stage.error is None for stage in scoring.stages(scored))


@pytest.mark.parametrize(
    "text, options, letter",
    [
        ("B", (), "B"), ("The answer is (c).", (), "C"), ("I think it is D, since A is wrong", (), NoAnswer.UNPARSABLE),
        ("at the mill", ["at the inn", "at the mill"], "B"),
        ("It happened at the mill.", ["at the inn", "at the mill"], "B"),
        ("at the inn or at the mill", ["at the inn", "at the mill"], NoAnswer.UNPARSABLE),
        ("", ["at the inn", "at the mill"], NoAnswer.UNPARSABLE), ("It was 3.5%.", ["2%", "3.5%", "4%", "35%"], "B"),
        ("在磨坊。", ["客栈", "磨坊"], "B"), ("答案是B", ["客栈", "磨坊"], "B"),
    ],
)  # fmt: skip
def test_choices(text, options, letter):
    assert scoring.chosen(text, options, "en" if text.isascii() else "zh") == letter
    refused(lambda: scoring.chosen(text, list("abcde")), "at most 4")


points = st.dictionaries(
    st.sampled_from("abcdef"), st.tuples(st.sampled_from([0.1, 0.2, 0.5]), st.sampled_from([0.2, 0.5, 0.8]))
)


@given(points)
def test_the_front_holds_whom_nobody_beats(points):
    front = scoring.pareto(points)
    for name, (x, y) in points.items():
        beaten = any((a < x and b >= y) or (a <= x and b > y) for a, b in points.values())
        assert (name in front) == (not beaten)
    assert [points[name][0] for name in front] == sorted(points[name][0] for name in front)


def test_bad_input():
    refused(lambda: scoring.stages([scoring.Scored(True, "exact")], []), "expected one each")
    refused(lambda: by_rules(Row("?", ("x",), "x", "fr")), "unknown language")


@pytest.mark.parametrize(("language", "said"), [("en", "Unknown."), ("en", "…"), ("zh", "不知道。"), ("zh", "  ")])
def test_who_says_that_it_is_not_known_is_wrong_without_a_judge(language, said):
    judge = Stub(lambda *_: {"reason": "so", "correct": True})
    (row,) = cascade([Row("Who?", ("Ivo",), said, language)], LanguageModel(judge))
    assert (row.correct, row.stage) == (False, "no answer") and not judge.requests
    (row,) = cascade([Row("What is it like?", ("unknown",), "Unknown.")])
    assert (row.correct, row.stage) == (True, "exact")


# ---------------------------------------------------------------- gold graphs

COUNTING = SimpleNamespace(count_tokens=estimated_tokens)


@pytest.fixture(scope="module")
def blocks(book):
    return cut(book.document, COUNTING, 280)


def test_the_questions(book):
    bound, liar, people = (scoring.question_for(book, kind) for kind in scoring.KINDS)
    assert bound.needs_binding and liar.kind == "liar" and people.kind == "people"
    rest = scoring.more(book)
    assert len({q.id for q in (bound, liar, people, *rest)}) == 7
    builder = Builder(book)
    for question in (bound, liar, *rest):
        assert 1 <= len(builder.events(question)) <= 2 and question.depth != "set-aggregation"
    refused(lambda: scoring.question_for(book, "who"), "kind='who': expected bound, liar, people")
    refused(lambda: scoring.shelf("hard"), "split='hard': expected develop, test")
    refused(lambda: scoring.many("hard"), "split='hard': expected develop, test")


def test_the_seeds_of_novels_are_of_their_split_and_asked_once():
    for split, seeds in {"develop": storyworld.DEVELOP, "test": storyworld.TEST}.items():
        more, longer = scoring.MORE[split], scoring.LONGER[split]
        assert set(more) <= set(seeds) and not set(more) & set(longer) and len(set(more)) == 34


def test_a_perfect_builder_notes_each_event_where_it_is_told(book, blocks):
    builder, lost = Builder(book), 0
    for question in book.questions[::3]:
        journal = scoring.perfect(book, question, blocks)
        graph, totals = rebuild(journal), counts(journal)
        verify(graph, book.document)
        assert len(journal.entries) == len(blocks)
        assert totals["verbatim"] == totals["quoted"]  # its quotes are copied
        assert not any(totals[reason] for reason in ("malformed", "empty field", "bad type", "duplicate id"))
        lost += totals["quote not in the block"]
        for event in builder.events(question):
            span = book.telling.events[event.id][0]
            if any(block.start <= span.start and span.end <= block.end for block in blocks):
                kind = builder.nodes[builder.key(event)].type
                assert any(node.type == kind and span.start <= node.start < span.end for node in graph.nodes.values())
    assert lost < len(book.questions)


def test_the_gold_at_a_step_has_read_no_further(book, blocks):
    journal = scoring.perfect(book, scoring.question_for(book, "people"), blocks)
    for t in (0, 10, len(blocks)):
        nodes = rebuild(journal, blocks=t).nodes.values()
        assert all(node.end <= blocks[t - 1].end for node in nodes) if t else not nodes


# ---------------------------------------------------------------- agreement


def graph_of(nodes, edges=()):
    made = {name: Node(name, kind, content, "x", 0, 1, 0, 0) for name, kind, content in nodes}
    return Graph("note", made, {key: Edge(*key, "x", 0, 1, 0) for key in edges})


GOLD = graph_of(
    [("sale", "event", "Ivo sold the lamp to Ann"), ("ivo", "entity", "Ivo"), ("ann", "entity", "Ann")],
    [("sale", "ivo", "is done by"), ("sale", "ann", "involves")],
)


def test_agreement_by_hand():
    nodes = [("s", "event", "Ivo sold a lamp to Ann"), ("i", "entity", "Ivo"), ("i2", "entity", "Ivo")]
    edges = [("s", "i", "Is done by"), ("i2", "s", "knows"), ("s", "ann", "involves")]
    built = graph_of([*nodes, ("ann", "claim", "Ann")], edges)
    assert scoring.same(GOLD, built) == {"s": "sale", "i": "ivo"}
    agreement = scoring.graph_agreement(GOLD, built)
    assert (agreement["event"], agreement["entity"], agreement["claim"]) == (Counts(1, 1, 1), Counts(2, 2, 1), Counts(0, 1, 0))
    assert (agreement["node"], agreement["edge"], agreement["tie"]) == (Counts(3, 4, 2), Counts(2, 3, 1), Counts(2, 3, 1))
    assert scoring.graph_agreement(GOLD, Graph("note"))["node"] == Counts(3, 0, 0)
    backwards = graph_of([("s", "event", "Ivo sold a lamp to Ann"), ("i", "entity", "Ivo")], [("i", "s", "does")])
    assert scoring.graph_agreement(GOLD, backwards)["tie"] == Counts(2, 1, 1)


def test_agreement_is_that_of_the_reader_s_card(book, blocks):
    """Where every id of gold is in use, F1 of nodes and edges are those of `node_and_edge_f1`."""
    language = book.document.language
    for question in book.questions[:20]:
        journal = scoring.perfect(book, question, blocks)
        gold = rebuild(journal)
        adds = [op for entry in journal.entries for op in Edits.model_validate_json(entry.reply).operations]
        if not gold.edges or any(op.op == "edit_node" for op in adds) or counts(journal)["rejected"]:
            continue
        part = Graph(gold.doc_id, dict(list(gold.nodes.items())[::2]))
        among = {key: edge for key, edge in gold.edges.items() if {*key[:2]} <= {*part.nodes}}
        part = Graph(part.doc_id, part.nodes, among)
        kept = [op for op in adds if op.op == "add_node" and op.id in part.nodes]
        kept += [op for op in adds if op.op == "add_edge" and (op.source, op.target, op.relation) in part.edges]
        nodes, edges = node_and_edge_f1(Edits(operations=adds), Edits(operations=kept), language)
        agreement = scoring.graph_agreement(gold, part, language)
        f1 = [2 * agreement[kind].both / (agreement[kind].gold + agreement[kind].built) for kind in ("node", "edge")]
        assert f1 == pytest.approx([nodes, edges])
