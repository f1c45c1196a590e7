"""Training MiA-Emb: what a batch holds, its loss against a loop and another library, cached gradients, a killed run, what is
shipped."""

import json
import math
import re
from dataclasses import replace
from functools import partial
from unittest.mock import DEFAULT, Mock

import numpy as np
import pytest
import torch
from extras import refused
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from stubs import Letters
from tiny import log, saved, weights
from torch import nn
from torch.nn.functional import cosine_similarity
from transformers import AutoModelForCausalLM, Qwen3Config

import storyworld
from mindscape import paper
from mindscape.mia import emb_training, embedding, retrieval
from mindscape.mia.emb_training import Batch, Recipe, cached_backward, info_nce, plan, prepare, published, train
from mindscape.mia.embedding import Form
from mindscape.text import mentions
from mindscape.training import Settings
from storyworld import training_book
from storyworld.teaching import passages, update
from storyworld.teaching.update import Asked, Units

NAMES = ["Ann", "Tom", "Eve", "Ivo", "Una", "Max"]
TRADES = ["smith", "miller", "weaver", "nurse", "baker", "cook"]
SHORT = Settings(steps=6, tokens=300, rank=2, warmup=2, learning_rate=5e-3, minutes=1e-9, dtype="float32")


def toy(document, shift):
    """Who has the smith's lamp? Only the summary says that Ann is the smith."""
    who = {trade: NAMES[(i + shift) % 6] for i, trade in enumerate(TRADES)}
    summary = " ".join(f"{name} is the {trade}." for trade, name in who.items())
    rows = []
    for i, (trade, name) in enumerate(who.items()):
        others = tuple(f"{other} has lamp {i}." for other in NAMES if other != name)
        units = {"chunk": Units((f"{name} has lamp {i}.",), others[:3], others[3:])}
        if i % 2:
            units["node"] = Units((f"{name}: has a lamp", f"{trade}: a trade"), (), ("inn: a house", "mill: a house"))
        rows.append(Asked(f"{document}-{i}", document, f"Where is the {trade}'s lamp {i}?", summary, units))
    return rows


ASKED = toy("a", 0) + toy("b", 1) + toy("c", 2)[:3]


@pytest.fixture(scope="module")
def novels():
    return [storyworld.book(seed, tokens=15_000) for seed in (1000, 1001)]


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory):
    """The adapter of a run like many others."""
    return train(ASKED, tmp_path_factory.mktemp("whole"), base, Recipe(), SHORT)


loaded = partial(embedding.embedder, dtype="float32", cache=False)


def test_every_question_is_in_one_batch_of_its_document():
    recipe = Recipe(questions=4)
    for epoch in (0, 1):
        batches = plan(ASKED, recipe, 0, epoch)
        assert sorted(i for batch in batches for i in batch.questions) == list(range(len(ASKED)))
        assert all(len({ASKED[i].document for i in batch.questions}) == 1 for batch in batches)
        assert batches == plan(ASKED, recipe, 0, epoch)
    first, second = ([batch.questions for batch in plan(ASKED, recipe, 0, epoch)] for epoch in (0, 1))
    assert first != second


def read(base, ready):
    """The vectors of all that a batch reads."""
    decoder = AutoModelForCausalLM.from_pretrained(base).eval().get_decoder()
    with torch.no_grad():
        return torch.cat([reading(decoder) for reading in ready.readings])


def units_of(ready, tokenizer):
    """The text of each unit of a batch, read back from its tokens."""
    finding = ready.readings[-1]
    rows = [tokenizer.decode(row).removesuffix(embedding.WORDS["en"]["unit"]) for row in finding.rows]
    before = sum(len(reading.rows) * len(reading.places[0]) for reading in ready.readings[:-1])
    return [rows[place - before] for place in ready.units.tolist()]


