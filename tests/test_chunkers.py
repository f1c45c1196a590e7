"""Chunkers: all tile whatever they are given, at the mean length asked for; fast against slow; bad replies and input."""

import json
import re
import sys
from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from extras import awkward_texts, refused, required
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stubs import Letters, Stub, to_last

from mindscape import llm, store
from mindscape.mom import chunkers
from mindscape.mom.chunkers import Fixed, Listing, Lumber, Semantic, Sentences, mean_length, meta_chunker, paragraphs
from mindscape.mom.memory import DocumentMemory, tiles, whole
from mindscape.store import Store
from mindscape.text import Document, Span, sentences

STORY = "\n\n".join(
    f"Day {i} began with rain. The mill stood still. Ivo went to the harbour, and Ann to the school.\n"
    f"In the evening they met at the inn and talked of the {thing}."
    for i, thing in enumerate(["lamp", "ledger", "ferry", "quarrel", "letter", "wedding", "storm", "debt"])
)
NOTE = Document("note", STORY)
DAYS = [f"第{i}天下了雨。磨坊停了工。林剑秋去了码头，安娜去了学校。晚上他们在客栈见面。" for i in range(8)]
CHINESE = Document("记", "\n\n".join(DAYS), "zh")


def model_of(say, **options):
    return llm.LanguageModel(Stub(to_last(say), **options))


def scorer(weigh):
    """A model that weighs answers."""
    return llm.LanguageModel(Stub(weigh=lambda prompt, answer: weigh(answer)))


def shown(prompt):
    """The numbers of the paragraphs in a prompt of LumberChunker."""
    return [int(number) for number in re.findall(r"^ID (\d+):", prompt, re.MULTILINE)]


def listed(prompt):
    """A list of the sentences of the document in the prompt, by their ends."""
    text = prompt.split("Document:\n")[-1].split("文档：\n")[-1]
    spans = [text[span.start : span.end].strip() for span in sentences(text, "zh" if "。" in text else "en")]
    return json.dumps([f"{span[:9]}[MASK]{span[-9:]}" for span in spans if span], ensure_ascii=False)


def all_of(tokenizer):
    """One of each kind that needs nothing that is not installed."""
    return [
        Fixed(tokenizer),
        Sentences(tokenizer),
        Semantic(Letters(), tokenizer),
        Lumber(model_of(lambda prompt: f"Answer: ID {shown(prompt)[1]:04d}"), tokenizer),
        Lumber(scorer(lambda answer: -float(answer[-4:])), tokenizer, by="score", name="scored"),
        Listing(model_of(listed), tokenizer, window=120),
        chunkers.Remembered(whole, tokenizer),
    ]


# All of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", [NOTE, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("size", [40, 90])
def test_all_tile_at_one_mean_length(tokenizer, document, size):
    for chunker in all_of(tokenizer):
        made = chunker.cut(document, size)
        assert tiles(document, made.chunks), chunker.name
        assert [chunk.index for chunk in made.chunks] == list(range(len(made.chunks)))
        assert all(chunk.doc_id == document.id and document[chunk].strip() for chunk in made.chunks)
        assert mean_length(document, made.chunks, tokenizer) == pytest.approx(size, rel=0.35), chunker.name
        assert abs(len(made.chunks) - chunkers.wanted(document, size, tokenizer)) <= 2


@settings(max_examples=40)
@given(
    awkward_texts,
    st.integers(1, 30),
    st.sampled_from(["Answer: ID 0001", "none", "ID 7", '["Ivo[MASK]left.", "home[MASK]"]', "[1]", '["a"', "[]"]),
)
def test_any_text_and_any_reply(tokenizer, text, size, said):
    document = Document("any", text)
    model = model_of(lambda prompt: said)
    cutters = [Fixed(tokenizer), Sentences(tokenizer), Semantic(Letters(), tokenizer), Lumber(model, tokenizer, theta=8)]
    for chunker in [*cutters, Listing(model, tokenizer, window=20)]:
        made = chunker.cut(document, size)
        assert tiles(document, made.chunks) and all(document[chunk].strip() for chunk in made.chunks)
    for chunker in (Lumber(model, tokenizer, theta=8), Listing(model, tokenizer)):
        assert tiles(document, chunker.cut(document, None).chunks)


def test_nothing_to_cut(tokenizer):
    for chunker in all_of(tokenizer):
        refused(partial(chunker.cut, Document("blank", " \n "), 40), "has no text")
    refused(lambda: Lumber(model_of(str), tokenizer).cut(Document("blank", " "), None), "has no text")
    for chunker in (Fixed(tokenizer), Sentences(tokenizer), Semantic(Letters(), tokenizer)):
        refused(partial(chunker.cut, NOTE, None), "no length of its own")
        refused(partial(chunker.cut, NOTE, 0), "at least one token")


