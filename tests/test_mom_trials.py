"""What notebook 40 has measured beforehand: places by kind, rows that go on after a kill, scores out of rows by hand."""

import json
import math

import numpy as np
import pytest

from mindscape import llm
from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.llm import Reply, Score
from mindscape.mom import extraction, trials
from mindscape.mom.chunkers import Fixed, Lumber, Remembered
from mindscape.mom.memory import DocumentMemory, said, tiles
from mindscape.mom.memreader import SHARE, Case, Triple, example
from mindscape.mom.trials import (
    CHUNKERS,
    PLACES,
    asked,
    borders,
    candidates,
    chunkers,
    kept,
    measured,
    paths,
    places,
    read,
    sides,
    spread,
)
from mindscape.text import Chunk, Document, Span

NOTE = Document("note", "It rained all day on the hill. The mill stood still. Then Ivo went home with the lamp.")
TWO = DocumentMemory(["rain on the hill", "Ivo home"], ["It rained.", "Ivo went home."], [Span(0, 53), Span(53, 86)])
ONE = DocumentMemory(["a day"], ["Rain, and Ivo."], [Span(0, 86)])
CASE = Case("note", "note", NOTE, TWO)


class Backend:
    """It replies in turn; what is likely is what is short."""

    context, fingerprint = None, "stub"

    def __init__(self, says=("nobody",), name="stub"):
        self.name, self.says, self.n = name, says, 0
        self.fingerprint = name

    def generate(self, prompts, sampling, tools=(), schema=None):
        for i, _ in enumerate(prompts):
            said = self.says[self.n % len(self.says)]
            self.n += 1
            yield i, Reply(said, prompt_tokens=1, completion_tokens=len(said))

    def score(self, pairs):
        for i, (prompt, text) in enumerate(pairs):
            self.n += 1
            yield i, Score(-len(text) / 10 - len(prompt) / 1000, max(1, len(text.split())))

    def count_tokens(self, prompt, tools=()):
        return len(prompt.split()) if isinstance(prompt, str) else 9


