"""MoM's document memory: whatever a model says the spans tile the text; each rule of repair; there and back."""

from collections import Counter
from functools import partial

import pytest
from extras import awkward_texts, refused
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mindscape import roles as role
from mindscape.mom import memory as mom
from mindscape.mom.memory import RULES, DocumentMemory, excerpt, join, resolve, said, tile, tiles, whole
from mindscape.roles import Extracted, Scenario, ends_of
from mindscape.text import Document, Span

RAIN, MILL, HOME = "It rained all day. ", "The mill stood still.\n\n", "Then Ivo went home with the lamp."
NOTE = Document("note", RAIN + MILL + HOME)
WHOLE = [("It rained", "all day."), ("The mill", "stood still."), ("Then Ivo", "the lamp.")]


def cut(tiling: mom.Tiling, document: Document = NOTE) -> list[str]:
    return [document[chunk] for chunk in tiling.chunks]


# Whatever is said ------------------------------------------------------------------------------------------------


@st.composite
def documents_and_ends(draw):
    """A text and chunks by their ends: true ones, from elsewhere in the text, changed, made up or empty."""
    text = draw(awkward_texts)
    words = st.one_of(
        st.just(""),
        st.text(max_size=8),
        st.tuples(st.integers(0, len(text)), st.integers(1, 40)).map(lambda at: text[at[0] : at[0] + at[1]]),
        st.tuples(st.integers(0, len(text)), st.integers(4, 40)).map(lambda at: text[at[0] : at[0] + at[1]].swapcase()),
    )
    language = draw(st.sampled_from(["en", "zh"]))
    return Document("any", text, language), draw(st.lists(st.tuples(words, words), max_size=7))


@settings(max_examples=400)
@given(documents_and_ends())
@example((NOTE, [("\ud800", "\udfff")]))
@example((NOTE, []))
@example((NOTE, [("lamp", "lamp")] * 3))
def test_whatever_is_said_the_spans_tile_the_document(made):
    document, ends = made
    tiling = tile(document, ends)
    assert tiles(document, tiling.chunks)
    assert all(document[chunk].strip() for chunk in tiling.chunks)
    assert "".join(cut(tiling, document)) == document.text
    assert sorted(i for group in tiling.groups for i in group) == list(range(len(ends)))
    assert len(tiling.groups) == len(tiling.chunks)
    assert set(tiling.repairs) <= set(RULES) and all(tiling.repairs.values())


@settings(max_examples=200)
@given(documents_and_ends(), st.lists(st.sampled_from(["", " ", "rain", "他走了", "<a>"]), min_size=1, max_size=9))
def test_whatever_is_said_there_is_a_memory(made, topics):
    document, ends = made
    scenarios = [
        Scenario.model_construct(chunk=f"{head}[MASK]{tail}", core=core)
        for (head, tail), core in zip(ends, topics, strict=False)
    ]
    resolved = resolve(document, Extracted.model_construct(outline=topics[::2], scenario=scenarios))
    assert tiles(document, resolved.memory.chunks)
    assert len(resolved.memory.outline) == len(resolved.memory.core) == len(resolved.memory) <= max(1, len(scenarios))


# The rules, one by one -------------------------------------------------------------------------------------------


def test_a_faultless_reply_needs_no_repair():
    tiling = tile(NOTE, WHOLE)
    assert cut(tiling) == [RAIN, MILL, HOME]
    assert tiling.groups == ((0,), (1,), (2,)) and not tiling.repairs


