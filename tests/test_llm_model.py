"""What stands around a backend: cache, ledger, cap, estimate, recording and replay, short strings."""

import json
from functools import partial
from pathlib import Path

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator
from stubs import user

from mindscape import llm
from mindscape.errors import BudgetReached, LLMError
from mindscape.llm.base import estimated_tokens
from mindscape.llm.recording import price
from mindscape.store import Store


class Parrot:
    """A backend that says what it is told to, backwards through the list, and remembers what it was asked."""

    name, context = "openai:gpt-4o", None

    def __init__(self, says=lambda prompt: f"{prompt} indeed", fingerprint="parrot"):
        self.says, self.fingerprint, self.requests = says, fingerprint, []

    def generate(self, prompts, sampling, tools=(), schema=None):
        for i in reversed(range(len(prompts))):
            text = prompts[i] if isinstance(prompts[i], str) else prompts[i][-1]["content"]
            self.requests.append(text)
            yield i, llm.Reply(self.says(text), prompt_tokens=len(text), completion_tokens=10, seconds=0.5)

    def score(self, pairs):
        for i, (prompt, continuation) in enumerate(pairs):
            self.requests.append((prompt, continuation))
            yield i, llm.Score(-float(len(continuation)), len(continuation), len(prompt))

    def count_tokens(self, prompt, tools=()):
        return len(prompt) if isinstance(prompt, str) else sum(len(m["content"]) for m in prompt)


class Person(BaseModel):
    name: str


class Aged(BaseModel):
    age: int


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "replies.sqlite")


def test_it_is_an_llm():
    model = llm.LanguageModel(Parrot())
    assert isinstance(model, llm.LLM)
    assert model.complete("a").text == "a indeed" and model.complete(["a"])[0].text == "a indeed"
    assert model.chat(user("a")).text == "a indeed" and model.chat([user("a")])[0].text == "a indeed"
    assert [s.logprob for s in model.score("p", ["a", "bb"])] == [-1, -2]
    assert [[s.logprob for s in scores] for scores in model.score(["p", "q"], [["a"], []])] == [[-1], []]
    assert model.complete([]) == [] and model.chat([]) == [] and model.score("p", []) == []


@given(st.lists(st.text(max_size=3), max_size=12))
def test_order_is_kept_and_a_question_asked_once(prompts):
    parrot = Parrot()
    model = llm.LanguageModel(parrot)
    assert [reply.text for reply in model.complete(prompts)] == [f"{prompt} indeed" for prompt in prompts]
    assert sorted(parrot.requests) == sorted(set(prompts))
    assert model.ledger.calls == len(prompts) and model.ledger.cached == len(prompts) - len(set(prompts))


def test_the_cache_answers_the_same_question_and_no_other(store):
    parrot = Parrot()
    first = llm.LanguageModel(parrot, store=store).complete(["a", "b"])
    again = llm.LanguageModel(parrot, store=store)
    assert [r.text for r in again.complete(["b", "a"])] == [r.text for r in reversed(first)]
    assert len(parrot.requests) == 2 and again.ledger.cached == 2 and again.ledger.tokens == 0
    assert again.complete("a").cached and not first[0].cached
    for i, how in enumerate(({"max_new_tokens": 9}, {"seed": 1}, {"temperature": 0.1}, {"stop": ["x"]})):
        assert not again.complete("a", **how).cached and again.complete("a").cached
        assert len(parrot.requests) == 3 + i
    for how in ({}, {"tools": [{"function": {"name": "f"}}]}):
        assert not again.chat(user("a"), **how).cached
    assert not again.score("a", ["b"])[0].cached and len(parrot.requests) == 9
    assert not llm.LanguageModel(Parrot(fingerprint="other"), store=store).complete("a").cached
    assert again.score("a", ["b"])[0].cached and len(parrot.requests) == 9


