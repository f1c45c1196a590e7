"""A causal language model on this machine, through transformers: batched, with common heads read once.

The prompts of a call often begin alike: instructions, a summary, a whole book, and then some of them the same passages.
What is common is read once, however nested, also with what the call before read last. What comes out is what a plain run
gives, up to rounding: in fp32 greedy texts are equal and log-probabilities agree to 1e-4. In bf16 a near tie may fall the
other way in another batch or on another machine, and a text goes another way from there; log-probabilities move by some
thousandths a token.

Taught in notebook 00. Not here: training, quantised weights, several devices, streaming.
"""

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from os.path import commonprefix
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import jinja2
import numpy as np
import torch
import transformers
from llguidance import LLMatcher
from llguidance.hf import from_tokenizer
from torch.nn import functional
from transformers import AutoConfig, AutoTokenizer, DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from mindscape import weights
from mindscape.cache import digest
from mindscape.environment import processor
from mindscape.errors import InputError, LLMError, require
from mindscape.llm.base import Form, Forms, Prompt, Prompts, Replies, Reply, Sampling, Score, Tools, for_each, mapped
from mindscape.llm.schema import in_words, read_calls
from mindscape.store import Maker, watch

SHOWN = re.compile("\ue000([0-9]+)\ue001")
Rows = list[list[int]]  # token ids
FEW = 8  # rows
KEPT = 2048  # tokens of a head that wait for the next call: 94 MB of the embedded model's
STRETCH = 16  # tokens that a batch writes before the rows that have ended leave it


def pretrained(
    source: str | Path,
    name: str,
    *,
    adapter: str | Path | None = None,
    dtype: str = "auto",
    device: str | None = None,
    batch_size: int = 8,
    batch_tokens: int = 16_384,
) -> "Local":
    """The model in a folder, or by its name on the hub if there is a network.

    `adapter`: the folder of a LoRA adapter, which is added to the weights.

    `dtype`: "float32", "bfloat16", "float16", or "auto": see `mindscape.weights.placed`. `device`
    defaults to the GPU if there is one. Raises LLMError if the model cannot be loaded, InputError for an unknown dtype
    and for a folder that holds no adapter of this model.
    """
    precision, device = weights.placed(dtype, device)
    loading = partial(weights.loading, f"cannot load {name}", source, LLMError)

    def weights_of() -> PreTrainedModel:
        with loading():
            model: Any = weights.causal_model(source, torch.float32 if adapter else precision)
        if adapter:  # added in float32: the sum of both, not each, is rounded to the precision
            model = weights.merged_model(model, adapter)
            model = model.to(precision)
        return model.to(device).eval()

    with loading():
        tokenizer = AutoTokenizer.from_pretrained(source)
    maker = weights.known_maker(source, adapter, precision, name)
    late = maker is not None and (adapter is None or weights.is_shipped(adapter))  # its files are known to be whole
    model = Weights(weights_of, AutoConfig.from_pretrained(source)) if late else weights_of()
    return Local(model, tokenizer, name, batch_size=batch_size, batch_tokens=batch_tokens, maker=maker)


@dataclass(frozen=True)
class Weights:
    """Weights that are read when they are first needed: what the store holds is found without them."""

    load: Callable[[], PreTrainedModel]
    config: transformers.PreTrainedConfig


