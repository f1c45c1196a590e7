"""Scores of the roles' replies: gold agrees with itself, and small cases worked out by hand. And decoding that is held to
quotes: what the grammar lets through stands in the block, and nothing that is right is lost. And the reader's examples."""

import json
import math
from itertools import islice

import pytest
from extras import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stubs import accepts

import storyworld
from mindscape import roles
from mindscape.mindgraph.graph import find
from mindscape.roles import Edits, border_f1, borders, indices_f1, located, node_and_edge_f1, quoting, verbatim
from mindscape.text import Chunk, Document
from storyworld import teaching
from storyworld.teaching.scoring import SCORES, score
from storyworld.world import Chance


@pytest.mark.parametrize("name", roles.ROLES)
def test_gold_agrees_with_itself_and_silence_with_nothing(book, tokenizer, name):
    examples = list(islice(teaching.gold(name, book, Chance(name), tokenizer), 3))
    assert examples
    for slots, value in examples:
        best, worst = score(name, book, slots, value, value), score(name, book, slots, value, None)
        assert set(best) == set(worst)
        for key, number in best.items():
            if math.isnan(number) or key in roles.QUOTES:
                assert math.isnan(worst[key]) and (math.isnan(number) or number == 1), key
            else:
                assert (number, worst[key]) == (1, 0), key
    assert set(SCORES) == set(roles.ROLES)


sets = st.sets(st.integers(0, 12))


@given(sets, sets)
def test_f1_is_the_harmonic_mean(gold, predicted):
    both = len(gold & predicted)
    if both:
        precision, recall = both / len(predicted), both / len(gold)
        assert roles.f1(gold, predicted) == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert roles.f1(gold, predicted) == float(not gold and not predicted)
    assert indices_f1(sorted(gold) or [-1], sorted(predicted) or [-1]) == roles.f1(gold, predicted)


def edits(*operations):
    return Edits.model_validate({"operations": operations})


def node(id, content, type="event"):
    return {"op": "add_node", "id": id, "type": type, "content": content, "src": "x"}


def edge(source, target, relation="tells"):
    return {"op": "add_edge", "source": source, "target": target, "relation": relation, "src": "x"}


GOLD = edits(node("sale", "Ivo sold the old lamp"), node("ivo", "Ivo", "entity"), edge("sale", "ivo", "by"))


@pytest.mark.parametrize(
    "predicted, nodes, edges",
    [
        # other ids for the same nodes, and edges that go by them
        (edits(node("s", "Ivo sold a lamp"), node("i", "Ivo", "entity"), edge("s", "i", "By")), 1.0, 1.0),
        (edits(node("s", "Ivo sold a lamp"), node("i", "Ivo", "claim"), edge("s", "i", "by")), 0.5, 0.0),
        (edits(node("s", "the baker wept all night")), 0.0, 0.0),
        (edits(node("sale", "Ivo sold the lamp"), edge("sale", "ivo", "by")), 2 / 3, 1.0),
        (edits(node("a", "Ivo sold the lamp"), node("b", "Ivo sold the lamp")), 0.5, 0.0),  # one of two is too many
        (edits(node("sale", "Ivo sold the lamp"), *[edge("sale", "ivo", "by")] * 3), 2 / 3, 0.5),  # so are two of three
        (edits(), 0.0, 0.0),
    ],
)
def test_nodes_are_matched_by_content_and_edges_by_their_ends(predicted, nodes, edges):
    assert node_and_edge_f1(GOLD, predicted) == (pytest.approx(nodes), pytest.approx(edges))


def test_edits_and_deletions_go_by_id():
    gold = edits({"op": "edit_node", "id": "ivo", "content": "Ivo is the weaver"}, {"op": "delete_node", "id": "oath"})
    predicted = edits({"op": "edit_node", "id": "ann", "content": "Ivo is the weaver"}, {"op": "delete_node", "id": "oath"})
    assert node_and_edge_f1(gold, gold)[0] == 1
    assert node_and_edge_f1(gold, predicted)[0] == 0.5
    assert node_and_edge_f1(edits(), edits())[0] == 1
    assert math.isnan(node_and_edge_f1(edits(), edits())[1])
    assert math.isnan(node_and_edge_f1(edits(node("ivo", "Ivo")), GOLD)[1])  # the gold alone decides whether it counts


def test_quotes_and_borders():
    text = "It rained all day on the hill. " + "Ivo mended the net by the door. " * 3 + "Ann went home at dusk."
    assert located(["It rained all day", "Ann went home", "nobody ever said anything like that"], text) == 2 / 3
    assert math.isnan(located([], text)) and math.isnan(verbatim([], text))
    assert verbatim(["It rained  all\nday", "It rained all the day", ""], text) == 1 / 3

    def borders_of(*heads):
        scenario = [{"chunk": f"{head} [MASK] hill.", "core": "So."} for head in heads]
        return borders(roles.Extracted(outline=["So."], scenario=scenario), text)

    first, other = text.index("Ivo"), "Quite other words stood here"
    assert borders_of("It rained", "Ivo mended", "Ann went") == [first, text.index("Ann")]
    assert borders_of(other, "Ivo mended", "Ann went") == [first, text.index("Ann")]  # a first chunk not found is no border
    # The same words again: the next place where they stand.
    assert borders_of(other, "Ivo mended", "Ivo mended") == [first, text.index("Ivo", first + 1)]