def test_only_valid_replies_are_cached(store):
    texts = iter(["nonsense", '{"age": 3}', '```json\n{"name": "Bob",}\n```', "never asked"])
    model = llm.LanguageModel(Parrot(lambda _: next(texts)), store=store)
    for said in ("does not fit Person: not JSON", "does not fit Person: at name: Field required"):
        reply = model.chat(user("who?"), schema=Person)
        assert said in reply.invalid
        refused(lambda reply=reply: reply.parsed, "does not fit Person", LLMError)
    assert model.chat(user("who?"), schema=Person).parsed == Person(name="Bob")
    assert model.chat(user("who?"), schema=Person).parsed == Person(name="Bob")  # parsed anew out of the cache
    assert model.ledger.rejects == 2 and model.ledger.cached == 1 and len(store.cache) == 1
    assert model.ledger.repairs == {"code fence stripped": 2, "trailing comma removed": 2}
    assert llm.LanguageModel(Parrot(lambda _: " ")).complete("a").invalid == "the reply is empty"


def test_a_stored_reply_that_a_stricter_validator_refuses_is_asked_anew(store):
    class Stricter(BaseModel):  # the same JSON schema, and a validator that a schema cannot hold
        name: str

        @field_validator("name")
        @classmethod
        def known(cls, name):
            assert name == "Yorick", f"nobody is called {name}"
            return name

    Stricter.__name__ = Stricter.__qualname__ = "Person"
    Stricter.model_config["title"] = "Person"
    Stricter.model_rebuild(force=True)
    assert Stricter.model_json_schema() == Person.model_json_schema()
    texts = iter(['{"name": "Bob"}', '{"name": "Bill"}', '{"name": "Yorick"}', "never asked"])
    model = llm.LanguageModel(Parrot(lambda _: next(texts)), store=store)
    assert model.chat(user("who?"), schema=Person).parsed.name == "Bob"
    assert model.estimate(user("who?"), schema=Stricter).cached == 0 and not model.ledger.repairs
    reply = model.chat(user("who?"), schema=Stricter)
    assert "nobody is called Bill" in reply.invalid and not reply.cached
    for cached in (False, True):
        reply = model.chat(user("who?"), schema=Stricter)
        assert reply.parsed.name == "Yorick" and reply.cached is cached
    assert model.estimate(user("who?"), schema=Stricter).cached == 1


def test_half_a_surrogate_pair_is_stored_and_recorded(store, tmp_path):
    parrot, path = Parrot(lambda _: "好\ud83d"), tmp_path / "r.jsonl"
    for _ in range(2):
        assert llm.LanguageModel(parrot, store=store, record=path).complete("a").text == "好\ud83d"
    assert len(parrot.requests) == 1 and llm.load(f"replay:{path}").complete("a").text == "好\ud83d"


# ---------------------------------------------------------------- ledger, cap, estimate


@given(st.lists(st.integers(1, 30), min_size=1, max_size=10), st.integers(0, 300), st.integers(1, 12).map(lambda n: n + 9))
def test_a_cap_is_never_crossed_and_stops_only_when_it_must(lengths, cap, longest):
    prompts = [str(i) * n for i, n in enumerate(lengths)]
    model = llm.LanguageModel(Parrot(), ledger=llm.Ledger(cap_tokens=cap))
    try:
        model.complete(prompts, max_new_tokens=longest)
    except BudgetReached:
        stopped = model.ledger.calls
        assert model.ledger.tokens + lengths[stopped] + longest > cap
    else:
        assert model.ledger.calls == len(prompts)
    assert model.ledger.tokens <= cap


def test_after_a_cap_the_run_goes_on_where_it_was(store):
    prompts = [f"prompt {i}" for i in range(6)]
    with pytest.raises(BudgetReached, match=r"cap of 60 tokens is reached: 54 tokens are used.*; 3 calls are left"):
        llm.LanguageModel(Parrot(), store=store, ledger=llm.Ledger(cap_tokens=60)).complete(prompts, max_new_tokens=10)
    parrot = Parrot()
    llm.LanguageModel(parrot, store=store).complete(prompts, max_new_tokens=10)
    assert sorted(parrot.requests) == prompts[3:]


