"""What several test files share. One thread a process: two on busy cores are many times slower than one.

Hypothesis tries the same examples in each run, so that two runs of one state agree, and without a deadline, which a busy
machine would miss. To look for new examples: pytest -m hypothesis --hypothesis-profile=search.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
# apricot's numba sets the threads of torch as well, of the thread that calls it: both use one OpenMP library.
os.environ.setdefault("NUMBA_NUM_THREADS", os.environ["OMP_NUM_THREADS"])

import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

collect_ignore = ["browser"]  # `make browser` names it: what it needs is an extra of its own

settings.register_profile("search", deadline=None, derandomize=False)
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")


def pytest_sessionfinish():
    """What `make coverage` counted: a worker that takes more than ten seconds to end is killed before it saves."""
    if "coverage" in sys.modules and (counted := sys.modules["coverage"].Coverage.current()):
        counted.save()


def pytest_terminal_summary(terminalreporter):
    """The report of tests/hostile: how many attacks were tried, and how many were held."""

    def count(kind: str) -> int:
        reports = terminalreporter.stats.get(kind, [])
        return sum("tests/hostile/" in report.nodeid for report in reports if hasattr(report, "nodeid"))

    held = count("passed")
    if tried := held + count("failed") + count("error"):
        terminalreporter.write_line(f"attack.held {held} of attack.tried {tried}")


@pytest.fixture(scope="session")
def language_model_dir() -> Path:
    """The folder of SmolLM2-135M-Instruct."""
    from mindscape import assets

    return assets.language_model()


@pytest.fixture(scope="session")
def tokenizer(language_model_dir):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(language_model_dir)


@pytest.fixture(scope="session")
def tiny_dir(tmp_path_factory, tokenizer) -> Path:
    """The folder of a random Qwen2.5 of two layers."""
    from tiny import saved
    from transformers import Qwen2Config

    return saved(Qwen2Config, tokenizer, tmp_path_factory.mktemp("tiny"), bos_token_id=1, eos_token_id=2)


@pytest.fixture(scope="session")
def tiny(tiny_dir):
    from mindscape import llm

    return llm.load(f"hf:{tiny_dir}", dtype="float32", device="cpu", cache=False)


@pytest.fixture(scope="session")
def smollm2(language_model_dir):
    """The model in fp32. Shared: leave its weights and settings as they are."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    return AutoModelForCausalLM.from_pretrained(language_model_dir, dtype=torch.float32).eval()


@pytest.fixture
def key(monkeypatch):
    """The key of a server, in the environment."""
    from servers import KEY

    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def own_store(tmp_path):
    """The store that is in use, of the test's own."""
    from mindscape import store

    before = store._current
    store.use(store.Store(tmp_path / "entries.sqlite", tmp_path / "store"))
    yield store.current()
    store.use(before)


@pytest.fixture(scope="session")
def base(tmp_path_factory, tokenizer):
    """The folder of a tiny random Llama, which is what SmolLM2 is. Shared: leave it as it is."""
    from tiny import saved
    from transformers import LlamaConfig

    return saved(LlamaConfig, tokenizer, tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="session", params=["en", "zh"])
def language(request):
    return request.param


@pytest.fixture(scope="session")
def book(language):
    """A novel of the storyworld."""
    import storyworld

    return storyworld.book(1000, tokens=15_000, language=language)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A copy of the benchmarks' files, to break."""
    return Path(shutil.copytree(Path(__file__).parent / "fixtures" / "benchmarks", tmp_path / "benchmarks"))
