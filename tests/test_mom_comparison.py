"""Ways to search, compared: rankings and replies that go on after a kill, by hand against the files; bad input."""

import json
import sys

import pytest
from stubs import Letters

from mindscape import llm
from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.llm import Reply, Score
from mindscape.mom import comparison
from mindscape.mom.comparison import DEPTH, Folder, System, picked, scope, systems, ways
from mindscape.mom.memory import DocumentMemory, tiles
from mindscape.mom.retrieval import TOP, context
from mindscape.mom.trials import kept

BOOK = storyworld.book(1000, tokens=15_000)
NAME = BOOK.document.id
GOLD = DocumentMemory(BOOK.memory.outline, BOOK.memory.core, BOOK.memory.chunks)


class Backend:
    """Says the first word it is shown; a continuation costs its words, and one more where no question is asked."""

    context = None

    def __init__(self, name="one", breaks_at=None):
        self.name = self.fingerprint = name
        self.breaks_at, self.asked, self.weighed = breaks_at, [], []

    def generate(self, prompts, sampling, tools=(), schema=None):
        for i, prompt in enumerate(prompts):
            if len(self.asked) == self.breaks_at:
                raise KeyboardInterrupt
            self.asked.append(prompt[-1]["content"])
            yield i, Reply(self.asked[-1].split("<context>\n")[1].split()[0], prompt_tokens=1, completion_tokens=1)

    def score(self, pairs):
        for i, (prompt, text) in enumerate(pairs):
            self.weighed.append((prompt, text))
            words = len(text.split())
            yield i, Score(-words * (1.0 if "Question:" in prompt else 2.0), words)


def models_of(*backends):
    found = [llm.LanguageModel(backend) for backend in backends]
    return lambda: (found[0], {model.name: model for model in found})


@pytest.fixture
def folder(tmp_path):
    """A folder with a way to cut and a memory, the gold one with other topics, and with all rankings."""
    row = {"chunker": "scenes", "starts": [chunk.start for chunk in GOLD.chunks]}
    kept(tmp_path / "chunkers.jsonl", {"part": "chunkers"}, [f"scenes {NAME}"], lambda keys: [row])
    memory = DocumentMemory(GOLD.core, GOLD.outline, GOLD.chunks)
    kept(tmp_path / "memories.jsonl", {"split": "develop"}, [NAME], lambda keys: [memory.stored()])
    comparison.add_ranks(tmp_path, {"encoder": "letters"}, [BOOK], ["scenes", "memory"], Letters())
    return tmp_path


def test_questions_are_the_same_and_fewer_are_the_first_of_more():
    few, more = picked(BOOK, 2), picked(BOOK, 5)
    assert [scope(one) for one in more] == ["local"] * 5 + ["global"] * 5
    assert few == [*more[:2], *more[5:7]] and len(picked(BOOK, 10_000)) == len(BOOK.questions)
    assert {one.breadth for one in BOOK.questions if scope(one) == "global"} == {"partial", "global"}


def test_systems_have_names():
    for one in systems(["fixed", "mom"]):
        assert System.of(one.name) == one
    for units in ("hf:org/model-0.5B", "hf:org/model@1.0"):
        assert System.of(f"{units}.chunk@4") == System(units, "chunk", 4)
    names = [one.name for one in systems(["mom"])]
    assert names[0] == f"mom.chunk@{TOP}" and "memory.fused@8" in names and "fixed.chunk@4" not in names
    for bad in (
        "fixed",
        "fixed.chunk",
        "fixed.rrf@8",
        "memory.mean@8",
        "fixed.chunk@0",
        f"fixed.chunk@{DEPTH + 1}",
        "a.b@c",
        "memory.v2.rrf@8",
        ".chunk@8",
    ):
        with pytest.raises(InputError, match="expected UNITS.WAY@K"):
            System.of(bad)


def test_rankings_are_those_of_the_layers(folder):
    files = Folder(folder)
    assert [book.document.text for book in files.books] == [BOOK.document.text]
    assert files.cuts == ("scenes",) and files.about("ranks") == {"encoder": "letters"}
    asked = [question.question for question in BOOK.questions]
    for units in ("scenes", "memory"):
        layers = files.layers(units, [BOOK], Letters())
        assert list(layers.chunks) == files.chunks(units, BOOK) and tiles(BOOK.document, layers.chunks)
        assert layers.ways == ways(units)
        for way in ways(units):
            ids, _ = layers.search(asked, DEPTH, way)
            assert list(files.found(units, way, BOOK).values()) == ids.tolist()
    system, question = System("memory", "rrf", 3), BOOK.questions[5]
    shown = [files.chunks("memory", BOOK)[i] for i in files.found("memory", "rrf", BOOK)[question.id][:3]]
    assert files.shown(system, BOOK)[question.id] == shown
    assert files.contexts(system, BOOK, [question]) == [context({NAME: BOOK.document}, shown)]
    with pytest.raises(InputError, match=r"ranks.jsonl has no line 'gold chunk .*comparison adds it"):
        files.found("gold", "chunk", BOOK)
    with pytest.raises(InputError, match=r"has no line 'moc storyworld-1000'.*trials chunkers adds it"):
        files.chunks("moc", BOOK)


