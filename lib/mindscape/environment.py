"""Is this machine ready for the course? One line a check, OK or FAIL, and what to do.

Taught in notebook 00. It installs nothing and fetches nothing. `python -m mindscape.environment` prints the same lines.
"""

import ctypes
import platform
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mindscape import assets, paths


@cache
def processor() -> str:
    """The processor's name, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@dataclass(frozen=True)
class Check:
    """One thing that the course needs, whether it is there, and what to do if it is not."""

    what: str
    ok: bool
    advice: str = ""

    def __str__(self) -> str:
        return f"{'OK  ' if self.ok else 'FAIL'}  {self.what}" + (f": {self.advice}" if not self.ok else "")


def check() -> Iterator[Check]:
    """All checks, in the order in which to mend them.

    >>> print(next(check()))
    OK    Python 3.11 or newer
    """
    python = f"this is {sys.version.split()[0]} at {sys.executable}"
    yield Check("Python 3.11 or newer", sys.version_info >= (3, 11), python)
    pinned = tomllib.loads((paths.root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    differing = [said for line in pinned if (said := _differs(*line.split("==")))]
    yield Check("packages at the pinned versions", not differing, "; ".join(differing))
    cache = paths.cache()
    folder = next(place for place in (cache, *cache.parents) if place.exists())
    yield Check("the cache can be written", _writable(folder), f"cannot write to {cache}; set MINDSCAPE_CACHE")
    missing, free = assets.missing(), shutil.disk_usage(folder).free / 1e9
    room = f"{free:.1f} GB free at {cache}"
    yield Check("1 GB of disk for models and texts, or they are there", not missing or free > 1, room)
    absent = f"{', '.join(missing)} missing; run python -m mindscape.assets"
    yield Check("models and texts in the cache", not missing, absent)


def installed(package: str) -> str | None:
    """The version of a package; None where there is none of this name.

    >>> installed("pytest") is None, installed("no such package")
    (False, None)
    """
    with suppress(PackageNotFoundError):
        return version(package)
    return None


def _differs(package: str, pinned: str) -> str:
    """A package whose version is another than the one in pyproject.toml, in words; "" for the same."""
    actual = (installed(package) or "not installed").partition("+")[0]  # a build of PyTorch carries its kind after a plus
    return "" if actual == pinned else f"{package} is {actual}, expected {pinned}"


def _writable(folder: Path) -> bool:
    with suppress(OSError), tempfile.TemporaryFile(dir=folder):
        return True
    return False


def peak_bytes() -> int | None:
    """The most memory that this process has held since its program started; None on Windows, which does not say.

    >>> peak_bytes() > 1_000_000
    True
    """
    with suppress(OSError, IndexError):
        # Linux hands `ru_maxrss` from a process to the programs it starts, so a small child of a large parent would
        # seem large; VmHWM begins anew with each program.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    with suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return None


def forget_peak() -> None:
    """Let `peak_bytes` begin anew from the memory held now, where the system can do that (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def give_memory_back() -> bool:
    """Have the C library return freed blocks of 1 MB and more to the system at once; False where it is not glibc's.

    Training on a processor takes and frees large blocks of all sizes. By default glibc keeps them: 24 GB after a hundred
    steps, not 11.

    >>> give_memory_back() in (True, False)
    True
    """
    trim, mmap, arenas = -1, -3, -8  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX of malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return all([mallopt(trim, 1 << 20), mallopt(mmap, 1 << 20), mallopt(arenas, 2)])


if __name__ == "__main__":
    checks = list(check())
    print(*checks, sep="\n")
    sys.exit(not all(checked.ok for checked in checks))
