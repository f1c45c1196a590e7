"""RAG with a signature: Eq. 4 by hand, the pool and every way of choosing, retrievers, prompts, replies, series of books."""

import math
import zlib
from dataclasses import replace

import numpy as np
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import cut
from tiny import tiny
from transformers import LlamaConfig

from mindscape import store
from mindscape.ask import WARMER
from mindscape.llm import Reply
from mindscape.metrics import recall_fraction_at_k
from mindscape.mia.embedding import Form, MiaEmbedder, PlainEmbedder
from mindscape.roles import ROLES, letters
from mindscape.signature import rag
from mindscape.signature.memory import Item, Memory, Posed, build, ranked
from mindscape.signature.memory import given as of_texts
from mindscape.signature.objectives import Modular, assignment, first_k, greedy, relevance, signature_objective
from mindscape.signature.rag import DEPTH, FEEDBACK, QUERY, Geometry, Shelf, Situated, answers, at, blend, context, rank
from mindscape.store import Maker

pytestmark = pytest.mark.usefixtures("own_store")


class Bag:
    """An encoder of words, or of characters where there are no blanks: counts at places of a hash, of length 1."""

    name, dim, maker = "bag", 64, Maker("bag", {"bag": 64}, "float32")

    def encode(self, texts, kind="passage"):
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            plain = "".join(letter if letter.isalnum() else " " for letter in text.lower())
            units = (
                plain.split()
                if any("a" <= letter <= "z" for letter in plain)
                else [letter for letter in plain if letter != " "]
            )
            for unit in units or ["nothing"]:
                row[zlib.crc32(unit.encode()) % self.dim] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Embedder(PlainEmbedder):
    """An embedder that reads a question with a text: the bag of both, by shares; it counts what it reads."""

    def __init__(self, delta=0.5, trained="once", dies=10**9):
        super().__init__(Bag(), delta)
        self.trained, self.dies, self.read = trained, dies, []

    @property
    def maker(self):
        return Maker("embedder", {"trained": self.trained, "delta": self.delta})

    def queries(self, questions, summary=None, task="chunk"):
        for question in questions:
            if len(self.read) >= self.dies:
                raise KeyboardInterrupt
            self.read.append((question, summary))
        return super().queries(questions, summary)


class Model:
    """A language model that replies as a function of prompt and trial says, and keeps what it was asked; and a backend for
    one, which may die."""

    name, fingerprint = "scripted", "scripted"

    def __init__(self, says, context=None, dies=10**9, error=KeyboardInterrupt):
        self.says, self.context, self.dies, self.error = says, context, dies, error
        self.requests, self.how = [], []

    def reply(self, prompt, temperature, seed):
        if len(self.requests) == self.dies:
            raise self.error
        self.requests.append(prompt)
        self.how.append((temperature, seed))
        said = self.says(prompt, seed)
        return said if isinstance(said, Reply) else Reply(said, (), len(prompt), 5)

    def chat(self, talks, schema=None, max_new_tokens=256, temperature=0.0, seed=0):
        return [self.reply(message["content"], temperature, seed) for (message,) in talks]

    def generate(self, prompts, sampling, tools=(), schema=None):
        for i, prompt in enumerate(prompts):
            yield i, self.reply(prompt[-1]["content"], sampling.temperature, sampling.seed)

    def count_tokens(self, prompt, tools=()):
        return len(prompt) if isinstance(prompt, str) else sum(len(message["content"]) for message in prompt)


PEOPLE = ("Ann", "Ivo", "Tom", "Eve")
DEEDS = ("sold a lamp", "sang at the inn", "lost the boat", "fed the goats", "wrote a letter", "mended the well")


def library(width=4, stride=None):
    """24 chunks of a sentence each, in sessions of four."""
    document, chunks = cut("town", [f"{PEOPLE[i % 4]} {DEEDS[i // 4]} on day {i}. " for i in range(24)])

    def write(document, windows):
        return ["; ".join(document[chunk].strip() for chunk in window[::2]) for window in windows]

    return build(document, chunks, write, width, stride)


def question(number, text, *evidence, kind="qa", options=(), right="Ann", **more):
    return Posed(f"q{number}", "town", text, kind, options, right, (), evidence or (0,), **more)


@pytest.fixture
def shelf():
    return Shelf(library(), Bag())


ASKED = [
    question(0, "Who sold a lamp on day 2?", 2),
    question(1, "What did Eve do with the goats?", 15),
    question(2, "Ann and the well", 20, 23),
]


