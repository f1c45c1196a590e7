"""GraphRAG mode: graphs from replies and from the log, contexts within a budget, judging in both orders, gold preferences; the
facts of a novel's log in texts, contexts and answers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Model, Stub, cut, to_last

import storyworld
from mindscape import metrics
from mindscape.llm import LanguageModel
from mindscape.metrics import bootstrap
from mindscape.mia import graphrag
from mindscape.text import mentions
from storyworld.teaching import passages
from storyworld.teaching.summaries import described
from storyworld.teaching.update import bearing, nodes

# -- the graph ---------------------------------------------------------------------------------------------------------

SALE, KIN = "Ann sold Tom a lamp.", "Eve is Tom's niece."
NOVEL, CHUNKS = cut("novel", [f"{SALE} ", f"{KIN} ", "It rained all day."])
NOTHING_SHOWN = graphrag.Context("", (), (), (), 0)
STOP = {"en": ". ", "zh": "。"}  # between sentences


def described_as(*pairs):
    """What a reply says of some entities."""
    return [{"name": name, "description": says} for name, says in pairs]


def novel(prompt):
    """What a perfect reader says of the three passages; of the third it cannot be read."""
    if "sold" in prompt:
        return json.dumps(described_as(("Ann", SALE), ("Tom", SALE)))
    if "niece" in prompt:
        return json.dumps(described_as(("Eve", f"{KIN} She left."), ("tom", KIN)))
    return "It rained, that is all."


def test_a_graph_of_replies():
    model = Model(novel)
    graph = graphrag.build_graph(model, NOVEL, CHUNKS)
    assert graph.unread == {"entities": 1}
    assert [entity.name for entity in graph.entities] == ["Ann", "Tom", "Eve"]
    assert graph.entities[1].chunks == (0, 1)
    assert graph.texts[1] == f"Tom: {SALE} {KIN}"
    assert graph.relations == (graphrag.Relation(0, 1, SALE, (0,)), graphrag.Relation(2, 1, KIN, (1,)))
    assert graph.degrees == [1, 2, 1] and len(model.requests) == 3


def test_who_shares_a_statement_is_tied():
    burned, put_out = "The mill burned.", "Ivo put it out."
    read = ("the mill", burned), ("Ivo", f"{put_out[:-1]}; the mill burned."), ("Ivo", put_out), (" ", burned), ("Ann", "")
    read = graphrag.read_off(4, described_as(*read))
    assert read.relations == (("the mill", "Ivo", burned),) and read.chunk == 4
    assert [name for name, _ in read.entities] == ["the mill", "Ivo", "Ivo", "Ann"]
    zh = described_as(("剑秋", "剑秋买了若云的灯。"), ("若云", "若云走了；剑秋买了若云的灯。"))
    assert graphrag.read_off(0, zh, "zh").relations == (("剑秋", "若云", "剑秋买了若云的灯。"),)


def test_ties_of_gold_replies_are_those_of_the_log(book, tokenizer):
    """A perfect reader's descriptions tie those who are tied in the log, and hardly anybody else."""
    chunks, places = passages.cut(book, tokenizer), passages.settings(book)
    language, pairs = book.document.language, set()
    for i, chunk in enumerate(chunks):
        statements = passages.statements(book, chunk.start, chunk.end) or []
        read = graphrag.read_off(i, described(book, statements, places), language)
        pairs |= {frozenset(pair[:2]) for pair in read.relations}
    log = graphrag.of_story(book, chunks)
    tied = {frozenset((log.entities[relation.source].name, log.entities[relation.target].name)) for relation in log.relations}
    assert len(pairs & tied) > 40 and len(pairs & tied) / len(pairs) > 0.7


names = st.sampled_from(["Ann", "ann", "The Mill", "the mill", "mill", "Tom", "剑秋"])
said = st.sampled_from(["It rained.", "She left.", ""])
entities, ties = (st.lists(st.tuples(*ends, said), max_size=4).map(tuple) for ends in ([names], [names, names]))
tellings = st.lists(st.builds(graphrag.Told, st.integers(0, 9), entities, ties), max_size=6)


