"""RAG with a signature: Eq. 4 by hand, the pool and every way of choosing, retrievers by protocol, prompts, replies, caps."""

import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindscape.cache import Cache
from mindscape.errors import BudgetReached, InputError
from mindscape.llm import Reply
from mindscape.metrics import NoAnswer, recall_fraction_at_k
from mindscape.roles import ROLES
from mindscape.roles.answers import letters
from mindscape.signature.memory import Item, Memory, Posed, build, ranked
from mindscape.signature.memory import given as told
from mindscape.signature.objectives import Modular, assignment, relevance, signature_objective
from mindscape.signature.rag import (
    FRAME,
    WARMER,
    Answer,
    Geometry,
    Meter,
    Shelf,
    Situated,
    answers,
    blend,
    by_alpha,
    context,
    fitted,
    hear,
    judged_pairs,
    retrieve,
    retriever,
    score,
)
from mindscape.signature.selection import first_k, greedy, lazy_greedy
from mindscape.store import Maker
from mindscape.text import Chunk, Document


class Bag:
    """An encoder of words, or of characters where there are no blanks: counts at places of a hash, of length 1."""

    name, dim, fingerprint = "bag", 64, "bag"

    def encode(self, texts, kind="passage"):
        found = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            plain = "".join(it if it.isalnum() else " " for it in text.lower())
            units = plain.split() if any("a" <= it <= "z" for it in plain) else [it for it in plain if it != " "]
            for unit in units or ["nothing"]:
                row[zlib.crc32(unit.encode()) % self.dim] += 1
        return found / np.linalg.norm(found, axis=1, keepdims=True)


class Embedder:
    """An embedder that reads a question with a text: the bag of both, by shares; it counts what it reads."""

    def __init__(self, delta=0.5, fingerprint="embedder", dies=10**9):
        self.delta, self.fingerprint, self.dies, self.read = delta, fingerprint, dies, []

    @property
    def maker(self):
        return Maker("bag", {"fingerprint": self.fingerprint, "delta": self.delta})

    def units(self, texts):
        return Bag().encode(texts)

    def queries(self, questions, summary=None, task="chunk"):
        for question in questions:
            if len(self.read) >= self.dies:
                raise KeyboardInterrupt
            self.read.append((question, summary))
        alone = Bag().encode(questions)
        both = Bag().encode([f"{question} {summary or ''}" for question in questions])
        mixed = self.delta * alone + (1 - self.delta) * both
        return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


class Model:
    """A language model that replies as a function of prompt and trial says, and keeps what it was asked."""

    name, fingerprint = "scripted", "scripted"

    def __init__(self, says, context=None):
        self.says, self.context, self.asked, self.how = says, context, [], []

    def chat(self, talks, schema=None, max_new_tokens=256, temperature=0.0, seed=0):
        replies = []
        for (message,) in talks:
            self.asked.append(message["content"])
            self.how.append((temperature, seed, max_new_tokens))
            said = self.says(message["content"], seed)
            replies.append(said if isinstance(said, Reply) else Reply(said, (), len(message["content"]), 5))
        return replies

    def count_tokens(self, prompt):
        return len(prompt) if isinstance(prompt, str) else sum(len(message["content"]) for message in prompt)


PEOPLE = ("Ann", "Ivo", "Tom", "Eve")
DEEDS = ("sold a lamp", "sang at the inn", "lost the boat", "fed the goats", "wrote a letter", "mended the well")


def library(width=4, stride=None):
    """24 chunks of a sentence each, in sessions of four."""
    sentences = [f"{PEOPLE[i % 4]} {DEEDS[i // 4]} on day {i}. " for i in range(24)]
    ends = np.cumsum([0, *map(len, sentences)]).tolist()
    document = Document("town", "".join(sentences))
    chunks = [Chunk("town", i, *place) for i, place in enumerate(zip(ends, ends[1:], strict=False))]

    def write(document, windows):
        return ["; ".join(document[chunk].strip() for chunk in window[::2]) for window in windows]

    return build(document, chunks, write, width, stride)