# The two passes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0, 0.25, 0.5, 1])
def test_equation_4_by_hand(shelf, alpha):
    memory, bag = shelf.memory, Bag()
    signature = shelf.signature((0, 3))
    ids = shelf.search(["Who sold a lamp?"], [signature], 24, alpha)[0]
    q = bag.encode(["Who sold a lamp?"])[0].astype(float)
    mean = sum(bag.encode([memory.summaries[i]])[0].astype(float) for i in (0, 3)) / 2
    mean = mean / math.sqrt(sum(x * x for x in mean))
    units = bag.encode(memory.texts).astype(float)
    by_hand = [(1 - alpha) * sum(q * c) + alpha * sum(mean * c) for c in units]
    assert [by_hand[i] for i in ids] == pytest.approx(sorted(by_hand, reverse=True))
    alone = shelf.search(["Who sold a lamp?"], None, 24)[0]
    assert (ids == alone) == (alpha == 0)


def test_no_signature_and_an_empty_one(shelf):
    assert shelf.search(["Eve sang"], [()], 5, 0.7) == shelf.search(["Eve sang"], None, 5)
    assert shelf.search([], None) == [] and shelf.wake([]) == [] and rank(shelf, [], ["coverage"]) == []
    refused(lambda: blend(np.zeros(2), np.zeros(2), -0.1), "alpha=")
    refused(lambda: blend(np.zeros(2), np.zeros(2), 1.5), "alpha=")


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 6))
def test_what_is_woken_is_ranked_and_its_items_stand_in_first_k_order(seed, k0, k):
    rng = np.random.default_rng(seed)
    document, chunks = cut("d", [f"{word} " for word in rng.permutation(1000)[:20]])
    sessions = rng.permutation(np.r_[np.arange(5), rng.integers(5, size=15)])
    items = [Item(f"session {s}", tuple(np.flatnonzero(sessions == s).tolist())) for s in range(5)]
    shelf = Shelf(Memory((document,), tuple(chunks), tuple(items)), Bag())
    (woken,) = shelf.wake(["17 18 19 20"], k0)
    q, units = (Bag().encode(texts).astype(float) for texts in (["17 18 19 20"], shelf.memory.texts))
    assert woken.chunks == tuple(ranked(np.einsum("d,md->m", q[0], units), k0).tolist())
    assert shelf.choose(woken, "first_k", k) == first_k(sessions[list(woken.chunks)], k).picks


@pytest.mark.parametrize("k", [1, 3, 9])
def test_choosing_is_selection_on_the_papers_objective(shelf, k):
    memory, bag = shelf.memory, Bag()
    (woken,) = shelf.wake(["Ann and the goats on day 7"], 10)
    summaries, passages = [memory.summaries[i] for i in woken.items], [memory.texts[i] for i in woken.chunks]
    e_q, e_s, e_c = (bag.encode(texts) for texts in (["Ann and the goats on day 7"], summaries, passages))
    sessions = [woken.items.index(memory.pi[i]) for i in woken.chunks]
    objective = signature_objective(e_q[0], e_s, e_c, assignment(sessions, len(e_s)), range(1, 11))
    assert shelf.choose(woken, "coverage", k) == tuple(woken.items[i] for i in greedy(objective, k).picks)
    nearest = greedy(Modular(relevance(e_q[0], e_s)), k).picks
    assert shelf.choose(woken, "relevance", k) == tuple(woken.items[i] for i in nearest)


@pytest.mark.parametrize("way", ["first_k", "relevance", "coverage", "random"])
def test_of_nothing_nothing_is_chosen(way):
    """A memory of entities has chunks that stand in no item."""
    document, chunks = cut("d", ["Ann sang. ", "It rained. "])
    shelf = Shelf(Memory((document,), tuple(chunks), (Item("Ann", (0,)),)), Bag())
    (woken,) = shelf.wake(["It rained"], 1)
    assert woken.items == () and shelf.choose(woken, way, 3) == ()


def test_a_random_signature_is_the_same_each_time(shelf):
    first, second = shelf.wake(["Ann sang", "Tom wrote"], 20)
    drawn = {shelf.choose(first, "random", 3, seed=seed) for seed in range(20)}
    assert len(drawn) > 3 and all(set(items) <= set(first.items) and len(set(items)) == 3 for items in drawn)
    assert shelf.choose(first, "random", 3, seed=1) == shelf.choose(first, "random", 3, seed=1)
    assert any(shelf.choose(first, "random", 3, seed=s) != shelf.choose(second, "random", 3, seed=s) for s in range(9))


