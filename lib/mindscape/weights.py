"""What language models and encoders share, because both hold weights: where and how they are loaded, which they are, adapters;
and `Packed`, texts that begin alike, in one sequence: what they share is read once.

The shared head comes first, then what follows it in each text, its tail. A tail sees the head and itself, and its positions
count from the head's end, so that states and attention are those of the texts read apart. For models that are told by a mask
what a token sees; one whose attention ends after a window is refused where the sequence is longer.

It loads no model itself: `mindscape.llm` and `mindscape.encoders` do. Taught in notebooks 00, 10 and 12_mia_emb_training.
"""

import hashlib
import json
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES
from transformers.utils import logging

from mindscape import assets, paths
from mindscape.cache import digest
from mindscape.errors import InputError, MindscapeError, require
from mindscape.store import Maker

POINTER = b"version https://git-lfs.github.com/spec/"  # begins what Git leaves where it has not fetched a large file
# What the libraries raise for weights that are missing, cut off, of another size, or no weights at all.
# ImportError: a quantised model whose library is not here.
UNLOADABLE = (
    *(ImportError, OSError, ValueError, LookupError, TypeError, RuntimeError, EOFError),
    *(SafetensorError, pickle.UnpicklingError),
)
AN_ADAPTER = "expected a folder with adapter_config.json and its weights"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def placed(dtype: str, device: str | None) -> tuple[torch.dtype, str]:
    """The precision and the device that two strings name.

    `device=None` is the GPU if there is one. `dtype="auto"` is bfloat16 on a GPU or a CPU that multiplies it in hardware (AMX,
    AVX-512 BF16), else float32.
    Raises InputError for another dtype, and for a device that is not here.

    >>> placed("float32", "cpu")
    (torch.float32, 'cpu')
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device != "cpu":
        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:  # the latter: a build without
            why = f"{str(error).splitlines()[0]:.120}"
            raise InputError(f"device={device!r}: expected cpu, or cuda where there is a GPU: {why}") from None
    if dtype == "auto":
        # With AMX reading is four times as quick as in float32, with AVX-512 BF16 alone 1.6 times: `mindscape.benchmark`.
        multiplies = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
        dtype = "bfloat16" if device != "cpu" or multiplies else "float32"
    require(dtype in DTYPES, f"dtype={dtype!r}: expected auto, {', '.join(DTYPES)}")
    return DTYPES[dtype], device


@contextmanager
def quiet(warnings: bool = True) -> Iterator[None]:
    """No progress bar while weights are loaded: a notebook's stored outputs would differ each time. Without `warnings` also no
    word on weights that are left out or drawn anew, where that is what is wanted."""
    log = logging.get_logger("transformers.modeling_utils")
    shown, off = logging.is_progress_bar_enabled(), log.disabled
    logging.disable_progress_bar()
    log.disabled = off or not warnings
    try:
        yield
    finally:
        log.disabled = off
        if shown:
            logging.enable_progress_bar()


@contextmanager
def loading(said: str, source: str | Path, kind: type[MindscapeError]) -> Iterator[None]:
    """Weights are loaded quietly; where they cannot be, raises an error of a kind, which begins with what is `said`.

    >>> with loading("cannot load mine", "no-such-folder", InputError):
    ...     raise OSError("no file there")
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: cannot load mine: expected a folder or a name on the hub: no file there
    """
    try:
        with quiet():
            yield
    except InputError:
        raise
    except UNLOADABLE as error:
        raise kind(f"{said}: expected a folder or a name on the hub: {why(source, error)}") from error


def causal_model(source: str | Path, dtype: torch.dtype) -> Any:
    """The causal language model of a folder, or of a name on the hub. Raises InputError for an encoder.

    >>> causal_model("Qwen/Qwen3-0.6B", torch.bfloat16)                                        # doctest: +SKIP
    """
    check_causal(AutoConfig.from_pretrained(source), source)
    return AutoModelForCausalLM.from_pretrained(source, dtype=dtype)


def why(source: str | Path, error: Exception) -> str:
    """Why weights could not be loaded, in a line: what the library says, or that a file of the folder is not there yet.

    >>> why("no-such-folder", OSError("no  file\\nthere"))
    'no file there'
    """
    folder = Path(source)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file() and path.stat().st_size < 1000 and path.read_bytes().startswith(POINTER):
            return f"{path.name} is a pointer of Git LFS: fetch the file itself (git lfs pull)"
    return f"{' '.join(str(error).split()) or type(error).__name__:.300}"


def check_causal(config: PretrainedConfig, source: str | Path) -> None:
    """Raises InputError for the configuration of an encoder, whose texts read in both directions: it would load as a causal
    model, and give vectors and words that mean nothing.

    >>> from transformers import BertConfig
    >>> check_causal(BertConfig(architectures=["BertModel"]), "bge")
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: 'bge' is a BertModel, which reads in both directions: expected a causal language model...
    """
    named = config.architectures or [config.model_type]
    causal = getattr(config, "is_decoder", False) or any("CausalLM" in name or "LMHead" in name for name in named)
    if config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not causal:
        expected = "expected a causal language model, or for an encoder the files of sentence-transformers"
        pooled = f"{expected}, of which modules.json says how vectors are pooled"
        raise InputError(f"{str(source)!r} is a {named[0]}, which reads in both directions: {pooled}")


def adapter_hash(adapter: str | Path) -> str:
    """The SHA-256 of an adapter's weights. Raises InputError where the folder holds none."""
    path = Path(adapter) / "adapter_model.safetensors"
    require(path.is_file(), f"adapter={str(adapter)!r}: expected a folder with {path.name}")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def known_maker(source: str | Path, adapter: str | Path | None, dtype: torch.dtype, name: str) -> Maker | None:
    """The maker of the embedded base with an adapter, told by its files: the same on every machine, while weights that an
    adapter was added to differ in their last bits. None for any other source, whose weights have to be looked at.

    >>> known_maker("some folder", None, torch.float32, "mine") is None
    True
    """
    if Path(source) != assets.expanded():
        return None
    about: dict[str, Any] = {"base": assets.ASSETS["smollm2"].sha256}
    if adapter:
        name, about = Path(adapter).name, about | {"adapter": adapter_hash(adapter), "scale": _scale(adapter)}
    return Maker(name, about, str(dtype).removeprefix("torch."))