def question(number, text, *evidence, kind="qa", options=(), right="Ann", **more):
    return Posed(f"q{number}", "town", text, kind, options, right, (), evidence or (0,), **more)


ASKED = [
    question(0, "Who sold a lamp on day 2?", 2),
    question(1, "What did Eve do with the goats?", 15),
    question(2, "Ann and the well", 20, 23),
]


# The two passes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0, 0.25, 0.5, 1])
def test_equation_4_by_hand(alpha):
    memory, bag = library(), Bag()
    shelf = Shelf(memory, bag)
    signature = shelf.signature((0, 3))
    found = shelf.search(["Who sold a lamp?"], [signature], 24, alpha)[0]
    q = bag.encode(["Who sold a lamp?"])[0].astype(float)
    mean = sum(bag.encode([memory.summaries[i]])[0].astype(float) for i in (0, 3)) / 2
    mean = mean / math.sqrt(sum(x * x for x in mean))
    by_hand = []
    for text in memory.texts:
        c = bag.encode([text])[0].astype(float)
        by_hand.append((1 - alpha) * sum(q * c) + alpha * sum(mean * c))
    assert [by_hand[i] for i in found] == pytest.approx(sorted(by_hand, reverse=True))
    alone = shelf.search(["Who sold a lamp?"], None, 24)[0]
    assert (found == alone) == (alpha == 0)


def test_no_signature_and_an_empty_one():
    shelf = Shelf(library(), Bag())
    assert shelf.search(["Eve sang"], [()], 5, 0.7) == shelf.search(["Eve sang"], None, 5)
    assert shelf.search([], None) == [] and shelf.wake([]) == [] and retrieve(shelf, []) == []
    for alpha in (-0.1, 1.5):
        with pytest.raises(InputError, match="alpha="):
            blend(np.zeros(2), np.zeros(2), alpha)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 6))
def test_what_is_woken_is_ranked_and_its_items_stand_in_first_k_order(seed, k0, k):
    rng = np.random.default_rng(seed)
    document = Document("d", "".join(f"{word} " for word in rng.permutation(1000)[:20]))
    ends = [i + 1 for i, letter in enumerate(document.text) if letter == " "]
    chunks = tuple(Chunk("d", i, *place) for i, place in enumerate(zip([0, *ends], ends, strict=False)))
    sessions = rng.permutation(np.r_[np.arange(5), rng.integers(5, size=15)])
    items = [Item(f"session {s}", tuple(np.flatnonzero(sessions == s).tolist())) for s in range(5)]
    shelf = Shelf(Memory((document,), chunks, tuple(items)), Bag())
    (woken,) = shelf.wake(["17 18 19 20"], k0)
    q, units = (Bag().encode(texts).astype(float) for texts in (["17 18 19 20"], shelf.memory.texts))
    assert woken.chunks == tuple(ranked(np.einsum("d,md->m", q[0], units), k0).tolist())
    assert shelf.choose(woken, "first_k", k) == first_k(sessions[list(woken.chunks)], k).picks


@pytest.mark.parametrize("weights", [(0.3, 0.4, 0.3), (1, 0, 0), (0, 1, 0)])
@pytest.mark.parametrize("k", [1, 3, 9])
def test_choosing_is_selection_on_the_papers_objective(weights, k):
    memory, bag = library(), Bag()
    shelf = Shelf(memory, bag)
    (woken,) = shelf.wake(["Ann and the goats on day 7"], 10)
    e_q, e_s, e_c = (
        bag.encode(some)
        for some in (
            ["Ann and the goats on day 7"],
            [memory.summaries[i] for i in woken.items],
            [memory.texts[i] for i in woken.chunks],
        )
    )
    sessions = [woken.items.index(memory.pi[i]) for i in woken.chunks]
    objective = signature_objective(e_q[0], e_s, e_c, assignment(sessions, len(e_s)), range(1, 11), weights)
    picks = tuple(woken.items[i] for i in greedy(objective, k).picks)
    assert shelf.choose(woken, "coverage", k, weights=weights) == picks
    assert shelf.choose(woken, lazy_greedy, k, weights=weights) == picks
    nearest = greedy(Modular(relevance(e_q[0], e_s)), k).picks
    assert shelf.choose(woken, "relevance", k) == tuple(woken.items[i] for i in nearest)