@pytest.mark.parametrize(
    "ends, expected, rules",
    [
        ([WHOLE[0], WHOLE[2]], [RAIN + MILL, HOME], ["gap"]),
        ([("It rained", "stood still."), WHOLE[1], WHOLE[2]], [RAIN, MILL, HOME], ["overlap"]),
        ([WHOLE[1], WHOLE[2]], [RAIN + MILL, HOME], ["begins late"]),
        ([WHOLE[0], WHOLE[1]], [RAIN, MILL + HOME], ["ends early"]),
        ([WHOLE[0], ("Nobody came", "stood still."), WHOLE[2]], [RAIN, MILL, HOME], ["head not found"]),
        ([("It rained", "all day"), ("Nobody came", "stood still."), WHOLE[2]], [RAIN, MILL, HOME], ["head not found"]),
        ([WHOLE[0], ("The mill", "nobody came"), WHOLE[2]], [RAIN, MILL, HOME], ["tail not found"]),
        ([WHOLE[0], ("The mill", ""), WHOLE[2]], [RAIN, MILL, HOME], ["tail not found"]),
        ([WHOLE[0], ("Then Ivo", "The mill")], [RAIN + MILL, HOME], ["gap", "ends reversed"]),
        ([WHOLE[0], WHOLE[2], WHOLE[1]], [RAIN, MILL, HOME], ["out of order"]),
        ([WHOLE[0], WHOLE[0], WHOLE[1], WHOLE[2]], [RAIN, MILL, HOME], ["same place"]),
        ([("", "all day."), WHOLE[1], WHOLE[2]], [RAIN, MILL, HOME], ["head not found"]),
        (
            [("It rained", ""), ("Nobody", "came"), WHOLE[1], WHOLE[2]],
            [RAIN, MILL, HOME],
            ["tail not found", "head not found", "tail not found", "unplaced"],
        ),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) and x and x[0] in RULES else "",
)
def test_a_rule_of_repair(ends, expected, rules):
    tiling = tile(NOTE, ends)
    assert cut(tiling) == expected
    assert tiling.repairs == Counter(rules)


def test_what_cannot_be_placed_joins_a_neighbour():
    assert tile(NOTE, [("It rained", ""), ("Nobody", "came"), WHOLE[2]]).groups == ((0, 1), (2,))
    nowhere = tile(NOTE, [("Nobody", "came"), ("No one", "left")])
    assert nowhere.groups == ((0,), (1,)) or nowhere.groups == ((0, 1),)
    assert tile(NOTE, []).groups == ((),) and cut(tile(NOTE, [])) == [NOTE.text]


def test_words_that_stand_twice_are_taken_in_the_order_said():
    document = Document("twice", "Ann came. Ann left. Ann came. Ann slept.")
    tiling = tile(document, [("Ann came.", "Ann left."), ("Ann came.", "slept.")])
    assert cut(tiling, document) == ["Ann came. Ann left. ", "Ann came. Ann slept."] and not tiling.repairs
    # a tail stands as near as can be to the next head: "Ann" closes the first chunk, not its second word
    document = Document("near", "It was Ann, it was Ann. Bob came.")
    assert not tile(document, [("It was", "Ann."), ("Bob", "came.")]).repairs


def test_ends_copied_with_slips_are_found_as_quotes_are():
    document = Document("slips", "The hostess—“Letitia”—sold the copper lamp. Nobody had seen the miller since Monday.")
    hostess = ('the hostess -- "letitia"', "'Letitia'-sold the coper lamp")
    tiling = tile(document, [hostess, ("Nobody has seen the miler", "since monday")])
    assert tiling.chunks[1].start == document.text.index("Nobody") and not tiling.repairs


def test_chinese_chunks():
    document = Document("记", "清晨下了大雨，磨坊停了工。　午后，林剑秋提着灯回家去了。", "zh")
    tiling = tile(document, [("清晨下了", "停了工。"), ("午后，林", "回家去了。")])
    assert cut(tiling, document) == ["清晨下了大雨，磨坊停了工。　", "午后，林剑秋提着灯回家去了。"]
    assert not tiling.repairs


def test_a_document_without_text_is_refused():
    refused(lambda: tile(Document("blank", " \n"), [("a", "b")]), "'blank' has no text")


# Memories --------------------------------------------------------------------------------------------------------


def scenario(head, tail, core):
    return Scenario(chunk=f"{head} [MASK] {tail}", core=core)