@given(tellings)
def test_merging_loses_no_place_and_doubles_no_name(parts):
    graph = graphrag.merged("novel", parts)
    keys = [graphrag._key(entity.name) for entity in graph.entities]
    assert len(set(keys)) == len(keys) and all("\n" not in text for text in graph.texts)
    at = {key: i for i, key in enumerate(keys)}
    pairs = {frozenset((relation.source, relation.target)) for relation in graph.relations}
    assert len(pairs) == len(graph.relations) and all(len(pair) == 2 for pair in pairs)
    for part in parts:
        for name, _ in part.entities:
            assert part.chunk in graph.entities[at[graphrag._key(name)]].chunks
        for a, b, _ in part.relations:
            ends = {at[graphrag._key(a)], at[graphrag._key(b)]}
            assert all(part.chunk in graph.entities[i].chunks for i in ends)
            tied = [relation for relation in graph.relations if {relation.source, relation.target} == ends]
            assert len(ends) == 1 or any(part.chunk in relation.chunks for relation in tied)


def test_a_description_has_its_most():
    (ann,) = graphrag.merged("novel", [graphrag.Told(i, (("Ann", f"Fact {i}."),)) for i in range(20)]).entities
    assert ann.description == " ".join(f"Fact {i}." for i in range(graphrag.SAID)) and ann.chunks == tuple(range(20))


def test_the_gold_graph(book, tokenizer):
    chunks = passages.cut(book, tokenizer)
    graph = graphrag.of_story(book, chunks)
    assert graph.texts == nodes(book)  # so that `bearing` speaks of its entities
    assert sum(bool(bearing(book, question)) for question in book.questions) > 30
    assert sum(bool(entity.chunks) for entity in graph.entities) > 0.8 * len(graph.entities)
    assert len(graph.relations) > len(graph.entities)
    hits = total = 0
    for relation in graph.relations:
        assert relation.source != relation.target and relation.description and relation.chunks
        ends = [graph.entities[i] for i in (relation.source, relation.target)]
        assert all(set(relation.chunks) <= set(end.chunks) for end in ends)
        for chunk in relation.chunks:
            text = book.document[chunks[chunk]]
            hits, total = hits + sum(bool(mentions(end.name, text)) for end in ends), total + 2
    assert hits > 0.7 * total  # some are named in the sentence before


# -- retrieval and context ---------------------------------------------------------------------------------------------


def toy(n=30, seed=0):
    rng = np.random.default_rng(seed)
    said = (("word " * int(rng.integers(1, 9)), tuple(rng.permutation(12)[:3].tolist())) for _ in range(n))
    entities = tuple(graphrag.Entity(f"name{i}", *rest) for i, rest in enumerate(said))
    ends = sorted({tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(3 * n)})
    relations = (graphrag.Relation(a, b, f"name{a} met name{b}.", (int(rng.integers(12)),)) for a, b in ends)
    return graphrag.Graph("novel", entities, tuple(relations))


PLACES, CUT = cut("novel", [f"Passage {i} tells of things. " for i in range(12)])


def count(text):
    return len(text.split())


@given(st.integers(1, 900), st.lists(st.integers(0, 29), unique=True, max_size=20), st.integers(0, 3))
def test_a_context_is_within_its_budget_and_in_order(budget, picked, seed):
    graph = toy(seed=seed)
    context = graphrag.assembled(graph, picked, PLACES, CUT, budget, count)
    assert context.tokens == count(context.text) <= budget
    assert context.entities == tuple(picked[: len(context.entities)])
    assert context.relations == tuple(graphrag.ties(graph, picked)[: len(context.relations)])
    assert context.chunks == tuple(graphrag.sources(graph, picked)[: len(context.chunks)])
    at = [context.text.index(heading) for heading in graphrag.HEADINGS["en"] if heading in context.text]
    assert at == sorted(at) and len(at) == bool(context.entities) + bool(context.relations) + bool(context.chunks)
    assert all(f"name{i}: " in context.text for i in context.entities)
    assert all(PLACES[CUT[i]].strip() in context.text for i in context.chunks)
    assert count(context.text.split(graphrag.HEADINGS["en"][1])[0]) <= budget * 0.25 or not context.entities


def test_room_that_is_left_goes_on():
    graph = toy()
    context = graphrag.assembled(graph, [0], PLACES, CUT, 2000, count)
    assert (context.entities, context.relations) == ((0,), tuple(graphrag.ties(graph, [0])))
    assert context.chunks == tuple(graphrag.sources(graph, [0]))
    bare = graphrag.Graph("novel", graph.entities, ())
    assert len(graphrag.assembled(bare, [0, 1], PLACES, CUT, 40, count).chunks) >= 3  # nothing went to relations
    assert graphrag.assembled(graph, [], PLACES, CUT, 50, count).text == ""


