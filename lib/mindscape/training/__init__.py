"""Supervised fine-tuning of a causal language model with LoRA: training that can be killed and goes on.

`Settings` say how, `train` tunes a language model on prompts and replies; `fit` is the loop itself, for other losses, and
`with_lora` the adapter. `encode`, `plan` and `collate` make examples of token ids with labels, in batches of like length whose
order only the seed decides. Whatever decides a step (its batch, its learning rate) follows from the settings and the step's
number, so a run that was killed goes on from its last checkpoint and ends with the same adapter.

The loss is on the reply alone: a label is -100 wherever the prompt stands. For a reply y of n tokens to a prompt x it is
n^-1/2 times the sum over its tokens of -log p(y_t | x, y_<t): between the mean over all tokens of a batch, to which a choice
of one letter is nothing beside an outline, and the mean of the replies' means, to which an outline is no more than a letter.
The vocabulary's scores are computed at those tokens alone.

`python -m mindscape.training NAME` trains an adapter by its recipe (`mindscape.training.recipes`). Runs on a laptop's CPU, and
unchanged on a GPU or, under `accelerate launch`, on several. Taught in notebook 01_the_reader.
"""

import json
import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from peft.tuners.tuners_utils import BaseTunerLayer
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from mindscape import trail
from mindscape.cache import digest
from mindscape.errors import require
from mindscape.roles import Example
from mindscape.weights import adapted, adapter_hash, fingerprint, placed, quiet

IGNORED = -100  # the label of a token that is not learned
BUCKET = 64  # batches whose examples are sorted by length together


@dataclass(frozen=True)
class Encoded:
    """One example: `ids` are the conversation's tokens, of which the last `reply` are to be learned."""

    role: str
    ids: tuple[int, ...]
    reply: int


def encode(example: Example, tokenizer: PreTrainedTokenizerBase) -> Encoded:
    """The conversation through the model's chat template, as `llm.chat` asks it, and the reply with its end.

    >>> from transformers import AutoTokenizer
    >>> from mindscape import assets
    >>> tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    >>> encoded = encode(Example("qa", "Who?", "Ann", "book"), tokenizer)
    >>> tokenizer.decode(encoded.ids[-encoded.reply :])
    'Ann<|im_end|>'
    """
    messages = [{"role": "user", "content": example.prompt}]
    messages += [{"role": ("assistant", "user")[i % 2], "content": text} for i, text in enumerate(example.history)]
    prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    head = tokenizer(prompt, add_special_tokens=False).input_ids
    reply = tokenizer(example.reply, add_special_tokens=False).input_ids
    require(reply, f"an example of role {example.role!r} from {example.book!r} has an empty reply")
    return Encoded(example.role, (*head, *reply, end_of_turn(tokenizer)), len(reply) + 1)


def end_of_turn(tokenizer: PreTrainedTokenizerBase) -> int:
    """The token with which the chat template ends a reply: what a model that learns to reply has to write at its end.

    Not `eos_token`, which need not be that token: a model that learned another one never stops.

    Raises InputError for a template that puts nothing behind a reply.

    >>> end_of_turn(tokenizer) == tokenizer.convert_tokens_to_ids("<|im_end|>")                        # doctest: +SKIP
    True
    """
    turns = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ann"}]
    end = str(tokenizer.apply_chat_template(turns, tokenize=False)).rpartition("Ann")[2]
    require(end.strip(), "the chat template ends a reply with nothing: expected a token, such as <|im_end|>")
    return tokenizer(end, add_special_tokens=False).input_ids[0]


