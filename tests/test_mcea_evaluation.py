"""Prompts for MCEA and their controls, a model with its adapter beside its weights, and the command."""

import json
import re
import shutil
import sys

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.mia import mcea_evaluation as module
from mindscape.mia.annotation import path_of
from mindscape.mia.mcea import alignment, factors, mcea, measured
from mindscape.mia.mcea_evaluation import CONDITIONS, NOISE, SHOWN, cases, load
from mindscape.mia.supervision import to_find
from mindscape.roles import passages
from mindscape.weights import merged


@pytest.fixture(scope="module", params=["en", "zh"])
def two_books(request):
    return [storyworld.book(seed, tokens=15_000, language=request.param) for seed in (1000, 1001)]


def shown(layout, tokenizer):
    """The passages of a prompt as texts, without blanks."""
    return ["".join(tokenizer.decode(part.ids).split()) for part in layout.parts if part.kind == "chunk"]


def test_prompts_and_their_controls(two_books, tokenizer):
    found = cases(two_books, tokenizer, share=3)
    assert [case.book for case in found] == [book.document.id for book in two_books for _ in range(3)]
    assert found == cases(two_books, tokenizer, share=3)
    for case in found:
        book = next(book for book in two_books if book.document.id == case.book)
        question = next(one for one in book.questions if one.id == case.id)
        assert tuple(case.layouts) == CONDITIONS and case.binding == question.needs_binding and case.silver == ()
        true = case.layouts["true"]
        assert len(true.relevant) == SHOWN and 0 < sum(true.relevant) <= SHOWN - NOISE
        texts = shown(true, tokenizer)
        assert len(set(texts)) == SHOWN
        of = {"".join(book.document[chunk].split()): chunk for chunk in passages.cut(book, tokenizer)}
        assert [passages.relevant(book, question, of[text]) for text in texts] == list(true.relevant)
        ((start, end),) = true.places("summary")
        assert tokenizer.decode(true.ids[start:end]).strip() == book.summary.strip()
        for name in ("unrelated", "other"):
            layout = case.layouts[name]
            assert layout.ids[:start] + layout.ids[end:] == true.ids[:start] + true.ids[end:]
            assert layout.ids[start:end] != true.ids[start:end]
        assert sorted(shown(case.layouts["shuffled"], tokenizer)) == sorted(texts)
        assert len({end - start for start, end in case.layouts["equal"].places("chunk")}) == 1
    assert any(sum(case.layouts["true"].relevant) > 1 for case in cases(two_books, tokenizer, share=12))


def test_silver_labels(two_books, tokenizer, tmp_path):
    """Of one book, where Algorithm 1 has taken the evidence of every other question, and two passages that are none."""
    book = two_books[0]
    _, questions = to_find(book, tokenizer, "chunk")
    chunks, taken = passages.cut(book, tokenizer), {}
    for n, (question, right) in enumerate(questions):
        far = [i for i, chunk in enumerate(chunks) if not passages.relevant(book, question, chunk)][:2]
        taken[question.id] = [*sorted(right)[: n % 2], *far]
    empty = {"lists": {}, "candidates": [], "hard": [], "simple": []}
    lines = [{"question": name, "silver": some, **empty} for name, some in taken.items()]
    path_of(tmp_path, book, "chunk").write_text("\n".join(map(json.dumps, [{}, *lines])) + "\n", encoding="utf-8")
    found = cases(two_books, tokenizer, share=6, silver=tmp_path)
    assert [len(case.silver) for case in found] == [SHOWN] * 6 + [0] * 6
    of = {"".join(book.document[chunk].split()): i for i, chunk in enumerate(chunks)}
    for case in found[:6]:
        numbers = [of[text] for text in shown(case.layouts["true"], tokenizer)]
        assert len(set(numbers)) == SHOWN
        assert [i in taken[case.id] for i in numbers] == list(case.silver)
        assert set(taken[case.id][-2:]) <= set(numbers)
        both = zip(case.silver, case.layouts["true"].relevant, strict=True)
        assert sum(flag and not gold for flag, gold in both) == 2


