"""One's own book: plain search, the check on the book itself, what is dropped or set aside, the command and its errors."""

import json
import re
import time
import unicodedata
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindscape.__main__ import main
from mindscape.llm import LanguageModel
from mindscape.llm.endpoint import Endpoint
from mindscape.mia.summaries import repetition, unfit
from mindscape.mindgraph.graph import Edge, Graph, Node
from mindscape.own_book import memories, report, run
from mindscape.own_book.book import FALL, SMALL, OwnAnswer, OwnBook, falls, source
from mindscape.own_book.memories import WORDS, Finder, FirstLook, borne_out, supported_graph
from mindscape.roles import ROLES
from mindscape.search import BM25, terms
from mindscape.text import Chunk, Document
from tests.servers import Scripted, completion, says, send, status
from tests.stubs import Letters, Stub, cut

PEOPLE = ["Ann the smith", "Tom the baker", "Eve the miller", "Ivo the singer", "Sam the cooper", "Una the weaver"]
DEEDS = ["sold a copper lamp", "mended the wooden bridge", "buried seven silver spoons", "painted a yellow wagon"]
PLACES = ["behind the old chapel", "near the frozen river", "under the market arches", "beside the northern gate"]
TOLD = enumerate(product(PEOPLE, DEEDS, PLACES))
LINES = [f"{' '.join(deed)} on day {i}, and nobody saw it happen. " for i, deed in TOLD]
ENCODER = Letters()


