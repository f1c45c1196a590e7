"""The endpoint: against a real OpenAI-compatible server on loopback, and against one that misbehaves."""

import json
import time

import pytest
import servers
import torch
from extras import refused, required
from pydantic import BaseModel
from servers import HELLO, Scripted, answers, at, completion, cut, hang, page, says, send, status, truncated
from stubs import user

from mindscape import llm
from mindscape.errors import LLMError
from mindscape.llm.endpoint import Endpoint, _held_to
from mindscape.llm.local import Local
from mindscape.llm.schema import json_schema
from mindscape.roles import ROLES
from mindscape.store import Store

pytestmark = pytest.mark.usefixtures("key")
BAD_GATEWAY = "<html>\n<head><title>502 Bad\nGateway</title></head>\n<body><hr>nginx</body></html>"
BLOCKED = "<!DOCTYPE HTML><style>p {}</style><h1>拒绝访问</h1>\n<p>Your campus network &amp; firewall</p>"


class Person(BaseModel):
    name: str
    age: int


# ---------------------------------------------------------------- a real server


@pytest.fixture(scope="module")
def real():
    required("xllamacpp", "the extra `serve` is not installed")
    from mindscape import assets

    with servers.llama_server(next(assets.fetch("smollm2").glob("*.gguf"))) as url:
        yield url


@pytest.fixture
def served(real):
    return llm.LanguageModel(Endpoint("smollm2", base_url=real, concurrency=2))


def test_real_complete_and_chat(served):
    reply = served.complete("The capital of France is", max_new_tokens=3)
    assert reply.text.startswith(" Paris")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.finish) == (5, 3, "length")
    reply = served.chat(user("Count: one two three"), max_new_tokens=30, stop=["two"])
    assert "two" not in reply.text and reply.seconds > 0


def test_real_schema_and_several_calls(served):
    ages = [20, 31, 42]
    talks = [user(f"Bob is {age} years old. Name and age as JSON.") for age in ages]
    replies = served.chat(talks, schema=Person, max_new_tokens=40)
    assert [reply.parsed for reply in replies] == [Person(name="Bob", age=age) for age in ages]
    assert served.ledger.calls == 3 and served.ledger.rejects == 0


def test_real_server_without_log_probabilities_says_so(served):
    refused(lambda: served.score("The capital of France is", [" Paris"]), "gives no log-probabilities", LLMError)


# ---------------------------------------------------------------- one that misbehaves


def test_429_waits_as_long_as_it_is_told():
    with Scripted(status(429, Retry_After="0.3"), says("Francisco")) as server:
        began = time.monotonic()
        assert at(server).chat(HELLO).text == "Francisco"
        assert time.monotonic() - began >= 0.3
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (status(500, "disk on fire"), r"HTTP 500: disk on fire \(2 tries\)"),
        (status(500, ""), r"HTTP 500: .*'message': ''.* \(2 tries\)"),
        (page(502, BAD_GATEWAY), r"HTTP 502: an HTML page: 502 Bad Gateway \(2 tries\)"),
        (page(503, "upstream is down"), r"HTTP 503: upstream is down \(2 tries\)"),
        (page(503, ""), r"HTTP 503: it does not say why \(2 tries\)"),
        (answers(b"[" * 100_000), r"not the JSON it claims to be: .*\(2 tries\)"),
        (hang(0.6), r"no answer within 0\.3 s \(2 tries\)"),
        (cut, r"the connection failed: .*\(2 tries\)"),
        (truncated, r"not the JSON it claims to be: .*\(2 tries\)"),
    ],
)
def test_trouble_is_tried_again_and_one_line_with_url_and_cause_where_it_lasts(trouble, said):
    with Scripted(trouble, says("Francisco")) as server:
        assert at(server, timeout=0.3).chat(HELLO).text == "Francisco"
        assert len(server.requests) == 2
    with Scripted(trouble) as server:
        message = str(refused(lambda: at(server, timeout=0.3, retries=1).chat(HELLO), said, LLMError))
        assert message.startswith(server.url) and "\n" not in message and len(server.requests) == 2


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (page(), "a web page: is the base URL right.*: Sign in$"),
        (page(403, BLOCKED), "HTTP 403: an HTML page: 拒绝访问 Your campus network & firewall$"),
        (page(403, "<?xml version='1.0'?><html><title> </title></html>"), "HTTP 403: an HTML page: an empty one$"),
        (page(422, '{"detail": "no field max_tokens"}'), "HTTP 422: {'detail': 'no field max_tokens'}"),
        (status(404, "no such model"), "HTTP 404: no such model"),
        (status(429, "pay first", "insufficient_quota"), "HTTP 429: pay first"),
        (status(429, Retry_After="3600"), "it asks to wait 3600 s"),
        (answers(b'{"error": {"message": "no such model", "code": 404}}'), "HTTP 200 with an error, 404: no such model"),
        (answers(b'{"error": "no"}'), "HTTP 200 with an error, None: no"),
        (answers(b'{"choices": []}'), "not a completion, at choices: "),
        (answers(b"{}"), "not a completion, at choices: "),
        (answers(b"[1, 2]"), "not a completion, at the top: "),
        (answers(b'"hello"'), "not a completion, at the top: .*'hello'"),
        (answers(b'{"choices": [{"index": 0}]}'), r"not a completion, at choices\.0\.message: "),
        (answers(b'{"choices": [{"index": 0, "message": "hi"}]}'), r"not a completion, at choices\.0\.message: .*'hi'"),
        (says(["hi"]), r"not a completion, at choices\.0\.message\.content: "),
        (says(3), r"not a completion, at choices\.0\.message\.content: "),
        (says("hi", tool_calls=["f"]), r"not a completion, at choices\.0\.message\.tool_calls\.0: "),
        (says("hi", refusal=["no"]), r"not a completion, at choices\.0\.message\.refusal: "),
        (says("hi", {"prompt_tokens": "ten", "completion_tokens": 5}), r"not a completion, at usage\.prompt_tokens: "),
        (says("hi", {"completion_tokens": -5}), r"not a completion, at usage\.completion_tokens: "),
    ],
)
def test_hopeless_trouble_is_not_tried_again(trouble, said):
    with Scripted(trouble) as server:
        assert "\n" not in str(refused(lambda: at(server).chat(HELLO), said, LLMError)) and len(server.requests) == 1


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}])
def test_tokens_that_a_server_does_not_count_are_estimated(usage):
    with Scripted(says("Francisco", usage)) as server:
        model = at(server)
        reply = model.chat(HELLO)
        assert reply.prompt_tokens == model.count_tokens(HELLO)
        assert reply.completion_tokens == model.count_tokens("Francisco")