@pytest.mark.parametrize("shared", [True, False])
def test_whom_a_question_is_compared_with(shared, tokenizer):
    batch, recipe = Batch((0, 1, 3), (0, 0, 0)), Recipe(shared=shared, hard=2, simple=1)
    ready = prepare(ASKED, batch, recipe, tokenizer, 10_000, "en")
    texts = units_of(ready, tokenizer)
    for task, rows in ready.rows.items():
        for row, right, own in zip(rows, ready.positive[task], ready.compared[task], strict=True):
            units = ASKED[batch.questions[row]].units[task]
            assert texts[right] in units.positives and own[right]
            wrong = [text for text, there in zip(texts, own, strict=True) if there and text != texts[right]]
            assert not set(wrong) & set(units.positives)
            assert shared or set(wrong) <= {*units.hard, *units.simple}
            assert len(wrong) == (2 if task == "node" else 3) if not shared else len(wrong) >= 3
    assert ready.rows["chunk"].tolist() == [0, 1, 2] and ready.rows["node"].tolist() == [1, 2]
    assert units_of(prepare(ASKED, batch, recipe, tokenizer, 10_000, "en"), tokenizer) == texts
    assert set(prepare(ASKED, batch, replace(recipe, beta=1.0), tokenizer, 10_000, "en").rows) == {"chunk"}


@pytest.mark.parametrize("shared, processes", [(True, 2), (True, 3), (False, 2)])
def test_parts_of_a_batch_lose_what_the_whole_does(shared, processes, base, tokenizer):
    """Each process has every other question, and compares it with what the whole batch would."""
    recipe, batch = Recipe(shared=shared, hard=0, simple=0) if shared else Recipe(shared=False), Batch((0, 1, 3, 4), (0, 0, 0))
    losses, counts = [], []
    for part in (slice(None), *(slice(i, None, processes) for i in range(processes))):
        ready = prepare(ASKED, batch, recipe, tokenizer, 10_000, "en", part)
        losses.append(ready.losses(read(base, ready), recipe)["chunk"].item() * len(ready.rows["chunk"]))
        counts.append(ready.compared["chunk"].sum(1).tolist())
    if shared:
        assert losses[0] == pytest.approx(sum(losses[1:]), rel=1e-4) and losses[0] > 0.1
    assert sorted(counts[0]) == sorted(sum(counts[1:], [])) and min(counts[0]) > 1


@pytest.mark.parametrize("order, shared", [("paper", True), ("summary_first", True), ("paper", False)])
def test_the_loss_against_a_loop(order, shared, base, tokenizer):
    """Each query and unit read alone, the formula term by term."""
    recipe, batch = Recipe(Form(order, delta=0.3), shared=shared, beta=0.7, temperature=0.1), Batch((0, 1, 3), (0, 0, 0))
    ready = prepare(ASKED, batch, recipe, tokenizer, 10_000, "en")
    embedder = loaded(base, form=recipe.form)
    units = torch.tensor(embedder.units(units_of(ready, tokenizer)))
    total = 0.0
    for task, weight in (("chunk", 0.7), ("node", 0.3)):
        terms = []
        for row, right, own in zip(ready.rows[task], ready.positive[task], ready.compared[task], strict=True):
            example = ASKED[batch.questions[row]]
            (query,) = torch.tensor(embedder.queries([example.question], example.summary, task))
            near = [math.exp(cosine_similarity(query, unit, dim=0).item() / 0.1) for unit in units] * own.numpy()
            terms.append(-math.log(near[right] / sum(near)))
        total += weight * np.mean(terms)
    assert recipe.weighed(ready.losses(read(base, ready), recipe)).item() == pytest.approx(total, rel=1e-4)


def test_a_run_in_pieces_learns_the_same(whole, base, tmp_path):
    cached = train(ASKED, tmp_path, base, Recipe(cached=True), SHORT)
    torch.testing.assert_close(weights(cached), weights(whole), rtol=2e-2, atol=1e-3)