def test_gold_sessions_stand_for_most_of_the_evidence(shelf):
    (woken,) = shelf.wake(["Who?"], 4)
    assert shelf.choose(woken, "gold", 2, evidence=[23, 1, 2]) == (0, 5)
    assert shelf.choose(woken, "gold", 1, evidence=[23, 1, 2]) == (0,)
    assert shelf.choose(woken, "gold", 5, evidence=[9]) == (2,)  # no more than there are


def test_bad_ways(shelf):
    (woken,) = shelf.wake(["Who?"])
    refused(lambda: shelf.choose(woken, "best"), "way='best': expected one of first_k, relevance, coverage, random, gold")
    refused(lambda: shelf.choose(woken, "first_k", 0), "k=0")
    refused(lambda: shelf.choose(woken, "gold"), "expected the chunks that hold the evidence")


def test_overlapping_windows_cover_a_chunk_twice():
    shelf = Shelf(library(4, 2), Bag())
    (woken,) = shelf.wake(["Ann and the goats on day 7"], 10)
    cover = shelf.objective(woken).parts[1].matrix
    assert (np.diff(cover.tocsc().indptr) >= 1).all() and np.diff(cover.tocsc().indptr).max() == 2
    picks = shelf.choose(woken, "coverage", 3)
    assert len(set(picks)) == 3 and set(picks) <= set(woken.items)


WAYS = ("first_k", "coverage", "random", "gold")
ALPHAS = (0.0, 0.25, 0.5, 1.0)


def both(live=False, width=4):
    return Shelf(library(width), Bag(), Situated(Embedder()), weigher=Bag(), live=live)


@pytest.mark.parametrize("live", [False, True])
def test_ranks_are_those_of_both_passes(live):
    shelf = both(live, width=2)
    rows = rank(shelf, ASKED, [*WAYS, FEEDBACK], ALPHAS)
    for row, posed in zip(rows, ASKED, strict=True):
        (woken,) = shelf.wake([posed.text])
        assert (row.id, row.woken) == (posed.id, woken.chunks)
        assert set(row.rankings) == {QUERY, FEEDBACK + "@0.5", *(at("coverage", a) for a in ALPHAS), *map(at, WAYS)}
        for way in WAYS:
            assert row.items[way] == shelf.choose(woken, way, evidence=posed.evidence if way == "gold" else ())
            assert row.rankings[at(way)] == shelf.search([posed.text], [shelf.signature(row.items[way])], DEPTH)[0]
        assert row.rankings[QUERY] == row.rankings["coverage@0"] == shelf.search([posed.text], None, DEPTH)[0]
        passages = tuple(shelf.memory.texts[i] for i in row.woken[: rag.K])  # in the place of summaries
        assert row.rankings[at(FEEDBACK)] == shelf.search([posed.text], [passages], DEPTH)[0]
        for alpha in ALPHAS:
            signatures = [shelf.signature(row.items["coverage"])]
            assert row.rankings[at("coverage", alpha)] == shelf.search([posed.text], signatures, DEPTH, alpha)[0]
            expected = recall_fraction_at_k(row.rankings[at("coverage", alpha)], posed.evidence, 3)
            assert row.recall(posed, at("coverage", alpha), 3) == expected
    refused(lambda: rows[0].recall(ASKED[0], "best@0.5"), "is not ranked by 'best@0.5'")


def test_only_gold_looks_at_the_evidence():
    shelf, other = both(), [question(i, posed.text, 11) for i, posed in enumerate(ASKED)]
    for way in ("first_k", "relevance", "coverage", "random"):
        assert rank(shelf, ASKED, [way]) == rank(shelf, other, [way])
    assert rank(shelf, ASKED, ["gold"]) != rank(shelf, other, ["gold"])


def test_what_was_ranked_is_not_read_again():
    rows = rank(both(), ASKED, WAYS, ALPHAS)
    again = both()
    assert rank(again, ASKED, WAYS, ALPHAS) == rows and again.second.embedder.read == []
    assert not again._chunks.cache_info().currsize and "_weighed" not in vars(again)
    trained = Shelf(library(), Bag(), Situated(Embedder(trained="again")), weigher=Bag())
    rank(trained, ASKED, WAYS, ALPHAS)
    assert len(trained.second.embedder.read) == len(ASKED) * (1 + 2 * len(WAYS))
    wide = Shelf(library(4, 2), Bag(), Situated(Embedder()), weigher=Bag())  # other sessions, the same chunks
    assert rank(wide, ASKED, [])[0].rankings == {QUERY: rows[0].rankings[QUERY]} and wide.second.embedder.read == []
    assert rank(wide, ASKED, ["coverage"])[0].items != {"coverage": rows[0].items["coverage"]}


