"""MemReader: triples, both targets, reverse reasoning, cases of each kind, replies, scores by hand."""

import math

import pytest
from extras import refused
from stubs import Stub

from mindscape import llm
from mindscape.llm import Tags
from mindscape.llm.schema import json_schema
from mindscape.mom import memreader
from mindscape.mom.extraction import paths
from mindscape.mom.memory import DocumentMemory, resolve, said, tiles
from mindscape.mom.memreader import BARE, Case, Triple, example, of_book
from mindscape.roles import MEMORY, Extracted
from mindscape.text import Document, Span

NOTE = Document("note", "It rained all day on the hill. The mill stood still. Then Ivo went home with the lamp.")
TOPICS, CORES = ["rain on the hill", "Ivo home"], ["It rained.", "Ivo went home."]
MEMORY_OF = DocumentMemory(TOPICS, CORES, [Span(0, 53), Span(53, 86)])
CASE = Case("note", "note", NOTE, MEMORY_OF)
PATH = "Two parts, told apart by who is there."


def right(with_path=True):
    """The reply that says the memory of the note."""
    return example(Triple(NOTE, PATH, said(NOTE, MEMORY_OF)), with_path).reply


def model_of(say):
    """A model that replies by a function of the prompt and of whether it is held to a form."""
    return llm.LanguageModel(Stub(lambda talk, tools, schema: say(talk[-1]["content"], schema is not None)))


def cut_off(text):
    return llm.Reply(text, finish="length")


# Triples and examples ---------------------------------------------------------------------------------------------


def test_a_book_s_triples(book, tokenizer):
    triples = of_book(book, tokenizer, share=4)
    assert len(triples) == 4 and of_book(book, tokenizer, share=4) == triples
    for triple in triples:
        resolved = resolve(triple.document, triple.memory)
        assert not resolved.repairs and tiles(triple.document, resolved.memory.chunks) and len(resolved.memory) >= 2
        assert triple.document.text in book.document.text and triple.path


def test_both_targets_say_the_same_memory(book, tokenizer):
    for triple in of_book(book, tokenizer, share=3):
        full, bare = example(triple), example(triple, with_path=False)
        assert full.reply == f"<think>{triple.path}</think>\n{bare.reply}"
        value, repairs = BARE.parse(bare.reply)
        assert value == triple.memory and not repairs
        assert MEMORY.parse(full.reply)[0].think == triple.path
        for item in (full, bare):
            assert triple.document.text.strip() in item.prompt
        assert (full.role, bare.role) == ("memory", "memory_bare")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_bare_prompt_asks_for_no_thoughts(language):
    full, bare = (role.prompts[language] for role in (MEMORY, BARE))
    assert "think" in full and "think" not in bare.lower() and "思考" not in bare
    assert all(tag in bare for tag in ("<outline>", "<scenario>", "<chunk>", "[MASK]", "{document}"))
    assert len(memreader.UNSAID[language]) == 2 and all(piece in full for piece, _ in memreader.UNSAID[language])


def test_examples_are_of_the_same_documents(tokenizer):
    full, bare = (memreader.memory_examples(range(2), tokenizer, with_path, share=3, chinese=1) for with_path in (True, False))
    assert [item.book for item in full] == [item.book for item in bare] and len(full) == 6
    assert any("文档" in item.prompt for item in full) and any("Document:" in item.prompt for item in full)
    assert sum(len(item.reply) for item in full) > sum(len(item.reply) for item in bare)
    refused(lambda: memreader.memory_examples([2000], tokenizer), "seed 2000 is not for training")
    refused(lambda: memreader.memory_examples(range(2), tokenizer, chinese=3), "chinese=3: expected 0 to 2")


def test_paths_in_reverse():
    chinese = Document("记", "清晨下了大雨，磨坊停了工。午后，林剑秋提着灯回家去了。", "zh")
    memory = DocumentMemory(["雨", "归"], ["下雨停工。", "剑秋回家。"], [Span(0, 13), Span(13, len(chinese.text))])
    thought = f"<think>{PATH} a < b</think>"
    model = model_of(lambda prompt, held: thought if "Ivo" in prompt else "<outline>none</outline>")
    triples = memreader.reverse(model, [(NOTE, MEMORY_OF), (chinese, memory)])
    assert triples == [Triple(NOTE, f"{PATH} a ‹ b", said(NOTE, MEMORY_OF)), None]
    prompts = [talk[-1]["content"] for talk, *_ in model.backend.requests]
    assert Tags(Extracted).render(triples[0].memory) in prompts[0]
    assert MEMORY.parse(example(triples[0]).reply)[0].think == f"{PATH} a ‹ b"
    assert memreader.reverse(model, []) == []


# Cases ------------------------------------------------------------------------------------------------------------


def assert_cases(cases, tokenizer):
    for case in cases:
        assert tiles(case.document, case.memory.chunks) and len(case.memory) >= 2
        assert len(resolve(case.document, said(case.document, case.memory)).memory) == len(case.memory)
        tokens = len(tokenizer(case.document.text)["input_ids"])
        assert case.kind == "storyworld" or tokens <= memreader.LARGEST[case.document.language] * 1.02


def test_cases_of_a_book(book, tokenizer):
    cases = memreader.story_cases([book], tokenizer)
    assert len(cases) == memreader.SHARE and {case.group for case in cases} == {book.document.id}
    assert_cases(cases, tokenizer)