def test_a_killed_run_ends_with_the_same_adapter(whole, base, tmp_path, monkeypatch):
    run = partial(train, ASKED, tmp_path, base, settings=SHORT)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(emb_training, "prepare", Mock(wraps=prepare, side_effect=[*[DEFAULT] * 4, KeyboardInterrupt]))
        run()
    torch.testing.assert_close(weights(run()), weights(whole), rtol=0, atol=0)
    lines, others = ([(line["step"], line["loss"]) for line in log(out)] for out in (whole.parent, tmp_path))
    assert lines == others
    refused(partial(run, recipe=Recipe(hard=1)), "holds a run with other data, settings, base or start")


def test_it_learns_and_is_loaded_in_its_form(base, tmp_path):
    recipe = Recipe(Form("summary_first", delta=0.25), questions=6)
    steps = replace(SHORT, steps=40, tokens=4000, rank=8, warmup=3, learning_rate=1e-2)
    adapter = train(ASKED, tmp_path, base, recipe, steps)
    lines = log(tmp_path)
    assert np.mean([line["loss"] for line in lines[-5:]]) < 0.8 * np.mean([line["loss"] for line in lines[:5]])
    assert {"chunk", "node", "accuracy", "tokens"} <= set(lines[0])
    embedder = loaded(base, adapter)
    assert embedder.form == recipe.form and embedder.summaries and embedder.language == "en"
    form = json.loads((adapter / "form.json").read_text())
    (adapter / "form.json").write_text(json.dumps(form | {"language": "zh"}))
    assert loaded(base, adapter).language == "zh"  # as it was trained
    assert loaded(base, adapter, language="en").language == "en"
    tuned, plain = (embed.queries([ASKED[0].question], ASKED[0].summary) for embed in (embedder, loaded(base)))
    assert np.abs(tuned - plain).max() > 1e-3


@pytest.mark.parametrize("form", [Form(marks="tokens"), Form(layers=1)], ids=["tokens", "one layer"])
def test_new_tokens_and_fewer_layers(form, whole, base, tmp_path):
    """What was trained is what is loaded: the log's loss of the next step, from the shipped adapter."""
    adapter = train(ASKED, tmp_path / "first", base, Recipe(form), SHORT)
    assert any("trainable_tokens" in name for name in weights(adapter)) == (form.marks == "tokens")
    embedder = loaded(base, adapter)
    assert embedder.model.config.num_hidden_layers == (form.layers or 2)
    example = ASKED[0]
    with_summary, without = embedder.queries([example.question], example.summary), embedder.queries([example.question])
    assert np.abs(with_summary - without).max() > 1e-4
    with torch.random.fork_rng():
        torch.rand(7)  # whatever was drawn before, new tokens are the same, so that the same call goes on
        bare = loaded(base, form=form)
    assert bare.maker == loaded(base, form=form).maker
    assert np.abs(bare.queries([example.question], example.summary) - with_summary).max() > 1e-4
    if form.marks == "tokens":
        marks = embedder.tokenizer.convert_tokens_to_ids(list(embedding.TOKENS.values()))
        rows = [embed.model.get_input_embeddings().weight[marks] for embed in (embedder, bare)]
        assert (rows[0] - rows[1]).abs().amax(1).min() > 1e-5
        again = partial(train, ASKED, base=base, settings=SHORT)
        again(tmp_path / "on", recipe=Recipe(form), start=adapter)
        refused(partial(again, tmp_path / "words", start=adapter), "does not fit the model")
        refused(partial(again, tmp_path / "tokens", recipe=Recipe(form), start=whole), "trained with other new tokens")


def test_sft_emb_sees_no_summary(base, tmp_path):
    tuned = train(ASKED, tmp_path / "a", base, Recipe(summaries=False), SHORT)
    other = [replace(example, summary="It rained.") for example in ASKED]
    untold = train(other, tmp_path / "b", base, Recipe(summaries=False), SHORT)
    torch.testing.assert_close(weights(tuned), weights(untold), rtol=0, atol=0)
    assert not loaded(base, tuned).summaries


