"""GraphRAG mode on novels: facts of the log in texts, contexts and answers, what is kept and goes on, the command."""

import json
import sys

import numpy as np
import pytest
from stubs import Model
from test_mia_graphrag import Asked

from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.mia import graph_evaluation
from mindscape.mia.graph_evaluation import (
    LEAST,
    LOG,
    NOTHING,
    PASSAGE,
    SAID,
    SUMMARY,
    Log,
    alike,
    answers,
    compared,
    contexts,
    counter,
    extract,
    holdings,
    nodes,
    posed,
)
from mindscape.mia.graphrag import CRITERIA, Context, Graph, Told, judged, merged, of_story, win_rates
from mindscape.reader.evaluation import Kept
from mindscape.roles import passages
from mindscape.text import mentions


@pytest.fixture(scope="module", params=["en", "zh"])
def log(request):
    return Log(storyworld.book(1000, tokens=15_000, language=request.param))


@pytest.fixture(scope="module")
def chunks(log, tokenizer):
    return passages.cut(log.book, tokenizer, PASSAGE)


@pytest.fixture(scope="module")
def graph(log, chunks):
    return of_story(log.book, chunks)


def kept_at(path):
    return Kept.of(path, "toy", dtype="float32")


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
    assert list(map(len, (held.entities, held.relations, held.chunks))) == [
        len(graph.entities), len(graph.relations), len(chunks)
    ]  # fmt: skip
    assert frozenset().union(*held.chunks) == set(log.facts)  # the book tells all of it
    for person, facts in log.of.items():
        (at,) = [i for i, it in enumerate(graph.entities) if it.name == log.book.voice.name(person)]
        assert held.entities[at] & set(facts)
    everything = Context("", *(tuple(range(len(some))) for some in (graph.entities, graph.relations, chunks)), 0)
    assert held.of(everything) == set(log.facts) and held.of(Context("", (), (), (), 0)) == frozenset()
    some = Context("", (0, 1), (2,), (3,), 0)
    assert held.of(some) == held.entities[0] | held.entities[1] | held.relations[2] | held.chunks[3]


# -- questions, retrieval, answers -------------------------------------------------------------------------------------


def test_questions_by_name_and_by_trade(log):
    asked = posed(log, 5)
    assert asked == posed(log, 5) and [one.way for one in asked] == ["name", "trade"] * 5
    voice = log.book.voice
    for by_name, by_trade in zip(asked[::2], asked[1::2], strict=True):
        assert by_name.person == by_trade.person and by_name.facts == by_trade.facts and len(by_name.facts) >= LEAST
        assert by_name.question == by_name.resolved == by_trade.resolved
        assert mentions(voice.name(by_name.person), by_name.question)
        assert mentions(voice.bare_trade(by_trade.person), by_trade.question)
        assert not mentions(voice.name(by_name.person), by_trade.question)
    assert len({one.question for one in asked}) == 10


class Embedder:
    """Embeds by the letters of a text; says what it was given."""

    def __init__(self):
        self.summaries = []

    def units(self, texts):
        return np.array([[text.count(letter) for letter in "aeiou"] for text in texts], dtype=float) + 0.1

    def queries(self, questions, summary=None, task="chunk"):
        assert task == "node"
        self.summaries.append(summary)
        return self.units(questions)


