"""Servers that speak OpenAI's protocol in their own way, or mean harm. The key goes to them and nowhere else: not into errors,
the cache, a recording, whatever the server says."""

import base64
import gzip
import json
import time
import traceback
from email.utils import formatdate
from functools import partial
from urllib.parse import quote

import pytest
from extras import refused
from servers import HELLO, KEY, USAGE, Scripted, answers, at, completion, page, says, send, status

from mindscape import llm
from mindscape.ask import ask
from mindscape.errors import InputError, LLMError
from mindscape.llm import LanguageModel
from mindscape.llm.endpoint import LARGEST, Endpoint, _retry_after
from mindscape.mom.extraction import paths
from mindscape.roles import ROLES
from mindscape.store import Store
from mindscape.text import Document

pytestmark = pytest.mark.usefixtures("key")
MEMORY = "<outline>\n- b\n</outline>\n<scenario>\n<chunk>Ivo sold [MASK] the lamp.</chunk>\nA sale.\n</scenario>"
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "who?"}]}, {"type": "text", "text": "the miller"}]


@pytest.mark.parametrize(
    ("message", "thinking"),
    [
        ({"text": PARTS}, "who?"),
        ({"text": "the miller", "reasoning_content": "who?"}, "who?"),
        ({"text": "the miller", "reasoning": "who?"}, "who?"),
        ({"text": [{"type": "text", "text": "the "}, {"type": "text", "text": "miller"}]}, ""),
    ],
)
def test_content_in_parts_and_thinking_beside_it(message, thinking):
    with Scripted(says(**message)) as server:
        reply = at(server).chat(HELLO)
        assert (reply.text, reply.thinking, reply.invalid) == ("the miller", thinking, "")
        assert reply.message == {"role": "assistant", "content": "the miller"}
        assert ask(at(server), ROLES["qa"], ["Who?"])[0].value == "the miller"


@pytest.mark.parametrize("message", [{"reasoning_content": "Two parts."}, {"reasoning": "Two parts."}, {}])
def test_a_memory_whose_thinking_was_moved_out_is_read(message):
    text = MEMORY if message else f"Two parts.</think>{MEMORY}"
    with Scripted(says(text, **message)) as server:
        [[path]] = paths(at(server), [Document("note", "Ivo sold her the lamp.")], n=1)
        assert path.invalid == "" and path.read is not None
        [answer] = ask(at(server), ROLES["memory"], ["Read."])
        assert answer.value.think == "Two parts."


def test_a_reply_that_is_thinking_alone_is_counted():
    with Scripted(says(None, reasoning_content="who has it?")) as server:
        model = at(server)
        assert model.chat(HELLO).invalid == "the reply ends inside its thinking"
        assert model.ledger.rejects == 1


@pytest.mark.parametrize("code", [429, 502, "503"])
def test_an_error_with_status_200_is_tried_again(code):
    error = {"message": "upstream rate-limited", "code": code}
    choice = {"index": 0, "message": {"content": "the"}, "finish_reason": "error", "error": error}
    for body in ({"error": error}, {"error": error, "choices": None}, {"choices": [choice], "usage": USAGE}):
        with Scripted(answers(json.dumps(body).encode()), says("Francisco")) as server:
            assert at(server).chat(HELLO).text == "Francisco"
            assert len(server.requests) == 2
    with Scripted(answers(json.dumps({"error": error}).encode())) as server:
        said = rf"HTTP 200 with an error, {code}: upstream rate-limited \(2 tries\)"
        refused(lambda: at(server, retries=1).chat(HELLO), said, LLMError)


def test_a_call_in_the_text_is_a_call():
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    with Scripted(says('<tool_call>\n{"name": "look", "arguments": {"q": 1}}\n</tool_call>')) as server:
        reply = at(server).chat(HELLO, tools=tools)
        assert reply.tool_calls == (llm.ToolCall("look", {"q": 1}, "call_0"),)
        assert reply.text == "" and not reply.invalid
        assert "calls tools that there are not: look" in at(server).chat(HELLO).invalid