def test_what_the_storyworld_teaches(novels, tokenizer):
    book = novels[0]
    examples = update.of_story(book, tokenizer)
    assert examples == update.of_story(book, tokenizer) and len(examples) > 30
    questions = {question.id: question for question in book.questions}
    at = {book.document[chunk].strip(): chunk for chunk in passages.cut(book, tokenizer)}
    for example in examples:
        question, units = questions[example.id], example.units["chunk"]
        groups = [set(units.positives), set(units.hard), set(units.simple)]
        assert sum(map(len, groups)) == len(set().union(*groups))
        assert all(any(passages.holds(book, at[text], span) for span in question.evidence) for text in units.positives)
        assert not any(passages.relevant(book, question, at[text]) for text in (*units.hard, *units.simple))
    assert sum(bool(example.units["chunk"].hard) for example in examples) > 0.7 * len(examples)
    assert any("node" in example.units for example in examples)


def test_copies_differ_in_who_alone(tokenizer, book):
    questions = {question.id: question for question in book.questions}
    names = {entity.name for entity in book.entities if entity.kind in ("person", "guise")}
    total = bound = 0
    for example in update.of_story(book, tokenizer):
        question, units = questions[example.id], example.units["chunk"]
        assert not set(units.exchanged) & {*units.positives, *units.hard, *units.simple}
        for copy in units.exchanged:
            whole = [text for text in units.positives if _told_alike(text, copy, names)]
            assert len(whole) == 1
            gone = {name for name in names if mentions(name, whole[0]) and not mentions(name, copy)}
            came = {name for name in names if mentions(name, copy) and not mentions(name, whole[0])}
            assert len(gone) == len(came) == 1 and mentions(*gone, question.resolved)
            assert not mentions(*came, question.resolved)
            assert not question.needs_binding or not mentions(*gone, question.question)
            total, bound = total + 1, bound + question.needs_binding
    assert total > 100 and bound > 30


def test_a_copy_does_not_give_itself_away_by_a_small_letter(tokenizer):
    """Where "Old Salt" begins a sentence, "the blind beggar" in its place has a capital, too."""
    book = training_book(300)
    guises = {book.voice.guise(person.id) for person in book.world.people if person.guise is not None}
    small = tuple(guise for guise in guises if guise[0].islower())
    begins = re.compile("|".join(rf"(?:^|[.!?]['\"’”]?\s+|(?<=\s)['\"‘“]){re.escape(guise)}\b" for guise in small))
    copies = [copy for example in update.of_story(book, tokenizer) for copy in example.units["chunk"].exchanged]
    assert sum(any(mentions(guise, copy) for guise in small) for copy in copies) > 10
    assert not [match[0] for copy in copies if (match := begins.search(copy))]


def _told_alike(text, copy, names):
    """Whether two texts are the same once all names are out."""
    border = r"\b" if text.isascii() else ""
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    any_name = re.compile("|".join(f"{border}{name}{border}" for name in longest_first), re.I)
    return any_name.sub("_", text) == any_name.sub("_", copy)


def test_who_is_who_gives_nothing_away(book):
    trades = [book.voice.trade(person.id) for person in book.world.people]
    examples = update.who_is_who(book)
    kin = sum(binding.kind == "kin" for binding in book.world.bindings)
    assert len({example.id for example in examples}) == len(examples) == len(book.world.bindings) + kin
    for example in examples:
        (name,) = example.units["node"].positives
        assert not mentions(name, example.question) and mentions(name, example.summary)
        assert not any(mentions(trade, text) for text in example.units["node"].simple for trade in trades)
        if (units := example.units.get("chunk")) is not None:
            assert all(mentions(name, text) for text in units.positives)
            assert units.simple and not any(mentions(name, text) for text in units.simple)
    assert sum("chunk" in example.units for example in examples) > 0.9 * len(examples)


