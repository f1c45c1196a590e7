"""What the baselines' adapter learns from: replies that the methods read, facts of the log, programs that run and find."""

import json
from collections import Counter
from functools import partial

import pytest

from mindscape.ask import Budget
from mindscape.llm import LanguageModel
from mindscape.llm.recording import Scripted
from mindscape.mindgraph import baselines
from mindscape.mindgraph.baselines import METHODS
from mindscape.mindgraph.communities import Report
from mindscape.mindgraph.sandbox import Sandbox
from mindscape.roles import QA
from mindscape.text import Document
from mindscape.training import encode
from storyworld import training_book
from storyworld.teaching import baselines as taught
from storyworld.teaching.baselines import BLOCK, NOTHING, PART, Inquiry, Telling, baseline_examples, relevance_examples

FORMS = {"gam memorise": baselines.Note, "gam plan": baselines.Plan, "gam reflect": baselines.Reflection}
FORMS |= {"graphrag extract": baselines.Extracted, "graphrag glean": baselines.Extracted, "graphrag report": Report}
FORMS |= {"graphrag map": baselines.Points, "graphrag map, idle": baselines.Points}


@pytest.fixture(scope="module")
def made(tokenizer):
    books = [training_book(seed) for seed in (820, 830)]
    return [example for book in books for example in baseline_examples(book, tokenizer, direct=True)]


@pytest.fixture(scope="module")
def telling(tokenizer):
    return Telling(training_book(820), tokenizer)


def lines_in(text):
    return [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]


def test_every_step_is_taught_and_its_reply_can_be_read(made, tokenizer):
    roles = Counter(example.role for example in made)
    assert set(FORMS) | {"coa worker", "coa worker, idle", "answer", "direct", "gam integrate"} <= set(roles)
    assert {"rlm program", "rlm query", "rlm query, idle", "rlm answer"} <= set(roles)
    for example in made:
        if form := FORMS.get(example.role):
            form.model_validate_json(example.reply)
        assert len(encode(example, tokenizer).ids) <= 8192 - 512
    assert all(baselines.code_in(example.reply) for example in made if example.role == "rlm program")
    assert all(baselines.final_in(example.reply) for example in made if example.role == "rlm answer")


def neither_is_rare(roles):
    for role in ("coa worker", "rlm query"):
        assert 0.3 < roles[f"{role}, idle"] / (roles[role] + roles[f"{role}, idle"]) < 0.7


def test_shares_of_steps_that_change_nothing(made):
    """Where nothing bears on the question the reply says so: neither kind is rare."""
    neither_is_rare(Counter(example.role for example in made))
    enough = Counter(json.loads(example.reply)["enough"] for example in made if example.role == "gam reflect")
    assert min(enough.values()) > 0.25 * enough.total()
    empty = {"graphrag glean": '{"entities": [], "relations": []}', "gam integrate": baselines.NOTHING["en"]}
    for role, nothing in empty.items():
        assert {example.reply == nothing for example in made if example.role == role} == {True, False}


@pytest.mark.parametrize("size", [170, BLOCK])
def test_what_bears_cannot_be_told_by_what_a_worker_was_given(tokenizer, size):
    """Of empty summaries some stay so and more do not, and a block has the size that was asked for."""
    made = relevance_examples(training_book(876), tokenizer, size=size)
    assert made == relevance_examples(training_book(876), tokenizer, size=size)
    roles = Counter(example.role for example in made)
    neither_is_rare(roles)
    nothing = baselines.NOTHING["en"]
    workers = [example for example in made if example.role.startswith("coa")]
    from_nothing = Counter(example.reply != nothing for example in workers if f"\n{nothing}\n" in example.prompt)
    assert min(from_nothing.values()) > 0.3 * from_nothing.total() and from_nothing.total() > 0.4 * len(workers)
    blocks = [example.prompt.partition("\n\nBlock ")[2].partition(":\n")[2] for example in workers]
    assert 0.4 * size < max(len(tokenizer(block)["input_ids"]) for block in blocks) <= size
    assert {"answer", "rlm program", "gam integrate", "gam reflect"} <= set(roles)
    fewer = Counter(example.role for example in relevance_examples(training_book(876), tokenizer, size=size, idle=1))
    assert 0 < fewer["coa worker, idle"] < 0.6 * roles["coa worker, idle"]
    assert fewer["coa worker"] == roles["coa worker"]


def test_a_worker_keeps_its_summary_and_adds_what_its_block_tells(made, telling):
    facts = {text for _, text, _ in telling.builder.facts}
    examples = [example for example in made if example.book == telling.book.document.id]
    workers = [example for example in examples if example.role.startswith("coa")]
    added = 0
    for example in workers:
        before = lines_in(example.prompt.partition("Summary so far:\n")[2].partition("\n\nBlock ")[0])
        after = lines_in(example.reply)
        assert after[: len(before)] == before and (example.role == "coa worker" or after == before)
        assert all(line in facts or line.rpartition(" (")[0] in facts for line in after)
        added += len(after) > len(before)
    assert added >= 0.3 * len(workers)


def test_a_page_number_is_that_of_the_page_that_tells_it(made, telling):
    for example in made:
        if example.role == "gam integrate" and example.book == telling.book.document.id:
            for line in lines_in(example.reply):
                fact, _, page = line.rpartition(" (page ")
                facts = telling.of_block(telling.chunks[int(page.rstrip(")")) - 1])
                assert fact in facts or fact.rpartition(" (")[0] in facts


def test_a_perfect_reader_finds_all_that_bears_on_a_question_through_its_program(telling):
    """The program runs as it stands, and its second model is asked what the examples answer."""
    text = telling.book.document.text
    with Sandbox(text) as box:
        every = (Inquiry(telling, question) for question in telling.book.questions)
        posed = next(p for p in every if p.events and not p.bindings and len(p.needed) == 1)

        def replies(prompts):
            passages = [prompt.partition("Passage: ")[2] for prompt in prompts]
            assert all(len(passage) <= PART for passage in passages)
            starts = [text.index(passage) for passage in passages]
            return ["\n".join(posed.lines(start, start + PART)) or NOTHING for start in starts]

        question = posed.question.question
        ran = box.run(baselines.code_in(taught.program(taught.words_of(question), question)), replies)
    assert not ran.error and posed.needed <= set(ran.output.splitlines()) and NOTHING not in ran.output.splitlines()


def test_prompts_are_those_that_the_methods_send(made, tokenizer):
    """What the methods ask a model about the same book begins as the examples do, block for block."""
    book, sent = training_book(820), []

    def say(talk, *_):
        sent.append(talk[0]["content"])
        return "{}"

    model = LanguageModel(Scripted(say, count=lambda talk, _=(): len(tokenizer(str(talk))["input_ids"])))
    note = Document(book.document.id, book.document.text[:9000])
    for name in ("CoA", "GAM", "GraphRAG"):
        partial(METHODS[name], size=BLOCK)("Who sold the lamp?", note, model, Budget())
    begins = {text[:60] for text in sent}
    kinds = ("coa", "gam memorise", "graphrag extract", "answer")
    taught = {example.prompt[:60] for example in made if example.role.startswith(kinds)}
    assert taught <= begins | {QA.prompt("en", context="", question="")[:60]}
    assert any(example.prompt in sent for example in made if example.role == "graphrag extract")


def test_the_same_book_gives_the_same_examples(made, tokenizer):
    again = baseline_examples(training_book(820), tokenizer, direct=True)
    assert again == made[: len(again)] != baseline_examples(training_book(820), tokenizer, seed=1)