def test_a_live_shelf_asks_no_store():
    rows = rank(both(live=True), ASKED, WAYS)
    assert not store.current().trail and rows == rank(both(), ASKED, WAYS) and store.current().trail


# Retrievers ---------------------------------------------------------------------------------------------------------


def test_retrievers_by_protocol():
    geometry = Geometry(Bag())
    assert rag.retriever(geometry) is geometry and isinstance(rag.retriever(Bag()), Geometry)
    assert isinstance(rag.retriever(Embedder()), Situated)
    refused(lambda: rag.retriever(7), "is no retriever: expected an encoder")


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


def test_a_killed_search_reads_the_rest_alone():
    questions, signatures = [f"Who on day {i}?" for i in range(40)], [(f"day {i}", "goats") for i in range(40)]
    whole = Shelf(library(), Situated(Embedder()), live=True).search(questions, signatures)
    with pytest.raises(KeyboardInterrupt):
        Shelf(library(), Situated(Embedder(dies=70))).search(questions, signatures)
    embedder = Embedder()
    assert Shelf(library(), Situated(embedder)).search(questions, signatures) == whole
    assert len(embedder.read) == 2 * 8  # two batches of sixteen were kept


def test_a_shelf_without_an_encoder_cannot_weigh():
    shelf = Shelf(library(), Situated(Embedder()))
    (woken,) = shelf.wake(["Who?"])
    assert shelf.choose(woken, "first_k", 2) == woken.items[:2]
    refused(lambda: shelf.choose(woken, "coverage"), "expected weigher=")


def test_a_real_embedder(tokenizer):
    """A tiny random model of the real architecture: h_q for s_qry, h_c in the light of the signature for s_sig."""
    model = tiny(LlamaConfig, len(tokenizer))
    parts = ("Ann sold a lamp.", "Tom came.")
    for form in (Form("paper"), Form("summary_first", delta=0.2)):
        embedder = MiaEmbedder(model, tokenizer, form)
        situated = Situated(embedder)
        for delta, ours in ((1.0, situated.unsteered(["Who?"])), (0.0, situated.steered(["Who?"], [parts]))):
            alone = MiaEmbedder(model, tokenizer, Form(form.order, delta=delta))
            np.testing.assert_allclose(ours, alone.queries(["Who?"], "\n".join(parts)), atol=1e-5)
        assert situated.chunks(["Ann left."]).shape == (1, 32)
    assert Situated(MiaEmbedder(model, tokenizer, Form("paper"))).maker != situated.maker


# Prompts and replies ------------------------------------------------------------------------------------------------


def test_what_a_generator_is_given():
    passages = ["Ann left.", "Tom {came}."]
    assert context(passages) == "Ann left.\n\nTom {came}."
    assert context(passages, ("{x}",)).startswith("Storyline:\n{x}\n\nPassages:")
    assert "Storyline" not in context(passages, (), ["a note"])
    refused(lambda: context(passages, language="fr"), "no headings in 'fr'")
    zh = context(["甲。"], ("主",), ["记"], "zh")
    assert [zh.index(rag.FRAME["zh"][name].format("")) for name in ("signature", "evidence", "passages")] == [0, 7, 16]


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
    assert [r.value for r in said] == ["C", "TRUE", "Tom", "TRUE"]
    assert {r.calls for r in said} == {1}
    told_of = context([memory.texts[2], memory.texts[0]], ("Tom is a thief.",), ["a note"])
    options = letters(list(MIXED[0].options))
    assert ROLES["choice"].prompt(context=told_of, question="Who sold a lamp?", options_str=options) in model.requests
    assert [reply.value for reply in answers(model, memory, MIXED, [(2, 0)] * 4)] == ["C", "TRUE", "Tom", "TRUE"]
    assert not any("thief" in prompt for prompt in model.requests[4:])
    assert [rag.score(posed, r) for posed, r in zip(MIXED, said, strict=True)] == [1, 1, 1, 0]


def test_answers_in_chinese():
    memory = build(*cut("书", ["安娜卖了一盏灯。", "汤姆走了。"], "zh"), of_texts(["有人卖灯。"]))
    model = Model(lambda prompt, trial: "答案：安娜。")
    posed = Posed("q", "书", "谁卖了灯？", "qa", (), "安娜", (), (0,))
    (said,) = answers(model, memory, [posed], [(0, 1)], [("灯的主线",)])
    assert said.value == "安娜" and rag.score(posed, said, "zh") == 1.0
    shown = context(memory.texts, ("灯的主线",), (), "zh")
    assert model.requests == [ROLES["qa"].prompt("zh", context=shown, question=posed.text)]
    shelf = Shelf(memory, Bag())
    assert shelf.search(["谁卖了灯？"], [("汤姆走了",)], 2, 0.0) == [(0, 1)]
    assert shelf.search(["谁卖了灯？"], [("汤姆走了",)], 2, 1.0) == [(1, 0)]