@given(st.lists(st.integers(0, 29), unique=True, min_size=1, max_size=20), st.integers(0, 3))
def test_ties_between_those_found_come_first(picked, seed):
    graph, chosen = toy(seed=seed), set(picked)
    tied = graphrag.ties(graph, picked)
    inside = [{graph.relations[i].source, graph.relations[i].target} <= chosen for i in tied]
    assert inside == sorted(inside, reverse=True) and len(set(tied)) == len(tied)
    both = [i for i, relation in enumerate(graph.relations) if {relation.source, relation.target} <= chosen]
    assert set(both) <= set(tied) and len(tied) - len(both) <= graphrag.TIES * len(chosen)
    ranks = [graph.degrees[graph.relations[i].source] + graph.degrees[graph.relations[i].target] for i in tied]
    assert ranks[: len(both)] == sorted(ranks[: len(both)], reverse=True)


# -- questions and answers ---------------------------------------------------------------------------------------------


def test_questions_on_the_whole(language):
    document = replace(NOVEL, language=language)
    questions = ["Why?", " Why? ", "How?", "", "At what price?", "For whom?", "And then?", "So?"]

    def say(prompt):
        if "sold" in prompt:
            return json.dumps({"questions": questions})
        return json.dumps({"questions": ["Why?", "How?"]}) if "niece" in prompt else "no idea"

    model = LanguageModel(Stub(to_last(say)))
    posed = graphrag.sense_questions(model, document, CHUNKS)
    assert posed[0].questions == ("Why?", "How?", "At what price?", "For whom?", "And then?") and not posed[0].invalid
    assert posed[1] == graphrag.Posed(1, ())  # too few count as none
    assert not posed[2].questions and posed[2].invalid
    assert graphrag.sense_questions(model, document, []) == []
    questions = [("Why?", "Ann {left}."), ("How?", "")]
    said = graphrag.sense_answers(LanguageModel(Stub(to_last(lambda prompt: f" {len(prompt)} "))), questions, language)
    assert all(text.isdigit() for text in said) and said[0] != said[1]
    assert graphrag.sense_answers(model, [], language) == []


# -- judging -----------------------------------------------------------------------------------------------------------


def verdict_of(first):
    """A reply that the first answer is better by every criterion, or the second."""
    verdict = {"Explanation": "So.", "Winner": "Answer 1" if first else "Answer 2"}
    return json.dumps(dict.fromkeys(graphrag.CRITERIA, verdict))


def shown(prompt):
    mark = "Answer 1: " if "Answer 1: " in prompt else "Answer 1："
    first, second = prompt[prompt.rindex(mark) + len(mark) :].split(mark.replace("1", "2"))
    return first.strip(), second.strip()


def longer(prompt):
    first, second = shown(prompt)
    return verdict_of(len(first) >= len(second))


def ideal(prompt):
    """Counts what is said, each thing once; of equals the shorter is better."""
    said = (text.replace("。", ". ").rstrip(". ").split(". ") for text in shown(prompt))
    first, second = ((len(set(sentences)), -len(sentences)) for sentences in said)
    return verdict_of(first >= second)


PAIRS = [graphrag.Comparison(f"What of {i}?", "Ann left. Tom slept. " * 2, "Ann left.") for i in range(9)]


def test_each_pair_is_shown_in_both_orders(language):
    model = Model(longer)
    verdicts = graphrag.judged(model, PAIRS, language)
    assert len(model.requests) == 18 and len(set(model.requests)) == 18
    a, b = PAIRS[0].a.strip(), PAIRS[0].b
    assert {tuple(shown(prompt)) for prompt in model.requests[:2]} == {(a, b), (b, a)}
    assert [verdict.outcome("Diversity") for verdict in verdicts] == ["a"] * 9
    rates = graphrag.win_rates(PAIRS, verdicts)
    assert set(rates) == set(graphrag.CRITERIA) and rates["Overall"].a == 1 and rates["Overall"].first.value == 0.5
    other = [replace(pair, a=pair.b, b=pair.a) for pair in PAIRS]
    assert graphrag.win_rates(other, graphrag.judged(model, other, language))["Overall"].b == 1
    assert set(model.requests[18:]) == set(model.requests[:18])  # the same two orders


def test_who_takes_the_first_and_who_cannot_be_read():
    always = graphrag.judged(Model(lambda prompt: verdict_of(True)), PAIRS)
    refused(lambda: graphrag.win_rates([], []), "no comparisons")
    rate = graphrag.win_rates(PAIRS, always)["Comprehensiveness"]
    assert (rate.a, rate.b, rate.tie, rate.unread, rate.score.value, rate.first.value) == (0, 0, 1, 0, 0.5, 1)
    mute = graphrag.judged(Model(lambda prompt: longer(prompt) if "What of 1?" in prompt else "both"), PAIRS)
    rate = graphrag.win_rates(PAIRS, mute)["Overall"]
    assert (rate.n, rate.unread) == (9, pytest.approx(8 / 9)) and rate.a == pytest.approx(1 / 9)
    assert rate.score.value == pytest.approx((1 + 8 / 2) / 9)


