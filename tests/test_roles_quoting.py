"""Decoding that is held to quotes: what the grammar lets through stands in the block, and nothing that is right is lost."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher
from llguidance.hf import from_tokenizer

import storyworld
from mindscape.mindgraph.graph import find
from mindscape.roles import EDITS, Edits, quoting
from mindscape.text import Chunk, Document
from storyworld import teaching
from storyworld.world import Chance


@pytest.fixture(scope="module")
def constraints(tokenizer):
    return from_tokenizer(tokenizer)


def writes(block, reply, tokenizer, constraints):
    """Whether a model that is held to the block's quotes could write the reply."""
    grammar = LLMatcher.grammar_from_lark(quoting(block)["lark"])
    assert not LLMatcher.validate_grammar(grammar, constraints), block
    matcher, tokens = LLMatcher(constraints, grammar), tokenizer(reply)["input_ids"]
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def noting(quote):
    node = {"op": "add_node", "id": "n", "type": "claim", "content": "it", "src": quote}
    return json.dumps({"operations": [node]}, ensure_ascii=False)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_gold_replies_can_be_written(language, tokenizer, constraints):
    book = storyworld.book(0, tokens=15_000, language=language)
    made = list(teaching.gold("edits", book, Chance("quoting", language), tokenizer))
    assert len(made) > 10
    for slots, value in made:
        reply = EDITS.render(value)
        assert writes(slots["block_text"], reply, tokenizer, constraints), reply


SIGNS = st.sampled_from(
    [*'"\\{}[]<>/|&~^$*%', "“", "é", "\u2028", "\x00", "\t", "\n", "  ", "🂡", "ש", "磨坊", "a_b", "7"]
)
TEXTS = st.lists(st.one_of(st.sampled_from(["Ivo", "sold", "it", "I'm", "Ann-Marie", " ", " "]), SIGNS), max_size=14)


@settings(max_examples=150)
@given(parts=TEXTS, data=st.data())
@example(parts=['"', "\\", '"', "\n", "\\"], data=None)
def test_what_can_be_quoted_stands_in_the_block(tokenizer, constraints, parts, data):
    """Any words in a row, and no others, whatever signs the block has."""
    text = "".join(parts)
    document, block = Document("note", text), Chunk("note", 0, 0, len(text))
    words = " ".join(text.split()).split(" ") if text.strip() else []
    if words and data:
        start = data.draw(st.integers(0, len(words) - 1))
        quote = " ".join(words[start : data.draw(st.integers(start + 1, len(words)))])
        assert writes(text, noting(quote), tokenizer, constraints)
        assert find(quote, document, block) is not None
    for other in ("", " ", "Ivo lied", *(f" {word}" for word in words[:1])):
        assert not writes(text, noting(other), tokenizer, constraints)
    assert writes(text, '{"operations": []}', tokenizer, constraints)


def test_quotes_begin_and_end_with_words(tokenizer, constraints):
    text = 'Ivo said:\n"I am the miller." Ann saw it.'
    for quote in ("Ivo said:", 'said: "I am', "Ann", '."', "miller"):
        assert writes(text, noting(quote), tokenizer, constraints), quote
    for quote in ("mill", "vo said", "Ivo said: ", "said:\n", "Ann sees it"):
        assert not writes(text, noting(quote), tokenizer, constraints), quote
    assert writes("伊沃说：“我是磨坊主。”", noting("我是磨坊"), tokenizer, constraints)
    assert not writes("伊沃说：“我是磨坊主。”", noting("我不是"), tokenizer, constraints)


def test_all_four_operations_and_no_other_form(tokenizer, constraints):
    operations = [
        {"op": "add_edge", "source": "a", "target": "b", "relation": 'says "no"', "src": "Ivo"},
        {"op": "edit_node", "id": "a", "content": "a\\b"},
        {"op": "delete_node", "id": "b"},
    ]
    reply = json.dumps({"operations": operations})
    assert writes("Ivo.", reply, tokenizer, constraints) and len(Edits.model_validate_json(reply).operations) == 3
    renamed = reply.replace("edit_node", "move_node"), reply.replace('"target"', '"to"')
    for bad in (*renamed, reply[:-1], f"{reply} Yes."):
        assert not writes("Ivo.", bad, tokenizer, constraints)
    assert not writes("  ", reply, tokenizer, constraints)  # nothing can be quoted of a blank block
    assert writes("", json.dumps({"operations": operations[1:]}), tokenizer, constraints)