def is_shipped(adapter: str | Path) -> bool:
    """Whether an adapter is one of those that travel with the kit."""
    return Path(adapter).resolve().parent == paths.data("adapters").resolve()


def _scale(adapter: str | Path) -> list[Any]:
    try:
        config = json.loads((Path(adapter) / "adapter_config.json").read_text(encoding="utf-8"))
        return [config["r"], config["lora_alpha"], bool(config.get("use_rslora"))]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"adapter={str(adapter)!r}: {AN_ADAPTER}") from error


def adapted(model: PreTrainedModel, adapter: str | Path, trainable: bool = False) -> PeftModel:
    """The model with a LoRA adapter beside its weights.

    Raises InputError where the folder holds no adapter, a damaged one, or one of a model of another shape.
    """
    folder = Path(adapter)
    said = f"adapter={str(adapter)!r}"
    require((folder / "adapter_config.json").is_file(), f"{said}: {AN_ADAPTER}")
    try:
        with safe_open(folder / "adapter_model.safetensors", "pt") as file:
            stored = set(file.keys())
        with warnings.catch_warnings(action="ignore"):  # missing keys are an error below; the rest is between libraries
            tuned = PeftModel.from_pretrained(model, str(folder), is_trainable=trainable)
    except UNLOADABLE as error:
        raise InputError(f"{said} does not fit the model: {why(folder, error)}") from error
    # peft passes over what has no counterpart; told to look at embeddings, it asks the hub about the base
    missed = stored ^ get_peft_model_state_dict(tuned, save_embedding_layers=False).keys()
    if missed:
        raise InputError(f"{said} does not fit the model: {len(missed)} matrices have no counterpart, as {min(missed)}")
    return tuned


def merged_model(model: PreTrainedModel, adapter: str | Path) -> PreTrainedModel:
    """The model with a LoRA adapter added to its weights, in place: W + (alpha / r) B A for each matrix that it learned.

    Raises InputError as `adapted` does.

    >>> merged_model(model, "data/adapters/reader")                                            # doctest: +SKIP
    """
    return adapted(model, adapter).merge_and_unload()


