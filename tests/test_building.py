"""What the builder's adapter learns from: shares of what blocks change, graphs that a perfect builder ends with, replies that
can be written; and counts: the gold's number where the graph is whole, else what the graph says."""

import json
from collections import Counter
from itertools import pairwise

import pytest
from extras import refused
from llguidance import LLMatcher
from llguidance.hf import from_tokenizer

import storyworld
from mindscape.llm import LanguageModel
from mindscape.llm.recording import Scripted
from mindscape.llm.schema import parse
from mindscape.mindgraph import scoring
from mindscape.mindgraph.build import noted, rebuild
from mindscape.roles import BUILDER, COUNTED, UNKNOWN, Example, Noted, quoting
from mindscape.training import encode
from storyworld import training_book
from storyworld.teaching.building import Run, block_examples, count_examples, counted, verify_examples
from storyworld.teaching.graphs import split_blocks
from storyworld.world import Chance

BOOKS = [(920, "en"), (921, "en"), (922, "en"), (923, "zh"), (924, "en"), (925, "en"), (926, "zh")]


@pytest.fixture(scope="module")
def made(tokenizer):
    return [example for seed in (600, 700, 800) for example in block_examples(training_book(seed), tokenizer)]


def noted_in(example):
    return Noted.model_validate(parse(example.reply)[0])


def test_shares_of_what_blocks_change(made):
    """Half of the blocks change nothing; all four operations occur: none did that but two in what the reader learned from."""
    blocks = [noted_in(example) for example in made if example.role.startswith("builder")]
    changes = Counter(operation.op for block in blocks for operation in block.operations)
    assert 0.4 < sum(not block.operations for block in blocks) / len(blocks) < 0.6
    assert set(changes) == {"add_node", "add_edge", "edit_node", "delete_node"}
    assert changes["delete_node"] / len(blocks) > 0.02 and changes["edit_node"] / len(blocks) > 0.01
    assert all(bool(block.bears) == bool(block.operations) and set(block.bears) <= set(block.told) for block in blocks)
    states = Counter("(empty)" in example.prompt for example in made if example.role == "builder full")
    assert min(states.values()) / states.total() > 0.1  # into an empty graph, and into one with notes


def test_shares_of_answers(made):
    roles = Counter(example.role for example in made if example.role.startswith("answer"))
    calls = [example for example in made if example.role == "answer lacks, look-up"]
    assert roles["answer looked up"] == len(calls) > 0.05 * roles.total() and roles["answer says"] > 0.2 * roles.total()
    for call, after in zip(calls, [example for example in made if example.role == "answer looked up"], strict=True):
        answer, name = json.loads(after.reply)["answer"], json.loads(call.reply)["arguments"]["node_id"]
        assert after.history[0] == call.reply and answer.lower() in after.history[1].lower()
        assert f'"id": "{name}"' in call.prompt and call.prompt == after.prompt


@pytest.mark.parametrize(
    "make, seed, kind", [(block_examples, 600, "made"), (count_examples, 920, "counts"), (verify_examples, 976, "verified")]
)
def test_the_same_book_gives_the_same_examples(make, seed, kind, tokenizer, request):
    again = make(training_book(seed), tokenizer)
    first = request.getfixturevalue(kind)[: len(again)]
    assert again == first != make(training_book(seed), tokenizer, seed=1)


def through(book, chunks, question, tokenizer):
    """A book read to its end by a builder who makes no fault."""
    run = Run(book, chunks, question, tokenizer, Chance("test", book.world.seed), faults=0)
    for index in range(len(chunks)):
        run.go(index, *run.gold(index))
    return run


@pytest.mark.parametrize("seed", storyworld.DEVELOP[:2])
@pytest.mark.parametrize("kind", scoring.KINDS)
def test_a_builder_without_faults_ends_with_the_gold_graph(seed, kind, tokenizer):
    book = storyworld.book(seed, 15_000)
    chunks, question = split_blocks(book, tokenizer), scoring.question_for(book, kind)
    run = through(book, chunks, question, tokenizer)
    assert run.graph == rebuild(scoring.perfect(book, question, chunks)) and run.graph.nodes


def test_replies_can_be_written(made, tokenizer):
    """By a model whose decoding is held to quotes of the block."""
    constraints = from_tokenizer(tokenizer)
    full = [example for example in made if example.role == "builder full"][:20]
    for example in [*full, *[example for example in made if example.role == "builder empty"][:5]]:
        grammar = LLMatcher.grammar_from_lark(quoting(example.prompt.rpartition(":\n")[2], Noted)["lark"])
        matcher, tokens = LLMatcher(constraints, grammar), tokenizer(example.reply)["input_ids"]
        assert matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting(), example.reply


def test_only_the_last_reply_is_learned(tokenizer):
    history = ('{"name": "lookup_source"}', "Result: Ann sold it.")
    example = Example("answer", "Who?", '{"answer": "Ann"}', "book", history)
    encoded = encode(example, tokenizer)
    assert tokenizer.decode(encoded.ids[-encoded.reply :]) == '{"answer": "Ann"}<|im_end|>'
    text = tokenizer.decode(encoded.ids)
    places = [text.index(part) for part in (example.prompt, *history, example.reply)]
    assert places == sorted(places)