def test_a_text_completion_that_is_none():
    for text in (b'["hi"]', b"null", b"3"):
        trouble = answers(b'{"choices": [{"index": 0, "text": %s}]}' % text)
        with Scripted(trouble) as server, pytest.raises(LLMError, match=r"not a completion, at choices\.0\.text: "):
            at(server).complete("Who's there?")


def test_the_total_time_is_bounded_even_if_bytes_keep_coming():
    with Scripted(servers.drip(5)) as server:
        began = time.monotonic()
        refused(lambda: at(server, timeout=5, total_timeout=0.5).chat(HELLO), r"nothing usable within 0\.5 s", LLMError)
        assert time.monotonic() - began < 3


def test_no_server_at_all():
    with Scripted(page()) as server:
        url = server.url
    refused(lambda: llm.LanguageModel(Endpoint("m", base_url=url, retries=0)).chat(HELLO), "the connection failed", LLMError)


@pytest.mark.parametrize(("sent", "got"), [("好\ud83d", "好\ufffd"), ("\ude00!", "\ufffd!"), ("\ud83d\ude00", "😀")])
def test_half_a_surrogate_pair_is_replaced_and_the_reply_kept(tmp_path, sent, got):
    with Scripted(says(sent)) as server:
        for _ in range(2):
            assert at(server, Store(tmp_path / "s.sqlite")).chat(HELLO).text == got
        assert len(server.requests) == 1


