"""Supervised fine-tuning of a causal language model with LoRA, resumable.

For a reply y of n tokens to a prompt x the loss is n^-1/2 times the sum over its tokens of -log p(y_t | x, y_<t): between
the mean over all tokens of a batch, to which a choice of one letter is nothing beside an outline, and the mean of the
replies' means, to which an outline is no more than a letter. The vocabulary's scores are computed at those tokens alone.
Whatever decides a step (the order of the batches, the learning rate) follows from
the settings and the number of the step, so a run that was killed goes on from its last checkpoint and ends with the
same adapter. Runs on a CPU, on a GPU, and on several under `accelerate launch`. Taught in notebook 01_the_reader.
"""

import json
import math
import os
import shutil
import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from accelerate import Accelerator
from peft import LoraConfig, PeftModel, get_peft_model, set_peft_model_state_dict
from safetensors.torch import load_file
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from mindscape.errors import InputError
from mindscape.reader.batches import IGNORED, Encoded, collate, encode, plan
from mindscape.roles import Example
from mindscape.store import digest
from mindscape.weights import placed, quiet

LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@dataclass(frozen=True)
class Settings:
    """How to train. `tokens` a batch with padding; `minutes` between checkpoints; `dtype` of the base model and of the
    products is "float32", "bfloat16" or "auto" (bfloat16 on a GPU or a CPU with AMX); the adapter is kept in float32.

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
    minutes: float = 3.0
    seed: int = 0

    def __post_init__(self):
        placed(self.dtype, None)
        for name in ("steps", "tokens", "rank", "alpha", "learning_rate", "clip", "minutes"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}={getattr(self, name)!r}: expected more than 0")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        share = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, share)))


def reply_loss(model: PreTrainedModel, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The summed loss of each row over its reply's tokens, and how many those are; shapes (rows,).

    The head, a third of a small model's work, sees the replies' positions alone. No attention mask is needed: the
    padding stands on the right, where causal attention does not look, and without a mask half the products are spared.
    """
    base = model.get_base_model() if isinstance(model, PeftModel) else model
    hidden = base.model(input_ids=batch["input_ids"]).last_hidden_state
    targets = batch["labels"][:, 1:]
    learned = targets != IGNORED
    scores = base.get_output_embeddings()(hidden[:, :-1][learned]).float()
    losses = functional.cross_entropy(scores, targets[learned], reduction="none")
    rows = learned.nonzero()[:, 0]
    total = torch.zeros(len(targets), device=losses.device).index_add(0, rows, losses)
    return total, learned.sum(1)


def train(examples: Sequence[Example], out: str | Path, base: str | Path, settings: Settings | None = None) -> Path:
    """Train an adapter for the model in the folder or of the name `base`; returns the adapter's folder `out`/adapter.

    `out` also gets `log.jsonl`, a line a step (step, loss, loss by role, tokens, tokens a second, seconds), and
    `checkpoint`, from which the same call goes on. Raises InputError where `out` holds a run with other examples,
    settings or base.
    """
    settings, out = settings or Settings(), Path(out)
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained(base)
    encoded = [encode(example, tokenizer) for example in examples]
    if not encoded:
        raise InputError("no examples: expected at least one")
    run = digest([asdict(settings), str(base), [one.ids for one in encoded]])
    torch.manual_seed(settings.seed)
    dtype = placed(settings.dtype, None)[0]
    with quiet():
        model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype)
    if settings.checkpointing:
        model.gradient_checkpointing_enable()
    lora = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, target_modules=LINEAR, task_type="CAUSAL_LM")
    with warnings.catch_warnings(category=FutureWarning, action="ignore"):  # peft asks transformers by an old name
        model = get_peft_model(model, lora)
    learned = [weights for weights in model.parameters() if weights.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=settings.learning_rate, weight_decay=0.0)
    first = _resume(out, run, model, optimizer)
    model.to(accelerator.device).train()
    _to(optimizer, accelerator.device)
    usual = sum(one.reply**0.5 for one in encoded) / len(plan(encoded, settings.tokens, settings.seed, 0))
    clock = saved = time.monotonic()
    for step, batch in _steps(encoded, settings, first):
        for group in optimizer.param_groups:
            group["lr"] = settings.rate(step)
        mine = batch[accelerator.process_index :: accelerator.num_processes]
        rows = {k: v.to(accelerator.device) for k, v in collate(mine or batch[:1], tokenizer.eos_token_id).items()}
        with torch.autocast(accelerator.device.type, torch.bfloat16, enabled=dtype == torch.bfloat16):
            total, counts = reply_loss(model, rows)
        # Over a usual batch's weight, so that a reply counts the same in whatever batch it is; a process without rows
        # of its own counts nothing.
        loss = (total / counts**0.5).sum() / usual * bool(mine)
        loss.backward()
        for weights in learned:
            weights.grad = accelerator.reduce(weights.grad, "sum")
        torch.nn.utils.clip_grad_norm_(learned, settings.clip)
        optimizer.step()
        optimizer.zero_grad()
        if accelerator.is_main_process:
            seconds, clock = time.monotonic() - clock, time.monotonic()
            _log(out, step, mine, total.detach(), counts, seconds)
            if clock - saved > 60 * settings.minutes:
                saved = clock
                _save(out, run, step + 1, model, optimizer)
    if accelerator.is_main_process:
        _save(out, run, settings.steps, model, optimizer)
        _finish(out, model)
    return out / "adapter"


