"""A training loop for LoRA adapters that can be killed and goes on.

Whatever decides a step (its batch, its learning rate) follows from the settings and the step's number, so a run that was
killed goes on from its last checkpoint and ends with the same adapter. What a step learns is the caller's business. Taught
in notebook 01_the_reader.
"""

import json
import math
import os
import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, cast

import torch
from accelerate import Accelerator
from peft import LoraConfig, PeftModel, get_peft_model, set_peft_model_state_dict
from peft.tuners.tuners_utils import BaseTunerLayer
from safetensors.torch import load_file
from transformers import PreTrainedModel

from mindscape import records
from mindscape.cache import digest
from mindscape.errors import InputError, require
from mindscape.weights import adapted, fingerprint, placed

SHORT = 512  # tokens of a row; see `attend`


@dataclass(frozen=True)
class Settings:
    """How to train. `tokens` a batch with padding; `minutes` between checkpoints; `dtype` of the base model and of the
    products is "float32", "bfloat16" or "auto" (see `mindscape.weights.placed`); the adapter is kept in float32.
    `compile`: layers run as torch.compile makes them, which takes a C++ compiler and a minute or two at the start. `until`:
    stop after so many of the steps; 0 for all.

    The learning rate rises for `warmup` steps and falls to zero as a cosine over all `steps`.
    """

    steps: int = 1000
    tokens: int = 2048
    rank: int = 16
    alpha: int = 32
    learning_rate: float = 1e-3
    warmup: int = 50
    clip: float = 1.0
    dtype: str = "auto"
    checkpointing: bool = False
    compile: bool = False
    minutes: float = 3.0
    seed: int = 0
    until: int = 0

    def __post_init__(self):
        others = '"auto", "float32" or "bfloat16"; float16 needs its losses scaled'
        require(self.precision is not torch.float16, f'dtype="float16": expected {others}')
        for name in ("steps", "tokens", "rank", "alpha", "learning_rate", "clip", "minutes"):
            require(getattr(self, name) > 0, f"{name}={getattr(self, name)!r}: expected more than 0")
        require(0 <= self.until <= self.steps, f"until={self.until!r}: expected 0 to {self.steps}, which are all steps")

    @property
    def precision(self) -> torch.dtype:
        """What `dtype` means on this machine."""
        return placed(self.dtype, None)[0]

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0.

        >>> [Settings(steps=10, warmup=2, learning_rate=1.0).rate(step) for step in (0, 1, 6)]
        [0.5, 1.0, 0.5]
        """
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        share = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, share)))


def with_lora(
    model: PreTrainedModel, settings: Settings, start: str | Path | None = None, tokens: Sequence[int] = ()
) -> PeftModel:
    """The model with an adapter on all its linear layers and the embeddings of `tokens`; only that learns.

    It is drawn by the settings' seed, or is the one in the folder `start`. With a base in bfloat16 it has to run under
    autocast. Raises InputError where `start` has another rank or alpha than the settings, or other new tokens.
    """
    torch.manual_seed(settings.seed)
    if settings.checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
        model.enable_input_require_grads()  # else nothing below the first adapter is recomputed with gradients
    if start:
        tuned = adapted(model, start, trainable=True)
        began = cast(LoraConfig, tuned.peft_config["default"])
        if (began.r, began.lora_alpha) != (settings.rank, settings.alpha):
            told = f"rank {began.r} and alpha {began.lora_alpha}"
            raise InputError(f"{start} has {told}: expected {settings.rank} and {settings.alpha}, as in the settings")
        if set(tokens) != set(began.trainable_token_indices or ()):
            raise InputError(f"{start} was trained with other new tokens: expected the same, or to begin afresh")
        began.base_model_name_or_path = model.name_or_path
        return _uncast(tuned)
    lora = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, target_modules="all-linear", task_type="CAUSAL_LM")
    lora.trainable_token_indices = list(tokens) or None
    with warnings.catch_warnings(category=FutureWarning, action="ignore"):  # peft asks transformers by an old name
        return _uncast(get_peft_model(model, lora))


def attend(model: PreTrainedModel, tokens: int) -> None:
    """On a CPU, the kind of attention that learns faster on rows of so many tokens; elsewhere the model keeps its own.

    On a CPU the way back through fused attention takes several times what it takes through products written out, until these
    no longer fit in its caches.
    """
    if model.device.type == "cpu":
        model.set_attn_implementation("eager" if tokens <= SHORT else "sdpa")


def _uncast(model: PeftModel) -> PeftModel:
    """Inputs reach the adapter as they are: peft would make float32 of them, and autocast bfloat16 of that again."""
    tuners: list[Any] = [module for module in model.modules() if isinstance(module, BaseTunerLayer)]
    for tuner in tuners:
        tuner.cast_input_dtype_enabled = False
    return model


def identity(model: PreTrainedModel, settings: Settings, data: Any) -> str:
    """A hash of what decides a run: base model, settings, data; not how often it is saved, nor how far it goes.

    It is taken of the model before the adapter is added.
    """
    decisive = asdict(settings) | {"dtype": str(settings.precision)}
    del decisive["minutes"], decisive["until"]
    return digest(decisive, fingerprint(model, model.config), data)


def fit(
    model: PeftModel,
    learn: Callable[[Any], dict[str, Any]],
    batches: Callable[[int], Sequence[Any]],
    out: str | Path,
    run: str,
    settings: Settings,
    accelerator: Accelerator | None = None,
) -> Path:
    """Train an adapter over `settings.steps` batches, or until `settings.until`; returns the adapter's folder `out`/adapter.

    `batches(epoch)` gives an epoch's batches in order. `learn(batch)` computes a loss on this process's share of a batch
    and its gradients by `backward`, which are summed over the processes, and returns what the log's line is to hold: of
    the whole batch, `tokens` among it. `run` is the run's `identity`. `out` also gets `log.jsonl`, a line a step, and
    `checkpoint`, from which the same call goes on. Raises InputError where `out` holds another run.
    """
    accelerator, out = accelerator or Accelerator(), Path(out)
    learned = [weights for weights in model.parameters() if weights.requires_grad]
    model.to(accelerator.device).train()
    optimizer = torch.optim.AdamW(learned, lr=settings.learning_rate, weight_decay=0.0)
    first = _resume(out, run, model, optimizer)
    if accelerator.is_main_process:
        _cut_log(out, first)
    if settings.compile:
        base: Any = model.get_base_model()
        for layer in base.get_decoder().layers:
            layer.compile(dynamic=True)
    clock = saved = time.monotonic()
    end = settings.until or settings.steps
    every = chain.from_iterable(batches(epoch) for epoch in count())
    for step, batch in islice(enumerate(every), first, end):
        for group in optimizer.param_groups:
            group["lr"] = settings.rate(step)
        line = learn(batch)
        for weights in learned:
            weights.grad = accelerator.reduce(weights.grad, "sum")
        torch.nn.utils.clip_grad_norm_(learned, settings.clip)
        optimizer.step()
        optimizer.zero_grad()
        if accelerator.is_main_process:
            seconds, clock = time.monotonic() - clock, time.monotonic()
            rate = {"tokens_per_second": round(line["tokens"] / max(seconds, 1e-9), 1), "seconds": round(seconds, 2)}
            with (out / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step} | line | rate) + "\n")
            if clock - saved > 60 * settings.minutes:
                saved = clock
                _save(out, run, step + 1, model, optimizer)
    if accelerator.is_main_process:
        _save(out, run, max(first, end), model, optimizer)
        _finish(out, model)
    accelerator.wait_for_everyone()
    return out / "adapter"


def _save(out: Path, run: str, step: int, model: PeftModel, optimizer: torch.optim.Optimizer) -> None:
    """A checkpoint that is whole or not there: written beside the old one, then put in its place."""
    scratch, kept = out / "checkpoint.new", out / "checkpoint"
    shutil.rmtree(scratch, ignore_errors=True)
    model.save_pretrained(str(scratch), save_embedding_layers=False)  # else it asks the hub about the base
    torch.save(optimizer.state_dict(), scratch / "optimizer.pt")
    (scratch / "state.json").write_text(json.dumps({"run": run, "step": step}), encoding="utf-8")
    if kept.exists():  # else a kill came between the two renames, and the old one is all there is
        shutil.rmtree(out / "checkpoint.old", ignore_errors=True)
        os.replace(kept, out / "checkpoint.old")
    os.replace(scratch, kept)
    shutil.rmtree(out / "checkpoint.old", ignore_errors=True)


def _resume(out: Path, run: str, model: PeftModel, optimizer: torch.optim.Optimizer) -> int:
    """Load the last checkpoint, if there is one; the step to go on with."""
    out.mkdir(parents=True, exist_ok=True)
    kept = next((path for path in (out / "checkpoint", out / "checkpoint.old") if (path / "state.json").exists()), None)
    if kept is None:
        return 0
    state = json.loads((kept / "state.json").read_text(encoding="utf-8"))
    other = f"{out} holds a run with other data, settings, base or start"
    require(state["run"] == run, f"{other}: choose another folder, or remove it")
    set_peft_model_state_dict(model, load_file(kept / "adapter_model.safetensors"))
    optimizer.load_state_dict(torch.load(kept / "optimizer.pt", weights_only=True))
    return state["step"]


def _cut_log(out: Path, step: int) -> None:
    """Leave the log's lines of the steps before `step`; a line that was being written goes, too."""
    log = out / "log.jsonl"
    if log.exists():
        before = [line for line in records.whole_lines(log) if json.loads(line)["step"] < step]
        log.write_text("".join(f"{line}\n" for line in before), encoding="utf-8")


def _finish(out: Path, model: PeftModel) -> None:
    """The adapter in half precision, and nothing else: what is shipped."""
    learned = {name: w for name, w in model.state_dict().items() if "lora_" in name or "trainable_tokens" in name}
    half = {name: weights.to(torch.bfloat16) for name, weights in learned.items()}
    for config in model.peft_config.values():  # names no folder of this machine
        config.base_model_name_or_path = Path(str(config.base_model_name_or_path)).name
    model.save_pretrained(str(out / "adapter"), state_dict=half, save_embedding_layers=False)
    (out / "adapter" / "README.md").unlink(missing_ok=True)  # peft's form of a card, to be filled in