def test_money():
    ledger = llm.Ledger(cap_money=0.001)
    model = llm.LanguageModel(Parrot(), ledger=ledger)
    with pytest.raises(BudgetReached, match=r"cap of 0\.0010 USD is reached"):
        model.complete(["x" * 100] * 2 + ["y" * 100, "z" * 100], max_new_tokens=40)
    assert ledger.money == pytest.approx(ledger.calls * (100 * 2.5 + 10 * 10) / 1e6) and 0 < ledger.money <= 0.001
    assert price("openai:gpt-4o") == llm.PRICES["gpt-4o"] and price("hf:anything") == (0, 0)
    ledger.add("openai:unheard-of", llm.Reply("x", prompt_tokens=1))
    assert ledger.money is None and "price of openai:unheard-of unknown" in str(ledger)
    refused(lambda: ledger.affordable("openai:unheard-of", [(1, 1)]), "the price of 'openai:unheard-of' is unknown")
    own = llm.Ledger(cap_money=1.0, prices={"unheard-of": (1.0, 2.0)})
    assert own.cost("openai:unheard-of", 500_000, 250_000) == 1.0
    assert own.affordable("openai:unheard-of", [(500_000, 250_000), (1, 1)]) == 1


def test_estimate_before_and_ledger_after(store):
    model = llm.LanguageModel(Parrot(), store=store)
    model.complete("a" * 10, max_new_tokens=20)
    prompts = ["a" * 10, "b" * 30, "b" * 30, "c" * 50]
    before = model.estimate(prompts, max_new_tokens=20)
    assert (before.calls, before.cached, before.prompt_tokens, before.completion_tokens) == (4, 2, 80, 40)
    assert before.money == pytest.approx((80 * 2.5 + 40 * 10) / 1e6)
    spent = model.ledger.tokens
    model.complete(prompts, max_new_tokens=20)
    assert model.ledger.tokens - spent <= before.prompt_tokens + before.completion_tokens
    assert model.estimate(prompts, max_new_tokens=20).cached == 4
    assert model.estimate(user("hello")).calls == 1 and model.estimate([user("a"), user("b")]).calls == 2
    assert str(model.ledger).startswith("5 calls (2 cached), 90 tokens read, 30 written, 1.5 s, 0.0005 USD")


def test_estimated_tokens_rather_count_too_many(tokenizer):
    english = Path(__file__).read_text(encoding="utf-8").partition('"""')[2][:300] + " To be, or not to be?" * 10
    for text in (english, "生存还是毁灭，这是一个值得考虑的问题。"):
        assert len(tokenizer(text)["input_ids"]) / 2 < estimated_tokens(text)
    assert len(tokenizer(english)["input_ids"]) <= estimated_tokens(english)
    assert estimated_tokens(user("abc")) == 5


# ---------------------------------------------------------------- recording and replay


def test_a_recording_is_replayed(tmp_path, store):
    path = tmp_path / "sub" / "recorded.jsonl"
    tools = [{"type": "function", "function": {"name": "f"}}]

    def run(model):
        texts = [r.text for r in model.complete(["a", "哈姆雷特"], seed=3)]
        parsed = model.chat(user('{"name": "Bob",}'), schema=Person)
        return texts, parsed.text, parsed.parsed, model.chat(user("x"), tools=tools).text, model.score("p", ["abc"])

    first = run(llm.LanguageModel(Parrot(lambda text: text), store=store, record=path))
    replayed = llm.load(f"replay:{path}")
    again = run(replayed)
    assert again[:4] == first[:4] and again[4][0].logprob == first[4][0].logprob
    assert replayed.ledger.cached == replayed.ledger.calls == 5 and replayed.ledger.tokens == 0
    for ask in (lambda: replayed.complete("a", seed=4), lambda: replayed.score("p", ["abcd"])):
        refused(ask, "recorded.jsonl holds no answer to '[ap]' with these parameters", LLMError)
    path2 = tmp_path / "again.jsonl"
    run(llm.LanguageModel(Parrot(), store=store, record=path2))  # out of the cache: recorded all the same
    assert run(llm.load(f"replay:{path2}"))[:4] == first[:4]


