"""What several test files share. One thread a process: two on busy cores are many times slower than one."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest


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