class Bag:
    """An encoder: counts of a few letters, length 1."""

    name, dim, fingerprint = "bag", 5, "bag"

    def encode(self, texts, kind="passage"):
        counts = np.array([[1 + text.count(letter) for letter in "aeiou"] for text in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def model_of(*says, name="stub"):
    return llm.LanguageModel(Backend(says or ("nobody",), name))


def reply(memory):
    return example(Triple(NOTE, "Parts.", said(NOTE, memory))).reply


@pytest.fixture(scope="module", params=["en", "zh"])
def book(request):
    return storyworld.book(1000, tokens=15_000, language=request.param)


# Places -----------------------------------------------------------------------------------------------------------


def test_places_are_of_their_kind(book):
    found = places(book, share=5)
    assert found == places(book, share=5) and found == sorted(found)
    assert {kind: sum(k == kind for _, k in found) for kind in PLACES} == dict.fromkeys(PLACES, 5)
    text, starts = book.document.text, {scene.start for scene in book.told.scenes}
    for at, kind in found:
        assert trials.REACH <= at <= len(text) - trials.REACH
        assert (at in starts) == (kind == "scene")
        if kind in ("scene", "paragraph"):
            assert text[at - 1] == "\n" and not text[at].isspace()
        else:
            assert "\n" not in text[at - 1 : at + 1] and not text[at].isspace()
        if kind == "sentence":
            assert text[:at].rstrip()[-1] in ".!?'…。！？”’」』" + '"' or book.document.language == "zh"
        if kind == "middle":
            assert text[at].isalnum() and text[:at].rstrip(" ,")[-1].isalnum()
        before, after = sides(book.document, at)
        assert before and after and len(before) <= trials.REACH and text[at:].startswith(after)


def test_no_heading_stands_at_a_scene_s_place(book):
    headings = [chapter.start for chapter in book.told.chapters]
    ends = {scene.start: before.end for before, scene in zip(book.told.scenes, book.told.scenes[1:], strict=False)}
    for at, kind in places(book, share=100):
        assert kind != "scene" or not any(ends[at] <= heading <= at for heading in headings)


def test_a_row_of_borders(book):
    row = borders(model_of(), book, share=2)
    assert len(row["at"]) == len(row["kind"]) == 8 and set(row["values"]) == set(extraction.READINGS)
    pairs = [sides(book.document, at) for at in row["at"]]
    again = extraction.readings(model_of(), pairs, book.document.language)
    assert all(row["values"][name] == pytest.approx(again[name], rel=1e-5) for name in again)
    json.dumps(row, allow_nan=False)


# Rows -------------------------------------------------------------------------------------------------------------


def test_a_killed_run_goes_on(tmp_path):
    path, made = tmp_path / "a" / "rows.jsonl", []

    def make(keys):
        for key in keys:
            if len(made) == 2:
                raise KeyboardInterrupt
            made.append(key)
            yield {"n": len(key)}

    with pytest.raises(KeyboardInterrupt):
        kept(path, {"part": "x"}, ["a", "bb", "ccc"], make, batch=2)
    with path.open("a") as file:
        file.write('{"key": "c')  # killed in mid-line
    made[:] = ["again"]
    found = kept(path, {"part": "x"}, ["ccc", "a", "bb", "ccc"], make)
    assert made == ["again", "ccc"] and [row["n"] for row in found] == [3, 1, 2, 3]
    assert read(path) == ({"part": "x"}, {"a": {"n": 1}, "bb": {"n": 2}, "ccc": {"n": 3}})


def test_a_file_of_something_else(tmp_path):
    path = tmp_path / "rows.jsonl"
    kept(path, {"share": (1, 2)}, ["a"], lambda keys: [{"n": 1}])
    assert kept(path, {"share": (1, 2)}, ["a"], lambda keys: [])[0] == {"n": 1}
    with pytest.raises(InputError, match=r"share is \[1, 2\], expected 3"):
        kept(path, {"share": 3}, ["a"], lambda keys: [])
    for text in ("", "[]\n[1]\n", '{"part": 1}\n{"n": 1}\n', '{"part": 1}\nno\n'):
        path.write_text(text)
        with pytest.raises(
            InputError, match="holds no whole line|expected a line on the run|expected a row with its key"
        ):
            read(path)
    with pytest.raises(InputError, match="cannot read"):
        read(tmp_path / "none.jsonl")


# Paths ------------------------------------------------------------------------------------------------------------


def test_candidates_out_of_a_row():
    model, judge = model_of(reply(TWO), "no memory", reply(ONE)), model_of(name="judge")
    (row,) = paths(model, judge, [CASE], n=3)
    json.dumps(row, allow_nan=False)
    found = candidates(CASE, json.loads(json.dumps(row)))
    assert (found.memories, found.seeds, found.invalid) == ((TWO, ONE), (0, 2), 1)
    assert row["replies"][1] is None and "no memory" not in str(row["replies"]) and row["invalid"][1]
    for name in extraction.READINGS:
        by_hand = extraction.clarity(judge, NOTE, [TWO.chunks, ONE.chunks], name)
        assert found.clarity[name][0] == pytest.approx(by_hand[0], rel=1e-4) and math.isnan(found.clarity[name][1])
        assert found.gold[name] == pytest.approx(by_hand[0], rel=1e-4)
    for short in extraction.SHORT:
        by_hand = extraction.completeness(judge, NOTE, [TWO, ONE], short)
        assert found.completeness[short] == pytest.approx(by_hand, rel=1e-4)


def test_nothing_can_be_read():
    (row,) = paths(model_of("no"), model_of(name="judge"), [CASE], n=2)
    found = candidates(CASE, row)
    assert found.memories == () and found.invalid == 2 and len(found.clarity["yes"]) == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: row.pop("tokens"),
        lambda row: row["tokens"].pop(),
        lambda row: row["tokens"][0].pop(),
        lambda row: row.update(replies=["no memory"]),
    ],
)
def test_a_broken_row(spoil):
    (row,) = paths(model_of(reply(TWO)), model_of(name="judge"), [CASE], n=1)
    spoil(row)
    with pytest.raises(InputError, match="not a row of paths of note"):
        candidates(CASE, row)


