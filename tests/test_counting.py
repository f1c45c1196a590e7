"""Counting from a concept graph: the gold's number where the graph is whole, else what the graph says."""

import json
from collections import Counter

import pytest

from mindscape.roles import COUNTED, GRAPH_ANSWER, UNKNOWN, Counted
from storyworld import training_book
from storyworld.teaching.building import Run, count_examples, counted
from storyworld.teaching.graphs import split_blocks
from storyworld.world import Chance

BOOKS = [(920, "en"), (921, "en"), (922, "en"), (923, "zh"), (924, "en"), (925, "en"), (926, "zh")]


@pytest.fixture(scope="module")
def made(tokenizer):
    return [example for seed, language in BOOKS for example in count_examples(training_book(seed, language), tokenizer)]


def reply(example) -> Counted:
    return COUNTED.parse(example.reply)[0]


@pytest.mark.parametrize("seed, language", BOOKS)
def test_a_whole_graph_has_the_books_number(seed, language, tokenizer):
    book = training_book(seed, language)
    chunks = split_blocks(book, tokenizer)
    asked = [question for question in book.questions if question.kind == "people"]
    for question in asked:
        run = Run(book, chunks, question, tokenizer, Chance("test", seed), faults=0)
        for index in range(len(chunks)):
            run.go(index, *run.gold(index))
        value = reply(counted(run, len(chunks)))
        noted = {run.reading.ids.get(run.builder.key(event)) for event in run.wanted}
        if noted == set(value.cited_nodes):  # a quote that a border cuts is not noted, a long graph is not shown whole
            assert value.answer == question.answer
    assert asked


def test_each_line_is_of_the_graph_and_counts_on(made):
    for example in made:
        value, people = reply(example), []
        for line in value.counted:
            node, _, rest = line.partition(": ")
            who, _, number = rest.rpartition(", ")
            people += [who] if who not in people else []
            assert int(number) == len(people)
            assert f'"id": "{node}"' in example.prompt and who.lower() in example.prompt.lower()
        assert len(value.counted) <= 2 * len(value.cited_nodes)  # two embrace
        assert (value.confidence == "low") == (value.answer in UNKNOWN.values()) == (not value.counted)


def test_shares_of_numbers(made):
    """No number has half of the examples, and the same question has several right answers."""
    numbers = Counter(reply(example).answer for example in made if "How many" in example.prompt)
    assert len(numbers) >= 5 and max(numbers.values()) < numbers.total() / 2
    assert numbers[UNKNOWN["en"]] < 0.1 * numbers.total()
    by_question: dict[str, set[str]] = {}
    for example in made:
        by_question.setdefault(example.prompt.rpartition("\n\n")[2], set()).add(reply(example).answer)
    assert sum(len(answers) > 1 for answers in by_question.values()) > len(by_question) / 2


def test_the_same_book_gives_the_same_examples(made, tokenizer):
    again = count_examples(training_book(920), tokenizer)
    assert again == made[:18] != count_examples(training_book(920), tokenizer, seed=1)


def test_the_lines_stand_before_the_number(made):
    assert list(json.loads(made[0].reply)) == ["counted", "answer", "confidence"]


def test_the_paper_s_order_has_the_same_counts_from_the_same_graphs(made, tokenizer):
    first = count_examples(training_book(920), tokenizer, number_first=True)
    for lines, number in zip(made[:18], first, strict=True):
        value, other = GRAPH_ANSWER.parse(number.reply)[0], reply(lines)
        assert (value.answer, value.cited_nodes, value.confidence) == (
            other.answer,
            other.cited_nodes,
            other.confidence,
        )
        assert list(json.loads(number.reply)) == ["answer", "cited_nodes", "confidence"]
        assert number.prompt.partition("Graph:")[2] == lines.prompt.partition("Graph:")[2]