def plan(examples: Sequence[Encoded], tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch: indices of examples, each batch at most `tokens` tokens with its padding.

    Shuffled, then sorted by length within buckets, so that little is padded and the order still is random. An example
    longer than `tokens` is a batch of its own. Every example is in one batch.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(examples))
    mean = max(1, round(float(np.mean([len(example.ids) for example in examples]))))
    size = BUCKET * max(1, tokens // mean)
    batches = []
    for start in range(0, len(order), size):
        bucket = sorted(order[start : start + size].tolist(), key=lambda i: len(examples[i].ids))
        batch: list[int] = []
        for i in bucket:  # sorted: the one that comes is the longest
            if batch and len(examples[i].ids) * (len(batch) + 1) > tokens:
                batches.append(batch)
                batch = []
            batch.append(i)
        batches.append(batch)
    return [batches[i] for i in rng.permutation(len(batches))]


def collate(batch: Sequence[Encoded], pad: int) -> dict[str, torch.Tensor]:
    """Input ids and labels, shape (batch, longest), padded on the right."""
    labels = [(IGNORED,) * (len(example.ids) - example.reply) + example.ids[-example.reply :] for example in batch]
    return {
        "input_ids": pad_sequence([torch.tensor(example.ids) for example in batch], True, pad),
        "labels": pad_sequence([torch.tensor(row) for row in labels], True, IGNORED),
    }


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
        has, wanted = (began.r, began.lora_alpha), (settings.rank, settings.alpha)
        said = "{} has rank {} and alpha {}: expected {} and {}, as in the settings"
        require(has == wanted, said.format(start, *has, *wanted))
        same = set(tokens) == set(began.trainable_token_indices or ())
        require(same, f"{start} was trained with other new tokens: expected the same, or to begin afresh")
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
    `checkpoint.pt`, from which the same call goes on. Raises InputError where `out` holds another run.
    """
    accelerator, out = accelerator or Accelerator(), Path(out)
    learned = [weights for weights in model.parameters() if weights.requires_grad]
    model.to(accelerator.device).train()
    optimizer = torch.optim.AdamW(learned, lr=settings.learning_rate, weight_decay=0.0)
    first = _resume(out, run, model, optimizer)
    if accelerator.is_main_process:
        _cut_log(out, first)
    base: Any = model.get_base_model()
    for layer in base.get_decoder().layers if settings.compile else ():
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
    adapter = get_peft_model_state_dict(model, save_embedding_layers=False)  # else it asks the hub about the base
    held = {"run": run, "step": step, "adapter": adapter, "optimizer": optimizer.state_dict()}
    torch.save(held, out / "checkpoint.new")
    os.replace(out / "checkpoint.new", out / "checkpoint.pt")


def _resume(out: Path, run: str, model: PeftModel, optimizer: torch.optim.Optimizer) -> int:
    """Load the last checkpoint, if there is one; the step to go on with."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "checkpoint.pt").exists():
        return 0
    held = torch.load(out / "checkpoint.pt", "cpu", weights_only=True)
    other = f"{out} holds a run with other data, settings, base or start"
    require(held["run"] == run, f"{other}: choose another folder, or remove it")
    set_peft_model_state_dict(model, held["adapter"])
    optimizer.load_state_dict(held["optimizer"])
    return held["step"]


def _cut_log(out: Path, step: int) -> None:
    """Leave the log's lines of the steps before `step`; a line that was being written goes, too."""
    log = out / "log.jsonl"
    if log.exists():
        before = [line for line in trail.whole_lines(log) if json.loads(line)["step"] < step]
        log.write_text("".join(f"{line}\n" for line in before), encoding="utf-8")


def _finish(out: Path, model: PeftModel) -> None:
    """The adapter in half precision, and nothing else: what is shipped."""
    learned = {name: w for name, w in model.state_dict().items() if "lora_" in name or "trainable_tokens" in name}
    half = {name: weights.to(torch.bfloat16) for name, weights in learned.items()}
    config = model.peft_config["default"]
    config.base_model_name_or_path = Path(str(config.base_model_name_or_path)).name  # no folder of this machine
    model.save_pretrained(str(out / "adapter"), state_dict=half, save_embedding_layers=False)
    (out / "adapter" / "README.md").unlink(missing_ok=True)  # peft's form of a card, to be filled in


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
    return torch.zeros(len(targets), device=losses.device).index_add(0, rows, losses), learned.sum(1)


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
    tokens, tokens a second, seconds; and `checkpoint.pt`, from which the same call goes on. Raises InputError for no
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
    data = [example.ids for example in encoded]
    run = identity(bare, settings, [data, adapter_hash(start)] if start else data)
    model = with_lora(bare, settings, start)

    def batches(epoch: int) -> list[list[int]]:
        return plan(encoded, settings.tokens, settings.seed, epoch)

    usual = sum(example.reply**0.5 for example in encoded) / len(batches(0))

    def learn(batch: list[int]) -> dict:
        own = [encoded[i] for i in batch[accelerator.process_index :: accelerator.num_processes]]
        # A process without rows of its own reads one all the same, and counts nothing.
        rows = collate(own or [encoded[batch[0]]], tokenizer.eos_token_id)
        rows = {name: tensor.to(accelerator.device) for name, tensor in rows.items()}
        attend(bare, rows["input_ids"].shape[1])
        with torch.autocast(accelerator.device.type, torch.bfloat16, enabled=settings.precision == torch.bfloat16):
            total, counts = reply_loss(model, rows)
        # Over a usual batch's weight, so that a reply counts the same in whatever batch it is.
        loss = (total / counts**0.5).sum() / usual * bool(own)
        loss.backward()
        here = zip(own, total.tolist(), counts.tolist(), strict=False)
        return _line(gather_object([(example.role, len(example.ids), loss, n) for example, loss, n in here]))

    return fit(model, learn, batches, out, run, settings, accelerator)


def _line(rows: list[tuple[str, int, float, int]]) -> dict:
    """What the log says of a batch, from the role, length, summed loss and reply length of each row."""
    frame = pd.DataFrame(rows, columns=["role", "tokens", "loss", "reply"])
    sums = frame.groupby("role", sort=False)[["loss", "reply"]].sum()
    means, loss = (sums["loss"] / sums["reply"]).round(4), frame["loss"].sum() / frame["reply"].sum()
    return {"loss": round(float(loss), 4), "roles": means.to_dict(), "tokens": int(frame["tokens"].sum())}