def test_tellings_in_the_place_of_chunks(tokenizer, book):
    sentences = [book.document[span].strip() for span in update.tellings(book)]
    every = {book.document[span].strip() for spans in book.telling.events.values() for span in spans}
    assert len(set(sentences)) == len(sentences) and set(sentences) == every
    questions = {question.id: question for question in book.questions}
    examples = update.of_story(book, tokenizer, alone=True)
    assert len(examples) > 30
    for example in examples:
        units = example.units["chunk"]
        assert {*units.positives, *units.hard, *units.simple} <= set(sentences)
        held = {book.document[span].strip() for span in questions[example.id].evidence}
        assert all(any(text in whole or whole in text for whole in held) for text in units.positives)
        assert not set(units.exchanged) & set(sentences)
        groups = [units.positives, units.hard, units.simple, units.exchanged]
        assert sum(map(len, groups)) == len({text for group in groups for text in group})


def test_even_means_as_many_that_need_a_binding(novels, tokenizer):
    book = novels[1]
    bound = {question.id for question in book.questions if question.needs_binding}
    every, even = update.of_story(book, tokenizer), update.of_story(book, tokenizer, even=True)
    assert [example for example in every if example in even] == even
    assert {example.id for example in every} & bound == {example.id for example in even} & bound
    assert 2 * len({example.id for example in even} & bound) == len(even)


def test_a_name_becomes_a_trade(tokenizer, book):
    voice, bound = book.voice, [item.person for item in book.world.bindings if item.kind == "trade"]
    trades = {voice.name(person): voice.trade(person) for person in bound}
    called = [(question, update.by_trade(book, question)) for question in book.questions]
    assert sum(other is not None for _, other in called) > 10
    for question, other in called:
        named = [name for name in trades if mentions(name, question.question)]
        assert (other is not None) == (not question.needs_binding and bool(named))
        if other:
            (gone,) = (name for name in named if not mentions(name, other.question))
            assert mentions(trades[gone], other.question) and other.needs_binding
            assert other.resolved == question.question and other.evidence == question.evidence
            assert all(mentions(gone, book.document.text[span.start : span.end]) for span in other.bindings[0])
    every = update.of_story(book, tokenizer, traded=1.0)
    assert any(item.id.endswith("-trade") for item in every)
    assert not {question.id for question, other in called if other} & {item.id for item in every}


def test_what_is_to_be_found(book, tokenizer):
    chunks = passages.cut(book, tokenizer)
    units, wanted = update.to_find(book, tokenizer, "chunk")
    assert units == [book.document[chunk].strip() for chunk in chunks]
    by_id = {question.id: right for question, right in wanted}
    for question in book.questions:
        right = update.evidence(book, question, chunks)
        assert by_id.get(question.id) == (set(right) if 0 < len(right) <= update.MOST else None)
    units, wanted = update.to_find(book, tokenizer, "node")
    assert len(units) == len(book.entities)
    assert all(right == set(update.bearing(book, question)) and right for question, right in wanted)


@pytest.mark.parametrize("task, vector", [("chunk", "chunk"), ("who", "node")])
def test_what_is_found_on_novels(task, vector, novels, base, tokenizer, own_store):
    summaries = [book.summary for book in novels[::-1]]  # each with the other's
    embedder = loaded(base)
    rankings = retrieval.rankings(embedder, novels, tokenizer, summaries, task)
    units, wanted = retrieval.sought(novels[1], task, tokenizer)
    (query,) = embedder.queries([wanted[5].question], summaries[1], vector)
    assert list(rankings[wanted[5].id].ids) == np.argsort(-(embedder.units(units) @ query), kind="stable")[:10].tolist()
    assert retrieval.rankings(embedder, novels, tokenizer, summaries, task) == rankings and not own_store.trail[-1].computed