def test_lots_fall_the_same_way_each_time():
    shelf = Shelf(library(), Bag())
    first, second = shelf.wake(["Ann sang", "Tom wrote"], 20)
    drawn = {shelf.choose(first, "random", 3, seed=seed) for seed in range(20)}
    assert len(drawn) > 3 and all(set(some) <= set(first.items) and len(set(some)) == 3 for some in drawn)
    assert shelf.choose(first, "random", 3, seed=1) == shelf.choose(first, "random", 3, seed=1)
    assert any(shelf.choose(first, "random", 3, seed=s) != shelf.choose(second, "random", 3, seed=s) for s in range(9))


def test_gold_sessions_stand_for_most_of_the_evidence():
    shelf = Shelf(library(), Bag())
    (woken,) = shelf.wake(["Who?"], 4)
    assert shelf.choose(woken, "gold", 2, evidence=[23, 1, 2]) == (0, 5)
    assert shelf.choose(woken, "gold", 1, evidence=[23, 1, 2]) == (0,)
    assert shelf.choose(woken, "gold", 5, evidence=[9]) == (2,)  # no more than there are


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"way": "best"}, "way='best': expected first_k, relevance, coverage, random, gold, or an optimiser"),
        ({"way": "first_k", "k": 0}, "k=0"),
        ({"way": "gold"}, "expected the chunks that hold the evidence"),
    ],
)
def test_bad_ways(more, says):
    shelf = Shelf(library(), Bag())
    (woken,) = shelf.wake(["Who?"])
    with pytest.raises(InputError, match=says):
        shelf.choose(woken, **more)


def test_overlapping_windows_cover_a_chunk_twice():
    shelf = Shelf(library(4, 2), Bag())
    (woken,) = shelf.wake(["Ann and the goats on day 7"], 10)
    cover = shelf.objective(woken).parts[1].matrix
    assert (np.diff(cover.tocsc().indptr) >= 1).all() and np.diff(cover.tocsc().indptr).max() == 2
    picks = shelf.choose(woken, "coverage", 3)
    assert len(set(picks)) == 3 and set(picks) <= set(woken.items)


def test_both_passes_together_and_a_sweep():
    shelf = Shelf(library(), Bag())
    found = retrieve(shelf, ASKED, "coverage", k=2, k0=12, alpha=0.25, top=6)
    for one, it in zip(ASKED, found, strict=True):
        (woken,) = shelf.wake([one.text], 12)
        items = shelf.choose(woken, "coverage", 2)
        assert (it.id, it.woken, it.items) == (one.id, woken, items)
        assert it.chunks == shelf.search([one.text], [shelf.signature(items)], 6, 0.25)[0]
    bare = retrieve(shelf, ASKED, None, top=6)
    assert [it.items for it in bare] == [None] * 3
    assert [it.chunks for it in bare] == shelf.search([one.text for one in ASKED], None, 6)
    swept = by_alpha(shelf, ASKED, [shelf.signature(it.items) for it in found], [0, 0.25, 1], 6)
    assert swept[0.25] == [
        recall_fraction_at_k(it.chunks, one.evidence, 6) for it, one in zip(found, ASKED, strict=True)
    ]
    assert swept[0] == [recall_fraction_at_k(it.chunks, one.evidence, 6) for it, one in zip(bare, ASKED, strict=True)]


def test_only_gold_looks_at_the_evidence():
    shelf = Shelf(library(), Bag())
    other = [question(i, one.text, 11) for i, one in enumerate(ASKED)]
    for way in ("first_k", "relevance", "coverage", "random", None):
        assert retrieve(shelf, ASKED, way, k0=9) == retrieve(shelf, other, way, k0=9)
    assert retrieve(shelf, ASKED, "gold") != retrieve(shelf, other, "gold")


# Retrievers ---------------------------------------------------------------------------------------------------------