@pytest.mark.parametrize("line", ['{"a', "[1]", "nonsense", '{"prompt": "a"}', '{"reply": {"texts": "a"}}', '{"reply": 3}'])
def test_a_broken_recording_names_file_and_line(tmp_path, line):
    path = tmp_path / "broken.jsonl"
    reply = llm.Reply("fine").stored()
    path.write_text(json.dumps({"prompt": "p", "reply": reply}) + "\n\n" + line + "\n", encoding="utf-8")
    refused(lambda: llm.load(f"replay:{path}"), r"broken\.jsonl, line 3: not a recorded reply")
    refused(lambda: llm.load(f"replay:{tmp_path / 'absent.jsonl'}"), "cannot read the recording")


def lines_of(path):
    return path.read_bytes().splitlines()


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\u0085"])
def test_line_ends_of_other_kinds_stay_inside_a_text(tmp_path, end):
    path = tmp_path / "r.jsonl"
    llm.LanguageModel(Parrot(lambda text: text), record=path).complete(f"a{end}b")
    readable = json.dumps(json.loads(path.read_bytes()), ensure_ascii=False)  # as an editor or another tool writes it
    path.write_text(readable + "\n", encoding="utf-8")
    assert llm.load(f"replay:{path}").complete(f"a{end}b").text == f"a{end}b"


def test_a_path_that_cannot_be_recorded_to_fails_before_anything_is_asked(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path, tmp_path / "file" / "r.jsonl"):
        parrot = Parrot()
        error = refused(partial(llm.LanguageModel(parrot, record=path).complete, "a"), "cannot record to .*")
        assert not parrot.requests and "\n" not in str(error)


def test_a_recording_that_fails_later_loses_no_reply(tmp_path, store):
    path = tmp_path / "r.jsonl"

    def says(prompt):  # the disk fills up, or the folder goes away, while the model answers
        path.unlink()
        path.mkdir()
        return prompt

    refused(lambda: llm.LanguageModel(Parrot(says), store=store, record=path).complete("a"), "cannot record to")
    assert llm.LanguageModel(Parrot(), store=store).complete("a").cached


def test_a_line_that_was_cut_off_costs_that_line_only(tmp_path):
    path, prompts = tmp_path / "r.jsonl", ["a", "哈姆雷特"]
    llm.LanguageModel(Parrot(), record=path).complete(prompts)
    whole, last = path.read_bytes(), lines_of(path)[-1]
    for cut in range(len(whole) - len(last), len(whole)):
        path.write_bytes(whole[:cut])
        kept = llm.load(f"replay:{path}")
        assert kept.complete("哈姆雷特").text == "哈姆雷特 indeed"  # the parrot answers from the end
        llm.LanguageModel(Parrot(), record=path).complete(["a", "c"])
        mended = llm.load(f"replay:{path}").complete([*prompts, "c"])
        assert [reply.text for reply in mended] == ["a indeed", "哈姆雷特 indeed", "c indeed"]


def test_a_recording_holds_each_line_once(tmp_path, store):
    path = tmp_path / "r.jsonl"
    for _ in range(3):
        model = llm.LanguageModel(Parrot(), store=store, record=path)
        for _ in range(2):
            model.complete(["a", "b", "a"])
            model.score("p", ["x"])
    assert len(lines_of(path)) == 3
    path.unlink()
    model.complete(["a", "b"])  # a file that was deleted in between is written anew
    assert len(lines_of(path)) == 2


def test_a_recording_is_of_one_model(tmp_path):
    path, other = tmp_path / "r.jsonl", Parrot()
    other.name = "openai:other"
    llm.LanguageModel(Parrot(), record=path).complete("a")
    said = r"r\.jsonl holds replies of openai:gpt-4o: record openai:other to another file"
    refused(lambda: llm.LanguageModel(other, record=path).complete("a"), said)
    assert not other.requests
    llm.LanguageModel(other, record=tmp_path / "2.jsonl").complete("a")
    with path.open("ab") as file:
        file.write((tmp_path / "2.jsonl").read_bytes())
    refused(lambda: llm.load(f"replay:{path}"), "line 2: a reply of openai:other, after replies of openai:gpt-4o")


# ---------------------------------------------------------------- strings and bad input


@pytest.mark.parametrize(
    "name", ["gpt-4o", "", "hf:", "hf: ", "openai:", "replay:", "Embedded", "hf", "llama:x", "embedded:x", "smollm2:x", None]
)
def test_unknown_strings_list_the_valid_forms(name):
    refused(lambda: llm.load(name), 'expected "embedded", "smollm2", "hf:NAME_OR_FOLDER", "openai:MODEL" or "replay:PATH"')


