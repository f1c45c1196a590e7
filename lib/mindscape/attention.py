"""How much attention a token pays to a stretch of text, at every layer and head, in one forward pass.

The *mass* of a key segment for a row (query token) t at layer l and head h is the sum of the attention weights
A[l][h][t, key] over the keys of the segment. It is what MiA-RAG looks at in Section 6.3 (attention to the summary) and
in Appendix E (MCEA). Asking `transformers` for the weights would keep layers x heads x n x n numbers: 72 GB for
SmolLM2 at 8,192 tokens. Here a block of rows is computed, summed by segment and forgotten. The result is exact: the
same softmax as the model's own, with the model's own mask (causal, sliding window, padding) and grouped key heads.

It works with every model that routes its attention through `transformers`' attention interface and whose weights are
softmax(q k^T * scale): the Llama, Qwen2 and Qwen3 families and most others. Models with attention sinks (gpt-oss),
soft-capped or biased scores, and layers that are not softmax attention are refused. In a sliding-window layer the keys
outside the window have mass 0. Taught in notebook 00.

This module returns no attention matrix, computes no gradients, uses no key-value cache (so no decoding step), and takes
decoder-only or encoder-only models, not encoder-decoders.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import torch
from transformers import AttentionInterface, AttentionMaskInterface, AutoModelForCausalLM, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from mindscape.benchmark import least
from mindscape.environment import forget_peak, peak_bytes
from mindscape.errors import InputError, require
from mindscape.weights import Packed, quiet

Segment = tuple[int, int]
Tokens = Sequence[int] | torch.Tensor  # ids, or places in a text
Asked = Sequence[Sequence[Segment]]  # segments of each text


def segment_mass(
    model: PreTrainedModel, input_ids: Tokens, rows: Tokens, segments: Sequence[Segment], *, average_heads: bool = False
) -> torch.Tensor:
    """The attention mass of every segment, for every row, of one text.

    `input_ids`: n token ids. `rows`: positions of the query tokens; negative ones count from the end. `segments`:
    (start, end) token ranges of the keys, end excluded; they may overlap and need not cover the text.

    Returns float32 (layers, heads, rows, segments), or (layers, rows, segments) with `average_heads`. Each value is
    between 0 and 1; where the segments tile the text a row sums to 1. A causal model gives 0 to what comes after the
    row. Raises InputError for an empty or impossible segment, a row outside the text, a model in training mode, or one
    whose attention is not a plain softmax.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> config = LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
    ...                      num_attention_heads=4, num_key_value_heads=2)
    >>> toy = LlamaForCausalLM(config).eval()
    >>> mass = segment_mass(toy, list(range(12)), rows=[3, -1], segments=[(0, 4), (4, 12)])
    >>> mass.shape
    torch.Size([2, 4, 2, 2])
    >>> mass[0, 0, 0].round().tolist()        # token 3 sees tokens 0 to 3, which are segment 0
    [1.0, 0.0]
    >>> mass[:, :, 1].sum(-1).allclose(torch.tensor(1.0))
    True
    """
    ids = torch.atleast_2d(torch.as_tensor(input_ids))
    return segment_mass_batch(model, ids, torch.ones_like(ids), [rows], [segments], average_heads=average_heads)[0]


def segment_mass_batch(
    model: PreTrainedModel,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    rows: Sequence[Tokens],
    segments: Asked,
    *,
    average_heads: bool = False,
) -> list[torch.Tensor]:
    """The same for a padded batch, still in one forward pass: one tensor a text, each as from `segment_mass`.

    `input_ids` and `attention_mask`: (texts, n), 1 in the mask for real tokens, padding on the left or the right.
    `rows` and `segments` hold one list a text and count real tokens only, so padding changes neither them nor the
    result.
    """
    _check_model(model)
    texts = _texts(attention_mask, rows, segments)
    # Positions as in the unpadded text, so that a text gets the same rotary angles whatever stands before it.
    positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)
    padding = {} if attention_mask.all() else {"attention_mask": attention_mask, "position_ids": positions}
    layers = _recorded(model.get_decoder(), texts, average_heads, input_ids=input_ids, **padding)
    return [torch.stack(masses) for masses in zip(*layers, strict=True)]


def segment_mass_behind(
    model: PreTrainedModel,
    head: Sequence[int],
    tails: Sequence[Sequence[int]],
    rows: Sequence[Tokens],
    segments: Asked,
    *,
    average_heads: bool = False,
) -> list[torch.Tensor]:
    """The same for texts that begin with the same `head`, which is read once: one tensor a text, as from `segment_mass`.

    `rows` and `segments` hold one list a text and count its tokens from the head's first. Raises InputError as
    `segment_mass` does, and for a model that sees only a window of fewer tokens.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> toy = LlamaForCausalLM(LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
    ...                                    num_attention_heads=4, num_key_value_heads=2)).eval()
    >>> mass = segment_mass_behind(toy, [1, 2, 3], [[4, 5], [6, 7, 8]], [[-1], [-1]], [[(0, 5)], [(0, 3), (3, 6)]])
    >>> [tuple(of_text.shape) for of_text in mass]
    [(2, 4, 1, 1), (2, 4, 1, 2)]
    """
    _check_model(model)
    decoder, together = model.get_decoder(), Packed(tuple(head), tuple(map(tuple, tails)))
    placed, pieces, parts_of = [], [], []
    for i, tail in enumerate(tails):
        n = len(head) + len(tail)
        placed.append([together.place(i, row) for row in _checked_rows(rows[i], n).tolist()])
        parts_of.append([])
        for start, end in _checked_segments(segments[i], n):
            # the part in the head and the part behind it: either may be empty
            halves = (start, min(end, len(head))), (max(start, len(head)), end)
            ranges = [(together.place(i, a), together.place(i, b - 1) + 1) for a, b in halves if a < b]
            parts_of[-1].append(slice(len(pieces), len(pieces) + len(ranges)))
            pieces += ranges
    text = torch.tensor([row for text_rows in placed for row in text_rows]), pieces
    layers = _recorded(decoder, [text], average_heads, **together.inputs(decoder))
    of_text = torch.stack([masses for (masses,) in layers]).split([len(text_rows) for text_rows in placed], -2)
    return [torch.stack([mass[..., part].sum(-1) for part in parts], -1) for mass, parts in zip(of_text, parts_of, strict=True)]


def mean_segment_mass(
    model: PreTrainedModel, input_ids: Tokens, row_segments: Sequence[Segment], key_segments: Sequence[Segment]
) -> torch.Tensor:
    """The mass of every key segment, averaged over the heads and over the tokens of every row segment.

    Both are lists of (start, end) token ranges. Returns float32 (layers, row segments, key segments). Divided by the
    length of the key segment it is the mean attention weight between two stretches of text, as MiA-RAG's Eq. 15 (chunk
    to summary) and Eq. 16 (question to chunk) have it. Raises InputError as `segment_mass` does.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> toy = LlamaForCausalLM(LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
    ...                                    num_attention_heads=4, num_key_value_heads=2)).eval()
    >>> summary, chunk, question = (0, 4), (4, 9), (9, 12)
    >>> mean_segment_mass(toy, list(range(12)), [chunk, question], [summary, chunk]).shape
    torch.Size([2, 2, 2])
    """
    n = torch.as_tensor(input_ids).numel()
    row_segments = _checked_segments(row_segments, n)
    rows = sorted({row for start, end in row_segments for row in range(start, end)})
    mass = segment_mass(model, input_ids, rows, key_segments, average_heads=True)
    place = {row: i for i, row in enumerate(rows)}  # a segment's tokens are neighbours in `rows`
    return torch.stack([mass[:, place[start] : place[end - 1] + 1].mean(1) for start, end in row_segments], 1)


# -- what it costs -----------------------------------------------------------------------------------------------------


def overhead(model: PreTrainedModel, tokens: int = 2048, segments: int = 10, runs: int = 3) -> float:
    """Time of a forward pass with the mass of every row and segment, over the time of a plain one without logits.

    The least of runs in turn, in processor time (on a GPU in time): what else the machine does at the moment only adds to it.

    >>> overhead(model)                                                                  # doctest: +SKIP
    1.14
    """
    ids, ranges = _measuring_text(model, tokens, segments)
    passes = partial(_plain, model, ids), partial(segment_mass, model, ids, range(tokens), ranges)
    plain, ours = least(*passes, runs=runs, clock=partial(_clock, ids.device))
    return ours / plain


def extra_megabytes(folder: str | Path, tokens: int = 8192, segments: int = 10) -> float:
    """Peak memory (MB) of a pass with the mean mass between all segments, above that of a plain one without logits.

    Each kind of run is a process of its own, with a peak of its own; they run side by side. `folder` holds a saved
    causal language model. Not for Windows, which keeps no such peak.

    >>> extra_megabytes(assets.language_model())                                         # doctest: +SKIP
    147.5
    """
    command = [sys.executable, "-m", "mindscape.attention", str(folder), str(tokens), str(segments)]
    runs = [subprocess.Popen([*command, kind], stdout=subprocess.PIPE, text=True) for kind in ("plain", "mass")]
    plain, ours = (run.communicate()[0] for run in runs)
    failed = any(run.returncode for run in runs)
    require(not failed, f"the measurement on {folder} failed: expected a saved model's folder; see the error above")
    return (float(ours) - float(plain)) / 1e6


def _clock(device: torch.device) -> float:
    if device.type != "cuda":
        return time.process_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()


def _measuring_text(model: PreTrainedModel, tokens: int, segments: int) -> tuple[torch.Tensor, list[Segment]]:
    ids = torch.arange(tokens, device=model.device)[None] * 7919 % model.config.vocab_size  # any do: they all cost the same
    return ids, list(pairwise(tokens * i // segments for i in range(segments + 1)))


@torch.no_grad()
def _plain(model: PreTrainedModel, ids: torch.Tensor) -> None:
    model.get_decoder()(ids, use_cache=False)


def _print_peak(folder: str, tokens: int, segments: int, kind: str) -> None:
    """Run once and print the peak memory of the pass in bytes."""
    torch.set_num_threads(1)
    with quiet():
        model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
    forget_peak()
    ids, ranges = _measuring_text(model, tokens, segments)
    if kind == "plain":
        _plain(model, ids)
    else:
        mean_segment_mass(model, ids, ranges, ranges)
    print(peak_bytes())


# -- checking ----------------------------------------------------------------------------------------------------------

_Text = tuple[torch.Tensor, list[Segment]]  # rows and segments asked for of one text of a batch, in columns of the batch


def _check_model(model: PreTrainedModel) -> None:
    require(not model.training, "the model is in training mode: call model.eval() first, or dropout blurs the mass")
    said = f"{type(model).__name__} is an encoder-decoder: expected a decoder-only or encoder-only model"
    require(not model.config.is_encoder_decoder, said)


def _texts(attention_mask: torch.Tensor, rows: Sequence[Tokens], segments: Asked) -> list[_Text]:
    texts = []
    for mask, text_rows, ranges in zip(attention_mask, rows, segments, strict=True):
        start, n = int(mask.argmax()), int(mask.sum())
        require(mask[start : start + n].all(), "attention_mask has a hole: expected padding on the left or the right only")
        shifted = [(a + start, b + start) for a, b in _checked_segments(ranges, n)]
        texts.append((_checked_rows(text_rows, n) + start, shifted))
    return texts


def _checked_segments(segments: Sequence[Segment], n: int) -> list[Segment]:
    require(len(segments), "no segment was given: expected at least one (start, end) range of tokens")
    for i, (start, end) in enumerate(segments):
        if not 0 <= start < end <= n:
            raise InputError(f"segment {i} ({start}, {end}) is out of range: expected 0 <= start < end <= {n} tokens")
    return [(start, end) for start, end in segments]


def _checked_rows(rows: Tokens, n: int) -> torch.Tensor:
    rows = torch.as_tensor(rows if isinstance(rows, torch.Tensor) else list(rows))
    positions = rows.ndim == 1 and len(rows) and not rows.is_floating_point()
    require(positions, "rows: expected a list of at least one token position")
    outside = rows[(rows < -n) | (rows >= n)].tolist()
    if outside:
        raise InputError(f"row {outside[0]} is out of range: the text has {n} tokens")
    return rows % n


# -- inside the forward pass -------------------------------------------------------------------------------------------

_NAME = "sdpa_segment_mass"  # with "sdpa" in its name, transformers refuses it for models that cannot run SDPA
_BLOCK = 2**20  # attention weights held at a time: few enough for the processor's cache, enough for fast products


@dataclass
class _Recording:
    texts: list[_Text]
    average_heads: bool
    layers: list[list[torch.Tensor]] = field(default_factory=list)  # a layer, a text: (heads, rows, segments)


_active: ContextVar[_Recording | None] = ContextVar("active", default=None)
_switching = threading.Lock()  # the model's setting is shared by all threads


def _recorded(
    decoder: PreTrainedModel, texts: list[_Text], average_heads: bool, **inputs: torch.Tensor
) -> list[list[torch.Tensor]]:
    """What one forward pass records, layer by layer. Its attention goes through `_attention`, and back again whatever happens.

    Another thread that runs the same model meanwhile gets plain SDPA: only this context sees the recording.
    """
    recording, kind = _Recording(texts, average_heads), type(decoder).__name__
    with _switching:
        before = decoder.config._attn_implementation
        token = _active.set(recording)
        try:
            try:
                decoder.set_attn_implementation(_NAME)
            except ValueError as error:
                raise InputError(f"{kind} cannot run SDPA: its attention is no plain softmax") from error
            with torch.no_grad():
                decoder(**{name: value.to(decoder.device) for name, value in inputs.items()}, use_cache=False)
        finally:
            decoder.set_attn_implementation(before)
            _active.reset(token)
    layers, ran = decoder.config.num_hidden_layers, len(recording.layers)
    said = f"{kind} ran softmax attention in {ran} of its {layers} layers: segment mass is defined for no other"
    require(ran == layers, said)
    return recording.layers


def _attention(module, query, key, value, attention_mask, scaling=None, is_causal=None, **kwargs):
    """What a layer calls. query (texts, heads, n, d); key, value (texts, key heads, n, d); mask (texts, 1, n, n) or None.

    Where most rows are asked for, their weights also give the layer's output, which is cheaper than SDPA beside them.
    """
    recording = _active.get()
    plain = partial(sdpa_attention_forward, module, query, key, value, attention_mask)
    kwargs |= {"scaling": scaling, "is_causal": is_causal}
    if recording is None:
        return plain(**kwargs)
    for name in ("softcap", "s_aux", "position_bias"):
        used = f"{type(module).__name__} uses {name}"
        require(kwargs.get(name) is None, f"{used}: its attention weights are not softmax(q k^T * scale)")
    n = query.shape[2]
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    causal = bool(causal) and attention_mask is None and n > 1
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    whole = 2 * sum(len(rows) for rows, _ in recording.texts) > n * len(recording.texts)
    masses, outputs = [], []
    for i, (rows, segments) in enumerate(recording.texts):
        mask = None if attention_mask is None else attention_mask[min(i, len(attention_mask) - 1), 0]
        indices = rows.to(query.device)
        columns = _indicators(segments, value[i])
        if whole:
            columns = torch.cat([columns, value[i].float()], -1)
            everything = _attend(query[i], key[i], columns, mask, causal, scale, torch.arange(n, device=query.device))
            mass, output = everything.split([len(segments), value.shape[-1]], -1)
            mass = mass[:, indices]
            outputs.append(output)
        else:
            mass = _attend(query[i], key[i], columns, mask, causal, scale, indices)
        masses.append(mass.mean(0) if recording.average_heads else mass)
    recording.layers.append(masses)
    if whole:
        return torch.stack(outputs).transpose(1, 2).to(query.dtype).contiguous(), None
    return plain(**kwargs)


def _indicators(segments: list[Segment], value: torch.Tensor) -> torch.Tensor:
    """(key heads, n, segments): 1 where a key is in the segment. As values, they turn attention into segment mass."""
    indicators = torch.zeros(value.shape[1], len(segments), device=value.device)
    for j, (start, end) in enumerate(segments):
        indicators[start:end, j] = 1
    return indicators.expand(len(value), -1, -1)


def _attend(query, key, value, mask, causal, scale, rows):
    """Attention of one text, a block of rows at a time: (heads, r, c) in float32.

    query (heads, n, d); key (key heads, n, d); value (key heads, n, c); rows (r,); mask (n, n) or None: True where a
    key is seen, or a number to add to the score.
    """
    heads, n, size = query.shape
    groups = len(key)
    key = key.float().transpose(1, 2)
    output = value.new_empty(heads, len(rows), value.shape[-1])
    step = max(32, _BLOCK // (heads * n))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        seen = int(block.max()) + 1 if causal else n  # no key after the block's last row
        scores = (query[:, block].float() * scale).view(groups, -1, size) @ key[:, :, :seen]
        scores = scores.view(heads, len(block), seen)
        # The lowest number and not -inf: a row of padding that sees no key must not become NaN.
        lowest = torch.finfo(scores.dtype).min
        if causal:
            near = int(block.min())  # every row of the block sees the keys before it
            hidden = torch.arange(near, seen, device=rows.device) > block[:, None]
            scores[:, :, near:].masked_fill_(hidden, lowest)
        elif mask is not None and mask.dtype == torch.bool:
            scores.masked_fill_(~mask[block], lowest)
        elif mask is not None:
            scores += mask[block]
        weights = scores.softmax(-1).view(groups, -1, seen)
        output[:, first : first + step] = (weights @ value[:, :seen]).view(heads, len(block), -1)
    return output


AttentionInterface.register(_NAME, _attention)
AttentionMaskInterface.register(_NAME, sdpa_mask)

if __name__ == "__main__":
    _print_peak(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
