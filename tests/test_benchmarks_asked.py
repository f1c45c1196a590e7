"""A few of a benchmark's questions, asked and scored as the notebooks do it, on the fixtures."""

import shutil
from pathlib import Path

import pytest
from extras import refused
from test_signature_agent import said, step_of
from test_signature_rag import Bag, Embedder, Model

import benchmarks
from benchmarks import Item, Loaded, asking
from mindscape.errors import InputError
from mindscape.mia import retrieval as mia
from mindscape.mia.retrieval import benchmark_answers
from mindscape.search import DEPTH
from mindscape.signature import agent
from mindscape.signature.agent import Settings
from mindscape.signature.memory import posed_items
from mindscape.signature.rag import Shelf, answers, of_benchmark, rank
from mindscape.text import Document

HERE = Path(__file__).parent / "fixtures" / "benchmarks"
CHOICES = ("infinitebench", "detectiveqa-en", "detectiveqa-zh")
KINDS = dict.fromkeys(asking.TASKS, "qa") | dict.fromkeys(CHOICES, "choice") | {"nocha": "claim"}
OWNERS = "Read: [book_text]\nIs it so? [claim]\n<explanation>…</explanation><answer>TRUE|FALSE</answer>"


def reply_to(name: str) -> str:
    """A reply to any prompt of a task."""
    reasoned = "<explanation>It says so.</explanation>\n<answer>{}</answer>"
    return {"qa": "a song", "choice": reasoned.format("B"), "claim": reasoned.format("TRUE")}[KINDS[name]]