@pytest.mark.parametrize("source, told, delta", [("", False, 1.0), (SUMMARY, True, None), ("adapters/mia", True, None)])
def test_ranks_are_kept_and_belong_to_their_graphs(log, graph, tmp_path, monkeypatch, source, told, delta):
    loaded, embedder = [], Embedder()

    def load(**options):
        loaded.append(options)
        return embedder

    monkeypatch.setattr(graph_evaluation.embedding, "load", load)
    monkeypatch.setattr(graph_evaluation, "adapter_hash", lambda folder: f"hash of {folder}")
    asked = posed(log, 3)
    found = nodes(tmp_path, "toy", source, LOG, [graph], asked)
    adapter = source if source not in ("", SUMMARY) else None
    assert loaded == [{"adapter": adapter, "delta": delta, "dtype": "auto"}]
    assert embedder.summaries == [log.book.summary if told else None]
    assert set(found) == {(log.book.document.id, one.question) for one in asked}
    assert all(len(row) == 20 == len(set(row)) for row in found.values())
    assert nodes(tmp_path, "toy", source, LOG, [graph], asked) == found and len(loaded) == 1  # nothing is lacking
    other = Graph(graph.document, graph.entities[1:], ())
    with pytest.raises(InputError, match="holds another run"):
        nodes(tmp_path, "toy", source, LOG, [other], asked)
    with pytest.raises(InputError, match="0 graphs, but questions on 1 books"):
        nodes(tmp_path, "toy", source, LOG, [], asked)


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
        assert len(parts) <= SAID and len(set(parts)) == len(parts)
        assert all(any(mentions(name, part) for name in names) for part in parts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_answers_are_asked_for_once(language, tmp_path):
    pairs = [("Why?", "Ann left."), ("Why?", "Tom left."), ("How?", "Ann left.")]
    first, kept = Asked(lambda prompt: f"{len(prompt)} {{x}}\n"), kept_at(tmp_path / "a.jsonl")
    found = answers(first, kept, pairs, language, batch=2)
    assert found == [f"{len(prompt)} {{x}}" for prompt in first.asked] and len(first.asked) == 3
    again = Asked(lambda prompt: "")
    assert answers(again, kept, [*pairs[::-1], ("Who?", "")], language) == [*found[::-1], ""]
    assert len(again.asked) == 1


def test_a_killed_run_goes_on(tmp_path):
    pairs, kept = [(f"Why {i}?", "Ann left.") for i in range(7)], kept_at(tmp_path / "a.jsonl")
    first, again = Asked(lambda prompt: prompt[-9:], dies=3), Asked(lambda prompt: prompt[-9:])
    with pytest.raises(KeyboardInterrupt):
        answers(first, kept, pairs, batch=2)
    with kept.path.open("a") as file:
        file.write('{"key": "')  # the line that was being written
    found = answers(again, kept, pairs, batch=2)
    assert len(again.asked) == 3 and not set(first.asked) & set(again.asked)
    assert found == answers(Asked(lambda prompt: ""), kept, pairs) and len(set(found)) == 7
    with kept.path.open("a") as file:
        file.write('{"key": "x"}\n')
    with pytest.raises(InputError, match="line 9: expected a key and an answer"):
        answers(again, kept, pairs)


def test_a_judge_is_asked_by_name_and_shown_some_words(log, tmp_path):
    asked = [one for one in posed(log, 3) if one.way == "trade"]
    some = compared(asked, ["Ann.", "", "Tom."], ["", "", "Tom."])
    none = NOTHING[log.language]
    assert [(one.a, one.b) for one in some] == [("Ann.", none), (none, none), ("Tom.", "Tom.")]
    assert [one.question for one in some] == [one.resolved for one in asked]
    assert {one.group for one in some} == {log.book.document.id}
    first = json.dumps(dict.fromkeys(CRITERIA, {"Explanation": "So.", "Winner": "Answer 1"}))
    model = Model(lambda prompt: first)
    same = alike(asked, ["Ann.", "Eve.", "Tom."])
    rate = win_rates(same, judged(model, kept_at(tmp_path / "a.jsonl"), same, log.language))["Overall"]
    assert (rate.tie, rate.first.value) == (1, 1) and len(model.asked) == 3  # both orders are one prompt


# -- the command -------------------------------------------------------------------------------------------------------


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["graph_evaluation", *arguments])
    graph_evaluation.main()


def reading(prompt):
    """Names one person in each passage; answers; the longer answer is better."""
    if "JSON array" in prompt:
        return json.dumps([{"name": "Ann", "description": "Ann was there."}, {"name": "Tom", "description": ""}])
    if '"op"' in prompt:
        return '{"operations": []}'
    if "Answer 1: " in prompt:
        first, second = prompt[prompt.rindex("Answer 1: ") :].split("Answer 2: ")
        winner = "Answer 1" if len(first) >= len(second) else "Answer 2"
        return json.dumps(dict.fromkeys(CRITERIA, {"Explanation": "So.", "Winner": winner}))
    return "Nobody knows."


def test_the_command_goes_on_and_says_what_came_of_it(tmp_path, monkeypatch, capsys):
    model = Asked(reading)
    model.model = type("Weights", (), {"dtype": "torch.float32"})
    monkeypatch.setattr(graph_evaluation.llm, "load", lambda *_, **options: model)
    monkeypatch.setattr(graph_evaluation.embedding, "load", lambda **options: Embedder())
    told = f"--out {tmp_path} --llm hf:toy --books 2 --share 2 --retrievers vanilla=,told={SUMMARY}".split()
    run(monkeypatch, *told)
    out = capsys.readouterr().out
    assert "2 entities, 0 ties" in out and "extracts, told against vanilla, Overall: won " in out
    assert "agreement with gold: {'removed': 1.0, 'doubled': 0.0" in out
    asked = len(model.asked)
    run(monkeypatch, *told)
    assert capsys.readouterr().out == out and len(model.asked) == asked
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {f"{name}.jsonl" for name in ("graphs", "answers", "verdicts")} | {
        f"nodes_{sort}_{name}.jsonl" for sort in ("log", "reader") for name in ("vanilla", "told")
    }


@pytest.mark.parametrize(
    "changed, said",
    [
        (["--books", "0"], "--books 0 --share 8: expected at least 1 of each"),
        (["--system", "mia_emb"], "no retriever 'mia_emb': expected some of vanilla"),
        (["--against", "sft_emb"], "no retriever 'sft_emb': expected some of vanilla"),
    ],
)
def test_a_command_that_cannot_be(tmp_path, monkeypatch, changed, said):
    with pytest.raises(SystemExit, match=said):
        run(monkeypatch, "--out", str(tmp_path), *changed)


def test_a_toy_of_the_notebook():
    told = [Told(0, (("Ann", "Ann is the smith."),)), Told(1, (), (("Ann", "Tom", "Ann lent Tom a lamp."),))]
    graph = merged("toy", told)
    assert extract(graph, Context("", (1,), (0,), (), 0), ["Ann"]) == "Ann lent Tom a lamp."