def test_prompts_that_cannot_be(two_books, tokenizer):
    with pytest.raises(InputError, match="1 books: expected at least two"):
        cases(two_books[:1], tokenizer)
    with pytest.raises(InputError, match="shown=5: expected at least 6 passages"):
        cases(two_books, tokenizer, shown=5)


@pytest.fixture(scope="module")
def tiny(tokenizer, tmp_path_factory):
    """The folders of a tiny model with the real vocabulary, and of an adapter of it."""
    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "initializer_range": 0.3}
    config = LlamaConfig(vocab_size=len(tokenizer), num_attention_heads=2, num_key_value_heads=1, **sizes)
    LlamaForCausalLM(config).save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    lora = LoraConfig(r=2, target_modules=["q_proj", "up_proj"], init_lora_weights=False)
    get_peft_model(AutoModelForCausalLM.from_pretrained(folder / "base"), lora).save_pretrained(folder / "adapter")
    return folder / "base", folder / "adapter"


def test_an_adapter_beside_the_weights_is_as_one_added_to_them(two_books, tokenizer, tiny):
    base, adapter = tiny
    layout = cases(two_books, tokenizer, share=1)[0].layouts["true"]
    beside, _ = load(base, adapter)
    assert isinstance(beside, LlamaForCausalLM) and beside.dtype == torch.float32
    added = merged(load(base)[0], adapter).eval()
    ours, theirs, plain = (factors(model, layout) for model in (beside, added, load(base)[0]))
    np.testing.assert_allclose(ours.to_summary, theirs.to_summary, rtol=1e-4)
    np.testing.assert_allclose(ours.from_question, theirs.from_question, rtol=1e-4)
    assert not np.allclose(ours.from_question, plain.from_question, rtol=1e-2)
    with pytest.raises(InputError, match="expected a folder with adapter_config"):
        load(base, base)


def test_the_command_goes_on_after_a_kill(tiny, tmp_path, monkeypatch, capsys):
    base, adapter = tiny
    few = [storyworld.book(seed, tokens=15_000) for seed in (1000, 1001)]
    monkeypatch.setattr(module, "books", lambda split: few)

    def run(out, *more):
        words = ["mcea_evaluation", "--out", str(out), "--base", str(base), "--share", "2", "--silver", "", *more]
        monkeypatch.setattr(sys, "argv", words)
        module.main()
        return capsys.readouterr().out

    said = run(tmp_path / "whole.jsonl")
    assert said.startswith("4 questions in 5 conditions, ") and "4 of 4: " in said
    whole = (tmp_path / "whole.jsonl").read_text()
    assert len(whole.splitlines()) == 1 + 4 * len(CONDITIONS)
    for kind in CONDITIONS:
        assert re.search(rf"^{kind}: mean MCEA [+-]\d\.\d+$", said, re.MULTILINE)
    (tmp_path / "broken.jsonl").write_text(whole[: len(whole) * 2 // 3])
    assert run(tmp_path / "broken.jsonl") == said
    assert (tmp_path / "broken.jsonl").read_text() == whole
    model, tokenizer = load(base)
    found = cases(few, tokenizer, 2)
    kept = measured(tmp_path / "whole.jsonl", model, found[1].named())
    name, layout = f"{found[1].id}/other", found[1].layouts["other"]
    expected = mcea(alignment(factors(model, layout)), layout.relevant)
    np.testing.assert_allclose(mcea(alignment(kept[name]), layout.relevant), expected, atol=0.02)  # of six digits
    some = run(tmp_path / "some.jsonl", "--conditions", "other,true")
    assert some.startswith("4 questions in 2 conditions, ") and "shuffled" not in some
    assert set((tmp_path / "some.jsonl").read_text().splitlines()) < set(whole.splitlines())
    with pytest.raises(SystemExit, match="error: --conditions new: expected some of true, "):
        run(tmp_path / "some.jsonl", "--conditions", "true,new")
    shutil.copy(tmp_path / "whole.jsonl", tmp_path / "tuned.jsonl")
    with pytest.raises(SystemExit, match="error: .* name another file, or remove it"):
        run(tmp_path / "tuned.jsonl", "--adapter", str(adapter))