def test_what_is_sought_on_a_novel(novels, tokenizer):
    units, rows = retrieval.sought(novels[1], "chunk", tokenizer)
    texts, pairs = update.to_find(novels[1], tokenizer, "chunk")
    expected = [(question.question, question.needs_binding, sorted(right)) for question, right in pairs]
    assert units == texts and [(row.question, row.binding, [*row.right]) for row in rows] == expected
    names, rows = retrieval.sought(novels[1], "who", tokenizer)
    right = [(row.id, row.question, [*row.units["node"].positives], True) for row in update.who_is_who(novels[1])]
    assert [(row.id, row.question, [names[i] for i in row.right], row.binding) for row in rows] == right


def test_any_encoder_takes_an_embedders_place():
    question, summary = "Who has the smith's dagger?", "The king is the smith, king, king."
    alone, both = Letters().encode([question]), Letters().encode([f"{question}\n{summary}"])
    mixed = 0.25 * alone + 0.75 * both
    ours = embedding.PlainEmbedder(Letters(), delta=0.25)
    np.testing.assert_allclose(ours.queries([question], summary), mixed / np.linalg.norm(mixed), rtol=1e-6)
    np.testing.assert_allclose(ours.queries([question]), alone)
    np.testing.assert_allclose(embedding.PlainEmbedder(Letters(), 1).queries([question], summary), alone, rtol=1e-6)
    refused(lambda: embedding.PlainEmbedder(Letters(), 2), "delta=2")


def test_what_is_found_on_plays(tokenizer, own_store):
    plays = [retrieval.play(name) for name in ("macbeth", "hamlet")]
    rankings = retrieval.rankings(embedding.PlainEmbedder(Letters(), 1), plays, tokenizer)
    each = [retrieval.sought(play, "chunk", tokenizer)[1] for play in plays]
    rows = [row for group in each for row in group]
    assert list(rankings) == [row.id for row in rows] and len(rows) > 20 and not any(row.binding for row in rows)
    row, chunks = rows[0], passages.cut(plays[0], tokenizer)
    question = next(question for question in plays[0].questions if question.id == row.id)
    quotes = [plays[0].document[span] for span in question.evidence]
    held = [i for i, chunk in enumerate(chunks) if any(quote in plays[0].document[chunk] for quote in quotes)]
    assert set(held) <= set(row.right)
    refused(lambda: retrieval.sought(plays[0], "node", tokenizer), "expected a book of the storyworld")
    refused(lambda: retrieval.sought(plays[0], "scene", tokenizer), "task='scene': expected one of chunk, node, who")


def test_summaries_of_all_kinds(novels):
    by_kind = {kind: retrieval.summary(novels, 0, kind) for kind in retrieval.KINDS if kind != "reader"}
    assert by_kind["none"] is None and by_kind["other"] == novels[1].summary
    refused(lambda: retrieval.summary(novels[:1], 0, "other"), "expected at least two books")
    assert sorted(by_kind["shuffled"].split()) == sorted(by_kind["gold"].split()) and by_kind["shuffled"] != by_kind["gold"]
    second = by_kind["textrank"].split(". ")[1]
    assert len(by_kind["textrank"]) <= len(by_kind["gold"]) and second in " ".join(novels[0].document.text.split())
    assert retrieval.summary(novels, 0, "reader", {"storyworld-1000": "Nothing happens."}) == "Nothing happens."
    refused(lambda: retrieval.summary(novels, 0, "reader", {}), "no summary by a reader")
    refused(lambda: retrieval.summary(novels, 0, "best"), "summary='best'")


def test_recipes_and_questions_that_cannot_be(base, tmp_path, tokenizer):
    wrong = [({"questions": 0}, "at least 1 question"), ({"hard": -1}, "below 0")]
    for fields, said in [*wrong, ({"beta": 2}, "beta=2"), ({"temperature": 0}, "temperature=0")]:
        refused(partial(Recipe, **fields), said)
    refused(lambda: train([], tmp_path, base), "no questions")
    batch, said = Batch((0,), (0, 0, 0)), "questions a-0: no units to find for a task that has a weight"
    refused(lambda: prepare(ASKED, batch, Recipe(beta=0.0), tokenizer, 300, "en"), said)
    refused(lambda: embedding.embedder(base, form=Form(layers=9)), "layers=9: .* has 2")


