"""The key goes to the server and nowhere else: not into errors, the cache, a recording, whatever the server says."""

import base64
import traceback
from urllib.parse import quote

import pytest
from extras import refused
from servers import Scripted, answers, page, says, status

from mindscape.errors import LLMError
from mindscape.llm import LanguageModel
from mindscape.llm.endpoint import Endpoint
from mindscape.store import Store

KEY = "sk-very/secret+key=="
HELLO = [{"role": "user", "content": "Who's there?"}]
FORMS = {
    "plain": KEY,
    "repr": repr(KEY),
    "percent": quote(KEY, safe=""),
    "json": KEY.replace("/", "\\/"),
    "low": KEY.lower(),
}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize(
    "wrong",
    ["sk-very\nsecret", "sk-very\r\nX-Other: secret", "“sk-verysecret”", "'sk-verysecret'", "sk-verysecret é", "a\0b"],
)
def test_a_key_that_cannot_be_sent_is_refused_at_the_start(monkeypatch, wrong):
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": wrong})
    with pytest.raises(ValueError, match="OPENAI_API_KEY is no key: its character [0-9]+ is U") as caught:
        Endpoint("m")
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def leaks(text: str) -> bool:
    return any(form.lower() in text.lower() for form in (*FORMS.values(), "secret"))


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_an_error_that_echoes_the_key(form):
    body = f'{{"choices": [{{"index": 0, "message": {{"content": 3, "say": "{form}"}}}}]}}'.replace("\\", "\\\\")
    for trouble in (status(401, f"Wrong: Bearer {form}"), page(403, f"no {form}"), answers(body.encode())):
        with Scripted(trouble) as server, pytest.raises(LLMError) as caught:
            LanguageModel(Endpoint("m", base_url=server.url)).chat(HELLO)
        assert "***" in str(caught.value)
        assert not leaks("".join(traceback.format_exception(caught.value)))


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_a_reply_that_echoes_the_key(tmp_path, form):
    call = {"id": "c", "function": {"name": "f", "arguments": f'{{"a": "{KEY}"}}'}}
    tools = [{"function": {"name": "f"}}]
    scripts = says(f"It is {form}.", reasoning=form), says(None, refusal=form), says(f"{form}", tool_calls=[call])
    with Scripted(*scripts) as server:
        store, record = Store(tmp_path / "s.sqlite"), tmp_path / "r.jsonl"
        model = LanguageModel(Endpoint("m", base_url=server.url), store=store, record=record)
        assert model.chat(HELLO).text.strip("'\"") in ("It is ***.", "It is '***'.")
        refusal, called = model.chat(HELLO, max_new_tokens=9), model.chat(HELLO, tools=tools)
        assert not leaks(repr((refusal, called)))
        store.cache.close()
        assert not leaks(b"".join(path.read_bytes() for path in tmp_path.iterdir()).decode("utf-8", "replace"))


def test_a_stand_in_for_a_key_changes_no_reply(monkeypatch):
    for stand_in in ("x", "ollama", "anything", "something"):
        monkeypatch.setenv("OPENAI_API_KEY", stand_in)
        with Scripted(says(f"There is {stand_in} here.")) as server:
            assert LanguageModel(Endpoint("m", base_url=server.url)).chat(HELLO).text == f"There is {stand_in} here."


def test_a_query_is_sent_and_not_shown():
    with Scripted(says("Francisco"), status(401, "no sk-swordfish"), status(404, "no")) as server:
        endpoint = Endpoint("m", base_url=f"{server.url}/?api-key=sk-swordfish", retries=0)
        model = LanguageModel(endpoint)
        assert model.chat(HELLO).text == "Francisco" and server.paths[-1].endswith("completions?api-key=sk-swordfish")
        for said in ("HTTP 401", "HTTP 404"):
            with pytest.raises(LLMError, match=said) as caught:
                model.chat(HELLO)
            assert "swordfish" not in "".join(traceback.format_exception(caught.value))
        assert endpoint.url == server.url
    for wrong in (
        "ftp://h/v1?key=sk-secret",
        "localhost?key=sk-secret",
        "http://u:sk-secret@[::1/v1",
        "//u:sk-secret@h",
    ):
        with pytest.raises(ValueError, match="expected something like http") as caught:
            Endpoint("m", base_url=wrong)
        assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_a_password_in_the_url_is_sent_and_not_shown():
    basic = base64.b64encode(b"user:hunter2hunter2").decode()
    with Scripted(status(401, f"no hunter2hunter2, {basic}")) as server:
        url = server.url.replace("//", "//user:hunter2hunter2@")
        model = LanguageModel(Endpoint("m", base_url=url, retries=0))
        with pytest.raises(LLMError) as caught:
            model.chat(HELLO)
        assert "hunter2" not in str(caught.value) and basic not in str(caught.value)


def test_no_key_says_so(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " \n")
    refused(lambda: Endpoint("m"), "set OPENAI_API_KEY")