def small_book(lines=LINES, language="en"):
    document, chunks = cut("note", lines, language)
    book = OwnBook(document, SimpleNamespace(), SMALL)
    vars(book).update(passages=chunks, tokens=max(1, len(document.text) // 4))
    return book


def plain_memory(book):
    return Finder("plain search", book, FirstLook(book.texts, book.language, ENCODER), book.passages)


# -- plain search --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["lamp", "boat", "river", "who", "smith", "gold"]), min_size=1, max_size=5))
def test_words_count_by_the_share_of_the_questions_weight_that_a_passage_holds(words):
    """Against the formula, written anew: idf as Lucene has it, the score of BM25 over the sum."""
    passages = ["A lamp by the river.", "The smith sold gold.", "Nobody came.", "A boat, a boat."]
    index, question = BM25(passages), " ".join(words)
    wanted = set(terms(question))
    held = {term: sum(term in terms(passage) for passage in passages) for term in wanted}
    weight = sum(np.log(1 + (4 - n + 0.5) / (n + 0.5)) for n in held.values())
    ids, scores = index.search([" ".join(wanted)], 4)
    expected = np.zeros(4)
    expected[ids[0]] = scores[0] / (weight or 1)
    assert np.allclose(index.shares([question])[0], expected, atol=1e-6)
    assert (index.shares([question]) >= 0).all() and (index.shares([question]) <= 2.5).all()  # k1 + 1 at most


def test_a_question_that_shares_no_word_is_left_to_the_vectors():
    look = FirstLook(["Ann left.", "It rained all week.", "Tom sang."], "en", ENCODER)
    assert np.array_equal(look.scores(["zzz qqq"]), look.cosines(["zzz qqq"]))


def test_plain_search_is_the_sum_of_both():
    look = FirstLook(LINES[:20], "en", ENCODER)
    queries = ["Who buried the silver spoons?"]
    by_hand = ENCODER.encode(queries, "query") @ ENCODER.encode(LINES[:20]).T + WORDS * BM25(LINES[:20]).shares(queries)
    assert np.allclose(look.scores(queries), by_hand)
    assert "silver spoons" in LINES[look.best(look.scores(queries), 1)[0][0]]


def test_an_encoder_that_reads_no_chinese_leaves_it_to_the_words():
    encoder = SimpleNamespace(name="minilm", encode=None)  # is not asked
    look = FirstLook(["他卖了那盏灯。", "下雨了。"], "zh", encoder)
    assert look.blind and look.best(look.scores(["谁卖了灯？"]), 1) == [[0]]


# -- the check on the book itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "lines"), [("en", LINES), ("zh", ["安娜在河边卖了一盏铜灯，汤姆在桥上修好了木船。"] * 3)])
def test_a_known_item_is_made_of_a_sentences_own_words(language, lines):
    book = small_book(lines, language)
    items = run.known_items(book, seed=3, n=20)
    assert items and items == run.known_items(book, seed=3, n=20)
    for query, span in items:
        frame = terms(run.FRAMES[language].format(""), language)
        assert set(terms(query, language)) - set(frame) <= set(terms(book.document[span], language))


def test_no_sentence_that_a_memory_holds_is_asked_for():
    book = small_book()
    held = [line.strip() for line in LINES[: len(LINES) - 2]]
    texts = {book.document[span].strip() for _, span in run.known_items(book, held)}
    assert texts and texts <= {line.strip() for line in LINES[-2:]}


class Says(Finder):
    """A memory whose cosines are of so much use: those of plain search, turned around by noise."""

    noise = 0.0

    def cosines(self, questions):
        noise = np.random.default_rng(0).normal(size=(len(questions), len(self.look.texts)))
        return self.look.cosines(questions) + self.noise * noise


@pytest.mark.parametrize("noise", [0.0, 0.3, 50.0])
def test_a_memory_is_used_where_it_finds_as_much_and_else_set_aside_with_its_numbers(noise):
    plain = plain_memory(small_book())
    memory = Says("noisy", plain.book, plain.look, plain.units)
    memory.noise = noise
    (checked,) = run.check(plain, [memory])
    assert memory.share == run.SHARE and checked.queries == run.QUERIES
    if noise == 0.3:
        assert checked.at_half < checked.hits, "the noise shrinks with its share"
    else:
        assert checked.passed == (noise == 0) == (not memory.aside)
        assert noise == 0 or memory.aside.startswith("finds ") and f"plain search finds {checked.plain}" in memory.aside


def test_a_book_without_sentences_to_ask_for_is_not_checked():
    plain = plain_memory(small_book(["Hi. ", "Ho. "]))
    memory = Finder("short", plain.book, plain.look, plain.units)
    assert run.check(plain, [memory]) == [] and not memory.aside


# -- what is dropped -----------------------------------------------------------------------------------------------------------


def test_a_summary_in_circles_guides_nothing():
    play = Document("play", "Macbeth met Banquo on the heath, and Macbeth spoke with Banquo of kings.")
    assert repetition("a b c d a b c d") == pytest.approx(1 / 5)
    assert "repeats" in unfit("He met Banquo there. " * 6, play)
    assert unfit("On the heath a thane, Macbeth, and his friend Banquo spoke of kings.", play) == ""
    assert "Sibyl" in unfit("There the surgeon Sibyl sold a lamp.", play)
    sailor = "The sailor Edmond Dantès loves Mercédès. Betrayed by Danglars and MacGregor, Dantès is sent to the Château d'If."
    for text in (sailor, unicodedata.normalize("NFD", sailor)):  # a name goes on behind an accent, and a capital
        assert unfit(text, Document("sailor", text)) == ""
    assert unfit("somebody met somebody", play) == "it names nobody"
    assert "repeats" in unfit("他来了又走了。" * 5, Document("n", "他来了又走了。", "zh"))


def test_a_note_whose_names_are_not_around_its_quote_is_dropped_with_its_edges():
    text = "The doctor spoke low. Out, damned spot! " + "It rained. " * 80 + "Sibyl sang."
    document = Document("play", text)
    at = text.index("Out")
    quote = {"src": "Out, damned spot!", "start": at, "end": at + 17, "chunk": 0}
    noted = [("sibyl", "entity", "Sibyl the surgeon"), ("doctor", "entity", "the doctor"), ("spot", "event", "a spot is seen")]
    nodes = {name: Node(name, kind, what, touched=0, **quote) for name, kind, what in noted}
    edges = {(a, b, "saw"): Edge(a, b, "saw", **quote) for a, b in [("sibyl", "spot"), ("doctor", "spot")]}
    graph, dropped = supported_graph(Graph("play", nodes, edges), document)
    assert list(graph.nodes) == ["doctor", "spot"] and list(graph.edges) == [("doctor", "spot", "saw")]
    assert [node.id for node in dropped] == ["sibyl"]


def test_a_chinese_note_needs_half_of_its_words_nearby():
    document = Document("n", "安娜在河边卖了一盏铜灯。" + "下雨了。" * 200, "zh")
    near = {"src": "安娜", "start": 0, "end": 2, "chunk": 0, "touched": 0}
    assert borne_out(Node("a", "entity", "安娜在河边", **near), document)
    assert not borne_out(Node("b", "entity", "汤姆修好木船", **near), document)


# -- what an answer rests on ---------------------------------------------------------------------------------------------------


def test_support_is_what_the_likelihood_loses_without_the_source():
    """Not that the words stand there: here they do for both answers, and only one loses anything."""
    book = small_book(["Ann sold the lamp. ", "Tom sings by the river. "])
    places = tuple(book.passages)

    def weigh(prompt, continuation):
        return -1.0 if "Ann" in continuation and "Ann sold" in prompt else -3.0

    answers = [OwnAnswer("plain search", "Who sold it?", text, places) for text in ("Ann", "Tom", "", "nobody there")]
    answers = [replace(answer, source=source(book, answer.answer, places)[0]) for answer in answers]
    drops = falls(book, LanguageModel(Stub(weigh=weigh)), answers)
    assert drops == [2.0, 0.0, None, None]
    supported = [OwnAnswer("m", "q", "a", fall=fall).supported for fall in drops]
    assert supported == [True, False, None, None] and 0 < FALL < 2


def test_a_server_without_likelihoods_leaves_it_open(key):
    book = small_book(["Ann sold the lamp. "])
    answer = OwnAnswer("m", "Who?", "Ann", tuple(book.passages), source=book.passages[0])
    with Scripted(says("Ann")) as server:
        assert falls(book, LanguageModel(Endpoint("local", base_url=server.url)), [answer]) == [None]
    assert "not measured" in report.rests(answer)


# -- the command ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def novel(tmp_path, monkeypatch, own_store, key):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "novel.txt").write_text("".join(LINES), encoding="utf-8")
    return "novel.txt"


@contextmanager
def serving(monkeypatch, script):
    """A server of a model that the command finds."""
    with Scripted(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


LOCAL = ["--llm", "openai:local", "--memory", "none"]


def failed(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["ask", *arguments])
    return str(stopped.value.code)


@pytest.mark.parametrize(
    ("arguments", "says_what"),
    [
        (["novel.txt"], "no question: expected at least one"),
        (["novel.txt", " "], "question 1 is empty"),
        (["novel.txt", "Who?", "Who? "], "question 2 is asked twice"),
        (["novel.txt", "Who?", "--memory", "atlas"], "memory='atlas': expected some of mindscape"),
        (["novel.txt", "Who?", "--cap", "-1"], "cap=-1.0: expected dollars"),
        (["novel.txt", "Who?", "--llm", "gpt4"], "llm='gpt4': expected"),
        (["novel.txt", "Who?", "--encoder", "glove"], "encoder='glove': expected"),
        (["novel.txt", "Who?", "--known", "none.json"], "none.json: .*expected JSON"),
        (["novel.txt", "--questions", "none.txt"], "none.txt: .*expected a text file of questions"),
        (["paper.pdf", "Who?"], "paper.pdf: expected a file that ends in"),
        (["missing.txt", "Who?"], "missing.txt"),
    ],
)
def test_bad_input_is_one_line(novel, tmp_path, arguments, says_what):
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7")
    assert re.search(f"^error: .*{says_what}", failed(*arguments))


def test_a_server_without_a_key_is_one_line(novel, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "OPENAI_API_KEY" in failed(novel, "Who?", "--llm", "openai:gpt-4o", "--memory", "none", "--cap", "1")


answering = says("Ann the smith")  # who sold the copper lamp, to any question


def test_a_priced_server_wants_a_cap_and_keeps_to_it(novel, monkeypatch):
    with serving(monkeypatch, answering) as server:
        arguments = [novel, "Who sold a copper lamp?", "--llm", "openai:gpt-4o", "--memory", "none"]
        assert "pass --cap DOLLARS" in failed(*arguments)
        assert "the cap of 0.0000 USD is reached" in failed(*arguments, "--cap", "0")
        assert not server.requests, "nothing was asked"


def test_the_command_answers_quotes_and_reports(novel, tmp_path, monkeypatch, capsys):
    (tmp_path / "known.json").write_text(json.dumps({"Who sold a copper lamp?": ["Ann", LINES[0].strip()]}))
    with serving(monkeypatch, answering):
        main(["ask", novel, *LOCAL, "--known", "known.json"])
    shown = capsys.readouterr()
    assert "plain search: Ann the smith (support not measured" in shown.out and " 0 %: Ann the smith" in shown.out
    assert "at most 4 calls" in shown.err and "plain search 100%" in shown.out
    page = (tmp_path / "novel.answers" / "report.html").read_text()
    assert "Ann the smith" in page and "<script" not in page
    kept = json.loads((tmp_path / "novel.answers" / "answers.json").read_text())
    assert kept["answers"]["plain search"][0]["answer"] == "Ann the smith"


def test_a_chinese_book_is_searched_by_its_words(novel, tmp_path, monkeypatch, capsys):
    (tmp_path / "gushi.txt").write_text("安娜在河边卖了一盏铜灯。汤姆在桥上修好了木船。" * 30, encoding="utf-8")
    with serving(monkeypatch, says("安娜")):
        main(["ask", "gushi.txt", "谁卖了铜灯？", "--llm", "openai:local"])
    shown = capsys.readouterr()
    assert "words alone decide" in shown.err and "plain search: 安娜" in shown.out
    assert "mindscape" not in shown.out, "nothing is built that could not be searched"
    with serving(monkeypatch, says("不知道")):
        main(["ask", "gushi.txt", "谁买了铜灯？", "--llm", "openai:local"])
    assert "plain search: 不知道 (no answer)" in capsys.readouterr().out


def test_questions_stand_before_or_behind_an_option_or_in_a_file_of_windows(novel, tmp_path, monkeypatch, capsys):
    (tmp_path / "more.txt").write_text("Who mended the bridge?\n", encoding="utf-8-sig")
    with serving(monkeypatch, answering):
        main(["ask", novel, "Who sold a copper lamp?", *LOCAL, "Who painted a yellow wagon?", "--questions", "more.txt"])
    shown = capsys.readouterr().out
    assert shown.index("copper lamp?") < shown.index("yellow wagon?") < shown.index("\nWho mended the bridge?")
    with pytest.raises(SystemExit):
        main(["ask", novel, "Who?", "--nosuch"])
    assert "unrecognized arguments: --nosuch" in capsys.readouterr().err


def test_what_is_wrong_with_the_check_is_said_before_anything_is_asked(novel, tmp_path, monkeypatch):
    (tmp_path / "known.json").write_text(json.dumps({"Who?": ["Ann", "words that no line has"]}))
    with serving(monkeypatch, answering) as server:
        said = failed(novel, *LOCAL, "--known", "known.json")
        assert "the book does not have the words 'words that no line has'" in said
        (tmp_path / "empty.json").write_text(json.dumps({"Who?": ["Ann", " "]}))
        assert "no words of the book are given for 'Who?'" in failed(novel, *LOCAL, "--known", "empty.json")
        assert "seed=-1: expected 0 or more" in failed(novel, "Who?", *LOCAL, "--seed", "-1")
        assert not server.requests, "nothing was asked"


def test_no_more_is_asked_than_was_foretold(novel, tmp_path, monkeypatch, capsys):
    """Of a server whose first reply to each question cannot be read, and whose graph has nothing to note."""

    def silent_first(handler, request):
        send(handler, completion("Ann the smith" if request.get("temperature", 0) > 0 else " "))

    with serving(monkeypatch, silent_first) as server:
        main(["ask", novel, "Who sold a copper lamp?", *LOCAL])
        most = int(re.search(r"at most ([\d,]+) calls", capsys.readouterr().err)[1])
        assert chats(server) == 2 and len(server.paths) <= most == 4  # two for likelihoods, of which it knows nothing


@pytest.mark.parametrize("name, kind", [("mindscape", "piece"), ("signature", "session"), ("document", "window")])
def test_each_unit_of_a_book_is_counted(name, kind):
    """Passages are whole sentences, so there are more of them than the tokens would fill."""
    book, frame = small_book(), dict.fromkeys(memories.FRAMED, 10)
    vars(book)["tokens"] = 10
    assert memories.step_costs(book, frame, 1, [name]).calls[name] >= len(book.units(kind)) + memories.TRIES + 2


def chats(server):
    """How often it was asked for an answer, and not for likelihoods."""
    return sum(path.endswith("chat/completions") for path in server.paths)


def test_what_a_server_answered_before_it_died_is_kept(novel, tmp_path, monkeypatch, capsys):
    """It answers one question and dies: the next run asks for the other alone."""
    questions = ["Who sold a copper lamp?", "Who painted a yellow wagon?"]

    def dying(handler, request):
        if "yellow wagon?" in request["messages"][-1]["content"]:
            time.sleep(0.5)  # the other answer is there before
            status(400)(handler, request)
        else:
            send(handler, completion("Ann"))

    with serving(monkeypatch, dying) as server:
        arguments = [novel, *questions, *LOCAL]
        assert "the same command goes on from there" in failed(*arguments)
        assert not (tmp_path / "novel.answers").exists()
        server.script, before = [says("Eve")], chats(server)
        main(["ask", *arguments])
        assert chats(server) == before + 1
    assert "Ann" in capsys.readouterr().out


def test_an_excerpt_is_around_a_word_of_the_answer_and_no_part_of_another():
    text = "That was what the weather did. " * 15 + "Then Ann put on a red hat. " + "It rained on. " * 40
    my_run = SimpleNamespace(book=SimpleNamespace(document=Document("note", text), language="en"))
    assert "a red hat" in report.excerpt(my_run, Chunk("note", 0, 0, len(text)), "a hat")


@pytest.mark.parametrize("form", ["short", "paper"])
def test_what_is_foretold_is_of_the_form_that_a_model_is_sent(form):
    frame = memories.frames(SimpleNamespace(form=form, count_tokens=lambda talk: len(talk[0]["content"])), "en")
    for name in memories.FRAMED:
        assert frame[name] == len(ROLES[name].words(form)["en"].format_map(defaultdict(str)))


def test_a_page_shows_text_as_text(novel, monkeypatch):
    with serving(monkeypatch, says('<script>alert(1)</script> & "Ann"')):
        main(["ask", novel, "Who is <b>?", *LOCAL, "--out", "there"])
    page = (Path("there") / "report.html").read_text()
    assert "<script" not in page and "<b>" not in page and "&lt;script&gt;" in page


def test_a_folder_that_cannot_be_written_is_one_line(novel, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with serving(monkeypatch, says("Ann")):
        message = failed(novel, "Who?", *LOCAL, "--out", "file/x")
    assert "cannot write to file/x" in message and "--out" in message


def test_a_place_of_a_folder_names_its_file():
    document = Document("both", "One. Two.", "en", {"parts": {"a": 0, "b": 5}})
    assert OwnBook(document, SimpleNamespace(), SMALL).where(Chunk("both", 0, 5, 9)) == "b, 56 %"


def test_a_report_that_cannot_be_written_is_told_before_anything_is_asked(novel, tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    with serving(monkeypatch, answering) as server:
        assert "cannot write to taken" in failed(novel, "Who?", *LOCAL, "--out", "taken")
        assert not server.requests and "no book: expected" in failed("", "Who?", *LOCAL)


def test_why_there_is_no_answer_stands_beside_the_dash(novel, monkeypatch, capsys):
    with serving(monkeypatch, says("", reasoning_content="Ann? Tom?")):
        main(["ask", novel, "Who sold a copper lamp?", *LOCAL])
    assert "– (no answer: the reply ends inside its thinking)" in capsys.readouterr().out
