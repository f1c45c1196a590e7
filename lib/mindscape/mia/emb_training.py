"""Training MiA-Emb, and SFT-Emb beside it: InfoNCE over chunks and nodes with LoRA (MiA-RAG, Eq. 12 to 14, Table 7).

    L = beta L_chunk + (1 - beta) L_node

InfoNCE (van den Oord et al., 2018) for one query of B: with the cosine as similarity and temperature tau, minus the log of the
softmax weight of its positive among its candidates, meaned over the batch. Its candidates are its positive and its own
negatives (Eq. 14), or everybody's, the usual in-batch negatives: a mask says which.

A batch holds questions on one text. Each has one of its positives, drawn anew each epoch, and negatives of its own; with
`shared` it also has everybody else's units, those apart that answer it, too. Without `summaries` the same recipe trains
SFT-Emb.

`cached_backward` computes the gradients of a large batch in pieces (GradCache: Gao et al., 2021): vectors first, without
keeping what their gradients need; the loss and its gradient by the vectors; then each piece again, this time backwards.
Memory is that of a piece, time about a third more. Taught in notebook 12_mia_emb_training.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel

from mindscape.errors import require
from mindscape.mia.embedding import TOKENS, Form, Reading, Task, enriched, loaded, query_readings, unit_readings
from mindscape.text import Tokenizer
from mindscape.training import Settings, attend, fit, identity, with_lora
from mindscape.weights import adapter_hash
from storyworld.teaching.update import Asked

ALL = slice(None)  # questions of a batch


def info_nce(queries: Tensor, candidates: Tensor, positive: Tensor, own: Tensor, temperature: float) -> Tensor:
    """The loss of Eq. 13, a scalar.

    `queries`: (B, dim); `candidates`: (C, dim), of all queries together; `positive`: (B,), the place of each query's
    positive among them; `own`: (B, C), true where a query is compared with a candidate, its positive included. Vectors need
    not have length 1. Raises InputError for a positive that is not among its query's candidates, and a temperature that is
    not above 0: both would give a number.

    Two queries, each with its positive and a negative; the first is exactly as near to both:

    >>> q = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> c = torch.tensor([[1.0, 1.0], [1.0, -1.0], [0.0, 2.0], [3.0, 0.0]])
    >>> own = torch.tensor([[True, True, False, False], [False, False, True, True]])
    >>> round(info_nce(q[:1], c, torch.tensor([0]), own[:1], 1.0).item(), 4)                 # log 2
    0.6931
    >>> round(info_nce(q, c, torch.tensor([0, 2]), own, 1.0).item(), 4)    # and log(1 + 1/e), their mean
    0.5032
    """
    require(own.gather(1, positive[:, None]).all(), "positive: expected each query's to be among its own candidates")
    require(temperature > 0, f"temperature={temperature!r}: expected more than 0")
    similar = functional.normalize(queries, dim=-1) @ functional.normalize(candidates, dim=-1).T / temperature
    return functional.cross_entropy(similar.masked_fill(~own, float("-inf")), positive)


def cached_backward(encode: Callable[[Any], Tensor], pieces: Sequence[Any], loss: Callable[[Tensor], Tensor]) -> float:
    """Gradients of `loss(encode(piece) for all pieces, one below the other)`, a piece at a time; returns the loss.

    `encode` gives vectors (n, dim) and may draw numbers (dropout): each piece draws the same ones both times. Gradients are
    added to those that are there, as `backward` does.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> loss = cached_backward(layer, x.split(2), lambda vectors: vectors.sum())
    >>> layer.weight.grad
    tensor([[ 9., 12.]])
    >>> loss = cached_backward(layer, [x], lambda vectors: vectors.sum())
    >>> layer.weight.grad
    tensor([[18., 24.]])
    """
    vectors, states = [], []
    with torch.no_grad():
        for piece in pieces:
            states.append((torch.get_rng_state(), torch.cuda.get_rng_state_all()))
            vectors.append(encode(piece))
    leaves = torch.cat(vectors).requires_grad_()
    value = loss(leaves)
    (gradient,) = torch.autograd.grad(value, leaves)
    for piece, state, part in zip(pieces, states, gradient.split([len(rows) for rows in vectors]), strict=True):
        with torch.random.fork_rng(devices=range(len(state[1]))):  # afterwards they stand where they stand now
            torch.set_rng_state(state[0])
            torch.cuda.set_rng_state_all(state[1])
            again = encode(piece)
        again.backward(part)
    return value.item()


@dataclass(frozen=True)
class Recipe:
    """What is learned. `questions` a batch; `hard`, `exchanged` and `simple` negatives of each, at most, with simple ones in
    the place of others that are missing; `beta` weighs chunks against nodes. `cached`: the batch is read in pieces whose
    gradients are computed one after the other, which takes the memory of one piece.
    """

    form: Form = field(default_factory=Form)
    summaries: bool = True
    questions: int = 8
    hard: int = 3
    exchanged: int = 0
    simple: int = 1
    shared: bool = True
    temperature: float = 0.05
    beta: float = 0.5
    cached: bool = False

    def __post_init__(self):
        numbers = self.questions >= 1 and min(self.hard, self.exchanged, self.simple) >= 0
        require(numbers, "questions, hard, exchanged, simple: expected at least 1 question, no number below 0")
        require(0 <= self.beta <= 1, f"beta={self.beta!r}: expected 0 to 1")
        require(self.temperature > 0, f"temperature={self.temperature!r}: expected more than 0")

    def weighed(self, losses: Mapping[Task, Tensor]) -> Tensor:
        """Eq. 12; the loss of the only task where a batch has one."""
        if len(losses) == 1:
            return next(iter(losses.values()))
        return self.beta * losses["chunk"] + (1 - self.beta) * losses["node"]


def published(tokens: int = 32_768) -> tuple[Recipe, Settings]:
    """What Table 7 and appendix B say, for a GPU and an embedder of billions of weights; `tokens` are read at once.

    The query has all that Figure 15 demands.

    >>> recipe, settings = published()
    >>> recipe.questions, recipe.temperature, settings.steps, settings.rank
    (4, 0.01, 2000, 128)
    """
    form = Form(order="paper", marks="tokens", delta=0.5, wording="paper")
    recipe = Recipe(form, questions=4, hard=5, simple=5, shared=False, temperature=0.01, beta=0.5)
    lora = Settings(steps=2000, tokens=tokens, rank=128, alpha=256, learning_rate=1e-4, warmup=200, dtype="bfloat16")
    return recipe, lora


@dataclass(frozen=True)
class Batch:
    """Questions by number, and the seed of what is drawn for them."""

    questions: tuple[int, ...]
    seed: tuple[int, ...]


def plan(questions: Sequence[Asked], recipe: Recipe, seed: int, epoch: int) -> list[Batch]:
    """The batches of an epoch, each of questions on one document, in an order that only the seed decides."""
    rng = np.random.default_rng([seed, epoch])
    of_document: dict[str, list[int]] = defaultdict(list)
    for i, question in enumerate(questions):
        of_document[question.document].append(i)
    groups = []
    for places in of_document.values():
        order = rng.permutation(places).tolist()
        groups += [tuple(order[i : i + recipe.questions]) for i in range(0, len(order), recipe.questions)]
    order = rng.permutation(len(groups)).tolist()
    return [Batch(groups[j], (seed, epoch, i)) for i, j in enumerate(order)]


@dataclass(frozen=True)
class Prepared:
    """A batch as it is read: what comes out of `readings`, one below the other, makes `loss`."""

    readings: list[Reading]
    queries: Tensor  # (questions, 3): where h_q, h_n and h_c stand
    units: Tensor  # (units,): where the units' vectors stand
    positive: dict[Task, Tensor]  # by task (its questions,): each one's positive among the units
    compared: dict[Task, Tensor]  # by task (its questions, units): which units it is compared with
    rows: dict[Task, Tensor]  # by task: the questions that have units to find

    def losses(self, vectors: Tensor, recipe: Recipe) -> dict[Task, Tensor]:
        """InfoNCE for each task that the batch has (Eq. 13), from all vectors of the readings."""
        vectors = vectors.float()
        queries, units = enriched(vectors[self.queries], recipe.form.delta), vectors[self.units]
        return {
            task: info_nce(queries[task][rows], units, self.positive[task], self.compared[task], recipe.temperature)
            for task, rows in self.rows.items()
        }

    def accuracy(self, vectors: Tensor, recipe: Recipe) -> float:
        """How often the positive is the nearest chunk."""
        queries = enriched(vectors[self.queries].float(), recipe.form.delta)["chunk"][self.rows["chunk"]]
        units = functional.normalize(vectors[self.units].float(), dim=-1)
        near = (queries @ units.T).masked_fill(~self.compared["chunk"].to(units.device), float("-inf")).argmax(1)
        return (near.cpu() == self.positive["chunk"]).float().mean().item()


def prepare(
    posed: Sequence[Asked], batch: Batch, recipe: Recipe, tokenizer: Tokenizer, tokens: int, language: str, part: slice = ALL
) -> Prepared:
    """A `part` of a batch with its positives and negatives drawn, at most about `tokens` tokens read at once. Where units are
    shared its questions are compared with those of the whole batch."""
    rng = np.random.default_rng(batch.seed)
    whole = [posed[i] for i in batch.questions]
    chosen = whole[part]
    numbers = range(len(whole))[part]  # of the chosen in the batch
    place: dict[tuple[Task, str], int] = defaultdict(lambda: len(place))  # a text may be a unit of either task
    weights: dict[Task, float] = {"chunk": recipe.beta, "node": 1 - recipe.beta}

    def drawn(task: Task, pool: Sequence[str], most: int) -> list[int]:
        return [place[task, pool[i]] for i in rng.permutation(len(pool))[:most]]

    own: dict[Task, list[tuple[int, int, list[int]]]] = defaultdict(list)  # question, its positive, its negatives
    for number in range(len(whole)) if recipe.shared else numbers:
        for task, weight in weights.items():
            units = whole[number].units.get(task)
            if units is None or not weight:
                continue
            right = place[task, units.positives[rng.integers(len(units.positives))]]
            wrong = drawn(task, units.hard, recipe.hard) + drawn(task, units.exchanged, recipe.exchanged)
            most = recipe.hard + recipe.exchanged + recipe.simple - len(wrong)  # simple ones for those that are missing
            wrong += drawn(task, units.simple, most)
            if number in numbers:
                own[task].append((numbers.index(number), right, wrong))
    require(own, f"questions {', '.join(question.id for question in chosen)}: no units to find for a task that has a weight")
    positive, compared, rows = {}, {}, {}
    for task, triples in own.items():
        places, rights, _ = zip(*triples, strict=True)
        rows[task], positive[task] = torch.tensor(places), torch.tensor(rights)
        compared[task] = torch.zeros(len(triples), len(place), dtype=torch.bool)
        for mask, (row, right, wrong) in zip(compared[task], triples, strict=True):
            answers = set(chosen[row].units[task].positives)
            others = [at for (kind, text), at in place.items() if kind == task and text not in answers]
            mask[[right, *(others if recipe.shared else wrong)]] = True
    summaries = [question.summary if recipe.summaries else None for question in chosen]
    asking, at = query_readings([question.question for question in chosen], summaries, recipe.form, tokenizer, language, tokens)
    finding, of_units = unit_readings([text for _, text in place], tokenizer, language, tokens)
    before = sum(len(reading.rows) * len(reading.places[0]) for reading in asking)
    return Prepared([*asking, *finding], at, before + of_units, positive, compared, rows)


def train(
    questions: Sequence[Asked],
    out: str | Path,
    base: str | Path,
    recipe: Recipe | None = None,
    settings: Settings | None = None,
    *,
    start: str | Path | None = None,
    language: str = "en",
) -> Path:
    """Train an embedder for the model in the folder or of the name `base`; returns the adapter's folder `out`/adapter.

    It begins with the adapter in the folder `start`, or with a fresh one. `out` gets `log.jsonl` (step, loss, the same by
    task, accuracy: how often the positive is the nearest chunk, tokens, seconds) and a checkpoint, from which the same call
    goes on. `settings.tokens` is what is read at once. Over several processes each takes every other question of a batch,
    which is compared with the units of them all.
    Raises InputError for no questions, and where `out` holds another run.

    >>> train(of_story(book, tokenizer), "build/mia", assets.language_model())           # doctest: +SKIP
    PosixPath('build/mia/adapter')
    """
    recipe, settings, accelerator = recipe or Recipe(), settings or Settings(), Accelerator()
    require(questions, "no questions: expected at least one")
    bare, tokenizer = loaded(base, recipe.form, settings.precision)
    added = list(TOKENS.values()) if recipe.form.marks == "tokens" else []
    marks = cast(list[int], tokenizer.convert_tokens_to_ids(added))
    options = asdict(recipe) | {"form": recipe.form.stored}
    data = [asdict(question) for question in questions], options, language, adapter_hash(start) if start else ""
    run = identity(bare, settings, data)
    model = with_lora(bare, settings, start, marks)
    decoder = cast(PreTrainedModel, model.get_base_model()).get_decoder()

    def learn(batch: Batch) -> dict:
        part = slice(accelerator.process_index, None, accelerator.num_processes)
        share = len(batch.questions[part]) / len(batch.questions)
        ready = prepare(questions, batch, recipe, tokenizer, settings.tokens, language, part if share else slice(1))
        measured: dict[str, float] = {}

        def encode(reading: Reading) -> Tensor:
            attend(bare, reading.longest)
            with torch.autocast(accelerator.device.type, torch.bfloat16, enabled=settings.precision == torch.bfloat16):
                return reading(decoder)

        def loss(vectors: Tensor) -> Tensor:
            losses = ready.losses(vectors, recipe)
            measured.update(loss=recipe.weighed(losses).item(), **{task: value.item() for task, value in losses.items()})
            if "chunk" in ready.rows:
                measured["accuracy"] = ready.accuracy(vectors.detach(), recipe)
            return recipe.weighed(losses) * share

        if recipe.cached:
            cached_backward(encode, ready.readings, loss)
        else:
            loss(torch.cat([encode(reading) for reading in ready.readings])).backward()
        measured["tokens"] = sum(reading.tokens for reading in ready.readings)
        return together(gather_object([(share, measured)]))

    adapter = fit(model, learn, partial(plan, questions, recipe, settings.seed), out, run, settings, accelerator)
    form = {"form": recipe.form.stored, "summaries": recipe.summaries, "language": language}
    (adapter / "form.json").write_text(json.dumps(form, indent=2) + "\n", encoding="utf-8")
    return adapter


def together(parts: Sequence[tuple[float, Mapping[str, float]]]) -> dict[str, float]:
    """What the log says of a batch, from each process's share of its questions and what it measured on them.

    >>> together([(0.75, {"loss": 1.0, "tokens": 30}), (0.25, {"loss": 2.0, "tokens": 10})])
    {'loss': 1.25, 'tokens': 40}
    """
    logged = {}
    for key in dict.fromkeys(key for _, measured in parts for key in measured):
        shared = [(share, measured[key]) for share, measured in parts if key in measured and share]
        if key == "tokens":
            logged[key] = sum(measured[key] for _, measured in parts)
        elif shared:
            logged[key] = round(sum(share * value for share, value in shared) / sum(share for share, _ in shared), 4)
    return logged