def test_on_a_book(book, tokenizer):
    for chunker in (Fixed(tokenizer), Sentences(tokenizer), Semantic(Letters(), tokenizer)):
        made = chunker.cut(book.document, 200)
        assert mean_length(book.document, made.chunks, tokenizer) == pytest.approx(200, rel=0.02)


# Borders and numbers ----------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.integers(1, 30), st.lists(st.integers(1, len(STORY) - 1), max_size=12))
@example(27, [352])  # between a sentence and the blank line behind it
def test_evened_to_a_number(n, borders):
    chunks = chunkers.at_borders(NOTE, borders)
    made = chunkers.evened(NOTE, chunks, n)
    assert tiles(NOTE, made.chunks)
    assert len(made.chunks) == n or made.counts["split"]
    changed = len(made.chunks) - len(chunks)
    assert made.counts == Counter({"split": changed} if changed > 0 else {"merged": -changed} if changed else {})
    kept = {chunk.start for chunk in chunks} & {chunk.start for chunk in made.chunks}
    assert len(kept) == min(len(chunks), len(made.chunks))  # borders go or come, none moves


def test_paragraphs_of_each_kind():
    texts = ("a b.\nc d.\ne f.", "It rained. Ivo left.", "one")
    assert [len(paragraphs(Document("lines", text))) for text in texts] == [3, 2, 1]
    assert len(paragraphs(NOTE)) == 8
    for document in (NOTE, CHINESE):
        assert tiles(document, paragraphs(document))


# One by one -------------------------------------------------------------------------------------------------------


def test_semantic_borders_are_the_furthest_neighbours(tokenizer):
    chunker = Semantic(Letters(), tokenizer, buffer=1)
    texts = ["It rained. ", "The mill stood. ", "In the evening. ", "Rain again."]
    vectors = Letters().encode(["".join(texts[max(0, i - 1) : i + 2]).strip() for i in range(4)])
    slow = [1 - sum(float(x) * float(y) for x, y in zip(a, b, strict=True)) for a, b in pairwise(vectors)]
    assert np.allclose(chunker.distances(texts), slow, atol=1e-6)
    document = Document("short", "".join(texts))
    size = len(tokenizer(document.text)["input_ids"]) // 2
    assert chunker.cut(document, size).chunks[1].start == len("".join(texts[: 1 + int(np.argmax(slow))]))


def test_lumber_asks_group_by_group(tokenizer):
    model = model_of(lambda prompt: f"I think: Answer: ID {shown(prompt)[-1]:04d}.")
    made = Lumber(model, tokenizer, theta=150).cut(NOTE, None)
    groups = [shown(talk[-1]["content"]) for talk, *_ in model.backend.requests]
    assert groups[0][0] == 0 and all(b[0] == a[-1] for a, b in pairwise(groups))
    units = paragraphs(NOTE)
    first = [group[0] for group in groups]
    assert [chunk.start for chunk in made.chunks] == [units[i].start for i in [*first, groups[-1][-1]]]
    sizes = [sum(len(tokenizer(NOTE[units[i]])["input_ids"]) for i in group) for group in groups]
    assert max(sizes) <= 150 and not made.counts


def test_lumber_without_a_usable_answer_takes_the_group(tokenizer):
    for said in ("The first one.", "Answer: ID 0000", "Answer: ID 0999"):
        made = Lumber(model_of(lambda prompt, said=said: said), tokenizer, theta=150).cut(NOTE, None)
        assert made.counts["no answer"] == len(made.chunks) - 1 >= 2
        assert tiles(NOTE, made.chunks)


def test_lumber_by_score_takes_the_likeliest(tokenizer):
    judge = scorer(lambda answer: -abs(float(answer[-4:]) - 2))
    made = Lumber(judge, tokenizer, theta=150, by="score").cut(NOTE, None)
    assert made.chunks[1].start == paragraphs(NOTE)[2].start and not made.counts
    refused(lambda: Lumber(model_of(str), tokenizer, by="logits"), "by='logits': expected reply or score")


def test_a_list_of_chunks_is_read(tokenizer):
    document = Document("two", "It rained all day. The mill stood still. Then Ivo went home.")
    said = '```json\n["It rained[MASK]stood still.", "Then Ivo[MASK]home.",]\n```'
    made = Listing(model_of(lambda prompt: said), tokenizer).cut(document, None)
    texts = ["It rained all day. The mill stood still. ", "Then Ivo went home."]
    assert [document[chunk] for chunk in made.chunks] == texts
    assert made.counts == Counter(["code fence stripped", "trailing comma removed"])
    none = Listing(model_of(lambda prompt: "I cannot."), tokenizer).cut(document, None)
    assert len(none.chunks) == 1 and none.counts == Counter(["not read"])
    refused(lambda: Listing(model_of(str), tokenizer).cut(Document("f", "Il pleut.", "fr"), None), "no prompt in 'fr'")