def test_an_unreadable_reply_is_asked_for_again_otherwise():
    model = Model(lambda prompt, trial: "The answer is (b)." if trial else "Well, who knows.")
    (said,) = answers(model, library(), MIXED[:1], [(0,)])
    assert (said.value, said.calls, len(said.unread)) == ("B", 2, 1)
    assert model.how == [(0.0, 0), (WARMER, 1)] and said.completion_tokens == 10
    assert said.prompt_tokens == 2 * len(model.requests[0])
    stubborn = Model(lambda prompt, trial: "Well, who knows.")
    (said,) = answers(stubborn, library(), MIXED[:1], [(0,)], tries=3)
    assert (said.value, said.calls, len(said.unread)) == (None, 3, 3)
    assert rag.score(MIXED[0], said) == 0.0 and said.text == "Well, who knows."


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(20, 200))
def test_a_prompt_keeps_the_best_passages_that_fit(sizes, window):
    model = Model(None, window)
    passages = ["x" * size for size in sizes]
    most = max((n for n in range(1, len(sizes) + 1) if len("".join(passages[:n])) + 10 <= window), default=0)
    if most:
        assert rag.fitted(model, "".join, passages, 10) == ("".join(passages[:most]), most)
    else:
        refused(lambda: rag.fitted(model, "".join, passages, 10), f"scripted holds {window} tokens")
    assert rag.fitted(Model(None), "".join, passages, 10)[1] == len(sizes)


def test_answers_are_asked_for_with_the_passages_that_fit():
    memory, posed = library(), question(0, "Who?")
    prompt = ROLES["qa"].prompt(context=context([memory.texts[i] for i in range(3)]), question="Who?")
    model = Model(reply, len(prompt) + 48)
    answers(model, memory, [posed], [range(6)])
    assert model.requests == [prompt]


# Series of books and what is asked on them

CLAIMS = [question(i, f"Claim {truth}.", 3, kind="claim", right=truth, pair="p") for i, truth in enumerate(("TRUE", "FALSE"))]


def test_a_town(tokenizer, language):
    town = rag.town(1000, tokenizer, width=5, size=90, language=language)
    assert town.name == town.memory.documents[0].id and len(town.memory.documents) == 2
    assert all(1 <= len(posed.evidence) <= rag.MOST for posed in (*town.questions, *town.claims))
    assert len(town.claims) == 2 * len(town.questions) > 60
    assert {posed.doc_id for posed in town.questions} == {document.id for document in town.memory.documents}
    assert len(set(np.bincount(town.memory.pi)[:-1])) <= 2  # five passages a session, fewer at the end of a book


def test_plays(tokenizer):
    _, rome = rag.collections("shakespeare", tokenizer)
    assert len(rome.questions) > 30 and len(rome.claims) % 2 == 0 and rome.name == "julius-caesar"


def test_what_there_is_no_corpus_of(tokenizer):
    refused(lambda: rag.collections("novels", tokenizer), "corpus='novels'")
    refused(lambda: rag.collections("storyworld", tokenizer, "dev"), "split='dev'")


def test_a_share_is_of_each_book_and_keeps_pairs_whole():
    items = [question(i, "Who?", 1) for i in range(9)] + [replace(question(i, "Who?", 1), doc_id="b") for i in (11, 12)]
    for count in range(1, 9):
        share = rag.share(items, count)
        assert [item.doc_id for item in share].count("town") == count and share == sorted(share, key=items.index)
        assert {item.id for item in share} <= {item.id for item in rag.share(items, count + 1)}
    assert len({tuple(rag.share(items, 3, seed)) for seed in range(9)}) > 3
    pairs = [replace(item, id=f"{item.id}{i}", pair=f"p{i}") for i in range(4) for item in CLAIMS]
    assert sorted(item.right for item in rag.share(pairs, 2)) == ["FALSE", "FALSE", "TRUE", "TRUE"]


def test_only_a_choice_becomes_a_free_question():
    choice = replace(ASKED[0], kind="choice", options=("Ann", "Ivo", "Tom", "Eve"), right="B")
    assert rag.freely(choice) == replace(ASKED[0], right="Ivo")
    refused(lambda: rag.freely(CLAIMS[0]), "is a claim: expected a choice")
