"""Crafted replies and pages take time in proportion to their length: from n to 4n about four times; a square takes sixteen.

The least of three measurements counts, and none under a floor, by the thread's own clock and without the garbage collector:
the machine may be busy, and to look through the whole heap takes longer than some of these texts.
"""

import gc
import time
from contextlib import suppress

import pytest
from pydantic import BaseModel

from mindscape.corpora import page
from mindscape.llm import Tags
from mindscape.llm.base import Reply
from mindscape.llm.endpoint import _any_form, _html_words, _without_secrets
from mindscape.llm.schema import parse, read_calls
from mindscape.mindgraph.answer import before_the_cut
from mindscape.mindgraph.baselines import code_in, final_in
from mindscape.mindgraph.scoring import chosen
from mindscape.roles import ROLES

FLOOR = 0.15  # seconds
N = 3000  # times that something is repeated
REPEATED = ["```\n", "<answer></answer>", "</think>", "<think>", "<tool_call>", "[", "[1] ", "[]", '{"a":1} ', "{ ", '{"']
REPEATED += ["*", "answer", "“", "(a", "A ", "1", "FINAL("]
REPLIES = {piece: piece * N for piece in REPEATED} | {
    "a fence and line breaks": "```" + "\n" * N,
    "a fence and a word": "```" + "a" * N,
    "blanks": " " * N + "x",
    "open tags": "<explanation>" * N + "</answer>",
    "scenarios": "<scenario></scenario>" * N + "<scenario>",
    "escaped quotes": '{"' + '\\"' * N,
    "quotes": '{"a": ' + '"' * (N + 1),
    "backslashes": '{"a": "' + "\\" * (N + 1),
    "nested": "[" * N + "]" * N,
    "commas": "[" + "," * N + "]",
    "commas and blanks": "[1," + " ," * N + "]",
    "the": "the " * N + "answer",
}


class Names(BaseModel):
    people: list[str]


PARSERS = {name: role.parse for name, role in ROLES.items()}
PARSERS |= {"JSON": parse, "calls": lambda text: read_calls(Reply(text)), "code": code_in, "final": final_in}
PARSERS |= {"cut": lambda text: before_the_cut(text, Names), "names": Tags(Names).parse}
PARSERS |= {"chosen": lambda text: chosen(text, ["an inn", "a mill"], "en"), "error": _html_words}
PARSERS |= {"bare": _without_secrets, "masked": lambda text: _any_form(["sk-verysecret"]).sub("***", text)}
TAGS = ["<a ", "<p>", "</p>", "<a", "<!", "<!--", "<![CDATA[", "<?", "&", "&#", "&#x", "<a b='", '<a b="', "< "]
TAGS += ["</", "<br/>"]
PAGES = {tag: tag * N for tag in TAGS} | {f"{tag}, closed": f"{tag * N}><p>So.</p>" for tag in TAGS}


@pytest.fixture(autouse=True)
def no_collector():
    gc.disable()
    yield
    gc.enable()


def least(read, text: str) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.thread_time()
        with suppress(ValueError):
            read(text)
        best = min(best, time.thread_time() - began)
        if best < FLOOR:
            break
    return best


def grows(read, text: str) -> str:
    """How it grows, where that is faster than the text. What looks so is measured again, both in turn: other work only adds."""
    half, short, long = len(text) // 2, float("inf"), float("inf")
    for _ in range(3):
        long = min(long, least(read, text[:half] * 4 + text[half:] * 4))
        if long <= FLOOR:
            return ""
        short = min(short, least(read, text))
        if long <= 8 * short:
            return ""
    return f"{short:.2f} to {long:.2f} s"


@pytest.mark.parametrize("name", PARSERS)
def test_replies_are_read_in_time(name):
    slow = {text: how for text, crafted in REPLIES.items() if (how := grows(PARSERS[name], crafted))}
    assert not slow


def test_pages_are_read_in_time():
    slow = {tag: how for tag, crafted in PAGES.items() if (how := grows(lambda html: page(html, "it"), crafted))}
    assert not slow
