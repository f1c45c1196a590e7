"""What language models and encoders share, because both hold weights: where and how they are loaded, which they are.

Behind notebooks 00 and 10. It loads no model itself: `mindscape.llm` and `mindscape.encoders` do.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from transformers import PretrainedConfig
from transformers.utils import logging

from mindscape.errors import InputError
from mindscape.store import digest

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def placed(dtype: str, device: str | None) -> tuple[torch.dtype, str]:
    """The precision and the device that two strings name.

    `device=None` is the GPU if there is one. `dtype="auto"` is bfloat16 on a GPU or a CPU with AMX, else float32.
    Raises InputError for another dtype.

    >>> placed("float32", "cpu")
    (torch.float32, 'cpu')
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if dtype == "auto":
        dtype = "bfloat16" if device != "cpu" or torch.cpu._is_amx_tile_supported() else "float32"
    if dtype not in DTYPES:
        raise InputError(f"dtype={dtype!r}: expected auto, {', '.join(DTYPES)}")
    return DTYPES[dtype], device


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bar while weights are loaded: a notebook's stored outputs would differ each time."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def fingerprint(model: nn.Module, config: PretrainedConfig, *settings) -> str:
    """A hash of a configuration, some of every weight tensor with its precision, and whatever else decides a result.

    A thousand numbers of each tensor are read, in milliseconds, so it can be computed at each use: a notebook may have
    trained the model in between.

    >>> from transformers import PretrainedConfig
    >>> layer = nn.Linear(2, 2)
    >>> before = fingerprint(layer, PretrainedConfig())
    >>> with torch.no_grad():
    ...     layer.bias += 1
    >>> before == fingerprint(layer, PretrainedConfig())
    False
    """
    kept = config.to_dict()
    for incidental in ("_name_or_path", "transformers_version", "_attn_implementation"):
        kept.pop(incidental, None)
    weights = []
    for name, tensor in model.named_parameters():
        some = tensor.detach().flatten()[:: max(1, tensor.numel() // 1000)]
        weights.append((name, list(tensor.shape), str(tensor.dtype), some.float().cpu().numpy().tobytes().hex()))
    return digest(list(settings), str(sorted(kept.items())), weights)
