"""GraphRAG mode on novels: facts of the log in texts, contexts and answers, extracts."""

import json

import pytest
from stubs import Model

import storyworld
from mindscape.mia import graphrag
from mindscape.mia.graphrag import (
    CRITERIA,
    EXTRACT,
    NOTHING,
    PASSAGE,
    Context,
    Log,
    compared,
    contexts,
    counter,
    extract,
    holdings,
    judged,
    of_story,
    posed,
    win_rates,
)
from mindscape.text import mentions
from storyworld.teaching import passages


@pytest.fixture(scope="module")
def log(book):
    return Log(book)


@pytest.fixture(scope="module")
def chunks(log, tokenizer):
    return passages.cut(log.book, tokenizer, PASSAGE)


@pytest.fixture(scope="module")
def graph(log, chunks):
    return of_story(log.book, chunks)


# -- what a book tells -------------------------------------------------------------------------------------------------


def test_each_fact_is_told_by_its_own_words(log):
    assert len(log.facts) > 60 and all(fact.spans for fact in log.facts.values())
    stop = {"en": ". ", "zh": "。"}[log.language]
    for name, fact in log.facts.items():
        assert log.told(fact.says) >= {name} and all(log.facts[it].says == fact.says for it in log.told(fact.says))
    everything = stop.join(fact.says for fact in log.facts.values()) + stop
    assert log.told(everything) == set(log.facts) and log.told("") == set()


def test_a_person_has_the_facts_that_name_them(log):
    assert set().union(*log.of.values()) == set(log.facts)
    for person, facts in log.of.items():
        names = log.names(person)
        assert len(names) == 1 + (log.book.world.people[person].guise is not None)
        says = [log.facts[name].says for name in facts]
        assert all(any(mentions(name, text) for name in names) for text in says) and len(set(facts)) == len(facts)


def test_other_words_count_and_a_tie_counts():
    log = Log(storyworld.book(1001, tokens=15_000))
    kin = next(it for it in log.book.world.bindings if it.kind == "kin")
    a, b = (log.book.voice.name(one) for one in (kin.person, kin.other))
    relation = log.book.voice.relation(kin)
    assert f"binding{kin.id}" in log.told(f"{a} – {relation} – {b}")
    assert log.told(f"Few knew that {a} was the {relation} of {b}.") == {f"binding{kin.id}"}
    assert not log.told(f"{a} met {b}.")


def test_what_a_gold_graph_holds(log, graph, chunks):
    held = holdings(log, graph, chunks)
    assert len(held.entities) == len(graph.entities) and len(held.relations) == len(graph.relations)
    assert len(held.chunks) == len(chunks)
    assert frozenset().union(*held.chunks) == set(log.facts)  # the book tells all of it
    for person, facts in log.of.items():
        (at,) = [i for i, it in enumerate(graph.entities) if it.name == log.book.voice.name(person)]
        assert held.entities[at] & set(facts)
    assert held.of(Context("", (), (), (), 0)) == frozenset()
    some = Context("", (0, 1), (2,), (3,), 0)
    assert held.of(some) == held.entities[0] | held.entities[1] | held.relations[2] | held.chunks[3]


# -- questions, retrieval, answers -------------------------------------------------------------------------------------


def test_questions_by_name_and_by_trade(log):
    asked = posed(log, 5)
    assert asked == posed(log, 5) != posed(log, 5, seed=1) and [one.way for one in asked] == ["name", "trade"] * 5
    voice = log.book.voice
    for by_name, by_trade in zip(asked[::2], asked[1::2], strict=True):
        assert by_name.person == by_trade.person and by_name.facts == by_trade.facts
        assert len(by_name.facts) >= graphrag.LEAST
        assert by_name.question == by_name.resolved == by_trade.resolved
        assert mentions(voice.name(by_name.person), by_name.question)
        assert mentions(voice.bare_trade(by_trade.person), by_trade.question)
        assert not mentions(voice.name(by_name.person), by_trade.question)
    assert len({one.question for one in asked}) == 10


def test_tokens_are_counted_by_lines(log, tokenizer):
    count, text = counter(tokenizer), log.book.document.text[:4000]
    exact = len(tokenizer(text, add_special_tokens=False)["input_ids"])
    assert exact <= count(text) <= 1.05 * exact and count(text) == count(text)
    assert count("Ann") == 1 + count("") == 1


def test_contexts_are_of_the_first_entities(log, graph, chunks, tokenizer):
    asked, name = posed(log, 2), log.book.document.id
    ranks = {(name, one.question): tuple(range(i, i + 20)) for i, one in enumerate(asked)}
    found = contexts(asked, ranks, {name: graph}, {name: chunks}, counter(tokenizer), 900, 4)
    for i, of in enumerate(found):
        assert of.entities == tuple(range(i, i + len(of.entities))) and 1 <= len(of.entities) <= 4
        assert of.tokens <= 900 and of.chunks


def test_an_extract_says_what_the_graph_says_of_somebody(log, graph):
    for person in list(log.of)[:5]:
        names = log.names(person)
        at = [entity.name for entity in graph.entities].index(names[0])
        said = extract(graph, Context("", (at,), (), (), 0), names, log.language)
        assert log.told(said) >= log.told(graph.entities[at].description) - log.told("") and said.count(names[0])
        everything = Context("", tuple(range(len(graph.entities))), tuple(range(len(graph.relations))), (), 0)
        more = extract(graph, everything, names, log.language)
        stop = "。" if log.language == "zh" else ". "
        parts = more.rstrip(".。").split(stop)
        assert len(parts) <= EXTRACT and len(set(parts)) == len(parts)
        assert all(any(mentions(name, part) for name in names) for part in parts)


def test_a_judge_is_asked_by_name_and_shown_some_words(log):
    asked = [one for one in posed(log, 3) if one.way == "trade"]
    some = compared(asked, ["Ann.", "", "Tom."], ["", "", "Tom."])
    none = NOTHING[log.language]
    assert [(one.a, one.b) for one in some] == [("Ann.", none), (none, none), ("Tom.", "Tom.")]
    assert [one.question for one in some] == [one.resolved for one in asked]
    assert {one.group for one in some} == {log.book.document.id}
    first = json.dumps(dict.fromkeys(CRITERIA, {"Explanation": "So.", "Winner": "Answer 1"}))
    model = Model(lambda prompt: first)
    same = graphrag.alike(asked, ["Ann.", "Eve.", "Tom."])
    rate = win_rates(same, judged(model, same, log.language))["Overall"]
    assert (rate.tie, rate.first.value) == (1, 1) and len(set(model.asked)) == 3  # both orders are one prompt
