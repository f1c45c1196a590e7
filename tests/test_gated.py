"""The gated builder: its rules on sentences that are known, its searches, and what it refuses."""

import json

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st

from mindscape.llm import LanguageModel
from mindscape.llm.recording import Scripted
from mindscape.mindgraph import build
from mindscape.mindgraph.build import rebuild
from mindscape.question import Ranking
from mindscape.roles import Noted
from mindscape.text import Document, laid_out

TOLD = {
    "Asked for the hatter, they all sent one to Tobias.": ["Tobias is the hatter"],
    "The scarecrow fiddler threw off his mask: it was Tobias!": ["The scarecrow fiddler is Tobias"],
    "Marmaduke only wanted the gilded saddle for a day, and the scarecrow fiddler let him have it.":
        ["The scarecrow fiddler made a loan of the gilded saddle to Marmaduke"],
    "Tabitha took the blue drum down and gave it to Marmaduke until Sunday.":
        ["Tabitha made a loan of the blue drum to Marmaduke"],
    "It rained.": [],
}  # fmt: skip
LINES, FACTS = list(TOLD), list(TOLD.values())
QUESTION = "Who got a belonging on loan from the hatter?"
DOCUMENT, BLOCKS = laid_out("note", LINES)


def made(question: str, facts: list[list[str]], lines: list[str]):
    document, blocks = laid_out("note", lines)
    noted = {i: Noted(told=stated, bears=stated, operations=[]) for i, stated in enumerate(facts)}
    return rebuild(build.journal(question, document, blocks, noted))


def test_a_trade_and_a_guise_lead_to_the_one_who_is_meant():
    graph = made(QUESTION, FACTS, LINES)
    contents = {node.content for node in graph.nodes.values()}
    assert contents == {"Tobias is the hatter", "the scarecrow fiddler", "Marmaduke", *FACTS[2]}
    loan, fiddler = "scarecrow_fiddler_made_a_loan_of_the_gilded_saddle_to_marmaduke", "scarecrow_fiddler"
    ties = {(fiddler, "tobias", "is really"), (loan, fiddler, "is done by"), (loan, "marmaduke", "involves")}
    assert set(graph.edges) == ties
    assert all(DOCUMENT[node] == node.src for node in graph.nodes.values())


def test_an_oath_is_a_claim_and_the_truth_stands_beside_it():
    oaths = ["Eve says on oath: Tom sold the lamp", "Ivo says on oath: Tom hid a boat"]
    facts = [["Ann sold the lamp"], oaths, ["Una sold a boat"]]
    lines = ["Ann sold the lamp.", "'Tom sold the lamp,' swore Eve; Ivo swore that Tom hid a boat.", "Una sold a boat."]
    graph = made("Who lied on oath about who sold the lamp?", facts, lines)
    kinds = {node.content: node.type for node in graph.nodes.values() if node.type != "entity"}
    assert kinds == {"Ann sold the lamp": "event", oaths[0]: "claim", "Una sold a boat": "event"}
    claim = "eve_says_on_oath_tom_sold_the_lamp"
    assert {(claim, "eve", "is said by"), (claim, "tom", "is done by")} <= set(graph.edges)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_what_is_told_again_is_noted_once_whatever_was_read(order):
    lines, facts = [LINES[i] for i in order], [FACTS[i] for i in order]
    contents = [node.content for node in made(QUESTION, facts, lines).nodes.values()]
    assert len(contents) == len(set(contents))
    linked = 0 in order
    assert ("Tobias is the hatter" in contents) == linked
    if linked and 3 in order:
        assert "Tabitha made a loan of the blue drum to Marmaduke" not in contents


@pytest.fixture
def searched(monkeypatch) -> list[str]:
    """The queries that a retriever gets, which looks for their words."""
    heard = []

    def search(retriever, texts, queries, k):
        heard.extend(queries)
        wanted = set(queries[0].lower().strip("?").split())
        order = sorted(range(len(texts)), key=lambda i: -len(wanted & set(texts[i].lower().strip(".").split())))
        return [Ranking(tuple(order[:k]), ())]

    monkeypatch.setattr(build, "search", search)
    return heard


def reply_of(messages, *_) -> str:
    facts = next((stated for line, stated in TOLD.items() if line in messages[0]["content"]), [])
    return json.dumps({"told": facts, "bears": facts, "operations": []})


def test_the_question_is_asked_again_with_each_name_that_it_means(searched):
    journal = build.noted_gated(DOCUMENT, QUESTION, LanguageModel(Scripted(reply_of)), None, blocks=BLOCKS, k=2)
    assert searched[0] == QUESTION and "Who got a belonging on loan from Tobias?" in searched
    assert len(searched) == len(set(searched)) <= 3
    assert journal.about["read"] == sorted(set(journal.about["read"])) and len(journal.entries) == len(BLOCKS)


def test_whom_a_question_begins_with_is_named_in_the_next(searched):
    build.noted_gated(
        DOCUMENT, "The hatter lent a belonging to whom?", LanguageModel(Scripted(reply_of)), None, blocks=BLOCKS, k=2
    )
    assert "Tobias lent a belonging to whom?" in searched


def test_a_reply_that_cannot_be_read_tells_nothing(searched):
    model = LanguageModel(Scripted(lambda *_: "I cannot say."))
    assert not rebuild(build.noted_gated(DOCUMENT, QUESTION, model, None, blocks=BLOCKS)).nodes


def test_what_is_refused(searched):
    model = LanguageModel(Scripted(reply_of))
    refused(lambda: build.noted_gated(DOCUMENT, QUESTION, model, None, blocks=BLOCKS, k=0), "k=0: expected at least one")
    chinese = Document("note", DOCUMENT.text, "zh")
    refused(lambda: build.noted_gated(chinese, QUESTION, model, None, blocks=BLOCKS), "note is in 'zh'")
