"""Texts to vectors: sentence encoders, and causal language models by last-token pooling.

    "embedded", "minilm"    all-MiniLM-L6-v2, 384 dimensions, 256 tokens: the default of every notebook
    "smollm2"               SmolLM2-135M-Instruct, 576 dimensions, 8,192 tokens
    "hf:NAME_OR_FOLDER"     a sentence-transformers model (it has modules.json), or any causal language model

Vectors are float32 of length 1, so the inner product is the cosine. Batch size and order change them by
rounding only: in fp32 the cosine between two such results is above 1 - 1e-5. Every vector is stored the moment its
batch is done, under a hash of encoder, kind and text; a run that was killed goes on where it was. Taught in notebooks
00 and 10.

This module trains nothing, searches nothing (`mindscape.search` does), and uses one device.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import cached_file

from mindscape import assets, paths, store, weights
from mindscape.cache import Cache, digest
from mindscape.errors import InputError, require
from mindscape.store import Maker

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FORMS = '"embedded", "minilm", "smollm2" or "hf:NAME_OR_FOLDER"'


class Encoder(Protocol):
    """What the kit asks of an encoder. `fingerprint` changes with anything that changes a vector."""

    name: str
    dim: int

    @property
    def fingerprint(self) -> str: ...

    @property
    def maker(self) -> Maker: ...

    def encode(self, texts: Sequence[str], kind: str = "passage") -> np.ndarray:
        """float32 (texts, dim), rows of length 1. `kind` is "passage" or "query": some models read them differently."""
        ...


@dataclass(frozen=True)
class Counts:
    """What one call of `encode` did. `tokens` and `truncated` cover all its texts, also those found in the cache."""

    texts: int
    computed: int  # texts that the model read in this call
    truncated: int  # texts longer than the model reads: their ends count for nothing
    tokens: int  # that the model read, now or earlier, equal texts counted once each


def known(encoder: str) -> str:
    """The folder or the name on the hub that a short string says, empty for the kit's own encoders. Raises InputError for a
    string of another form.

    >>> known("minilm"), known("hf:BAAI/bge-m3")
    ('', 'BAAI/bge-m3')
    """
    kind, _, source = str(encoder).partition(":")
    source = source.strip()
    require(encoder in ("embedded", "minilm", "smollm2") or (kind == "hf" and source), f"encoder={encoder!r}: expected {FORMS}")
    return source


def load(
    encoder: str = "embedded", *, cache: bool = True, dtype: str = "float32", device: str | None = None, **options: Any
) -> "LocalEncoder":
    """The encoder that a short string names.

    `cache=False` computes anew each time. `device` defaults to the GPU if there is one. Other options go to `SentenceEncoder`
    or `LastTokenEncoder`: `max_tokens`, `prompts`, `batch_tokens`. Raises InputError for a string of another form, or for a
    model that cannot be loaded.

    >>> vectors = load("embedded").encode(["Who is there?", "Nay, answer me."])          # doctest: +SKIP
    >>> vectors.shape                                                                    # doctest: +SKIP
    (2, 384)
    >>> load("glove")
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: encoder='glove': expected "embedded", "minilm", "smollm2" or "hf:NAME_OR_FOLDER"
    """
    source, name = known(encoder), "minilm" if encoder == "embedded" else encoder
    options["store"] = Cache(paths.cache() / "vectors.sqlite") if cache else None
    folder = source or str(assets.fetch("minilm") if name == "minilm" else assets.language_model())
    precision, device = weights.placed(dtype, device)
    with weights.loading(f"encoder={encoder!r} cannot be loaded", folder, InputError):
        if cached_file(folder, "modules.json", _raise_exceptions_for_missing_entries=False):
            from sentence_transformers import SentenceTransformer  # two seconds, which most programs do without

            model = SentenceTransformer(folder, device=device, model_kwargs={"dtype": precision})
            made: LocalEncoder = SentenceEncoder(model, name=name, **options)
        else:
            model = weights.causal_model(folder, precision).to(device).eval()
            made = LastTokenEncoder(model, AutoTokenizer.from_pretrained(folder), name=name, **options)
    made._as_fetched = "" if source else made.fingerprint
    return made


def last_token_pool(hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """The hidden state of every text's last real token, wherever the padding is.

    `hidden`: (texts, n, dim); `attention_mask`: (texts, n), 1 for real tokens. Returns (texts, dim).

    >>> hidden = torch.arange(6.0).reshape(2, 3, 1)
    >>> last_token_pool(hidden, torch.tensor([[1, 1, 0], [0, 1, 1]])).flatten().tolist()
    [1.0, 5.0]
    """
    positions = torch.arange(attention_mask.shape[1], device=attention_mask.device)
    last = (attention_mask * positions).argmax(1)
    return hidden[torch.arange(len(hidden), device=hidden.device), last]


class LocalEncoder(ABC):
    """What both kinds of encoder share: truncation that is counted, batches by length, the cache.

    `model`: what was loaded; `transformer`: the bare module that turns token ids into hidden states; `tokenizer`;
    `max_tokens`: longer texts lose their end; `prompts`: text put before every text of a kind; `batch_tokens`: tokens a
    batch holds at most, padding included; `store`: where vectors are kept, or None. `limit`: tokens that the model can read,
    which is also what `max_tokens` is by default. `counts` tells what the last call
    did. A model that was trained in between gets another fingerprint, so no old vector is taken for a new one.
    """

    _as_fetched = ""  # the fingerprint of one of the kit's own assets, as it was loaded

    def __init__(
        self,
        model: nn.Module,
        transformer: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str,
        dim: int,
        limit: int,
        max_tokens: int | None = None,
        prompts: Mapping[str, str] | None = None,
        batch_tokens: int = 4096,
        store: Cache | None = None,
    ):
        self.max_tokens, self.batch_tokens = min(max_tokens or limit, limit), batch_tokens
        positive = self.max_tokens >= 1 and batch_tokens >= 1
        require(positive, f"max_tokens={max_tokens}, batch_tokens={batch_tokens}: expected both to be at least 1")
        self.model, self.transformer, self.tokenizer = model, transformer, tokenizer
        self.name, self.dim, self.store = name, dim, store
        self.prompts = {"passage": "", "query": "", **(prompts or {})}
        self.counts = Counts(0, 0, 0, 0)
        rules = json.loads(tokenizer.backend_tokenizer.to_str())
        # A control token's name in a text is data, read letter by letter, unless the model's own prompts hold such tokens.
        special = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
        self._splits = not any(token in prompt for token in special for prompt in self.prompts.values())
        self._tokenizer_hash = digest({**rules, "padding": None, "truncation": None})  # those change with every call

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, dim={self.dim}, max_tokens={self.max_tokens})"

    @property
    def fingerprint(self) -> str:
        """A hash of tokenizer, settings, precision and all weights, computed anew each time: see `mindscape.weights`."""
        settings = [type(self).__name__, self._tokenizer_hash, self.dim, self.max_tokens, self.prompts]
        return weights.fingerprint(self.model, self.transformer.config, *settings, *self._modules())

    @property
    def maker(self) -> Maker:
        """The asset and the settings of a model that the kit names, as it was loaded; for any other, the fingerprint."""
        return self._maker(self.fingerprint)

    def _maker(self, fingerprint: str) -> Maker:
        dtype = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        if fingerprint != self._as_fetched:
            return Maker(self.name, {"weights": fingerprint}, dtype)
        asset = assets.ASSETS[self.name].sha256
        return Maker(self.name, {"encoder": asset, "max_tokens": self.max_tokens, "prompts": self.prompts}, dtype)

    def _modules(self) -> list[str]:
        """What the model does besides `transformer`, where its configuration does not tell."""
        return []

    def encode(self, texts: Sequence[str], kind: str = "passage") -> np.ndarray:
        """float32 (texts, dim), rows of length 1, in the order of `texts`. Equal texts are computed once.

        Raises InputError for an empty text, for what is not text, and for an unknown kind.
        """
        _check(texts, kind, self.prompts)
        fingerprint = self.fingerprint
        keys = {text: digest(fingerprint, kind, text) for text in texts}
        packed = {} if self.store is None else self.store.get(keys.values())
        missing = [text for text in keys if keys[text] not in packed]
        prompt = self.prompts[kind]
        for batch, lengths in self._batches(missing, prompt):
            vectors = nn.functional.normalize(self._vectors(batch, prompt).float(), dim=-1).cpu().numpy()
            done = {keys[text]: _pack(vector, n) for text, vector, n in zip(batch, vectors, lengths, strict=True)}
            if self.store is not None:
                self.store.put(done)
            packed.update(done)
        label = self._maker(fingerprint).label if self._as_fetched else f"{self.name}-{fingerprint[:8]}"
        store.current().note("vector", label, cached=len(keys) - len(missing), computed=len(missing))
        unpacked = {text: _unpack(packed[key]) for text, key in keys.items()}
        truncated = sum(unpacked[text][1] > self.max_tokens for text in texts)
        tokens = sum(min(n, self.max_tokens) for _, n in unpacked.values())
        self.counts = Counts(len(texts), len(missing), truncated, tokens)
        return np.array([unpacked[text][0] for text in texts], dtype=np.float32).reshape(len(texts), self.dim)

    def batches(self, texts: Sequence[str], kind: str = "passage") -> list[list[str]]:
        """The texts as `encode` would read them: the longest first, in batches of at most `batch_tokens` tokens."""
        _check(texts, kind, self.prompts)
        return [batch for batch, _ in self._batches(texts, self.prompts[kind])]

    def _batches(self, texts: Sequence[str], prompt: str) -> Iterator[tuple[list[str], list[int]]]:
        """Batches of texts with their lengths in tokens, before truncation."""
        if not texts:
            return
        # not verbose: it would warn of every text that is too long, which is counted instead
        ids = self._ids(texts, prompt, verbose=False)
        ranked, start = sorted(zip(map(len, ids), texts, strict=True), key=lambda pair: -pair[0]), 0
        while start < len(ranked):
            longest = max(1, min(ranked[start][0], self.max_tokens))
            batch = ranked[start : start + max(1, self.batch_tokens // longest)]
            yield [text for _, text in batch], [n for n, _ in batch]
            start += len(batch)

    def _ids(self, texts: Sequence[str], prompt: str, **options: Any) -> list[list[int]]:
        """Token ids of each text."""
        how = {"split_special_tokens": self._splits, **options}
        return self.tokenizer([prompt + text for text in texts], **how)["input_ids"]

    @abstractmethod
    def _vectors(self, texts: list[str], prompt: str) -> torch.Tensor:
        """(texts, dim), of any length, in one pass of the model."""


class SentenceEncoder(LocalEncoder):
    """An encoder of sentence-transformers, with the model's own pooling, prompts and length.

    >>> encoder = SentenceEncoder(SentenceTransformer("folder"), name="mine")            # doctest: +SKIP
    """

    model: "SentenceTransformer"

    def __init__(self, model: "SentenceTransformer", *, prompts: Mapping[str, str] | None = None, **options: Any):
        own = {"passage" if kind == "document" else kind: prompt for kind, prompt in model.prompts.items()}
        limit = model.max_seq_length or model.tokenizer.model_max_length
        options |= {"dim": model.get_embedding_dimension(), "limit": limit, "prompts": own if prompts is None else prompts}
        super().__init__(model, model.transformers_model, model.tokenizer, **options)
        model.max_seq_length = self.max_tokens
        model.tokenizer.split_special_tokens = self._splits  # the library calls it by itself

    def _modules(self) -> list[str]:
        return [repr(module) for module in self.model]  # the pooling mode, for example: it has no weights

    def _vectors(self, texts: list[str], prompt: str) -> torch.Tensor:
        return self.model.encode(texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, convert_to_tensor=True)


class LastTokenEncoder(LocalEncoder):
    """A causal language model whose vector of a text is the last layer's hidden state at the text's last token.

    That token is the only one that has read the whole text. MiA-RAG's MiA-Emb and Qwen3-Embedding read vectors so. The
    tokenizer decides whether an end token follows the text, unless `special_tokens` is False: then none does.

    >>> encoder = LastTokenEncoder(trained, tokenizer, name="mine")                      # doctest: +SKIP
    """

    model: PreTrainedModel

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, special_tokens: bool = True, **options: Any
    ):
        config = model.config.get_text_config()
        sizes = {"dim": config.hidden_size, "limit": config.max_position_embeddings}
        super().__init__(model, model.get_decoder(), tokenizer, **sizes, **options)
        self.special_tokens = special_tokens

    def _modules(self) -> list[str]:
        return [] if self.special_tokens else ["no special tokens"]

    def _ids(self, texts: Sequence[str], prompt: str, **options: Any) -> list[list[int]]:
        return super()._ids(texts, prompt, add_special_tokens=self.special_tokens, **options)

    def _vectors(self, texts: list[str], prompt: str) -> torch.Tensor:
        ids = self._ids(texts, prompt, truncation=True, max_length=self.max_tokens)
        rows = [torch.tensor(row, device=self.model.device) for row in ids]
        input_ids = pad_sequence(rows, True)  # with zeros: which id pads does not matter, it is masked
        mask = pad_sequence([torch.ones_like(row) for row in rows], True)
        positions = mask.cumsum(1) - 1
        training = self.model.training
        self.model.eval()
        try:
            with torch.no_grad():
                output = self.transformer(input_ids, attention_mask=mask, position_ids=positions, use_cache=False)
        finally:
            self.model.train(training)
        return last_token_pool(output.last_hidden_state, mask)


def _check(texts: Sequence[str], kind: str, prompts: Mapping[str, str]) -> None:
    require(not isinstance(texts, str), "texts is one text: expected a list of them")
    for i, text in enumerate(texts):
        require(isinstance(text, str), f"text {i} is a {type(text).__name__}: expected str")
        require(text.strip(), f"text {i} is empty: expected some text")
    require(kind in prompts, f"kind={kind!r}: expected one of {', '.join(prompts)}")


def _pack(vector: np.ndarray, tokens: int) -> bytes:
    """A vector and its text's length in tokens, so that a cached text is still known to be truncated."""
    return tokens.to_bytes(4, "little") + vector.astype("<f4").tobytes()


def _unpack(value: bytes) -> tuple[np.ndarray, int]:
    return np.frombuffer(value, dtype="<f4", offset=4), int.from_bytes(value[:4], "little")
