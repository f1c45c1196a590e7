"""Language models behind short strings: one protocol, whatever answers.

    "embedded"              the reader: SmolLM2-135M-Instruct with the kit's adapter, on this machine, without a key
    "smollm2"               the same model as it comes, without the adapter
    "hf:NAME_OR_FOLDER"     any causal language model of transformers, on this machine
    "openai:MODEL"          any server that speaks OpenAI's protocol: OPENAI_BASE_URL, OPENAI_API_KEY
    "replay:PATH"           replies recorded earlier with `load(..., record=PATH)`

Every model has `complete`, `chat`, `score` and `count_tokens` (the protocol `LLM`), a `ledger` and an `estimate`;
replies are cached on disk. Taught in notebooks 00 and 10, the reader in 01. This package does not serve models, train
them, or stream.
"""

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mindscape import paths, store
from mindscape.errors import InputError, require
from mindscape.llm.base import LLM, Backend, Message, Prompt, Reply, Sampling, Schema, Score, Tool, ToolCall
from mindscape.llm.ledger import PRICES, PRICES_DATE, Estimate, Ledger
from mindscape.llm.model import LanguageModel
from mindscape.llm.tags import Needs, Tags, Text

__all__ = [
    "LLM", "PRICES", "PRICES_DATE", "Backend", "Estimate", "LanguageModel", "Ledger", "Message", "Needs", "Prompt", "Reply",
    "Sampling", "Schema", "Score", "Tags", "Text", "Tool", "ToolCall", "load",
]  # fmt: skip

READER = paths.data("adapters", "reader")
FORMS = '"embedded", "smollm2", "hf:NAME_OR_FOLDER", "openai:MODEL" or "replay:PATH"'


OURS = ("embedded", "smollm2")
KINDS = (*OURS, "hf", "openai", "replay")


def _backend(kind: str, source: str | Path, model: str, options: dict[str, Any]) -> Backend:
    """What reaches a model. Raises InputError for an option that is not among the backend's, its keyword-only parameters."""
    if kind == "embedded":
        options = {"adapter": READER, **options}
        require(options["adapter"], 'adapter=None: without its adapter "embedded" is "smollm2", expected that name')
    elif kind == "smollm2" and "adapter" in options:
        raise InputError('"smollm2" is the model without an adapter: expected "embedded" with adapter=FOLDER')
    make: Callable[..., Backend]
    if kind == "openai":
        from mindscape.llm.endpoint import Endpoint as make
    elif kind == "replay":
        from mindscape.llm.recording import Replay as make
    else:
        from mindscape.llm.local import pretrained as make
    parameters = inspect.signature(make).parameters.values()
    known = sorted(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)
    for option in options:
        require(option in known, f"llm={model!r} has no option {option!r}: expected {', '.join(known) or 'none'}")
    if kind in ("openai", "replay"):
        return make(source, **options)
    if kind in OURS:
        from mindscape import assets

        # fp32 unless asked otherwise: the notebooks' stored outputs must not depend on the reader's CPU.
        options = {"dtype": os.environ.get("MINDSCAPE_DTYPE") or "float32", **options}
        source = assets.language_model()
    return make(source, model, **options)


def parts(model: str) -> tuple[str, str]:
    """What a short string says: the kind of model, and which one. Raises InputError for a string of another form.

    >>> parts("hf:Qwen/Qwen2.5-7B-Instruct"), parts("embedded")
    (('hf', 'Qwen/Qwen2.5-7B-Instruct'), ('embedded', ''))
    """
    kind, _, source = str(model).partition(":")
    source = source.strip()
    require(kind in KINDS and (kind in OURS) == (not source), f"llm={model!r}: expected {FORMS}")
    return kind, source


def load(
    model: str = "embedded",
    *,
    ledger: Ledger | None = None,
    cache: bool = True,
    record: str | Path | None = None,
    **options: Any,
) -> LanguageModel:
    """The model that a short string names.

    `ledger`: share one among several models, or give it a cap. `cache=False` asks anew each time. `record`: a JSONL file of
    one model, to which questions and replies are appended, for `replay:PATH`. Other options go to the backend: `adapter` (a
    LoRA adapter's folder), `dtype`, `device`, `batch_size`, `batch_tokens` to a local model
    (`mindscape.llm.local.pretrained`), `base_url`, `concurrency`, `timeout`, `total_timeout`, `retries`, `leave_out`
    (parameters that a newer model refuses), `reasoning_effort` to a server (`mindscape.llm.endpoint.Endpoint`). `dtype` is
    "float32" for "embedded" and "smollm2", so that they write the same on every machine (MINDSCAPE_DTYPE=auto: what is
    quick here, to fill the store), and "auto" for "hf:...".

    Raises InputError for a string of another form and for an option that the backend does not have, LLMError if the
    model cannot be had.

    >>> load("gpt-4o")                                              # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: llm='gpt-4o': expected "embedded", "smollm2", "hf:NAME_OR_FOLDER", ...
    """
    kind, source = parts(model)
    backend = _backend(kind, source, f"{kind}:{source}" if source else kind, options)
    of_process = store.current() if cache and kind != "replay" else None
    return LanguageModel(backend, ledger=ledger, store=of_process, record=record)