def fingerprint(model: nn.Module, config: PretrainedConfig, *settings) -> str:
    """A hash of a configuration, of every weight and saved buffer with its precision, and of `settings`.

    Every number is read each time, because a notebook may have trained the model in between: 45 ms for 135 million
    float32 weights on one core. PyTorch's version counters would be quicker to compare, but fused optimizers and
    writes through `.data` leave them as they are. Any one changed number is noticed. Changes that cancel are not, as
    when two rows of one tensor swap places; nor is what is no weight, such as a hook or an adapter that is switched off.

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
    state = model.state_dict(keep_vars=True)
    tensors = {id(value): (name, value.detach()) for name, value in state.items() if isinstance(value, torch.Tensor)}
    weights = [(name, list(tensor.shape), str(tensor.dtype), _sums(tensor)) for name, tensor in tensors.values()]
    return digest(list(settings), str(sorted(kept.items())), weights)


def _sums(tensor: torch.Tensor) -> list[int]:
    """The tensor's bytes as rows of 16 whole numbers of 64 bits, added up modulo 2**64: exact in any order. With longer rows
    PyTorch adds more slowly."""
    content = tensor.flatten().view(torch.uint8)
    odd = content.numel() % 128
    if odd or content.storage_offset() % 8:
        content = nn.functional.pad(content, (0, 128 - odd))
    return content.view(torch.int64).view(-1, 16).sum(0).tolist()


@dataclass(frozen=True)
class Packed:
    """A head and the tails behind it, as token ids.

    >>> two = Packed((7, 8), ((1, 2, 3), (4, 5)))
    >>> two.ids.tolist(), two.positions.tolist()
    ([7, 8, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 2, 3])
    >>> two.place(1, 0), two.place(1, 3)        # token 0 of the second text is in the head, its token 3 the last of all
    (0, 6)
    >>> two.seen[5].int().tolist()              # the second tail's first token does not see the first tail
    [1, 1, 0, 0, 0, 1, 0]
    """

    head: tuple[int, ...]
    tails: tuple[tuple[int, ...], ...]

    @cached_property
    def starts(self) -> list[int]:
        """Where each tail begins, and where the last one ends."""
        return list(accumulate(map(len, self.tails), initial=len(self.head)))

    @property
    def ids(self) -> Tensor:
        """(n,)"""
        return torch.tensor([*self.head, *(token for tail in self.tails for token in tail)])

    @property
    def positions(self) -> Tensor:
        """(n,): where each token stands in its own text."""
        n = len(self.head)
        return torch.cat([torch.arange(n), *(torch.arange(n, n + len(tail)) for tail in self.tails)])

    @property
    def seen(self) -> Tensor:
        """(n, n), bool: whether a token (row) sees another (column)."""
        n = self.starts[-1]
        seen = torch.zeros(n, n, dtype=torch.bool)
        seen[:, : len(self.head)] = True
        for start, end in pairwise(self.starts):
            seen[start:end, start:end] = True
        return seen.tril_()

    def place(self, text: int, position: int) -> int:
        """Where a token of a text stands in the sequence."""
        return position if position < len(self.head) else self.starts[text] + position - len(self.head)

    def inputs(self, decoder: PreTrainedModel) -> dict[str, Tensor]:
        """What a decoder is called with to read it, on its device. Raises InputError for one that sees a shorter window."""
        window, n = getattr(decoder.config, "sliding_window", None), self.starts[-1]
        sees = f"{type(decoder).__name__} sees {window} tokens at a time, not {n}"
        require(not window or n <= window, f"{sees}: read its texts apart, without a head")
        device, dtype = decoder.device, decoder.dtype
        if torch.is_autocast_enabled(device.type):
            dtype = torch.get_autocast_dtype(device.type)
        tensors = {"input_ids": self.ids[None], "attention_mask": self.mask(dtype), "position_ids": self.positions[None]}
        return {name: values.to(device) for name, values in tensors.items()}

    def mask(self, dtype: torch.dtype) -> Tensor:
        """(1, 1, n, n): what is added to a score, 0 where a token is seen."""
        seen = self.seen
        return torch.zeros(seen.shape, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)[None, None]