def test_retrievers_by_protocol():
    geometry = Geometry(Bag())
    assert retriever(geometry) is geometry and isinstance(retriever(Bag()), Geometry)
    assert isinstance(retriever(Embedder()), Situated)
    for wrong in ("minilm", 7):
        with pytest.raises(InputError, match="is no retriever: expected an encoder"):
            retriever(wrong)


def test_a_situated_retriever_takes_both_states_apart():
    """Whatever share of the question the embedder was trained with."""
    memory = library()
    for delta in (0.2, 0.9):
        shelf = Shelf(memory, Bag(), Situated(Embedder(delta)), weigher=Bag())
        signature = ("Eve fed the goats", "on day 15")
        of_query, of_signature = shelf.scores(["Who?"], [signature])
        units = Bag().encode(memory.texts)
        alone, both = Bag().encode(["Who?", "Who? Eve fed the goats\non day 15"])
        np.testing.assert_allclose(of_query[0], units @ alone, atol=1e-6)
        np.testing.assert_allclose(of_signature[0], units @ both, atol=1e-6)


def test_a_killed_retriever_reads_the_rest_alone(tmp_path):
    store = Cache(tmp_path / "vectors.sqlite")
    questions, signatures = [f"Who on day {i}?" for i in range(6)], [(f"day {i}", "goats") for i in range(6)]
    whole = Situated(Embedder()).steered(questions, signatures)
    with pytest.raises(KeyboardInterrupt):
        Situated(Embedder(dies=4), store).steered(questions, signatures)
    embedder = Embedder()
    np.testing.assert_array_equal(Situated(embedder, store).steered(questions, signatures), whole)
    assert len(embedder.read) == 2
    embedder = Embedder()
    Situated(embedder, store).steered(questions, [*signatures[:5], ("day 5",)])  # another signature
    assert len(embedder.read) == 1
    Situated(embedder, store).asked(questions)
    assert len(embedder.read) == 7
    other = Embedder(fingerprint="trained since")
    Situated(other, store).steered(questions, signatures)
    assert len(other.read) == 6


def test_a_shelf_without_an_encoder_cannot_weigh():
    shelf = Shelf(library(), Situated(Embedder()))
    (woken,) = shelf.wake(["Who?"])
    assert shelf.choose(woken, "first_k", 2) == woken.items[:2]
    with pytest.raises(InputError, match="expected weigher="):
        shelf.choose(woken, "coverage")
    assert shelf.fingerprint != Shelf(library(), Situated(Embedder()), weigher=Bag()).fingerprint


