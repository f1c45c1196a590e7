"""Algorithm 1 on whole novels: which questions are asked, files by novel and task, a run that breaks off."""

import sys

import numpy as np
import pytest

from mindscape import llm
from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.llm.base import Reply
from mindscape.mia import annotation, silver, supervision
from mindscape.mia.supervision import MOST, bearing, evidence
from mindscape.roles import passages
from mindscape.weights import adapter_hash


class Words:
    """An encoder of words, by hash."""

    name, dim = "words", 64

    def encode(self, texts, kind="passage"):
        counts = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(counts, texts, strict=True):
            for word in text.split():
                row[sum(word.encode()) % self.dim] += 1
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


class Model:
    """Picks the first and the last candidate; it dies, as of a kill, at the call `dies`."""

    name, fingerprint = "stub", "ends"

    def __init__(self, dies=None):
        self.calls, self.dies = 0, dies

    def chat(self, talks, schema, max_new_tokens):
        self.calls += 1
        if self.calls == self.dies:
            raise KeyboardInterrupt
        return [Reply("[0, 4]") for _ in talks]


@pytest.fixture(scope="module", params=["en", "zh"])
def book(request):
    return storyworld.book(1000, tokens=15_000, language=request.param)


def test_the_reader_is_named_by_its_adapter():
    """Its weights differ from precision to precision, and a file that was begun with one is gone on with in another."""
    reader = Model()
    reader.name = "embedded"
    assert annotation.named(reader) == f"embedded {adapter_hash(llm.READER)}" and annotation.named(Model()) == "ends"


def test_a_search_is_by_cosine_and_ties_by_index():
    search = annotation.searching(Words().encode, ["the lamp", "a boat", "the lamp", "the boat"])
    assert search(["the lamp"], 3).tolist() == [[0, 2, 3]]


def test_what_is_asked(book, tokenizer):
    chunks = passages.cut(book, tokenizer)
    units, asked = supervision.to_find(book, tokenizer, "chunk")
    assert len(units) == len(chunks)
    by_id = {question.id: right for question, right in asked}
    for question in book.questions:
        right = evidence(book, question, chunks)
        assert by_id.get(question.id) == (set(right) if 0 < len(right) <= MOST else None)
    units, asked = supervision.to_find(book, tokenizer, "node")
    assert len(units) == len(book.entities)
    assert all(right == set(bearing(book, question)) and right for question, right in asked)


@pytest.mark.parametrize("task", ["chunk", "node"])
def test_a_run_that_breaks_off_goes_on(book, tokenizer, tmp_path, task):
    whole, again = Model(), Model()
    expected = annotation.annotate(whole, Words(), book, tokenizer, tmp_path / "a", task)
    with pytest.raises(KeyboardInterrupt):
        annotation.annotate(Model(dies=3), Words(), book, tokenizer, tmp_path / "b", task)
    assert annotation.annotate(again, Words(), book, tokenizer, tmp_path / "b", task) == expected
    assert again.calls == whole.calls - 2
    about, found = silver.kept(annotation.path_of(tmp_path / "b", book, task))
    assert found == expected and about["retriever"] == "words" and about["llm"] == "ends"
    _, asked = supervision.to_find(book, tokenizer, task)
    assert [one.question for one in found] == [question.id for question, _ in asked]
    assert all(one.silver == (one.candidates[0], one.candidates[4]) for one in found)


def test_bad_input(tmp_path, monkeypatch, capsys):
    with pytest.raises(InputError, match="cannot read"):
        silver.kept(tmp_path / "missing.jsonl")
    (tmp_path / "wrong.jsonl").write_text('{"llm": "ends"}\n{"question": 1}\n')
    with pytest.raises(InputError, match="wrong.jsonl, line 2"):
        silver.kept(tmp_path / "wrong.jsonl")
    for wrong, told in ((["--books", "0"], "--books 0"), (["--llm", "gpt"], "gpt"), (["--encoder", "glove"], "glove")):
        monkeypatch.setattr(sys, "argv", ["annotation", "--out", str(tmp_path), *wrong])
        with pytest.raises(SystemExit, match=told):
            annotation.main()