def test_parameters_can_be_left_out(monkeypatch):
    with Scripted(says("Francisco")) as server:
        at(server, leave_out="temperature, top_p,seed,max_tokens", reasoning_effort="low").chat(HELLO)
        assert set(server.requests[-1]) == {"model", "messages", "reasoning_effort"}
        assert server.requests[-1]["reasoning_effort"] == "low"
        with monkeypatch.context() as patch:
            patch.setenv("MINDSCAPE_LEAVE_OUT", "seed")
            patch.setenv("MINDSCAPE_REASONING_EFFORT", "high")
            model = at(server)
        model.chat(HELLO)
        assert "seed" not in server.requests[-1] and server.requests[-1]["reasoning_effort"] == "high"
        assert model.fingerprint != at(server).fingerprint
        assert at(server, leave_out="seed").fingerprint == at(server, leave_out=" seed,").fingerprint
    refused(lambda: at(server, leave_out="model"), "leave_out='model': expected one of temperature, top_p")


@pytest.mark.parametrize(
    ("code", "error", "named"),
    [
        (400, {"message": "'temperature' does not support 0.0", "param": "temperature"}, "temperature"),
        (400, {"message": "Unsupported parameter: 'max_tokens' is not supported", "param": None}, "max_tokens"),
        (422, {"message": "seed: extra fields not permitted"}, "seed"),
        (400, {"message": "too many requests at top"}, None),
        (400, {"message": "the context is full: use fewer tokens than max_tokens"}, None),
    ],
)
def test_an_error_that_names_a_parameter_says_how_to_leave_it_out(code, error, named):
    with Scripted(lambda handler, _: send(handler, json.dumps({"error": error}).encode(), code)) as server:
        message = str(refused(lambda: at(server).chat(HELLO), f"HTTP {code}", LLMError))
        how = f"; to leave it out: leave_out='{named}', or MINDSCAPE_LEAVE_OUT={named}"
        assert (how in message) if named else "leave" not in message


def packed(size: int, encoding: str = "gzip", code: int = 200):
    body = completion("a" * size)
    return lambda handler, _: send(handler, gzip.compress(body), code, Content_Encoding=encoding)


def test_an_answer_has_a_bound():
    with Scripted(packed(1000)) as server:
        assert len(at(server).chat(HELLO).text) == 1000
    for code in (200, 500):
        with Scripted(packed(4 * LARGEST, code=code)) as server:
            refused(lambda server=server: at(server).chat(HELLO), "the answer has more than 8 MB$", LLMError)
            assert len(server.requests) == 1
    with Scripted(packed(1000, "gzip, gzip")) as server:
        refused(lambda: at(server).chat(HELLO), "packed as 'gzip, gzip'", LLMError)


def test_redirects_are_not_followed():
    with Scripted(says("stolen")) as other:
        moved = status(307, Location=f"{other.url}/chat/completions?key=sk-other-secret")
        with Scripted(moved) as server:
            said = f"HTTP 307: it redirects to {other.url}/chat/completions:"
            assert "sk-other" not in str(refused(lambda: at(server).chat(HELLO), said, LLMError))
        assert other.requests == [] and len(server.requests) == 1


def test_waits_in_their_three_forms_and_those_that_are_none():
    assert _retry_after({"retry-after": "2.5"}) == 2.5 and _retry_after({"retry-after-ms": "250"}) == 0.25
    assert 50 < _retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)}) <= 60
    for value in ("nan", "inf", "-inf", "1e999", "", "soon"):
        assert _retry_after({"retry-after-ms": value}) is None
        assert _retry_after({"retry-after": value}) is None
    assert _retry_after({"retry-after-ms": "-5"}) == 0.0 and _retry_after({"retry-after": "9" * 400}) is None
    assert _retry_after({}) is None
    with Scripted(status(429, retry_after_ms="nan"), says("Francisco")) as server:
        assert at(server).chat(HELLO).text == "Francisco"


def test_a_wait_that_the_server_does_not_ask_for_is_not_told_as_its_own():
    with Scripted(status(500)) as server:
        message = refused(lambda: at(server, total_timeout=0.3).chat(HELLO), "HTTP 500", LLMError)
        assert "asks to wait" not in str(message)


def test_bounds_that_are_none():
    for name in ("timeout", "total_timeout"):
        refused(lambda name=name: Endpoint("m", **{name: float("nan")}), "must be more than 0", InputError)


# -- the key -----------------------------------------------------------------------------------------------------------------

FORMS = {"plain": KEY, "repr": repr(KEY), "percent": quote(KEY, safe="")}
FORMS |= {"json": KEY.replace("/", "\\/"), "low": KEY.lower()}


