"""How long things take beside each other, on a machine that does other work as well (`least`), and how fast the store is filled
on this processor, as ratios of one run: python -m mindscape.benchmark (`make benchmark`).

Reading through `ask` against the bare model's forward pass on the same batches, writing in batches of 32 against one by one,
bfloat16 against float32; and what a look-up in the store takes. Seconds differ from machine to machine, ratios less. They are
written to build/benchmark.json, with the processor. Taught in notebook 00_start_here.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from mindscape import assets, paths, results
from mindscape.ask import ask
from mindscape.corpora import shakespeare
from mindscape.llm import LanguageModel, local
from mindscape.llm.base import form_of
from mindscape.roles import ROLES
from mindscape.store import Maker, Store

AGREE = 1.03  # the least time stands when another is at most so many times as long


def least(
    *calls: Callable[[], Any], runs: int = 3, most: int = 9, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Seconds that each of `calls` takes, by `clock` (processor time): the least of several runs, in turn.

    What else the machine does only ever adds to a run, so the least is the one that tells. Each is called at least `runs`
    times, then until the least time of each has been met twice (within three in a hundred), at most `most` times.

    >>> short, long = least(lambda: sum(range(20_000)), lambda: sum(range(200_000)))
    >>> short < long
    True
    """
    seconds: list[list[float]] = [[] for _ in calls]
    for run in range(most):
        if run >= max(runs, 2) and all(sorted(times)[1] <= AGREE * min(times) for times in seconds):
            break
        for call, times in zip(calls, seconds, strict=True):
            begun = clock()
            call()
            times.append(clock() - begun)
    return [min(times) for times in seconds]


GOALS = {"reading": 0.8, "writing": 5.0, "look_up_us": 50.0, "import_s": 1.0}


def main() -> None:
    """Measure, write, print; exits with 1 where a goal is missed."""
    measured = {"environment": results.environment(), "goals": GOALS, **measure_speed()}
    path = paths.build_path("benchmark.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    for name in ("reading", "writing", "bf16_reading", "bf16_writing", "look_up_us", "import_s"):
        goal = f" (goal {GOALS[name]:g})" if name in GOALS else ""
        print(f"{name}: {measured[name]:.3g}{goal}")
    print(f"{measured['environment']['cpu']}: {path}")
    sys.exit(bool(missed(measured)))


def missed(measured: dict[str, Any]) -> list[str]:
    """The goals that were not reached.

    >>> missed({"reading": 0.9, "writing": 4.0, "look_up_us": 20.0, "import_s": 0.2})
    ['writing']
    """
    at_least = [name for name in ("reading", "writing") if measured[name] < GOALS[name]]
    return at_least + [name for name in ("look_up_us", "import_s") if measured[name] > GOALS[name]]


def measure_speed() -> dict[str, Any]:
    """All ratios and times of one run."""
    make = partial(local.pretrained, assets.language_model(), "smollm2", device="cpu", batch_size=32)
    half, full = make(dtype="bfloat16"), make(dtype="float32")
    read, written = reading(half), writing(half)
    read_32, written_32 = reading(full, bare=False), writing(full, alone=False)
    return {
        "reading": read["ask_tokens_s"] / read["bare_tokens_s"],
        "writing": written["batch_tokens_s"] / written["alone_tokens_s"],
        "bf16_reading": read["ask_tokens_s"] / read_32["ask_tokens_s"],
        "bf16_writing": written["batch_tokens_s"] / written_32["batch_tokens_s"],
        "look_up_us": look_up(),
        "import_s": importing(),
        "seconds": {"bfloat16": read | written, "float32": read_32 | written_32},
    }


def reading(backend: local.Local, count: int = 8, bare: bool = True) -> dict[str, float]:
    """Tokens a second, through `ask` with replies of one token, and of the network alone on the same batches."""
    text, role = shakespeare.play("hamlet").text, ROLES["qa"]
    parts = [text[n * 4000 : n * 4000 + 2400] for n in range(count)]
    prompts = [role.prompt("en", form_of(backend), context=part, question="Who speaks?") for part in parts]
    rows = [backend._tokens([{"role": "user", "content": prompt}]) for prompt in prompts]
    order = sorted(range(count), key=rows.__getitem__)
    batches = [[rows[i] for i in batch] for batch, _ in backend._batches(rows, [0] * count, order, 1, call=float("inf"))]

    @torch.inference_mode()
    def alone() -> None:
        for batch in batches:
            ids, mask = backend._padded(batch, 0)
            backend.model.get_decoder()(input_ids=ids, attention_mask=mask)

    def asking() -> None:
        backend._last = None  # the head of the round before
        ask(LanguageModel(backend), role, prompts, tokens=1)

    ways = {"ask": asking} | ({"bare": alone} if bare else {})
    tokens = sum(map(len, rows))
    return {f"{name}_tokens_s": tokens / seconds for name, seconds in quickest(ways).items()}


def writing(backend: local.Local, count: int = 32, tokens: int = 48, alone: bool = True) -> dict[str, float]:
    """Tokens a second that are written, in one batch and one prompt after the other."""
    words = shakespeare.play("hamlet").text.split()
    prompts = [" ".join(words[n * 200 : n * 200 + 60]) for n in range(count)]
    model, written = LanguageModel(backend), {}

    def batch() -> None:
        written["batch"] = sum(reply.completion_tokens for reply in model.complete(prompts, max_new_tokens=tokens))

    def one_by_one() -> None:
        replies = [model.complete(prompt, max_new_tokens=tokens) for prompt in prompts[:: count // 4]]
        written["alone"] = sum(reply.completion_tokens for reply in replies)

    times = quickest({"batch": batch} | ({"alone": one_by_one} if alone else {}))
    return {f"{name}_tokens_s": written[name] / seconds for name, seconds in times.items()}


def look_up(count: int = 5000) -> float:
    """Microseconds that an entry takes which travels, of the size of a reply, its file read already."""
    with tempfile.TemporaryDirectory() as folder:
        maker, questions = Maker("benchmark", {}), [{"prompt": f"{n} {'Who is there? ' * 100}"} for n in range(count)]
        filled = Store(Path(folder) / "a", Path(folder) / "store", fill=True)
        filled.put("reply", maker, {filled.key("reply", maker, query): {"text": "Nay, answer me. " * 9} for query in questions})
        filled.flush()
        store = Store(Path(folder) / "b", filled.shipped)

        def fetch() -> None:
            store.fetch("reply", maker, questions, lambda places: [][len(places)])

        fetch()
        return quickest({"found": fetch})["found"] / count * 1e6


def importing() -> float:
    """Seconds of `import mindscape` in a Python of its own, above what that takes to start."""

    def python(code: str) -> Callable[[], Any]:
        command = [sys.executable, "-c", code]
        return lambda: subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})

    seconds = quickest({"with": python("import mindscape"), "without": python("pass")}, time.perf_counter)
    return max(0.0, seconds["with"] - seconds["without"])


def quickest(ways: dict[str, Callable[[], Any]], clock: Callable[[], float] = time.process_time) -> dict[str, float]:
    """The least seconds of each way, measured in turn.

    >>> times = quickest({"long": lambda: sum(range(200_000)), "short": lambda: sum(range(20_000))})
    >>> times["long"] > times["short"]
    True
    """
    return dict(zip(ways, least(*ways.values(), runs=2, most=4, clock=clock), strict=True))


if __name__ == "__main__":
    main()