def test_topics_and_cores_are_as_many_as_the_chunks():
    three = [scenario(*ends, core) for ends, core in zip(WHOLE, ["Rain.", "A halt.", "Ivo left."], strict=True)]
    short = resolve(NOTE, Extracted(outline=["Weather"], scenario=three))
    assert short.memory.outline == ("Weather", "A halt.", "Ivo left.") and short.repairs == {"topic missing": 2}
    long = resolve(NOTE, Extracted(outline=["a", "b", "c", "d", "e"], scenario=three))
    assert long.memory.outline == ("a", "b", "c") and long.repairs == {"topic left over": 2}
    twice = resolve(NOTE, Extracted(outline=["a", "b", "c", "d"], scenario=[three[0], *three]))
    assert twice.memory.outline == ("a; b", "c", "d") and twice.memory.core[0] == "Rain."
    without = three[0].model_copy(update={"core": " "})
    blank = resolve(NOTE, Extracted.model_construct(outline=["", ""], scenario=[without]))
    assert blank.memory.core == blank.memory.outline == ("It rained all day.",)
    assert blank.repairs["core missing"] == blank.repairs["topic missing"] == 1


def test_the_gold_of_a_book_there_and_back(book):
    memory = DocumentMemory(book.memory.outline, book.memory.core, book.memory.chunks)
    assert tiles(book.document, memory.chunks)
    part, its = excerpt(book.document, memory, 3, 7)
    reply = said(part, its)
    again = resolve(part, Extracted.model_validate(role.Tags(Extracted).parse(role.Tags(Extracted).render(reply))[0]))
    assert again.memory.borders == its.borders and again.memory.core == its.core
    assert again.memory.outline == its.outline


def test_memories_of_parts_are_joined():
    parts = [Span(0, len(RAIN)), Span(len(RAIN), len(NOTE.text))]
    memories = [whole(Document("part", NOTE[part])) for part in parts]
    both = join(NOTE, parts, memories)
    assert tiles(NOTE, both.chunks) and both.outline == ("It rained all day.", "The mill stood still.")
    for pair in ((parts[1:], memories[1:]), (parts, memories[::-1])):
        refused(partial(join, NOTE, *pair), "memories of parts do not tile document")


def test_a_memory_is_checked():
    two = (Span(0, 3), Span(3, 9))
    refused(lambda: DocumentMemory(["a"], ["a", "b"], two), r"\[1, 2, 2\] topics")
    refused(lambda: DocumentMemory([], [], []), "at least 1")
    refused(lambda: DocumentMemory(["a", "b"], ["a", " "], two), "core holds a blank")
    for ends in ((1, 3, 3, 9), (0, 3, 4, 9), (0, 3, 2, 9), (0, 0, 0, 9)):
        chunks = [Span(*ends[:2]), Span(*ends[2:])]
        refused(partial(DocumentMemory, ["a", "b"], ["a", "b"], chunks), "from where the one before ends")
    refused(lambda: said(NOTE, DocumentMemory(["a", "b"], ["a", "b"], two)), "do not tile")
    for language in ("en", "zh"):
        blank = Document("blank", "It rained. \n\n \nIvo left.", language)
        chunks = [Span(0, 11), Span(11, 15), Span(15, len(blank.text))]
        refused(partial(said, blank, DocumentMemory("abc", "abc", chunks)), "chunk 1 of document 'blank' is blank")
    refused(lambda: excerpt(NOTE, whole(NOTE), 1, 2), "at least one")


def test_ends_of():
    assert ends_of(" It rained [MASK] home. ") == ("It rained", "home.")
    assert ends_of("[MASK] home.") == ("", "home.") and ends_of("It rained") == ("It rained", "")


def test_the_samples_of_the_kit():
    samples = mom.samples()
    assert {sample.document.language for sample in samples} == {"en", "zh"}
    for sample in samples:
        assert tiles(sample.document, sample.memory.chunks)
        assert resolve(sample.document, said(sample.document, sample.memory)).memory.borders == sample.memory.borders
        for question in sample.questions:
            assert question.breadth in ("local", "global")
            assert all(sample.document[span].strip() for span in question.evidence)