def test_cases_of_the_samples(tokenizer):
    cases = memreader.sample_cases(tokenizer)
    assert {case.group for case in cases} == {"manual_en", "manual_zh", "news_en", "news_zh"}
    assert_cases(cases, tokenizer)
    texts = [case.document.text for case in cases if case.group == "news_en"]
    assert len(set(texts)) == len(texts)


def test_cases_of_plays_have_no_headings(tokenizer):
    cases = memreader.play_cases(tokenizer, ["macbeth", "antony-and-cleopatra"])
    assert {case.group for case in cases} == {"macbeth", "antony-and-cleopatra"}
    assert_cases(cases, tokenizer)
    assert not any("SCENE" in case.document.text for case in cases)
    for case in cases:
        for topic, core in zip(case.memory.outline, case.memory.core, strict=True):
            assert core.startswith(topic[:20])


# Asking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_path", [True, False])
def test_only_what_cannot_be_read_is_asked_again(with_path):
    cases = [Case("note", str(i), Document(str(i), f"{i}. {NOTE.text}"), MEMORY_OF) for i in range(4)]
    free = [right(with_path), "none", cut_off(right(with_path)), f"So: {right(with_path)}"]

    def says(prompt, held):
        return "held" if held else free[int(prompt.split("\n")[-1][0])]

    model = model_of(says)
    answers = memreader.ask(model, cases, with_path)
    assert [answer.text == "held" for answer in answers] == [False, True, True, False]
    assert [answer.free for answer in answers] == [reply if isinstance(reply, str) else reply.text for reply in free]
    assert [len(answer.unread) for answer in answers] == [0, 2, 2, 0] and "cut off" in answers[2].unread[0]
    assert [schema is not None for *_, schema in model.backend.requests] == [False] * 4 + [True] * 2
    pairs = zip(cases, answers, strict=True)
    assert [memreader.resolved_memory(case, answer) is not None for case, answer in pairs] == [True, False, False, True]


def test_the_bare_role_can_be_sampled():
    model = model_of(lambda prompt, held: right(with_path=False))
    (drawn,) = paths(model, [NOTE], n=2, role=BARE)
    assert [path.read.memory for path in drawn] == [MEMORY_OF] * 2
    assert "think" not in model.backend.requests[0][0][-1]["content"]
    assert paths(model, [NOTE], n=1)[0][0].read is None  # the path is missing


# Scores -----------------------------------------------------------------------------------------------------------


def answer_of(*said, with_path=True):
    """What comes of asking a model that says one thing free, and another held to the form."""
    return memreader.ask(model_of(lambda prompt, held: said[held]), [CASE], with_path)


def test_a_right_reply_has_full_marks():
    for with_path in (True, False):
        scores = memreader.memory_scores([CASE], answer_of(right(with_path), with_path=with_path))
        assert scores.pop("core_support") == [1.0]
        assert scores == {name: [1.0] for name in ("valid", "valid_free", "boundary_f1", "outline_recall", "unrepaired")}


def test_a_reply_that_cannot_be_read_has_none():
    for pair in (("no", "no"), (cut_off(right()), "no"), ("no", cut_off(right()))):
        scores = memreader.memory_scores([CASE], answer_of(*pair))
        assert math.isnan(scores.pop("core_support")[0])
        assert all(numbers == [0.0] for numbers in scores.values())
    scores = memreader.memory_scores([CASE], answer_of("no", right()))
    assert scores["valid"] == [1.0] and scores["valid_free"] == [0.0] and scores["boundary_f1"] == [1.0]


def test_borders_topics_and_cores_by_hand():
    other = DocumentMemory(["the mill", "Ivo at home"], ["A wedding.", "Ivo went away."], [Span(0, 31), Span(31, 86)])
    scores = memreader.memory_scores([CASE], answer_of(example(Triple(NOTE, PATH, said(NOTE, other))).reply))
    assert scores["boundary_f1"] == [0.0]  # 31 is 22 characters from 53
    assert scores["outline_recall"] == [0.5]
    assert scores["core_support"] == [pytest.approx((0 + 1 / 2) / 2)]  # of wedding none; of went and away the first


def test_recall_of_topics_is_one_to_one():
    assert memreader.outline_recall(["the lamp", "the lamp"], ["the lamp"]) == 0.5
    assert memreader.outline_recall(["rain"], []) == 0 and memreader.outline_recall(["林剑秋回家"], ["林剑秋回家了"], "zh") == 1
    assert memreader.outline_recall(["a b c d", "a b"], ["a b", "a b c d"]) == 1


def test_support_of_cores_in_chinese():
    document = Document("记", "清晨下了大雨。林剑秋回家。", "zh")
    memory = DocumentMemory("甲乙", ["下大雨", "他"], [Span(0, 7), Span(7, 13)])
    assert memreader.core_support(document, memory) == 0.5  # of 下大 and 大雨 the second; 他 is no pair
    assert math.isnan(memreader.core_support(document, DocumentMemory("甲", ["他"], [Span(0, 13)])))


def test_the_form_of_each_role():
    assert "think" in json_schema(memreader.role_of(True).form)["lark"]
    assert "think" not in json_schema(memreader.role_of(False).form)["lark"]