def test_a_killed_ranking_goes_on(folder, monkeypatch):
    lines = (folder / "ranks.jsonl").read_bytes()
    whole = lines.split(b"\n")
    (folder / "ranks.jsonl").write_bytes(b"\n".join(whole[:4]) + b"\n" + whole[4][:50])
    comparison.add_ranks(folder, {"encoder": "letters"}, [BOOK], ["scenes", "memory"], Letters())
    assert (folder / "ranks.jsonl").read_bytes() == lines
    monkeypatch.setattr(Letters, "encode", None)  # nothing lacks: nothing is read again
    comparison.add_ranks(folder, {"encoder": "letters"}, [BOOK], ["scenes", "memory"], Letters())
    with pytest.raises(InputError, match="holds another run: encoder"):
        comparison.add_ranks(folder, {"encoder": "other"}, [BOOK], ["scenes"], Letters())


def test_another_memory_has_no_ranks(folder):
    (folder / "memories.jsonl").unlink()
    kept(folder / "memories.jsonl", {}, [NAME], lambda keys: [GOLD.stored()])
    with pytest.raises(InputError, match="ranks.jsonl has no line"):
        Folder(folder).found("memory", "rrf", BOOK)


def test_replies_by_hand(folder):
    system, asked = System("memory", "fused", 2), picked(BOOK, 2)
    one, two = Backend("one"), Backend("two")
    comparison.add_replies(folder, {}, [BOOK], [system], models_of(one, two), share=2, tell=lambda said: None)
    files = Folder(folder)
    contexts = files.contexts(system, BOOK, asked)
    for question, shown, reply in zip(asked, contexts, files.replies(system, BOOK, asked), strict=True):
        assert reply["said"] == shown.split()[0].strip(".,'\"")
        assert reply["told"] == {"one": 1.0, "two": 1.0} and reply["untold"] == {"one": 2.0, "two": 2.0}
        assert (f"{shown}\n\nQuestion: {question.question}\nAnswer:", f" {question.answer}") in two.weighed
        assert (f"{shown}\n\nAnswer:", f" {question.answer}") in one.weighed
        assert any(shown in prompt and question.question in prompt for prompt in one.asked)
    assert len(one.asked) == 4 and not two.asked

    def never():
        raise AssertionError

    comparison.add_replies(folder, {}, [BOOK], [system], never, share=2)


def test_killed_replies_go_on(folder):
    wanted = [System("scenes", "chunk", 2), System("memory", "chunk", 2), System("memory", "core", 2)]
    with pytest.raises(KeyboardInterrupt):
        comparison.add_replies(
            folder, {}, [BOOK], wanted, models_of(Backend("one", 4)), share=2, tell=lambda said: None
        )
    # The chunks of both are the same: what shows the same text is asked once.
    assert len((folder / "replies.jsonl").read_text(encoding="utf-8").splitlines()) == 1 + 4
    again = Backend("one")
    comparison.add_replies(folder, {}, [BOOK], wanted, models_of(again), share=2, tell=lambda said: None)
    assert len(again.asked) <= 4
    assert len(Folder(folder).replies(wanted[2], BOOK, picked(BOOK, 2))) == 4
    with pytest.raises(InputError, match="replies.jsonl has no line"):
        Folder(folder).replies(wanted[0], BOOK, picked(BOOK, 3))


def test_memories_tile_whatever_is_said(tmp_path, tokenizer):
    class Silent(Backend):
        def generate(self, prompts, sampling, tools=(), schema=None):
            for i, _ in enumerate(prompts):
                yield i, Reply("Nothing.", prompt_tokens=1, completion_tokens=1)

    model = llm.LanguageModel(Silent())
    comparison.add_memories(tmp_path, {}, [BOOK], model, tokenizer)
    memory = Folder(tmp_path).memory("memory", BOOK)
    row = json.loads((tmp_path / "memories.jsonl").read_text(encoding="utf-8").splitlines()[1])
    assert tiles(BOOK.document, memory.chunks) and len(memory) == row["windows"] == row["repairs"]["not read"]
    comparison.add_memories(tmp_path, {}, [BOOK], None, tokenizer)


@pytest.mark.parametrize(
    "given, message",
    [
        (["--only", "cuts"], "error: --only cuts: expected some of memories, ranks, replies"),
        (["--systems", "fixed.rrf@8"], "error: system 'fixed.rrf@8'"),
        ([], "cannot read .*chunkers.jsonl"),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, given, message):
    monkeypatch.setattr(sys, "argv", ["comparison", "--out", str(tmp_path), *given])
    with pytest.raises(SystemExit, match=message):
        comparison.main()