sides = st.none() | st.fixed_dictionaries({name: st.sampled_from("ab") for name in graphrag.CRITERIA})


@given(st.lists(st.builds(graphrag.Verdict, sides, sides), min_size=1, max_size=12))
def test_shares_add_up_and_the_interval_is_the_bootstraps(verdicts):
    pairs = [replace(PAIRS[0], group=f"book {i % 4}") for i in range(len(verdicts))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "bootstrap", lambda x, **options: bootstrap(x, **options, resamples=50))
        for criterion, rate in graphrag.win_rates(pairs, verdicts).items():
            assert rate.a + rate.b + rate.tie + rate.unread == pytest.approx(1) and rate.n == len(verdicts)
            score = [{"a": 1, "b": 0}.get(verdict.outcome(criterion), 0.5) for verdict in verdicts]
            assert rate.score is None if len(score) < 2 else rate.score.value == pytest.approx(np.mean(score))
            assert rate.first is None or 0 <= rate.first.value <= 1


def test_preferences_that_the_log_bears_out(book):
    language = book.document.language
    preferences = graphrag.gold_preferences(book, 6)
    assert preferences == graphrag.gold_preferences(book, 6)
    assert [preference.kind for preference in preferences] == ["removed", "doubled", "swapped"] * 6
    for preference in preferences:
        facts, worse = (text.rstrip(".。").split(STOP[language]) for text in (preference.comparison.a, preference.comparison.b))
        n = len(facts)
        assert 3 <= n <= passages.FACTS[language] and len(set(facts)) == n and preference.comparison.group == book.document.id
        expected = {"removed": (n - 1, n - 1), "doubled": (n + 1, n), "swapped": (n, n - 1)}[preference.kind]
        assert (len(worse), len(set(worse))) == expected and set(worse) <= set(facts)


def test_how_well_a_judge_agrees(book):
    preferences = graphrag.gold_preferences(book, 6)

    def agreed(judge):
        verdicts = graphrag.judged(Model(judge), [preference.comparison for preference in preferences], book.document.language)
        return {kind: share.value for kind, share in graphrag.agreement(preferences, verdicts).items()}

    assert agreed(ideal) == dict.fromkeys(("removed", "doubled", "swapped", "all"), 1)
    assert agreed(longer).items() >= {"removed": 1, "doubled": 0}.items()
    assert agreed(lambda prompt: verdict_of(True))["all"] == 0.5
    assert agreed(lambda prompt: "both")["all"] == 0


@pytest.fixture(scope="module")
def log(book):
    return graphrag.Log(book)


@pytest.fixture(scope="module")
def chunks(log, tokenizer):
    return passages.cut(log.book, tokenizer, graphrag.PASSAGE)


@pytest.fixture(scope="module")
def graph(log, chunks):
    return graphrag.of_story(log.book, chunks)


# -- what a book tells -------------------------------------------------------------------------------------------------


def test_each_fact_is_told_by_its_own_words(log):
    assert len(log.facts) > 60 and all(fact.spans for fact in log.facts.values())
    for name, fact in log.facts.items():
        assert log.stated(fact.says) >= {name} and all(log.facts[key].says == fact.says for key in log.stated(fact.says))
    everything = STOP[log.language].join(fact.says for fact in log.facts.values())
    assert log.stated(everything) == set(log.facts) and log.stated("") == set()


def test_a_person_has_the_facts_that_name_them(log):
    assert set().union(*log.facts_of.values()) == set(log.facts)
    for person, facts in log.facts_of.items():
        names = log.names(person)
        assert len(names) == 1 + (log.book.world.people[person].guise is not None)
        says = [log.facts[name].says for name in facts]
        assert all(any(mentions(name, text) for name in names) for text in says) and len(set(facts)) == len(facts)


def test_other_words_count_and_a_tie_counts():
    log = graphrag.Log(storyworld.book(1001, tokens=15_000))
    kin = next(binding for binding in log.book.world.bindings if binding.kind == "kin")
    a, b = (log.book.voice.name(person) for person in (kin.person, kin.other))
    relation = log.book.voice.relation(kin)
    assert f"binding{kin.id}" in log.stated(f"{a} – {relation} – {b}")
    assert log.stated(f"Few knew that {a} was the {relation} of {b}.") == {f"binding{kin.id}"}
    assert not log.stated(f"{a} met {b}.")