def test_other_right_answers_count(tokenizer):
    book = storyworld.book(1003, tokens=15_000)
    question = next(q for q in book.questions if q.accepted)
    assert score("qa", book, {"question": question.question}, question.answer, question.accepted[0]) == {"f1": 1.0}


places = st.lists(st.integers(0, 3000), max_size=6, unique=True)


@given(places, places)
def test_borders_found_are_counted_once(gold, predicted):
    number = border_f1(gold, predicted)
    if not gold and not predicted:
        assert math.isnan(number)
        return
    assert 0 <= number <= 1
    if gold:
        assert border_f1(gold, gold) == 1
        assert border_f1(gold, [place + 5 for place in gold] * 2) <= 1
    assert border_f1(gold, [place + 10_000 for place in predicted]) == 0


def noting(quote):
    node = {"op": "add_node", "id": "n", "type": "claim", "content": "it", "src": quote}
    return json.dumps({"operations": [node]}, ensure_ascii=False)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_gold_replies_can_be_written(language, tokenizer):
    book = storyworld.book(0, tokens=15_000, language=language)
    made = list(teaching.gold("edits", book, Chance("quoting", language), tokenizer))
    assert len(made) > 10
    for slots, value in made:
        reply = roles.EDITS.render(value)
        assert accepts(quoting(slots["block_text"]), reply, tokenizer), reply


SIGNS = st.sampled_from([*'"\\{}[]<>/|&~^$*%', "“", "é", "\u2028", "\x00", "\t", "\n", "  ", "🂡", "ש", "磨坊", "a_b", "7"])
TEXTS = st.lists(st.one_of(st.sampled_from(["Ivo", "sold", "it", "I'm", "Ann-Marie", " ", " "]), SIGNS), max_size=14)


@settings(max_examples=150)
@given(parts=TEXTS, data=st.data())
@example(parts=['"', "\\", '"', "\n", "\\"], data=None)
def test_what_can_be_quoted_stands_in_the_block(tokenizer, parts, data):
    """Any words in a row, and no others, whatever signs the block has."""
    text = "".join(parts)
    document, block = Document("note", text), Chunk("note", 0, 0, len(text))
    words = " ".join(text.split()).split(" ") if text.strip() else []
    if words and data:
        start = data.draw(st.integers(0, len(words) - 1))
        quote = " ".join(words[start : data.draw(st.integers(start + 1, len(words)))])
        assert accepts(quoting(text), noting(quote), tokenizer)
        assert find(quote, document, block) is not None
    for other in ("", " ", "Ivo lied", *(f" {word}" for word in words[:1])):
        assert not accepts(quoting(text), noting(other), tokenizer)
    assert accepts(quoting(text), '{"operations": []}', tokenizer)


def test_quotes_begin_and_end_with_words(tokenizer):
    text = 'Ivo said:\n"I am the miller." Ann saw it.'
    for quote in ("Ivo said:", 'said: "I am', "Ann", '."', "miller"):
        assert accepts(quoting(text), noting(quote), tokenizer), quote
    for quote in ("mill", "vo said", "Ivo said: ", "said:\n", "Ann sees it"):
        assert not accepts(quoting(text), noting(quote), tokenizer), quote
    assert accepts(quoting("伊沃说：“我是磨坊主。”"), noting("我是磨坊"), tokenizer)
    assert not accepts(quoting("伊沃说：“我是磨坊主。”"), noting("我不是"), tokenizer)


def test_all_four_operations_and_no_other_form(tokenizer):
    operations = [
        {"op": "add_edge", "source": "a", "target": "b", "relation": 'says "no"', "src": "Ivo"},
        {"op": "edit_node", "id": "a", "content": "a\\b"},
        {"op": "delete_node", "id": "b"},
    ]
    reply = json.dumps({"operations": operations})
    assert accepts(quoting("Ivo."), reply, tokenizer) and len(Edits.model_validate_json(reply).operations) == 3
    renamed = reply.replace("edit_node", "move_node"), reply.replace('"target"', '"to"')
    for bad in (*renamed, reply[:-1], f"{reply} Yes."):
        assert not accepts(quoting("Ivo."), bad, tokenizer)
    assert not accepts(quoting("  "), reply, tokenizer)  # nothing can be quoted of a blank block
    assert accepts(quoting(""), json.dumps({"operations": operations[1:]}), tokenizer)


def test_every_role_is_taught_and_the_list_is_always_the_same(tokenizer):
    examples = teaching.mixture([3], tokenizer, dict.fromkeys(roles.ROLES, 2))
    assert {example.role for example in examples} == set(roles.ROLES)
    assert all(sum(example.role == role for example in examples) <= 2 for role in roles.ROLES)
    assert examples == teaching.mixture([3], tokenizer, dict.fromkeys(roles.ROLES, 2))
    assert all(roles.ROLES[example.role].parse(example.reply)[1] == [] for example in examples)


@pytest.mark.parametrize("seed", [storyworld.DEVELOP[0], storyworld.TEST[0], -1])
def test_other_seeds_are_refused(seed, tokenizer):
    refused(lambda: teaching.mixture([seed], tokenizer, {"qa": 1}), f"seed {seed} is not for training")


def test_an_unknown_role_is_refused(tokenizer):
    refused(lambda: teaching.mixture([0], tokenizer, {"poet": 1}), "role='poet': expected one of chunk_summary")