# What is asked --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", asking.TASKS)
def test_a_few_questions_with_their_texts(name):
    sample = asking.few(name, HERE, 2)
    assert 1 <= len(sample.items) <= 2 and {item.doc_id for item in sample.items} == set(sample.documents)
    assert {asking.kind(item) for item in sample.items} == {KINDS[name]}
    parts, language = set(asking.TASKS[name].parts), name.rpartition("-")[2]
    assert parts <= set(benchmarks.named(asking.TASKS[name].benchmark).parts)
    assert not parts or {item.part for item in sample.items} <= parts
    assert language not in ("en", "zh") or {item.language for item in asking.few(name, HERE, 9).items} == {language}
    assert all(asking.right(item) in (item.choice, *item.answers) for item in sample.items)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_pairs_of_claims_stay_whole(most):
    sample = asking.few("nocha", HERE, most)
    assert len(sample.items) == {1: 2, 2: 2, 3: 4}[most]
    scores = asking.scores(sample.items, ["TRUE"] * len(sample.items))
    assert scores["accuracy"] == (1.0, 0.0) * (len(sample.items) // 2) or sum(scores["accuracy"]) == len(sample.items) / 2
    assert scores["pair_accuracy"] == (0.0,) * (len(sample.items) // 2)
    right = asking.scores(sample.items, [item.answers[0] for item in sample.items])
    assert set(right["accuracy"]) == set(right["pair_accuracy"]) == {1.0}


def test_an_unknown_task_is_named_with_those_there_are():
    assert len(asking.sample("nocha", "storyworld", ("nocha",), HERE, 2).items) == 2
    refused(lambda: asking.few("longbench", HERE), "no task 'longbench': expected one of narrativeqa")
    refused(lambda: asking.few("nocha", HERE, 0), "most is 0")


@pytest.mark.parametrize("name", asking.TASKS)
def test_what_is_missing_and_who_publishes_it_is_said_in_one_line(name, monkeypatch, tmp_path):
    benchmark = benchmarks.named(asking.TASKS[name].benchmark)
    monkeypatch.delenv(benchmarks.VARIABLE, raising=False)
    for line in (asking.tell(name), str(pytest.raises(InputError, asking.few, name).value)):
        assert f"set {benchmarks.VARIABLE}" in line and benchmark.files[0].published in line and "\n" not in line
    for line in (asking.tell(name, tmp_path), str(pytest.raises(InputError, asking.few, name, tmp_path).value)):
        assert benchmark.files[0].published in line and benchmark.files[0].save_as in line and "\n" not in line
    there = asking.tell(name, HERE)
    assert "of its files are there" in there and benchmark.metric((asking.TASKS[name].parts or ("",))[0]).name in there


def test_without_a_row_of_the_task_it_is_named(folder):
    shutil.rmtree(folder / "detectiveqa" / "anno_data_zh")
    refused(lambda: asking.few("detectiveqa-zh", folder), "no row of detectiveqa-zh")


# Prompts and scores ---------------------------------------------------------------------------------------------------


def test_the_owners_prompt_is_taken_where_it_lies_with_the_data(folder):
    assert asking.template("nocha", folder) == ""
    path = folder / "nocha" / "prompts" / "prompt.txt"
    path.parent.mkdir()
    path.write_text(OWNERS, encoding="utf-8")
    text = asking.template("nocha", folder)
    filled = asking.fill(text, "[claim] and {braces}", "She rode.")
    assert filled.startswith("Read: [claim] and {braces}\nIs it so? She rode.")
    assert asking.template("narrativeqa", folder) == asking.template("infinitebench", folder) == ""
    path.write_text("Is [claim] so?", encoding="utf-8")
    refused(lambda: asking.template("nocha", folder), r"has no \[book_text\]")


def test_scores_by_hand():
    free = [Item("1", "d", "Who?", ("the tall smith", "Ann"), language="en"), Item("2", "d", "What?", ("a lamp",))]
    scores = asking.scores(free, ["the smith", ""])
    assert scores["exact_match"] == (0.0, 0.0) and scores["token_f1"] == (pytest.approx(2 / 3), 0.0)
    assert set(scores) == {"exact_match", "token_f1", "rouge_l", "bleu", "meteor"}
    assert all(len(pair) == 2 for pair in scores.values())
    chinese = [Item("1", "d", "谁？", ("铁匠",), language="zh")]
    assert asking.scores(chinese, ["铁匠"]) == {"exact_match": (1.0,), "token_f1": (1.0,), "rouge_l": (1.0,)}
    choice = [Item(str(i), "d", "Who?", ("Ann",), ("Tom", "Ann", "Ivo", "Eve"), "B") for i in range(3)]
    assert asking.scores(choice, ["B", "A", ""]) == {"accuracy": (1.0, 0.0, 0.0)}
    for items, replies in (([*free, *choice], [""] * 5), (choice, ["B"]), ([], [])):
        with pytest.raises(InputError, match="expected one each, one form"):
            asking.scores(items, replies)


# The notebooks' methods -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", asking.TASKS)
def test_ranks_and_answers_of_mia_rag(name, tokenizer):
    sample = asking.few(name, HERE, 2)
    chunks, told_of = mia.cut_benchmark(sample, tokenizer), mia.benchmark_summaries(sample, tokenizer)
    assert set(chunks) == set(told_of) == set(sample.documents) and all(map(str.strip, told_of.values()))
    rows = mia.benchmark_rankings(Embedder(), sample, chunks, told_of)
    for row, right, item in zip(rows, mia.benchmark_right(sample, chunks), sample.items, strict=True):
        assert sorted(row.ids) == list(range(min(DEPTH, len(chunks[item.doc_id]))))
        assert bool(right) >= bool(item.evidence)
    hits = [(row.ids[:3], item.doc_id) for row, item in zip(rows, sample.items, strict=True)]
    shown = [[sample.documents[name][chunks[name][i]].strip() for i in ids] for ids, name in hits]
    model = Model(lambda prompt, trial: reply_to(name))
    model.backend = None  # the generator of MiA-RAG looks at it
    replies = benchmark_answers(model, sample, shown, told_of)
    assert set(replies) == {{"qa": "a song", "choice": "B", "claim": "TRUE"}[KINDS[name]]}
    for prompt, item, passages in zip(model.requests, sample.items, shown, strict=False):
        assert item.question in prompt and passages[0] in prompt and told_of[item.doc_id] in prompt
    assert set(asking.scores(sample.items, replies))
    model.requests.clear()
    benchmark_answers(model, sample, shown, told_of, template=OWNERS)
    assert model.requests[0].startswith("Read: ") and told_of[sample.items[0].doc_id] in model.requests[0]
    model.says = lambda prompt, trial: " "
    assert benchmark_answers(model, sample, shown) == [""] * len(sample.items)


def test_where_an_answer_stands_word_for_word(tokenizer):
    text = Document("d", "Ann sold the lamps to Tom. It rained.")
    words = ("sold lamps", "xyzzy", "sold lamp")  # articles do not count, half a word does not either
    items = tuple(Item(str(i), "d", "What?", (answer,)) for i, answer in enumerate(words))
    loaded = Loaded(benchmarks.named("narrativeqa"), {"d": text}, items, benchmarks.Report("narrativeqa"))
    assert mia.benchmark_right(loaded, mia.cut_benchmark(loaded, tokenizer)) == [(0,), (), ()]


@pytest.mark.parametrize("name", asking.TASKS)
def test_a_memory_of_a_benchmark(name, tokenizer):
    sample = asking.few(name, HERE, 2)
    shelf_of = of_benchmark(sample, tokenizer, width=2, size=30)
    posed = [*shelf_of.questions, *shelf_of.claims]
    assert [question.id for question in posed] == [item.id for item in sample.items]
    assert [question.kind for question in posed] == [asking.kind(item) for item in sample.items]
    for question, item in zip(posed, sample.items, strict=True):
        texts = " ".join(shelf_of.memory.texts[i] for i in question.evidence)
        assert bool(question.evidence) == bool(item.evidence)
        assert all(sample.documents[at.doc_id][at][:3] in texts for at in item.evidence)
    shelf = Shelf(shelf_of.memory, Bag(), live=True)
    rows = {row.id: row for row in rank(shelf, posed, ["coverage"])}
    assert all(row.rankings["coverage@0.5"] and row.items["coverage"] for row in rows.values())


def test_the_owners_prompt_reaches_the_generator(tokenizer):
    sample = asking.few("nocha", HERE, 2)
    held = of_benchmark(sample, tokenizer)
    assert posed_items(held.memory, sample.items) == [*held.claims] and not held.questions
    model = Model(lambda prompt, trial: reply_to("nocha") if step_of(prompt) is None else said())
    replies = answers(model, held.memory, held.claims, [(0,)] * 2, template=OWNERS)
    assert [reply.value for reply in replies] == ["TRUE", "TRUE"]
    assert all(prompt.startswith("Read: ") and held.memory.texts[0] in prompt for prompt in model.requests)

    shelf, settings = Shelf(held.memory, Bag(), live=True), Settings(top=1, k=1, inputs=("sig",))
    traces = agent.run(model, shelf, held.claims, settings, template=OWNERS)
    assert [trace.answers["sig"].value for trace in traces] == ["TRUE", "TRUE"]
    assert sum(prompt.startswith("Read: ") for prompt in model.requests) == 4


def test_an_overview_tells_what_could_be_read_or_what_was():
    known = ["nocha", "novelhopqa"]
    assert asking.overview(None, "storyworld", known, HERE).splitlines() == [
        asking.tell(benchmark, HERE) for benchmark in known
    ]
    loaded = asking.sample("nocha", "storyworld", known, HERE, 2)
    assert asking.overview(loaded, "nocha", known, HERE) == f"{asking.tell('nocha', HERE)}\n{loaded.report}"