def test_base_url_from_the_environment(monkeypatch):
    with Scripted(says("Francisco")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert llm.load("openai:m", cache=False).chat(HELLO).text == "Francisco"


def test_order_is_kept_and_concurrency_bounded():
    def slow_echo(handler, body):
        text = body["messages"][0]["content"]
        time.sleep(0.02 * (int(text) % 3))
        send(handler, completion(text))

    with Scripted(slow_echo) as server:
        replies = at(server, concurrency=3).chat([user(str(i)) for i in range(12)])
        assert [reply.text for reply in replies] == [str(i) for i in range(12)]
        assert 2 <= server.most_together <= 3


def test_a_failure_keeps_what_others_brought(tmp_path):
    def behave(handler, body):
        bad = body["messages"][0]["content"] == "bad"
        status(400)(handler, body) if bad else send(handler, completion("fine"))

    talks = [user(text) for text in ("one", "two", "bad", "three")]
    with Scripted(behave) as server:
        model = at(server, Store(tmp_path / "s.sqlite"), concurrency=1)
        refused(lambda: model.chat(talks), "HTTP 400", LLMError)
        assert model.estimate(talks).cached == 2  # not the third, and the fourth was not begun


def test_every_conversation_is_sent_its_own_schema():
    with Scripted(says("1")) as server:
        model = at(server)
        other = {"title": "other", "type": "integer", "maximum": 4}
        model.chat([HELLO, [*HELLO, *HELLO]], schema=[{"title": "one", "type": "integer"}, other])
        sent = {len(request["messages"]): request["response_format"]["json_schema"]["name"] for request in server.requests}
        assert sent == {1: "one", 2: "other"}
        model.chat([HELLO], schema=[{"title": "held", "lark": "start: INT"}], max_new_tokens=3)
        assert "response_format" not in server.requests[-1]


@pytest.mark.parametrize("form", ["short", "paper"])
@pytest.mark.parametrize("role", ROLES.values(), ids=lambda role: role.name)
def test_openai_takes_the_form_of_every_role(role, form):
    """Its strict mode knows no oneOf, and no list at the top, which other servers are sent."""
    if role.reply(form) is None:
        return
    schema = json_schema(role.reply(form))
    sent = _held_to(schema, objects=True)
    if sent:
        held = sent["response_format"]["json_schema"]["schema"]
        assert held["type"] == "object" and "oneOf" not in json.dumps(held) and "discriminator" not in json.dumps(held)
    elif "lark" not in schema:
        assert schema["type"] == "array" and _held_to(schema)["response_format"]["json_schema"]["schema"] == schema


def test_only_openai_wants_objects():
    assert Endpoint("m").strict and Endpoint("m", base_url="https://a.openai.azure.com/openai/v1").strict
    assert not Endpoint("m", base_url="http://127.0.0.1:8000/v1").strict


@pytest.mark.parametrize("proxy", ["socks5://u:secret@127.0.0.1:1", "socks://u:secret@127.0.0.1:7891/"])
def test_a_proxy_that_cannot_be_used_is_one_line(monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    model = llm.LanguageModel(Endpoint("m", base_url="http://10.255.255.1:9/v1"))
    assert "secret" not in str(refused(lambda: model.chat(HELLO), "the proxy that ALL_PROXY"))


def test_what_is_sent():
    with Scripted(says('{"name": "Bob", "age": 3}')) as server:
        settings = {"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 4}
        at(server).chat(HELLO, schema=Person, max_new_tokens=7, temperature=0.5, top_p=0.9, seed=4, stop="END")
        sent = server.requests[0]
        assert sent | settings | {"stop": ["END"]} == sent
        form = sent["response_format"]["json_schema"]
        assert form["name"] == "Person" and form["strict"] is False  # pydantic's objects are open by default
        assert sent["messages"] == HELLO


def test_tools_there_and_back():
    tools = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "Yorick"}'}}
    with Scripted(says(None, tool_calls=[call]), says("A jester.")) as server:
        model = at(server)
        reply = model.chat(HELLO, tools=tools)
        assert reply.tool_calls == (llm.ToolCall("search", {"query": "Yorick"}, "c1"),) and not reply.invalid
        result = {"role": "tool", "tool_call_id": "c1", "content": "a skull"}
        assert model.chat([*HELLO, reply.message, result], tools=tools).text == "A jester."
        sent = server.requests[1]["messages"][1]["tool_calls"][0]
        assert json.loads(sent["function"]["arguments"]) == {"query": "Yorick"} and sent["id"] == "c1"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{oops"}}]}, "read"),
        ({"refusal": "I would rather not"}, "refused: I would rather not"),
    ],
)
def test_replies_that_cannot_be_used(message, said):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    with Scripted(says("", **message)) as server:
        model = at(server)
        assert said in model.chat(HELLO, tools=tools).invalid
        assert model.ledger.rejects == 1


def test_scores_by_echo_equal_local_ones(smollm2, tokenizer):
    """A server that echoes log-probabilities as vLLM does, around the model that the local backend runs."""

    def behave(handler, body):
        encoded = tokenizer(body["prompt"], return_offsets_mapping=True)
        ids = torch.tensor([encoded["input_ids"]])
        with torch.inference_mode():
            logprobs = smollm2(ids).logits[0].log_softmax(-1)
        given = [None, *logprobs[:-1].gather(1, ids[0, 1:, None])[:, 0].tolist(), -1.0]
        offsets = [start for start, _ in encoded["offset_mapping"]] + [len(body["prompt"])]
        choice = {"index": 0, "text": body["prompt"] + ".", "finish_reason": "length"}
        choice["logprobs"] = {"text_offset": offsets, "token_logprobs": given}
        send(handler, json.dumps({"choices": [choice]}).encode())

    prompt, continuations = "The capital of France is", [" Paris", " the city of Rome"]
    local = llm.LanguageModel(Local(smollm2, tokenizer, "local")).score(prompt, continuations)
    with Scripted(behave) as server:
        model = at(server, concurrency=1)
        for ours, theirs in zip(local, model.score(prompt, continuations), strict=True):
            assert theirs.logprob == pytest.approx(ours.logprob, abs=1e-4)
            assert (theirs.tokens, theirs.prompt_tokens) == (ours.tokens, ours.prompt_tokens)
        refused(lambda: model.score("", ["Paris"]), "first token", LLMError)
        refused(lambda: model.score(HELLO, ["Francisco"]), "raw text only", LLMError)


def test_a_call_without_a_function_spoils_its_reply_alone():
    with Scripted(says("Ann", tool_calls=[{"id": None, "function": None}])) as server:
        assert "tool call that cannot be read" in at(server).chat(HELLO).invalid


def test_a_reply_cut_off_in_its_thinking_is_asked_for_again(own_store):
    begun = answers(completion("<think>Ann? no").replace(b'"finish_reason": "stop"', b'"finish_reason": "length"'))
    with Scripted(begun, says("Hugo")) as server:
        model = at(server, own_store)
        texts = [model.chat(HELLO).text for _ in range(3)]
    assert texts == ["<think>Ann? no", "Hugo", "Hugo"] and len(server.requests) == 2