def test_a_document_is_data(tokenizer):
    """Braces in a text are no places of a prompt."""
    text = "It cost {first} and {0!r} and {document}. Nobody paid.\n\nThe {paragraphs} stood empty. " * 5
    document = Document("braces", text)
    model = model_of(lambda prompt: "no")
    for chunker in (Listing(model, tokenizer), Lumber(model, tokenizer, theta=30)):
        assert tiles(document, chunker.cut(document, None).chunks)
    assert "{first}" in model.backend.requests[0][0][-1]["content"]


def test_the_memory_s_chunks(tokenizer):
    memory = DocumentMemory("ab", "ab", [Span(0, 100), Span(100, len(STORY))])
    assert chunkers.Remembered(lambda document: memory, tokenizer).cut(NOTE, None).chunks[1].start == 100


def test_prompts_are_in_both_languages():
    for prompts, slots in ((chunkers.LISTED, {"document"}), (chunkers.SHIFT, {"first", "paragraphs"})):
        assert set(prompts) == {"en", "zh"}
        assert all(set(re.findall(r"\{(\w+)\}", prompt)) == slots for prompt in prompts.values())


# Peers ------------------------------------------------------------------------------------------------------------


def test_llama_index_is_missed_clearly(tokenizer, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_index.core.node_parser", None)
    refused(lambda: chunkers.LlamaIndex(tokenizer).cut(NOTE, 40), "needs llama-index-core: pip install")


@pytest.mark.parametrize("document", [NOTE, CHINESE], ids=["en", "zh"])
def test_against_llama_index(tokenizer, document):
    """Theirs tiles too, and ours cuts about as they do."""
    required("llama_index.core", "the extra `peers` is not installed")
    theirs, ours = (kind(tokenizer).cut(document, 90).chunks for kind in (chunkers.LlamaIndex, Sentences))
    assert tiles(document, theirs)
    assert abs(len(theirs) - len(ours)) <= 2


def test_pieces_without_their_blanks_are_found_in_order():
    text = "It rained. It rained.  Ivo left.\n\nIt rained."
    assert chunkers._starts(text, ["It rained. It rained.", "Ivo left.", "It rained."]) == [0, 23, 34]


def test_the_meta_chunker_by_name(tiny_dir):
    """A random Qwen2.5 from a folder; what it writes is no list, and is counted."""
    options = {"window": 200, "dtype": "float32", "device": "cpu", "cache": False}
    chunker = meta_chunker(f"hf:{tiny_dir}", **options)
    assert chunker.name == "moc" and not chunker.held and chunker.max_new_tokens == 512
    made = chunker.cut(NOTE, 60)
    assert tiles(NOTE, made.chunks) and made.counts["not read"] >= 1
    assert meta_chunker(f"hf:{tiny_dir}", max_new_tokens=32, **options).max_new_tokens == 32
    refused(lambda: meta_chunker("Qwen/MetaChunker"), 'expected "embedded"')


def test_rivals_by_name_and_cuts_that_are_found_again(tokenizer, own_store, tmp_path):
    """What a model is asked for a cut is a part of it: the cut alone travels."""

    backend = Stub(weigh=lambda prompt, text: -float(int(text[-1]) % 3))
    kept = Store(tmp_path / "cache.sqlite", tmp_path / "store", fill=True)
    store.use(kept)
    rivals = chunkers.rivals(tokenizer, Letters(), llm.LanguageModel(backend, store=kept), whole, whole)
    assert list(rivals) == ["fixed", "llama_index", "semantic", "lumber", "llm", "mom", "scenes"]
    assert all(chunker.name == name for name, chunker in rivals.items())
    (first,) = chunkers.cuts(rivals["lumber"], [NOTE], 40)
    assert [path.name.split(".")[0] for path in (tmp_path / "store").glob("*.jsonl")] == ["cut"]
    calls = len(backend.requests)
    assert first == rivals["lumber"].cut(NOTE, 40) and calls > 0
    other = Store(tmp_path / "other.sqlite", tmp_path / "store")
    store.use(other)
    assert chunkers.cuts(rivals["lumber"], [NOTE], 40) == [first] and len(backend.requests) == calls
    assert len(other.keys) == 1
    assert next(other.remake(count=1)).agrees


@pytest.mark.parametrize("installed", [False, True])
def test_what_a_missing_package_made_is_not_computed_anew(own_store, tokenizer, monkeypatch, installed):
    """`make data TINY=1` and `make remeasure` run where the extras are not installed, too."""
    monkeypatch.setattr(chunkers, "find_spec", lambda name: object() if installed else None)
    monkeypatch.setattr(chunkers.LlamaIndex, "borders", lambda self, document, limit: [len(document.text) // 2])
    first = chunkers.cuts(chunkers.LlamaIndex(tokenizer), [NOTE], 40)
    assert chunkers.cuts(chunkers.LlamaIndex(tokenizer), [NOTE], 40) == first
    assert len(list(own_store.remake(share=1.0))) == installed