@pytest.mark.parametrize(("name", "adapter"), [("smollm2", "data/adapters/reader"), ("embedded", None)])
def test_a_model_goes_by_its_own_name(name, adapter):
    refused(lambda: llm.load(name, adapter=adapter), "smollm2.*: expected|smollm2.*, expected")


TAKES = dict.fromkeys(("embedded", "hf:somewhere"), "adapter, batch_size, batch_tokens, device, dtype")
TAKES["openai:x"] = "base_url, concurrency, leave_out, reasoning_effort, retries, timeout, total_timeout"
FOREIGN = {"embedded": ["timeout", "name"], "hf:somewhere": ["base_url", "source"], "openai:x": ["dtype"]}
FOREIGN["replay:absent.jsonl"] = ["dtype", "path"]


@pytest.mark.parametrize(("name", "option"), [(name, option) for name, options in FOREIGN.items() for option in options])
def test_an_option_of_another_backend_is_named(name, option):
    said = f"^llm={name!r} has no option {option!r}: expected {TAKES.get(name, 'none')}$"
    refused(lambda: llm.load(name, **{option: "auto"}), said)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda m: m.complete([user("a")]), "prompt 0 is .*: expected text"),
        (lambda m: m.chat("hello"), "chat takes messages"),
        (lambda m: m.chat(["hello"]), "chat takes messages"),
        (lambda m: m.chat([[]]), "the conversation is empty"),
        (lambda m: m.chat(user("a"), tools=[{"function": {"name": "f"}}], schema=Person), "not both"),
        (lambda m: m.chat(user("a"), schema="Person"), "expected a pydantic model, a JSON schema"),
        (lambda m: m.score("p", "abc"), "expected a list of texts"),
        (lambda m: m.score(["p", "q"], [["a"]]), "2 prompts but 1 lists"),
        (lambda m: m.complete("a", max_new_tokens=0), "max_new_tokens=0: expected at least 1"),
        (lambda m: m.complete("a", temperature=-1), "temperature=-1: expected 0"),
        (lambda m: m.complete("a", top_p=0), "top_p=0: expected more than 0"),
        (lambda m: m.complete("a", stop=[""]), "stop=.*: expected texts that are not empty"),
    ],
)
def test_bad_input(ask, said):
    assert "\n" not in str(refused(lambda: ask(llm.LanguageModel(Parrot())), said))


def test_a_list_of_schemas_has_one_for_each_conversation(store):
    """Each reply is read by its own, is cached under it, and is asked for again under another."""
    model = llm.LanguageModel(Parrot(lambda text: text), store=store)
    talks = [user('{"name": "Bob"}'), user('{"age": 3}'), user('{"age": 3}')]
    replies = model.chat(talks, schema=[Person, Aged, Person])
    assert replies[0].parsed == Person(name="Bob") and replies[1].parsed == Aged(age=3)
    assert "does not fit Person" in replies[2].invalid
    assert model.estimate(talks, schema=[Person, Aged, Person]).cached == 2
    again = model.chat(talks[:2], schema=(Person, Aged))
    assert [reply.cached for reply in again] == [True, True] and again[1].parsed == Aged(age=3)
    assert "does not fit Aged" in model.chat(talks[:1], schema=[Aged])[0].invalid
    refused(lambda: model.chat(talks, schema=[Person, Aged]), "2 schemas for 3 conversations")


def test_a_server_is_not_asked_again_by_a_spot_check(tmp_path):
    """It is paid for, past the ledger, and need not say the same; a model on this machine is."""
    for steady, again in ((False, 0), (True, 2)):
        parrot = Parrot(fingerprint=f"steady {steady}")
        parrot.steady = steady
        for _ in range(2):
            kept = Store(tmp_path / "kept.sqlite")
            llm.LanguageModel(parrot, store=kept).chat([user(text) for text in "abc"])
        assert len(list(kept.remake(count=2))) == again and len(parrot.requests) == 3 + again
