"""What several test files share. One thread a process: two on busy cores are many times slower than one.

Hypothesis tries the same examples in each run, so that two runs of one state agree, and without a deadline, which a busy
machine would miss. To look for new examples: pytest -m hypothesis --hypothesis-profile=search.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("search", deadline=None, derandomize=False)
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")


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
def smollm2(language_model_dir):
    """The model in fp32. Shared: leave its weights and settings as they are."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    return AutoModelForCausalLM.from_pretrained(language_model_dir, dtype=torch.float32).eval()