class Local:
    """The backend of "embedded" and "hf:...", and of a model that a notebook holds in its hands.

    `batch_size` rows, and at most `batch_tokens` tokens of keys and values, are kept at a time. The model's own
    sampling defaults (its generation config) are set aside: what a call says is what is done.

    >>> from mindscape import llm
    >>> llm.LanguageModel(Local(trained, tokenizer, "mine")).complete("To be").text         # doctest: +SKIP
    ', or not to be'
    """

    steady = True  # asked again it says the same, so that what cannot be used is kept, too

    def __init__(
        self,
        model: PreTrainedModel | Weights,
        tokenizer: transformers.PreTrainedTokenizerBase,
        name: str,
        *,
        batch_size: int = 8,
        batch_tokens: int = 16_384,
        maker: Maker | None = None,
    ):
        self._weights, self._maker, self.tokenizer, self.name = model, maker, tokenizer, name
        self._loaded = ""  # the fingerprint of weights as they were loaded
        self.batch_size, self.batch_tokens = batch_size, batch_tokens
        self._special = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
        config = model.config.get_text_config()
        self.context = getattr(config, "max_position_embeddings", None)
        ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
        ends = tokenizer.eos_token_id if ends is None else ends
        self.ends = [] if ends is None else [ends] if isinstance(ends, int) else list(ends)
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (self.ends or [0])[0]
        if not isinstance(model, Weights):
            self._settle(model)
        # A padded row sees its head from further away than its positions say. Only layers that see everything can
        # share a head with padding behind it; sliding windows, recurrent states and MPT's distances by column cannot.
        kinds = DynamicCache(config=config)
        self.shares = not any(kinds.is_sliding) and not any(kinds.is_linear) and config.model_type != "mpt"
        self._tokenizer_hashes: dict[str, str] = {}  # by chat template: the vocabulary takes too long for each call
        # A novel takes a twentieth of a second, and each method asks for its length.
        self._count = lru_cache(1024)(lambda text: len(tokenizer(text, verbose=False)["input_ids"]))
        self._last: _Head | None = None  # of the call before
        self._compiled: tuple[str, LLMatcher] | None = None  # the last schema: many replies are held against one
        self._stopping = lru_cache(8)(partial(transformers.StopStringCriteria, tokenizer))  # it reads the vocabulary, too

    @property
    def model(self) -> PreTrainedModel:
        """The network; a named one is loaded here, when it is first asked for."""
        if isinstance(self._weights, Weights):
            self._weights = self._settle(self._weights.load())
        return self._weights

    def _settle(self, model: PreTrainedModel) -> PreTrainedModel:
        model.generation_config = transformers.GenerationConfig(eos_token_id=self.ends or None, pad_token_id=self.pad)
        if self._maker is not None:
            self._loaded = weights.fingerprint(model, model.config)
        head = model.get_output_embeddings()
        if head is not None and _in_one_piece not in head._forward_pre_hooks.values():  # another Local may hold it
            head.register_forward_pre_hook(_in_one_piece)
        if torch.backends.mkl.is_available() and "AMD" in processor():
            for layer in model.modules():
                if type(layer) is torch.nn.Linear:
                    layer.__class__ = _Turned
        return watch(model, self._maker.label if self._maker else self.name)

    @property
    def maker(self) -> Maker:
        """Base, adapter and template of a named model as it was loaded; for any other, a hash of all that it is."""
        named = self._maker
        if named is None or (self._loaded and self._loaded != weights.fingerprint(self.model, self.model.config)):
            dtype = str(self.model.dtype).removeprefix("torch.")
            return Maker(named.name if named else self.name, {"weights": self.fingerprint}, dtype)
        return replace(named, about={**named.about, "template": digest(str(self.tokenizer.chat_template))[:8]})

    @property
    def fingerprint(self) -> str:
        """A hash of tokenizer, configuration, precision and every weight.

        Computed anew at each call, in less than 0.1 s for the embedded model: a notebook may have trained the model, or
        edited the chat template, in between. Only the tokenizer's vocabulary is taken to stay as it is.
        """
        template = str(self.tokenizer.chat_template)
        if template not in self._tokenizer_hashes:
            self._tokenizer_hashes[template] = digest(self.tokenizer.backend_tokenizer.to_str(), template)
        return weights.fingerprint(self.model, self.model.config, self._tokenizer_hashes[template])

    def count_tokens(self, prompt: Prompt, tools: Tools = ()) -> int:
        """Exactly what the model would read."""
        return self._count(prompt) if isinstance(prompt, str) else len(self._tokens(prompt, tools))

    def _tokens(self, prompt: Prompt, tools: Tools = ()) -> list[int]:
        if isinstance(prompt, str):
            return self.tokenizer(prompt, verbose=False)["input_ids"]
        require(self.tokenizer.chat_template, f"{self.name} has no chat template: use complete, or a model tuned to chat")
        native = "tools" in self.tokenizer.get_chat_template()
        messages, offered = (mapped(list(given), self._shown) for given in (prompt, tools))
        try:
            shown = list(messages) if native else in_words(messages, offered)
            how: dict[str, Any] = {"tools": list(offered) or None if native else None, "add_generation_prompt": True}
            text = self.tokenizer.apply_chat_template(shown, tokenize=False, **how)
        except jinja2.TemplateError as error:
            raise InputError(f"the chat template of {self.name} refuses the conversation: {error}") from error
        pieces = SHOWN.split(str(text))  # every second one is a control token that stands in the data
        pieces[1::2] = (self._special[int(piece)] for piece in pieces[1::2])
        return [token for i, piece in enumerate(pieces) for token in self._encode(piece, data=i % 2 == 1)]

    def _shown(self, text: str) -> str:
        """A text without the template's control tokens: a mark in the place of each."""
        for i, special in enumerate(self._special):
            text = text.replace(special, f"\ue000{i}\ue001")
        return text

    def _encode(self, text: str, data: bool = False) -> list[int]:
        """The tokens of a text; `data` has no control tokens, but what they are called letter by letter."""
        return self.tokenizer(text, add_special_tokens=False, split_special_tokens=data, verbose=False)["input_ids"]

    def _fits(self, tokens: int, written: int, which: str) -> None:
        if self.context is not None and tokens + written > self.context:
            more = f" and may write {written:,} (max_new_tokens)" if written else ""
            holds = f"{self.name} holds {self.context:,}; shorten the prompt or split it"
            raise InputError(f"{which} has {tokens:,} tokens{more}: {holds}")

    # ---------------------------------------------------------------- writing

    def generate(self, prompts: Prompts, sampling: Sampling, tools: Tools = (), schema: Forms = None) -> Replies:
        """Replies, a batch at a time; prompts that begin alike are neighbours."""
        rows = [self._tokens(prompt, tools) for prompt in prompts]
        for i, row in enumerate(rows):
            require(row, f"prompt {i} is empty: expected some text to continue")
            self._fits(len(row), sampling.max_new_tokens, f"prompt {i}")
        grammars = [] if schema is None else self._grammars(for_each(schema, len(rows)))
        head = self._head()
        order = sorted(range(len(rows)), key=rows.__getitem__ if self.shares else lambda i: len(rows[i]))
        for batch, _ in self._batches(rows, [0] * len(rows), order, sampling.max_new_tokens, call=float("inf")):
            started = perf_counter()
            written = self._write([rows[i] for i in batch], head, sampling, [grammars[i] for i in batch if grammars])
            seconds = (perf_counter() - started) / len(batch)
            for i, tokens in zip(batch, written, strict=True):
                reply = self._reply(tokens, sampling, len(rows[i]), seconds)
                yield i, read_calls(reply) if tools else reply
        self._last = head.shortened()

    @torch.inference_mode()
    def _write(self, rows: Rows, head: "_Head", sampling: Sampling, grammars: Sequence[str]) -> Rows:
        """New tokens of each row of a batch. Rows that have ended leave it every `STRETCH` tokens."""
        ids, mask = self._padded(rows, 0)
        processors: list[transformers.LogitsProcessor] = []
        if grammars:
            processors.append(_HeldTo(grammars, self._constraints))
        if sampling.temperature > 0:
            processors.append(transformers.TemperatureLogitsWarper(float(sampling.temperature)))
            if sampling.top_p < 1:
                processors.append(transformers.TopPLogitsWarper(float(sampling.top_p)))
            processors.append(_Drawn([int(digest(sampling.seed, row)[:15], 16) for row in rows]))
        cache = self._read(rows, mask, head, sampling.max_new_tokens) if self.shares else None
        written: Rows = [[] for _ in rows]
        going, left = list(range(len(rows))), sampling.max_new_tokens
        how: dict[str, Any] = {"do_sample": False, "logits_processor": processors}
        if sampling.stop:
            how["stopping_criteria"] = transformers.StoppingCriteriaList([self._stopping(sampling.stop)])
        generate: Any = self.model.generate
        while going and left:
            stretch = min(STRETCH, left) if self.shares else left
            inputs = {"input_ids": ids, "attention_mask": mask, "past_key_values": cache}
            out = generate(**inputs, max_new_tokens=stretch, **how)
            for i, new in zip(going, out[:, ids.shape[1] :].tolist(), strict=True):
                written[i] += new
            left -= stretch
            ended = [self._reply(written[i], sampling, 0, 0.0).finish == "stop" for i in going]
            kept = [k for k, stops in enumerate(ended) if left and not stops]
            mask = torch.cat([mask, mask.new_ones(len(going), out.shape[1] - ids.shape[1])], 1)[kept]
            ids, going = out[kept], [going[k] for k in kept]
            for each in processors:
                if isinstance(each, _ByRow):
                    each.keep(kept)
            if kept:
                cache.batch_select_indices(torch.tensor(kept, device=ids.device))
        return written

    def _read(self, rows: list[list[int]], mask: torch.Tensor, head: "_Head", new: int) -> DynamicCache:
        """Keys and values of all tokens of the rows but the last ones, where the mask has them.

        There is room for so many `new` tokens. Rows that have much in common are read together, behind a head; of others each
        goes on from where it leaves the row before it.
        """
        before, cache = [row[:-1] for row in rows], self._empty()
        lengths, order = [len(row) for row in before], [i for i, row in enumerate(before) if row]
        for batch, shared in self._batches(before, lengths, order, 0, self._call):
            ids, here = self._padded([before[i] for i in batch], shared)
            shared = ids.shape[1] if len(batch) == 1 else shared
            part = head.read(before[batch[0]][:shared]).for_rows(len(batch)) if shared else self._empty()
            if ids.shape[1] > shared:
                positions = (here.cumsum(1) - 1).clamp(min=0)[:, shared:]
                about = {"attention_mask": here, "position_ids": positions, "past_key_values": part}
                self.model.get_decoder()(input_ids=ids[:, shared:], **about)
            if not cache.is_initialized:
                cache.layers = [_Roomy(layer, len(rows), mask.shape[1] - 1, new + 1) for layer in _layers(part)]
            for k, i in enumerate(batch):
                place, own = mask[i, :-1].bool(), here[k].bool()
                for layer, to in zip(_layers(part), _layers(cache), strict=True):
                    to.keys[i][:, place], to.values[i][:, place] = layer.keys[k][:, own], layer.values[k][:, own]
        return cache

    def _head(self) -> "_Head":
        """What the call before read last, if the weights are what they were: an agent's prompts begin alike. A call takes it
        along and leaves its own behind when it ends, so that two at a time never share one."""
        last, self._last = self._last, None
        weighed = weights.fingerprint(self.model, self.model.config)
        return last if last and last.weighed == weighed else _Head(self.model, weighed)

    def _empty(self) -> DynamicCache:
        return DynamicCache(config=self.model.config)

    @property
    def _call(self) -> int:
        """What a forward pass costs by itself, in tokens."""
        return 32 if self.model.device.type == "cpu" else 2048

    def _reply(self, tokens: list[int], sampling: Sampling, prompt_tokens: int, seconds: float) -> Reply:
        end = next((k for k, token in enumerate(tokens) if token in self.ends), None)
        text = str(self.tokenizer.decode(tokens[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False))
        cut = min((at for at in (text.find(stop) for stop in sampling.stop) if at >= 0), default=None)
        written = len(tokens) if end is None else end + 1
        finish = "length" if end is None and cut is None else "stop"
        return Reply(text[:cut], (), prompt_tokens, written, finish, seconds)

    # ---------------------------------------------------------------- scoring

    def score(self, pairs: Sequence[tuple[Prompt, str]]) -> Iterator[tuple[int, Score]]:
        """Log-probabilities of the continuations, a batch at a time, pairs with a common beginning together."""
        befores, afters, rows = [], [], []
        for i, (prompt, continuation) in enumerate(pairs):
            before = self._tokens(prompt) or [self.tokenizer.bos_token_id]
            require(before != [None], f"prompt {i} is empty, and {self.name} has no begin-of-text token: expected some text")
            after = self._encode(continuation, data=not isinstance(prompt, str))
            self._fits(len(before) + len(after), 0, f"prompt {i} with its continuation")
            befores.append(before)
            afters.append(after)
            rows.append(before + after[:-1])  # the last token is predicted, and never read
            if not after:
                yield i, Score(0.0, 0, len(before))
        head = self._head()
        order = sorted((i for i in range(len(rows)) if afters[i]), key=lambda i: (befores[i], len(afters[i])))
        most = [len(before) - 1 if self.shares else 0 for before in befores]
        for batch, shared in self._batches(rows, most, order, 0, self._call):
            started = perf_counter()
            sums = self._log_probabilities([rows[i] for i in batch], [afters[i] for i in batch], shared, head)
            seconds = (perf_counter() - started) / len(batch)
            for i, logprob in zip(batch, sums, strict=True):
                yield i, Score(logprob, len(afters[i]), len(befores[i]), seconds)
        self._last = head.shortened()

    @torch.inference_mode()
    def _log_probabilities(self, rows: Rows, afters: Rows, shared: int, head: "_Head") -> list[float]:
        """Sum of log p over each row's continuation, whose tokens are what the row's last positions predict.

        The rows are read in pieces, so that the logits of a long continuation (positions × vocabulary) stay small.
        """
        ids, mask = self._padded(rows, shared)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        targets = torch.full_like(ids, -100)
        for row, after in enumerate(afters):
            targets[row, -len(after) :] = torch.tensor(after)
        first = ids.shape[1] - max(map(len, afters))  # no row predicts its continuation before this position
        cache = head.read(rows[0][:shared]).for_rows(len(rows)) if shared else self._empty()
        sums = torch.zeros(len(rows), dtype=torch.float64)
        piece = max(64, 1024 // len(rows))
        for start in range(shared, ids.shape[1], piece):
            part = slice(start, start + piece)
            wanted = targets[:, max(start, first) : start + piece]
            inputs = {"input_ids": ids[:, part], "attention_mask": mask[:, : start + piece], "past_key_values": cache}
            inputs |= {"position_ids": positions[:, part], "logits_to_keep": max(1, wanted.shape[1])}
            logits = self.model(**inputs).logits
            if wanted.shape[1]:
                of_all = logits.float().flatten(0, 1), wanted.flatten()
                loss = functional.cross_entropy(*of_all, ignore_index=-100, reduction="none")
                sums -= loss.view(wanted.shape).double().sum(1).cpu()
        return sums.tolist()

    # ---------------------------------------------------------------- batches

    def _batches(
        self, rows: Rows, most: list[int], order: Sequence[int], new: int, call: float
    ) -> Iterator[tuple[list[int], int]]:
        """Batches of rows in the given order, each with the length of the head that its rows share.

        A row joins the batch before it if that saves work: tokens read together (the head once, tails padded to the
        longest) against tokens read apart plus `call`, what a forward pass costs by itself, in tokens. Where rows differ
        in length attention is masked, which costs a token about a 4,000th more for each token that it sees. A head is no
        longer than `most` of any of its rows: what comes after must be read with logits. A head that saves less than
        the pass it costs counts as none.
        """

        def worth(shared: int) -> int:
            return shared if len(rows) > 1 and shared >= 32 else 0

        batch: list[int] = []
        shared = longest = shortest = cost = 0
        for i in order:
            length = len(rows[i])
            if batch:
                common = len(commonprefix([rows[batch[0]][:shared], rows[i][: most[i]]]))
                top, low = max(longest, length), min(shortest, length)
                masked = (top - common) * top // 4_000 if low < top else 0
                together = common + (len(batch) + 1) * (top - common + masked)
                fits = len(batch) < self.batch_size and (len(batch) + 1) * (top + new) <= self.batch_tokens
                if fits and together <= cost + (length - common) + call:
                    batch.append(i)
                    shared, longest, shortest, cost = common, top, low, together
                    continue
                yield batch, worth(shared)
            batch, shared, longest, shortest, cost = [i], most[i], length, length, length
        if batch:
            yield batch, worth(shared)

    def _padded(self, rows: list[list[int]], shared: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask, both rows × (head + longest tail); the padding stands between head and tail."""
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self.pad)
        mask = torch.zeros_like(ids)
        for k, row in enumerate(rows):
            ids[k, :shared], mask[k, :shared] = torch.tensor(row[:shared]), 1
            ids[k, width - len(row) + shared :], mask[k, width - len(row) + shared :] = torch.tensor(row[shared:]), 1
        return ids.to(self.model.device), mask.to(self.model.device)

    # ---------------------------------------------------------------- schema

    def could_write(self, text: str, schema: Form) -> bool:
        """Whether decoding held to the schema leaves the way to this text and its end open."""
        compiled, form = self._compiled, repr(schema)  # equal dicts may differ in their order, which decoding keeps to
        if compiled is None or compiled[0] != form:
            compiled = self._compiled = form, LLMatcher(self._constraints, self._grammar(schema))
        matcher, tokens = compiled[1].deep_copy(), self._encode(text)
        return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

    @cached_property
    def _constraints(self) -> Any:
        """llguidance's view of the vocabulary: takes about half a second, so only when it is needed."""
        late = isinstance(self._weights, Weights)
        vocabulary = self._weights.config.vocab_size if late else self.model.get_output_embeddings().weight.shape[0]
        fast = cast(transformers.PreTrainedTokenizerFast, self.tokenizer)  # it takes no other, and says so
        return from_tokenizer(fast, n_vocab=vocabulary, eos_token=self.ends or None)

    def _grammars(self, schemas: Sequence[Form]) -> list[str]:
        made = {form: self._grammar(schema) for form, schema in {repr(schema): schema for schema in schemas}.items()}
        return [made[repr(schema)] for schema in schemas]

    def _grammar(self, schema: Form) -> str:
        if "lark" in schema:
            grammar = LLMatcher.grammar_from_lark(schema["lark"])
        else:  # one line, spaced as json.dumps does: models have seen it most, and free whitespace invites endless blanks
            spaced: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
            grammar = LLMatcher.grammar_from_json_schema(dict(schema), defaults=spaced)
        problem = LLMatcher.validate_grammar(grammar, self._constraints)
        require(not problem, f"decoding cannot be held to the schema: {' '.join(problem.split()):.200}")
        return grammar


def _in_one_piece(_: torch.nn.Module, states: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Hidden states as a tensor of their own.

    For the last places of a longer tensor, torch multiplies row by row with a copy of the vocabulary's weights each: on a
    processor 0.16 s a row in bf16, where all rows together take 0.005 s.
    """
    return (states[0].clone(memory_format=torch.contiguous_format), *states[1:])


class _Turned(torch.nn.Linear):
    """Multiplies the weights with the rows, not the rows with the weights, where there are few of them.

    MKL, which PyTorch multiplies with, has kernels of its own for so few rows, and on a processor that is no Intel they are
    slow: a single row takes 50 ms for all weights of the embedded model, two rows turned 18, with two threads.
    """

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        count = states.numel() // states.shape[-1]
        few = 0 < count <= FEW and states.dtype == torch.float32 and states.device.type == "cpu"
        if not few or torch.is_grad_enabled():
            return super().forward(states)
        rows = states.reshape(count, -1)
        rows = rows.repeat(2, 1) if count == 1 else rows
        sums = (self.weight @ rows.T).T[:count].contiguous()
        sums = sums if self.bias is None else sums + self.bias
        return sums.view(*states.shape[:-1], -1)


class _Head:
    """The keys and values of a head that several rows share; what the next head has in common is kept."""

    def __init__(self, model: PreTrainedModel, weighed: str):
        self.model, self.weighed = model, weighed  # the weights' hash
        self.tokens: list[int] = []
        self.cache = DynamicCache(config=model.config)

    def read(self, tokens: list[int], piece: int = 8192) -> "_Head":
        kept = len(commonprefix([self.tokens, tokens]))
        self.cache.crop(kept - len(self.tokens))
        for start in range(kept, len(tokens), piece):
            ids = torch.tensor([tokens[start : start + piece]], device=self.model.device)
            self.model.get_decoder()(input_ids=ids, past_key_values=self.cache)
        self.tokens = tokens
        return self

    def shortened(self) -> "_Head":
        """Its first `KEPT` tokens, in memory of their own."""
        if len(self.tokens) > KEPT:
            self.cache.crop(KEPT - len(self.tokens))
            self.tokens = self.tokens[:KEPT]
            for layer in _layers(self.cache):
                layer.keys, layer.values = layer.keys.clone(), layer.values.clone()
        return self

    def for_rows(self, rows: int) -> DynamicCache:
        """A cache of so many rows that starts with the head, which stays as it is: growing makes new tensors."""
        cache = copy.copy(self.cache)
        cache.layers = [copy.copy(layer) for layer in cache.layers]
        for layer in _layers(cache):
            layer.keys, layer.values = layer.keys.expand(rows, -1, -1, -1), layer.values.expand(rows, -1, -1, -1)
        return cache


def _layers(cache: DynamicCache) -> list[DynamicLayer]:
    """Its layers, all of one kind: among others nothing is shared (`Local.shares`)."""
    return cast(list[DynamicLayer], cache.layers)


class _Roomy(DynamicLayer):
    """Keys and values of `held` tokens, zeros at first, with room for more: to grow copies nothing.

    transformers' own layer copies everything it holds for each new token, which took five sixths of the time of writing.
    """

    def __init__(self, like: DynamicLayer, rows: int, held: int, room: int):
        super().__init__()
        self.lazy_initialization(like.keys, like.values)
        self._all = [x.new_zeros(rows, x.shape[1], held + room, x.shape[3]) for x in (like.keys, like.values)]
        self.keys, self.values = (x[:, :, :held] for x in self._all)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        start = self.keys.shape[2]
        end = start + key_states.shape[2]
        for whole, new in zip(self._all, (key_states, value_states), strict=True):
            whole[:, :, start:end] = new
        self.keys, self.values = (x[:, :, :end] for x in self._all)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        held, self._all = self.keys.shape[2], [x[indices] for x in self._all]
        self.keys, self.values = (x[:, :, :held] for x in self._all)


class _ByRow(transformers.LogitsProcessor):
    """Has something of its own for each row."""

    of_rows: list[Any]

    def keep(self, rows: Sequence[int]) -> None:
        self.of_rows = [self.of_rows[row] for row in rows]


class _HeldTo(_ByRow):
    """Leaves each row only the tokens that its grammar allows next."""

    def __init__(self, grammars: Sequence[str], tokenizer: Any):
        self.of_rows = [LLMatcher(tokenizer, grammar) for grammar in grammars]
        self.begun = False

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if self.begun:
            for matcher, token in zip(self.of_rows, input_ids[:, -1].tolist(), strict=True):
                if not matcher.is_stopped() and not matcher.consume_token(token):
                    raise LLMError(f"constrained decoding failed: {matcher.get_error()}")
        self.begun = True
        bits = np.frombuffer(b"".join(matcher.compute_bitmask() for matcher in self.of_rows), dtype=np.uint8)
        allowed = np.unpackbits(bits.reshape(len(self.of_rows), -1), axis=1, bitorder="little", count=scores.shape[1])
        return scores.masked_fill(~torch.from_numpy(allowed.astype(bool)).to(scores.device), float("-inf"))


class _Drawn(_ByRow):
    """Turns the arg max that follows into a draw from the softmax (the Gumbel-max trick).

    Each row has a generator of its own, seeded by the call's seed and the row's prompt: what a row draws does not
    depend on the rows beside it.
    """

    def __init__(self, seeds: Sequence[int]):
        self.of_rows = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        width = scores.shape[1]
        waits = torch.stack([torch.empty(width).exponential_(generator=g) for g in self.of_rows])
        return scores - waits.log().to(scores.device)