def _to(optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    """Where the weights are, there the optimizer's state of a checkpoint must be."""
    for state in optimizer.state.values():
        state.update({k: v.to(device) for k, v in state.items() if torch.is_tensor(v) and v.dim()})


def _steps(encoded: Sequence[Encoded], settings: Settings, first: int):
    """The batches from step `first` on, epoch after epoch."""
    step = epoch = 0
    while step < settings.steps:
        for indices in plan(encoded, settings.tokens, settings.seed, epoch):
            if first <= step < settings.steps:
                yield step, [encoded[i] for i in indices]
            step += 1
        epoch += 1


def _log(out: Path, step: int, batch: Sequence[Encoded], total, counts, seconds: float) -> None:
    by_role: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for one, loss, n in zip(batch, total.tolist(), counts.tolist(), strict=True):
        by_role[one.role].append((loss, n))
    roles = {role: round(sum(loss for loss, _ in rows) / sum(n for _, n in rows), 4) for role, rows in by_role.items()}
    tokens = sum(len(one.ids) for one in batch)
    line = {
        "step": step,
        "loss": round(total.sum().item() / counts.sum().item(), 4),
        "roles": roles,
        "tokens": tokens,
        "tokens_per_second": round(tokens / max(seconds, 1e-9), 1),
        "seconds": round(seconds, 2),
    }
    with (out / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _save(out: Path, run: str, step: int, model: PeftModel, optimizer: torch.optim.Optimizer) -> None:
    """A checkpoint that is whole or not there: written beside the old one, then put in its place."""
    scratch, kept = out / "checkpoint.new", out / "checkpoint"
    shutil.rmtree(scratch, ignore_errors=True)
    model.save_pretrained(scratch)
    torch.save(optimizer.state_dict(), scratch / "optimizer.pt")
    (scratch / "state.json").write_text(json.dumps({"run": run, "step": step}), encoding="utf-8")
    shutil.rmtree(out / "checkpoint.old", ignore_errors=True)
    if kept.exists():
        os.replace(kept, out / "checkpoint.old")
    os.replace(scratch, kept)
    shutil.rmtree(out / "checkpoint.old", ignore_errors=True)


def _resume(out: Path, run: str, model: PeftModel, optimizer: torch.optim.Optimizer) -> int:
    """Load the last checkpoint, if there is one; the step to go on with. Cuts what the log says of later steps."""
    out.mkdir(parents=True, exist_ok=True)
    kept = next((path for path in (out / "checkpoint", out / "checkpoint.old") if (path / "state.json").exists()), None)
    state = json.loads((kept / "state.json").read_text(encoding="utf-8")) if kept else {"run": run, "step": 0}
    if state["run"] != run:
        raise InputError(
            f"{out} holds a run with other examples, settings or base: choose another folder, or remove it"
        )
    if kept:
        set_peft_model_state_dict(model, load_file(kept / "adapter_model.safetensors"))
        optimizer.load_state_dict(torch.load(kept / "optimizer.pt", weights_only=True))
    log = out / "log.jsonl"
    if log.exists():
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] < state["step"]]
        log.write_text("".join(whole), encoding="utf-8")
    return state["step"]


def _finish(out: Path, model: PeftModel) -> None:
    """The adapter in half precision: what is shipped."""
    half = {name: weights.to(torch.bfloat16) for name, weights in model.state_dict().items() if "lora_" in name}
    model.save_pretrained(out / "adapter", state_dict=half)
