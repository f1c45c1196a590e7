"""The mindscape: Eq. 3 and 4 as stated, the fold where the model cannot read all, both languages, what is kept."""

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import cut

from mindscape.errors import LLMError
from mindscape.llm import Reply
from mindscape.mia import summaries
from mindscape.store import Maker
from storyworld import books


class Echo:
    """Replies with the last `words` words between the tags, reads `context` words, and dies at the call `dies`."""

    name, fingerprint, maker = "echo", "echo", Maker("echo", {})

    def __init__(self, context=10_000, words=3, dies=0):
        self.context, self.words, self.dies, self.asked = context, words, dies, []

    def count_tokens(self, prompt):
        return len(prompt.split())

    def chat(self, conversations, max_new_tokens):
        self.dies -= 1
        if not self.dies:
            raise KeyboardInterrupt
        self.asked += [conversation[0]["content"] for conversation in conversations]
        assert all(len(c[0]["content"].split()) + max_new_tokens <= (self.context or 10**9) for c in conversations)
        inside = [prompt.split(">\n", 1)[1].rsplit("\n<", 1)[0] for prompt in self.asked[-len(conversations) :]]
        return [Reply(" ".join(text.split()[-self.words :]) + "\n") for text in inside]


def pieces(n, language="en"):
    return cut("toy", [f"alpha{i} beta{i} gamma{i} delta{i} " for i in range(n)], language)


def test_chunk_summaries_then_one_over_their_concatenation():
    document, chunks = pieces(4)
    model = Echo()
    built = summaries.summarise_document(model, document, chunks)
    assert built.levels == (tuple(f"beta{i} gamma{i} delta{i}" for i in range(4)), ("beta3 gamma3 delta3",))
    assert built.text == "beta3 gamma3 delta3" and built.source == "echo"
    assert "\n".join(built.levels[0]) in model.asked[-1]
    head = summaries.CHUNK_PROMPT["en"].split("{chunk_content}")[0]  # common to all, so that it can be read once
    assert all(prompt.startswith(head) for prompt in model.asked[:4]) and "under 500 characters" in head


@given(st.integers(1, 60), st.integers(190, 400))
def test_the_fold_reads_every_summary_once_and_never_too_much(n, context):
    document, chunks = pieces(n)
    model = Echo(context)
    built = summaries.summarise_document(model, document, chunks, chunk_tokens=40, tokens=40)
    assert len(built.levels[0]) == n and len(built.levels[-1]) == 1
    sizes = [len(level) for level in built.levels]
    assert sizes == sorted(sizes, reverse=True)
    folded = [prompt.split("<text>\n")[1].split("\n</text>")[0] for prompt in model.asked[n : n + sizes[1]]]
    assert [line for text in folded for line in text.splitlines()] == list(built.levels[0])


@given(st.integers(1, 40), st.integers(8, 60), st.sampled_from([None, 300]))
def test_no_more_than_asked_is_merged_at_once(n, read, context):
    document, chunks = pieces(n)
    model = Echo(context)
    built = summaries.summarise_document(model, document, chunks, chunk_tokens=40, tokens=40, read=read)
    merged = [prompt.split("<text>\n")[1].split("\n</text>")[0] for prompt in model.asked[n:]]
    assert all(len(text.split()) <= read for text in merged)
    assert built.text == summaries.summarise_document(Echo(), document, chunks).text


def test_novels_are_summed_up_once(own_store, tokenizer):
    novels = books("test")[:2]
    with pytest.raises(KeyboardInterrupt):
        summaries.of_books(Echo(dies=4), novels, tokenizer)
    found = summaries.of_books(Echo(), novels, tokenizer)
    seen = own_store.trail[-1]
    assert list(found) == [book.document.id for book in novels] and (seen.cached, seen.computed) == (1, 2)
    assert summaries.of_books(Echo(), novels, tokenizer) == found and (seen.cached, seen.computed) == (3, 2)


def test_an_endpoint_that_does_not_say_what_it_reads_is_asked_once():
    document, chunks = pieces(50)
    assert len(summaries.summarise_document(Echo(context=None), document, chunks).levels) == 2


def test_a_model_that_cannot_read_two_summaries_is_refused():
    document, chunks = cut("toy", ["word " * 60] * 3)
    model = Echo(context=200, words=60)
    said = "cannot read two summaries of toy at once"
    refused(lambda: summaries.summarise_document(model, document, chunks, chunk_tokens=5, tokens=5), said)


@pytest.mark.parametrize("reply", [Reply(" \n"), Reply("I cannot.", invalid="refused")])
def test_a_refused_or_empty_summary_is_an_error_not_a_mindscape(reply):
    document, chunks = pieces(3)
    model = Echo()
    model.chat = lambda conversations, max_new_tokens: [Reply("fine"), reply, Reply("fine")]
    with pytest.raises(LLMError, match="echo, summary 2 of 3: (the reply has no words|refused)"):
        summaries.summarise_document(model, document, chunks)


def test_chinese_has_prompts_of_its_own():
    model = Echo()
    summaries.summarise_document(model, *cut("红楼", ["贾宝玉来了。", "林黛玉走了。"], "zh"))
    assert "贾宝玉来了。" in model.asked[0] and "不超过500个字符" in model.asked[0]
    assert "梗概" in model.asked[-1]


def test_an_unknown_language_and_no_chunks_are_refused():
    document, chunks = pieces(2, language="fr")
    refused(lambda: summaries.summarise_document(Echo(), document, chunks), "no prompt in 'fr': expected one of en, zh")
    refused(lambda: summaries.summarise_document(Echo(), document, []), "toy has no chunks")


def test_any_function_can_stand_in_for_the_model():
    document, chunks = pieces(3)
    built = summaries.build_with(lambda text: text[:6], "first six", document, chunks)
    assert built.levels == (("alpha0", "alpha1", "alpha2"), ("alpha0",))


def test_what_is_kept_is_whole_words_in_any_case():
    for summary, wordings, there in (
        ("Duncan dies.", ["duncan"], True),
        ("Duncans die.", ["Duncan"], False),
        ("She is Charlotte's heir", ["Letitia", "Charlotte's heir"], True),
        ("他见到王子了", ["王子"], True),
        ("anything", [""], False),
    ):
        assert summaries.kept(summary, {"fact": wordings}) == {"fact": there}