@pytest.mark.parametrize(
    "wrong", ["sk-very\nsecret", "sk-very\r\nX-Other: secret", "“sk-verysecret”", "'sk-verysecret'", "sk-verysecret é", "a\0b"]
)
def test_a_key_that_cannot_be_sent_is_refused_at_the_start(monkeypatch, wrong):
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": wrong})
    assert "secret" not in shown(partial(Endpoint, "m"), "OPENAI_API_KEY is no key: its character [0-9]+ is U", InputError)


def shown(call, said, error=LLMError) -> str:
    """The whole traceback of a refusal; of a lambda it would show the line in the test, too."""
    return "".join(traceback.format_exception(refused(call, said, error)))


def leaks(text: str) -> bool:
    return any(form.lower() in text.lower() for form in (*FORMS.values(), "secret"))


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_an_error_that_echoes_the_key(form):
    body = f'{{"choices": [{{"index": 0, "message": {{"content": 3, "say": "{form}"}}}}]}}'.replace("\\", "\\\\")
    for trouble in (status(401, f"Wrong: Bearer {form}"), page(403, f"no {form}"), answers(body.encode())):
        with Scripted(trouble) as server:
            assert not leaks(shown(partial(at(server).chat, HELLO), r"\*\*\*"))


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_a_reply_that_echoes_the_key(tmp_path, form):
    call = {"id": "c", "function": {"name": "f", "arguments": f'{{"a": "{KEY}"}}'}}
    tools = [{"function": {"name": "f"}}]
    scripts = says(f"It is {form}.", reasoning=form), says(None, refusal=form), says(f"{form}", tool_calls=[call])
    with Scripted(*scripts) as server:
        store, record = Store(tmp_path / "s.sqlite"), tmp_path / "r.jsonl"
        model = at(server, store, record)
        assert model.chat(HELLO).text.strip("'\"") in ("It is ***.", "It is '***'.")
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
        refusal, called = model.chat(HELLO, max_new_tokens=9), model.chat(HELLO, tools=tools)
        assert not leaks(repr((refusal, called, model)) + str(model.ledger))
        store.cache.close()
        assert not leaks(b"".join(path.read_bytes() for path in tmp_path.iterdir()).decode("utf-8", "replace"))


def test_a_stand_in_for_a_key_changes_no_reply(monkeypatch):
    for stand_in in ("x", "ollama", "anything", "something"):
        monkeypatch.setenv("OPENAI_API_KEY", stand_in)
        with Scripted(says(f"There is {stand_in} here."), status(404, "does not exist")) as server:
            assert at(server).chat(HELLO).text == f"There is {stand_in} here."
            refused(lambda server=server: at(server).chat(HELLO), "does not exist$", LLMError)


def test_a_query_is_sent_and_not_shown():
    with Scripted(says("Francisco"), status(401, "no sk-swordfish"), status(404, "no")) as server:
        endpoint = Endpoint("m", base_url=f"{server.url}/?api-key=sk-swordfish", retries=0)
        model = LanguageModel(endpoint)
        assert model.chat(HELLO).text == "Francisco" and server.paths[-1].endswith("completions?api-key=sk-swordfish")
        for said in ("HTTP 401", "HTTP 404"):
            assert "swordfish" not in shown(partial(model.chat, HELLO), said)
        assert endpoint.url == server.url
    wrongs = "ftp://h/v1?key=sk-secret localhost?key=sk-secret http://u:sk-secret@[::1/v1 //u:sk-secret@h"
    for wrong in wrongs.split():
        assert "secret" not in shown(partial(Endpoint, "m", base_url=wrong), "expected something like http", InputError)


def test_a_password_in_the_url_is_sent_and_not_shown():
    basic = base64.b64encode(b"user:hunter2hunter2").decode()
    with Scripted(status(401, f"no hunter2hunter2, {basic}")) as server:
        url = server.url.replace("//", "//user:hunter2hunter2@")
        model = LanguageModel(Endpoint("m", base_url=url, retries=0))
        message = shown(lambda: model.chat(HELLO), "HTTP 401")
        assert "hunter2" not in message and basic not in message


def test_no_key_says_so(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " \n")
    refused(lambda: Endpoint("m"), "set OPENAI_API_KEY")