# Chunkers ---------------------------------------------------------------------------------------------------------


def test_chunkers_by_name(tokenizer):
    gold = {"note": TWO}
    found = chunkers(tokenizer, Bag(), model_of(), model_of(reply(TWO)), gold)
    assert set(CHUNKERS) - set(found) <= {"llama_index"}
    assert all(chunker.name == name for name, chunker in found.items() if name != "llama_index")
    for name in ("mom", "scenes"):
        assert isinstance(found[name], Remembered) and found[name].cut(NOTE, None).chunks[1].start == 53
    assert isinstance(found["lumber"], Lumber) and found["lumber"].by == "score"


def test_a_row_of_a_chunker(book, tokenizer):
    answering = {"judge": model_of(name="judge"), "reader": model_of("Answer: nobody.", name="reader")}
    row = measured(Fixed(tokenizer), book, tokenizer, Bag(), answering["judge"], answering, at_borders=4, questions=3)
    json.dumps(row, allow_nan=False)
    chunks = [Span(a, b) for a, b in zip(row["starts"], [*row["starts"][1:], len(book.document.text)], strict=True)]
    assert tiles(book.document, chunks) and 150 < row["mean_tokens"] < 260
    assert set(row["clarity"]) == set(extraction.READINGS) and len(row["clarity"]["yes"]) == 4
    assert row["questions"] == [question.id for question in asked(book, 3)] and row["answers"] == ["nobody"] * 3
    assert set(row["support"]) == set(answering) and all(len(some) == 3 for some in row["support"].values())
    assert len(row["recall"]) == 3 and all(0 <= value <= 1 for value in row["recall"])


def test_pairs_from_all_over_a_document():
    chunks = [Chunk("note", i, i, i + 1) for i in range(4)]
    assert len(spread(chunks, 10)) == 3 and spread(chunks[:1], 3) == []


# Commands ---------------------------------------------------------------------------------------------------------


def test_bad_arguments(monkeypatch, tmp_path):
    for words, error in (
        (["paths", "--out", str(tmp_path / "x")], "paths needs --adapter"),
        (["chunkers", "--out", str(tmp_path / "x"), "--chunkers", "fixed,sliced"], "--chunkers sliced: expected some"),
    ):
        monkeypatch.setattr("sys.argv", ["trials", *words])
        with pytest.raises(SystemExit, match=error):
            trials.main()


def test_borders_by_command(monkeypatch, tmp_path):
    out = tmp_path / "borders.jsonl"
    monkeypatch.setattr(trials.llm, "load", lambda name, **options: model_of(name=name))
    monkeypatch.setattr(trials, "adapter_hash", lambda folder: "")
    words = ["borders", "--out", str(out), "--books", "1", "--share", "2"]
    monkeypatch.setattr("sys.argv", ["trials", *words])
    trials.main()
    about, rows = read(out)
    assert about["part"] == "borders" and about["split"] == "develop"
    assert [row["judge"] for row in rows.values()] == ["smollm2", "embedded"]
    before = out.read_text()
    trials.main()
    assert out.read_text() == before


def test_paths_by_command(monkeypatch, tmp_path):
    """More excerpts of a book go on in the file of fewer: none of its lines changes."""
    out = tmp_path / "paths.jsonl"
    monkeypatch.setattr(trials.llm, "load", lambda name, **options: model_of(name=name))
    monkeypatch.setattr(trials, "adapter_hash", lambda folder: "")
    words = ["paths", "--out", str(out), "--adapter", "x", "--books", "1", "--n", "1"]
    monkeypatch.setattr("sys.argv", ["trials", *words, "--excerpts", "1"])
    trials.main()
    about, rows = read(out)
    assert about["part"] == "paths" and "excerpts" not in about and len(rows) == 1
    before = out.read_text()
    monkeypatch.setattr("sys.argv", ["trials", *words])
    trials.main()
    assert out.read_text().startswith(before) and len(read(out)[1]) == SHARE