def test_the_published_recipe_is_that_of_table_7():
    table = paper.table("mia_rag_table7").query("model == 'MiA-Emb'").set_index("setting")["value"].dropna()
    recipe, settings = published()
    ours = {"Batch Size": recipe.questions, "Steps": settings.steps, "Warmup Ratio": settings.warmup / settings.steps}
    ours |= {"Learning Rate": settings.learning_rate, "LoRA Rank": settings.rank, "LoRA α": settings.alpha}
    ours |= {"Temperature τ": recipe.temperature, "Residual Weight δ": recipe.form.delta}
    ours |= {"Multi-task Weight β": recipe.beta}
    assert {name: float(value) for name, value in table.items()} == ours


def test_the_published_recipe_trains(tokenizer, tmp_path):
    """On Qwen3's architecture: new tokens as marks, the paper's order, own negatives alone; fewer steps, a smaller rank."""
    base = saved(Qwen3Config, tokenizer, tmp_path / "base")
    recipe, settings = published(tokens=300)
    small = replace(settings, steps=3, warmup=1, rank=2, alpha=4, dtype="float32")
    adapter = train(ASKED, tmp_path, base, recipe, small)
    lines = log(tmp_path)
    assert len(lines) == 3 and all(np.isfinite(line["loss"]) for line in lines)
    embedder = loaded(base, adapter)
    assert embedder.form == recipe.form and embedder.queries(["Who?"], "Ann is the smith.").shape[0] == 1


def case(each=3):
    """Four queries, candidates query by query with the positive first, and whose each candidate is."""
    random = torch.Generator().manual_seed(0)
    q, c = (torch.randn(n, 5, dtype=torch.float64, generator=random) for n in (4, 4 * each))
    return q, c, torch.arange(4) * each, torch.repeat_interleave(torch.eye(4, dtype=torch.bool), each, dim=1)


def test_against_sentence_transformers():
    """Its loss takes everybody's candidates, positives first; ours with a mask that leaves none out and the same vectors."""
    q, c, positive, own = case(each=2)
    theirs = MultipleNegativesRankingLoss(nn.Identity(), scale=20.0)
    expected = theirs.compute_loss_from_embeddings([q, c[0::2], c[1::2]], None)
    ours = info_nce(q, c, positive, torch.ones_like(own), 1 / 20)
    torch.testing.assert_close(ours, expected.double(), rtol=1e-6, atol=1e-6)


def loss(vectors):
    """Of four queries and what they are compared with."""
    _, _, positive, own = case()
    return info_nce(vectors[:4], vectors[4:], positive, own, 0.05)


@pytest.mark.parametrize("size", [1, 2, 5, 16])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_cached_gradients_are_the_plain_ones(size, dropout):
    """To 1e-6 in float64, with dropout, whatever the size of the pieces."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Dropout(dropout), nn.Linear(9, 5)).double()
    texts = torch.randn(16, 7, dtype=torch.float64)

    torch.manual_seed(2)
    value = cached_backward(model, texts.split(size), loss)
    cached = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    torch.manual_seed(2)
    plain = loss(torch.cat([model(piece) for piece in texts.split(size)]))
    plain.backward()
    assert value == pytest.approx(plain.item(), rel=1e-9)
    torch.testing.assert_close(cached, [parameter.grad for parameter in model.parameters()], rtol=1e-6, atol=1e-6)


def test_what_would_give_a_number_is_refused():
    q, c, positive, own = case()
    refused(lambda: info_nce(q, c, positive.roll(1), own, 0.1), "among its own candidates")
    refused(lambda: info_nce(q, c, positive, own, 0), "temperature=0")
