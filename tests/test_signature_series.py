"""Series of books: what is on them, what there is no series of, shares of what is asked."""

from dataclasses import replace

import numpy as np
from extras import refused
from test_signature_rag import ASKED, question

from mindscape.signature.rag import MOST, collections, freely, play_collection, share, town

CHOICES = [replace(one, kind="choice", options=("Ann", "Ivo", "Tom", "Eve"), right="B") for one in ASKED]
CLAIMS = [question(9, f"Claim {right}.", 3, kind="claim", right=right, pair="p") for right in ("TRUE", "FALSE")]
CLAIMS = [replace(one, id=f"c{i}") for i, one in enumerate(CLAIMS)]


def test_a_town(tokenizer, language):
    it = town(1000, tokenizer, width=5, size=90, language=language)
    assert it.name == it.memory.documents[0].id and len(it.memory.documents) == 2
    assert all(1 <= len(one.evidence) <= MOST for one in (*it.questions, *it.claims))
    assert len(it.claims) == 2 * len(it.questions) > 60
    assert {one.doc_id for one in it.questions} == {document.id for document in it.memory.documents}
    assert len(set(np.bincount(it.memory.pi)[:-1])) <= 2  # five passages a session, fewer at the end of a book


def test_plays(tokenizer):
    rome = play_collection("rome", tokenizer)
    assert len(rome.questions) > 30 and len(rome.claims) % 2 == 0 and rome.name == "julius-caesar"
    refused(lambda: play_collection("greece", tokenizer), "no series 'greece': expected one of histories")


def test_what_there_is_no_corpus_of(tokenizer):
    refused(lambda: collections("novels", tokenizer), "corpus='novels'")
    refused(lambda: collections("storyworld", tokenizer, "dev"), "split='dev'")


def test_a_share_is_of_each_book_and_keeps_pairs_whole():
    asked = [question(i, "Who?", 1) for i in range(9)] + [replace(question(i, "Who?", 1), doc_id="b") for i in (11, 12)]
    for count in range(1, 9):
        some = share(asked, count)
        assert [one.doc_id for one in some].count("town") == count and some == sorted(some, key=asked.index)
        assert {one.id for one in some} <= {one.id for one in share(asked, count + 1)}
    assert len({tuple(share(asked, 3, seed)) for seed in range(9)}) > 3
    pairs = [replace(one, id=f"{one.id}{i}", pair=f"p{i}") for i in range(4) for one in CLAIMS]
    assert sorted(one.right for one in share(pairs, 2)) == ["FALSE", "FALSE", "TRUE", "TRUE"]


def test_only_a_choice_becomes_a_free_question():
    assert freely(CHOICES[0]) == replace(ASKED[0], right="Ivo")
    refused(lambda: freely(CLAIMS[0]), "is a claim: expected a choice")
