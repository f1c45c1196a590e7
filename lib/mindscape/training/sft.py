"""Supervised fine-tuning of a causal language model with LoRA, resumable.

For a reply y of n tokens to a prompt x the loss is n^-1/2 times the sum over its tokens of -log p(y_t | x, y_<t): between
the mean over all tokens of a batch, to which a choice of one letter is nothing beside an outline, and the mean of the
replies' means, to which an outline is no more than a letter. The vocabulary's scores are computed at those tokens alone.
Taught in notebook 01_the_reader.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from peft import PeftModel
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from mindscape.errors import require
from mindscape.roles import Example
from mindscape.training.batches import IGNORED, collate, encode, plan
from mindscape.training.loop import Settings, attend, fit, identity, with_lora
from mindscape.weights import adapter_hash, quiet


def reply_loss(model: PreTrainedModel | PeftModel, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The summed loss of each row over its reply's tokens, and how many those are; shapes (rows,).

    The head, a fifth of a small model's products, sees the replies' positions alone. No attention mask is needed: the
    padding stands on the right, where causal attention does not look, and without a mask half the products are spared.
    Keys and values are not kept: nothing is written here, and a cache would have every layer compiled by itself.
    """
    base: Any = model.get_base_model() if isinstance(model, PeftModel) else model
    hidden = base.model(input_ids=batch["input_ids"], use_cache=False).last_hidden_state
    targets = batch["labels"][:, 1:]
    learned = targets != IGNORED
    scores = base.get_output_embeddings()(hidden[:, :-1][learned]).float()
    losses = functional.cross_entropy(scores, targets[learned], reduction="none")
    rows = learned.nonzero()[:, 0]
    total = torch.zeros(len(targets), device=losses.device).index_add(0, rows, losses)
    return total, learned.sum(1)


def train(
    examples: Sequence[Example],
    out: str | Path,
    base: str | Path,
    settings: Settings | None = None,
    start: str | Path | None = None,
) -> Path:
    """Train an adapter for the model in the folder or of the name `base`; returns the adapter's folder `out`/adapter.

    It begins with the adapter in the folder `start`, or with a fresh one.

    `out` also gets `log.jsonl`, a line a step: step, loss (the mean over the batch's reply tokens), the same by role,
    tokens, tokens a second, seconds; and `checkpoint`, from which the same call goes on. Raises InputError for no
    examples, where `out` holds a run with other examples, settings, base or start, and where `start` does not fit.

    >>> train(mixture(range(20), tokenizer), "build/mine", assets.language_model())      # doctest: +SKIP
    PosixPath('build/mine/adapter')
    """
    settings, accelerator = settings or Settings(), Accelerator()
    tokenizer = AutoTokenizer.from_pretrained(base)
    encoded = [encode(example, tokenizer) for example in examples]
    require(encoded, "no examples: expected at least one")
    with quiet():
        bare = AutoModelForCausalLM.from_pretrained(base, dtype=settings.precision)
    data = [one.ids for one in encoded]
    run = identity(bare, settings, [data, adapter_hash(start)] if start else data)
    model = with_lora(bare, settings, start)

    def batches(epoch: int) -> list[list[int]]:
        return plan(encoded, settings.tokens, settings.seed, epoch)

    usual = sum(one.reply**0.5 for one in encoded) / len(batches(0))

    def learn(batch: list[int]) -> dict:
        mine = [encoded[i] for i in batch[accelerator.process_index :: accelerator.num_processes]]
        # A process without rows of its own reads one all the same, and counts nothing.
        rows = collate(mine or [encoded[batch[0]]], tokenizer.eos_token_id)
        rows = {name: tensor.to(accelerator.device) for name, tensor in rows.items()}
        attend(bare, rows["input_ids"].shape[1])
        with torch.autocast(accelerator.device.type, torch.bfloat16, enabled=settings.precision == torch.bfloat16):
            total, counts = reply_loss(model, rows)
        # Over a usual batch's weight, so that a reply counts the same in whatever batch it is.
        loss = (total / counts**0.5).sum() / usual * bool(mine)
        loss.backward()
        here = zip(mine, total.tolist(), counts.tolist(), strict=False)
        return _line(gather_object([(one.role, len(one.ids), loss, n) for one, loss, n in here]))

    return fit(model, learn, batches, out, run, settings, accelerator)


def _line(rows: list[tuple[str, int, float, int]]) -> dict:
    """What the log says of a batch, from the role, length, summed loss and reply length of each row."""
    frame = pd.DataFrame(rows, columns=["role", "tokens", "loss", "reply"])
    sums = frame.groupby("role", sort=False)[["loss", "reply"]].sum()
    means = (sums["loss"] / sums["reply"]).round(4)
    loss = float(frame["loss"].sum() / frame["reply"].sum())
    return {"loss": round(loss, 4), "roles": means.to_dict(), "tokens": int(frame["tokens"].sum())}