def test_a_build_asks_in_the_builder_s_words(tokenizer):
    book = storyworld.book(storyworld.DEVELOP[0], 15_000)
    reply = '{"told": ["Ivo sold it."], "bears": [], "operations": []}'
    model, blocks = Scripted(lambda *_: reply), split_blocks(book, tokenizer)[:2]
    journal = noted(book.document, "Who?", LanguageModel(model), blocks=blocks, held=True, role=BUILDER)
    assert [entry.reply for entry in journal.entries] == [reply, reply] and not rebuild(journal).nodes
    assert all('"bears"' in talk[0]["content"] and schema["title"] == "Noted" for talk, _, schema in model.requests)


# Verifying


@pytest.fixture(scope="module")
def verified(tokenizer):
    return [example for seed in range(976, 982) for example in verify_examples(training_book(seed), tokenizer)]


def test_shares_of_what_is_verified(verified):
    """Two in five of what is looked up says something else than the notes. What one passage cannot decide has the shares that
    questions have: taught to look up all alike (of 277 look-ups 8 of liars, then 78 of 211), the model names liars badly."""
    roles = Counter(example.role for example in verified)
    looks, right, mended = (roles[f"verify {kind}"] for kind in ("look", "right", "mended"))
    assert looks == right + mended > 0.25 * roles.total() and 0.3 < mended / looks < 0.7
    assert 0 < roles["verify nothing"] < 0.15 * roles.total()
    assert roles["verify liar"] > 0.07 * roles.total() and roles["verify count"] > 0.1 * roles.total()


def test_what_is_verified_goes_by_the_passage(verified):
    """The look-up is of a node that the prompt shows; the answer stands in its passage or in the notes, and wrong notes do not
    decide it."""
    for call, after in pairwise(verified):
        if call.role != "verify look":
            continue
        name, said = json.loads(call.reply)["arguments"]["node_id"], json.loads(after.reply)
        notes = after.prompt.partition("Graph:")[2].partition("Size:")[0]
        passage, answer = json.loads(after.history[1].partition(": ")[2])["passage"], said["answer"].lower()
        assert after.history[0] == call.reply and call.prompt == after.prompt and f'"id": "{name}"' in notes
        assert answer in (passage if after.role == "verify mended" else passage + notes).lower()
        assert (answer in notes.lower()) == (after.role == "verify right")
        assert said["cited_nodes"] and said["confidence"] == "high"
        assert all(f'"id": "{cited}"' in notes for cited in said["cited_nodes"])


def test_other_languages_are_not_verified(tokenizer):
    refused(lambda: verify_examples(training_book(923, "zh"), tokenizer), "'zh': expected English")


# Counting


@pytest.fixture(scope="module")
def counts(tokenizer):
    return [example for seed, language in BOOKS for example in count_examples(training_book(seed, language), tokenizer)]


def reply(example):
    return COUNTED.parse(example.reply)[0]


@pytest.mark.parametrize("seed, language", BOOKS)
def test_a_whole_graph_has_the_books_number(seed, language, tokenizer):
    book = training_book(seed, language)
    chunks = split_blocks(book, tokenizer)
    counting = [question for question in book.questions if question.kind == "people"]
    for question in counting:
        run = through(book, chunks, question, tokenizer)
        value = reply(counted(run, len(chunks)))
        noted = {run.reading.ids.get(run.builder.key(event)) for event in run.wanted}
        if noted == set(value.cited_nodes):  # a quote that a border cuts is not noted, a long graph is not shown whole
            assert value.answer == question.answer
    assert counting


def test_each_line_is_of_the_graph_and_counts_on(counts):
    for example in counts:
        value, people = reply(example), []
        for line in value.counted:
            node, _, rest = line.partition(": ")
            who, _, number = rest.rpartition(", ")
            people += [who] if who not in people else []
            assert int(number) == len(people)
            assert f'"id": "{node}"' in example.prompt and who.lower() in example.prompt.lower()
        assert len(value.counted) <= 2 * len(value.cited_nodes)  # two embrace
        assert (value.confidence == "low") == (value.answer in UNKNOWN.values()) == (not value.counted)


def test_shares_of_numbers(counts):
    """No number has half of the examples, and the same question has several right answers."""
    numbers = Counter(reply(example).answer for example in counts if "How many" in example.prompt)
    assert len(numbers) >= 5 and max(numbers.values()) < numbers.total() / 2
    assert numbers[UNKNOWN["en"]] < 0.1 * numbers.total()
    by_question: dict[str, set[str]] = {}
    for example in counts:
        by_question.setdefault(example.prompt.rpartition("\n\n")[2], set()).add(reply(example).answer)
    assert sum(len(answers) > 1 for answers in by_question.values()) > len(by_question) / 2


def test_the_paper_s_order_has_the_same_counts_from_the_same_graphs(counts, tokenizer):
    for lines, number in zip(counts[:18], count_examples(training_book(920), tokenizer, number_first=True), strict=True):
        value, other = json.loads(number.reply), reply(lines)
        same = {"answer": other.answer, "cited_nodes": other.cited_nodes, "confidence": other.confidence}
        assert value == same and list(value) == list(same)  # the lines stand before the number, the nodes after it
        assert list(json.loads(lines.reply)) == ["counted", "answer", "confidence"]
        assert number.prompt.partition("Graph:")[2] == lines.prompt.partition("Graph:")[2]