def test_what_a_gold_graph_holds(log, graph, chunks):
    held = graphrag.holdings(log, graph, chunks)
    assert len(held.entities) == len(graph.entities) and len(held.relations) == len(graph.relations)
    assert len(held.chunks) == len(chunks)
    assert frozenset().union(*held.chunks) == set(log.facts)  # the book tells all of it
    for person, facts in log.facts_of.items():
        (at,) = [i for i, entity in enumerate(graph.entities) if entity.name == log.book.voice.name(person)]
        assert held.entities[at] & set(facts)
    assert held.facts(NOTHING_SHOWN) == frozenset()
    context = replace(NOTHING_SHOWN, entities=(0, 1), relations=(2,), chunks=(3,))
    assert held.facts(context) == held.entities[0] | held.entities[1] | held.relations[2] | held.chunks[3]


# -- questions, retrieval, answers -------------------------------------------------------------------------------------


def test_questions_by_name_and_by_trade(log):
    questions = graphrag.posed(log, 5)
    assert questions == graphrag.posed(log, 5) != graphrag.posed(log, 5, seed=1)
    assert [question.way for question in questions] == ["name", "trade"] * 5
    voice = log.book.voice
    for by_name, by_trade in zip(questions[::2], questions[1::2], strict=True):
        assert by_name.person == by_trade.person and by_name.facts == by_trade.facts
        assert len(by_name.facts) >= graphrag.LEAST
        assert by_name.question == by_name.resolved == by_trade.resolved
        assert mentions(voice.name(by_name.person), by_name.question)
        assert mentions(voice.bare_trade(by_trade.person), by_trade.question)
        assert not mentions(voice.name(by_name.person), by_trade.question)
    assert len({question.question for question in questions}) == 10


def test_tokens_are_counted_by_lines(log, tokenizer):
    count, text = graphrag.counter(tokenizer), log.book.document.text[:4000]
    exact = len(tokenizer(text, add_special_tokens=False)["input_ids"])
    assert exact <= count(text) <= 1.05 * exact and count(text) == count(text)
    assert count("Ann") == 1 + count("") == 1


def test_contexts_are_of_the_first_entities(log, graph, chunks, tokenizer):
    questions, name = graphrag.posed(log, 2), log.book.document.id
    ranks = {(name, question.question): tuple(range(i, i + 20)) for i, question in enumerate(questions)}
    contexts = graphrag.contexts(questions, ranks, {name: graph}, {name: chunks}, graphrag.counter(tokenizer), 900, 4)
    for i, context in enumerate(contexts):
        assert context.entities == tuple(range(i, i + len(context.entities))) and 1 <= len(context.entities) <= 4
        assert context.tokens <= 900 and context.chunks


def test_an_extract_says_what_the_graph_says_of_somebody(log, graph):
    every = [tuple(range(len(items))) for items in (graph.entities, graph.relations)]
    for person in list(log.facts_of)[:5]:
        names = log.names(person)
        at = [entity.name for entity in graph.entities].index(names[0])
        said = graphrag.extract(graph, replace(NOTHING_SHOWN, entities=(at,)), names, log.language)
        assert log.stated(said) >= log.stated(graph.entities[at].description) and said.count(names[0])
        more = graphrag.extract(graph, graphrag.Context("", *every, (), 0), names, log.language)
        parts = more.rstrip(".。").split(STOP[log.language])
        assert len(parts) <= graphrag.EXTRACT and len(set(parts)) == len(parts)
        assert all(any(mentions(name, part) for name in names) for part in parts)


def test_a_judge_is_asked_by_name_and_shown_some_words(log):
    questions = [item for item in graphrag.posed(log, 3) if item.way == "trade"]
    pairs = graphrag.compared(questions, ["Ann.", "", "Tom."], ["", "", "Tom."])
    none = graphrag.NOTHING[log.language]
    assert [(item.a, item.b) for item in pairs] == [("Ann.", none), (none, none), ("Tom.", "Tom.")]
    assert [item.question for item in pairs] == [item.resolved for item in questions]
    assert {item.group for item in pairs} == {log.book.document.id}
    model = Model(lambda prompt: verdict_of(True))
    same = graphrag.alike(questions, ["Ann.", "Eve.", "Tom."])
    rate = graphrag.win_rates(same, graphrag.judged(model, same, log.language))["Overall"]
    assert (rate.tie, rate.first.value) == (1, 1) and len(set(model.requests)) == 3  # both orders are one prompt