def test_a_real_embedder(tokenizer, tmp_path):
    """A tiny random model of the real architecture: h_q for s_qry, h_c in the light of the signature for s_sig."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    from mindscape.mia.embedding import Form, MiaEmbedder

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(**sizes, num_key_value_heads=2, vocab_size=len(tokenizer), initializer_range=0.3)
    model = AutoModelForCausalLM.from_config(config).eval()
    parts = ("Ann sold a lamp.", "Tom came.")
    for form in (Form("paper"), Form("summary_first", delta=0.2)):
        embedder = MiaEmbedder(model, tokenizer, form)
        found = Situated(embedder, Cache(tmp_path / "vectors.sqlite"))
        apart = {
            delta: MiaEmbedder(model, tokenizer, Form(form.order, delta=delta)).queries(["Who?"], "\n".join(parts))
            for delta in (0.0, 1.0)
        }
        np.testing.assert_allclose(found.asked(["Who?"]), apart[1.0], atol=1e-5)
        np.testing.assert_allclose(found.steered(["Who?"], [parts]), apart[0.0], atol=1e-5)
        assert found.chunks(["Ann left."]).shape == (1, 32)
    assert Situated(MiaEmbedder(model, tokenizer, Form("paper"))).fingerprint != found.fingerprint


# Prompts and replies ------------------------------------------------------------------------------------------------


def test_what_a_generator_is_given():
    passages = ["Ann left.", "Tom {came}."]
    assert context(passages) == "Ann left.\n\nTom {came}."
    both = context(passages, ("Ann is the smith.",), ["Ann has the lamp"])
    assert both == "Storyline:\nAnn is the smith.\n\nNotes:\n- Ann has the lamp\n\nPassages:\nAnn left.\n\nTom {came}."
    assert context(passages, ("{x}",)).startswith("Storyline:\n{x}\n\nPassages:")
    assert "Storyline" not in context(passages, (), ["a note"])
    with pytest.raises(InputError, match="no headings in 'fr'"):
        context(passages, language="fr")
    zh = context(["甲。"], ("主",), ["记"], "zh")
    assert [zh.index(FRAME["zh"][name].format("")) for name in ("signature", "evidence", "passages")] == [0, 7, 16]


MIXED = [
    question(0, "Who sold a lamp?", kind="choice", options=("Ann", "Ivo", "Tom", "Eve"), right="C"),
    question(1, "Tom sold a lamp.", kind="claim", right="TRUE", pair="p"),
    question(2, "Who sold it?", right="Tom"),
    question(3, "Ivo sold a lamp.", kind="claim", right="FALSE", pair="p"),
]
REPLY = {
    "choice": "<explanation>Tom sold it.</explanation>\n<answer>C</answer>",
    "claim": "<explanation>Tom sold it.</explanation>\n<answer>TRUE</answer>",
}


def reply(prompt, trial):
    kind = "choice" if "A. Ann" in prompt else "claim" if "Claim:" in prompt else "qa"
    return REPLY.get(kind, "Answer: Tom.")


def test_answers_of_every_kind():
    memory, model = library(), Model(reply)
    said = answers(model, memory, MIXED, [(2, 0)] * 4, [("Tom is a thief.",)] * 4, [["a note"], [], [], []])
    assert [it.value for it in said] == ["C", "TRUE", "Tom", "TRUE"]
    assert [it.shown for it in said] == [2] * 4 and {it.tries for it in said} == {1}
    told_of = context([memory.texts[2], memory.texts[0]], ("Tom is a thief.",), ["a note"])
    options = letters(list(MIXED[0].options))
    assert ROLES["choice"].prompt(context=told_of, question="Who sold a lamp?", options_str=options) in model.asked
    bare = answers(model, memory, MIXED, [(2, 0)] * 4)
    assert [it.value for it in bare] == ["C", "TRUE", "Tom", "TRUE"]
    assert not any("thief" in prompt for prompt in model.asked[4:])
    assert [score(one, it) for one, it in zip(MIXED, said, strict=True)] == [1, 1, 1, 0]
    pairs = judged_pairs(MIXED, said)
    assert (pairs.value, pairs.asked, pairs.unparsable) == (0.0, 2, 0)


def test_answers_in_chinese():
    document = Document("书", "安娜卖了一盏灯。汤姆走了。", "zh")
    chunks = [Chunk("书", 0, 0, 8), Chunk("书", 1, 8, 13)]
    memory = build(document, chunks, told(["有人卖灯。"]))
    model = Model(lambda prompt, trial: "答案：安娜。")
    one = Posed("q", "书", "谁卖了灯？", "qa", (), "安娜", (), (0,))
    (said,) = answers(model, memory, [one], [(0, 1)], [("灯的主线",)])
    assert said.value == "安娜" and score(one, said, "zh") == 1.0
    assert model.asked == [
        ROLES["qa"].prompt("zh", context=context(memory.texts, ("灯的主线",), (), "zh"), question=one.text)
    ]
    shelf = Shelf(memory, Bag())
    assert shelf.search(["谁卖了灯？"], [("汤姆走了",)], 2, 0.0) == [(0, 1)]
    assert shelf.search(["谁卖了灯？"], [("汤姆走了",)], 2, 1.0) == [(1, 0)]


def test_an_unreadable_reply_is_asked_for_again_otherwise():
    says = {0: "Well, who knows.", 1: "The answer is (b)."}
    model = Model(lambda prompt, trial: says[trial])
    (said,) = answers(model, library(), MIXED[:1], [(0,)])
    assert (said.value, said.tries, len(said.invalid), said.said) == ("B", 2, 1, "B")
    assert [how[:2] for how in model.how] == [(0.0, 0), (WARMER, 1)] and said.completion_tokens == 10
    assert said.prompt_tokens == 2 * len(model.asked[0])
    stubborn = Model(lambda prompt, trial: "Well, who knows.")
    (said,) = answers(stubborn, library(), MIXED[:1], [(0,)], retries=2)
    assert (said.value, said.tries, len(said.invalid), said.said) == ("", 3, 3, NoAnswer.UNPARSABLE)
    assert score(MIXED[0], said) == 0.0 and said.text == "Well, who knows."
    assert judged_pairs(MIXED, [said] * 4).unparsable == 2


def test_only_what_could_not_be_read_is_asked_again():
    model = Model(lambda prompt, trial: "?!" if "second" in prompt and not trial else "<answer>A</answer>")
    heard = hear(model, ROLES["choice"], ["first", "second", "third"], 50)
    assert model.asked == ["first", "second", "third", "second"] and [it.tries for it in heard] == [1, 2, 1]
    assert hear(model, ROLES["choice"], [], 50) == []


def test_a_reply_that_was_cut_off_or_refused_is_no_answer():
    cut = Model(lambda prompt, trial: Reply("<explanation>Tom</explanation>\n<answer>C", (), 9, 200, "length"))
    (heard,) = hear(cut, ROLES["choice"], ["Who?"], 200, retries=0)
    assert heard.value is None and heard.invalid == ("cut off after 200 tokens",)
    refused = Model(lambda prompt, trial: Reply("I cannot.", invalid="the model refused"))
    (heard,) = hear(refused, ROLES["qa"], ["Who?"], 48, retries=0)
    assert heard.value is None and heard.invalid == ("the model refused",)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(20, 200))
def test_a_prompt_keeps_the_best_passages_that_fit(sizes, window):
    model = Model(None, window)
    passages = ["x" * size for size in sizes]
    most = max((n for n in range(1, len(sizes) + 1) if len("".join(passages[:n])) + 10 <= window), default=0)
    if most:
        assert fitted(model, "".join, passages, 10) == ("".join(passages[:most]), most)
    else:
        with pytest.raises(InputError, match=f"scripted holds {window} tokens"):
            fitted(model, "".join, passages, 10)
    assert fitted(Model(None), "".join, passages, 10)[1] == len(sizes)


def test_answers_say_how_many_passages_were_shown():
    memory, one = library(), question(0, "Who?")
    full = len(ROLES["qa"].prompt(context=context([memory.texts[i] for i in range(3)]), question="Who?"))
    (said,) = answers(Model(reply, full + 48), memory, [one], [range(6)])
    assert said.shown == 3


def test_a_meter_stops_before_a_cap_is_crossed():
    model = Model(lambda prompt, trial: "Tom")
    meter = Meter(most_calls=3)
    hear(model, ROLES["qa"], ["a", "b"], 48, meter=meter)
    with pytest.raises(BudgetReached, match="the budget of 3 calls is spent: 2 are made, and the next step takes 2"):
        hear(model, ROLES["qa"], ["c", "d"], 48, meter=meter)
    assert len(model.asked) == 2 and meter.tokens == 2 * (1 + 5)
    meter = Meter(most_tokens=100)
    hear(model, ROLES["qa"], ["a" * 40], 48, meter=meter)  # 45 are used
    with pytest.raises(BudgetReached, match="the budget of 100 tokens is spent: 45 are used, .* takes up to 58"):
        hear(model, ROLES["qa"], ["b" * 10], 48, meter=meter)
    hear(model, ROLES["qa"], ["b" * 7], 48, meter=meter)
    for wrong in ({"most_calls": 0}, {"most_tokens": -1}):
        with pytest.raises(InputError, match="expected at least 1, or None"):
            Meter(**wrong)


def test_free_answers_are_scored_by_f1():
    one = question(0, "Who?", right="Ann the smith")
    assert score(one, Answer("Ann", "Ann", 1, (), 1, 1, 1)) == pytest.approx(2 / 3)  # articles do not count
    assert score(one, Answer("Ann the smith", "Ann the smith", 1, (), 1, 1, 1)) == 1.0
