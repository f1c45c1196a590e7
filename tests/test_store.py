"""The store: found where it was put, computed where it was not, whole after a kill, plain about what it cannot use."""

import errno
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections import Counter
from contextlib import closing
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from extras import JSON, failing, refused
from hypothesis import given
from hypothesis import strategies as st

from mindscape import store as stores
from mindscape.benchmark import least
from mindscape.errors import MindscapeError
from mindscape.store import Maker, Store, compare_values

ANN = Maker("ann", {"base": "1"}, "float32")
QUESTIONS = [{"of": n} for n in range(6)]


class Squares:
    """What computes: the square of what is asked, last first; it notes what it was asked and dies at the call `dies`."""

    def __init__(self, questions=QUESTIONS, dies=None, off=0):
        self.questions, self.dies, self.off, self.requests = questions, dies, off, []

    def __call__(self, places):
        for position, place in reversed(list(enumerate(places))):
            number = self.questions[place]["of"]
            self.requests.append(number)
            if len(self.requests) == self.dies:
                raise KeyboardInterrupt
            yield position, {"square": number * number + self.off}


def opened(folder, user="me", **how):
    return Store(folder / f"{user}.sqlite", folder / "store", **how)


def squares(store, questions=QUESTIONS, maker=ANN, **how):
    """The values, and what had to be computed for them."""
    compute = Squares(questions, **how)
    values = [value["square"] for value in store.fetch("square", maker, questions, compute)]
    store.flush()
    return values, compute.requests


def filled(folder):
    squares(opened(folder, user="another", fill=True))
    return folder / "store" / f"square.{ANN.label}.jsonl"


# -- asking ---------------------------------------------------------------------------------------------------------------


def test_what_travels_is_found_then_the_cache_and_the_rest_is_computed(tmp_path):
    squares(opened(tmp_path, user="another", fill=True), QUESTIONS[:2])
    squares(opened(tmp_path), QUESTIONS[2:4])
    store = opened(tmp_path)
    assert squares(store) == ([0, 1, 4, 9, 16, 25], [5, 4])
    (access,) = store.trail
    assert (access.shipped, access.cached, access.computed) == (2, 2, 2)
    assert squares(opened(tmp_path)) == ([0, 1, 4, 9, 16, 25], [])


def test_equal_questions_are_computed_once(tmp_path):
    assert squares(opened(tmp_path), [{"of": 3}, {"of": 2}, {"of": 3}]) == ([9, 4, 9], [2, 3])


@given(st.lists(JSON, max_size=8))
def test_what_is_put_comes_back(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("store")
    questions = [{"n": n} for n in range(len(values))]

    for user in ("a", "a", "b"):  # computed, cached, shipped
        store = opened(folder, user=user, fill=True)
        fetched = store.fetch("any", ANN, questions, stores.each(values.__getitem__))
        store.flush()
        assert json.dumps(fetched) == json.dumps(values)


@given(JSON, JSON)
def test_keys_differ_where_questions_do(a, b):
    same = json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
    assert (Store.key("any", ANN, a) == Store.key("any", ANN, b)) == same
    assert Store.key("any", ANN, a) != Store.key("other", ANN, a)
    assert Store.key("any", ANN, a) != Store.key("any", Maker("ann", {"base": "2"}), a)


def test_two_makers_are_one_and_precision_and_name_no_part_of_a_key(tmp_path):
    other = Maker("anna", dict(ANN.about), "bfloat16")
    assert Store.key("any", ANN, 1) == Store.key("any", other, 1) and "bfloat16" not in other.label
    bob = Maker("bob", {"base": "2"}, "bfloat16")
    both = ANN & bob
    assert both.name == "ann+bob" and both.dtype == "float32+bfloat16" and both.fingerprint != (bob & ANN).fingerprint
    assert squares(opened(tmp_path, fill=True), maker=both)[1] and squares(opened(tmp_path), maker=bob)[1]


def test_an_entry_says_who_made_it_in_which_precision_and_how(tmp_path):
    store = opened(tmp_path, fill=True)
    store.fetch("square", ANN, QUESTIONS[:1], Squares(), {"max_new_tokens": 40})
    store.flush()
    head, line = (json.loads(text) for text in store.path("square", ANN).read_text().splitlines())
    assert (head["name"], head["maker"], head["kind"]) == ("ann", {"base": "1"}, "square")
    assert line["value"] == {"square": 0} and line["dtype"] == "float32" and line["how"] == {"max_new_tokens": 40}


def test_a_value_that_json_does_not_hold_is_refused(tmp_path):
    for value in (float("nan"), {1, 2}, b"bytes"):
        refused(lambda value=value: opened(tmp_path).put("any", ANN, {"k": value}), "'any' is not what JSON holds")


# -- switches --------------------------------------------------------------------------------------------------------------


def test_only_fill_writes_to_what_travels_and_what_was_cached_follows(tmp_path):
    squares(opened(tmp_path))
    assert not (tmp_path / "store").exists()
    assert squares(opened(tmp_path, fill=True))[1] == []
    assert squares(opened(tmp_path, user="another"))[1] == []


def test_fresh_takes_nothing_that_travels_but_keeps_what_it_computed(tmp_path):
    before = filled(tmp_path).read_bytes()
    assert squares(opened(tmp_path, fresh=True))[1] == [5, 4, 3, 2, 1, 0]
    assert squares(opened(tmp_path, fresh=True))[1] == []
    assert squares(opened(tmp_path, user="third", fresh=True, fill=True), off=1)[1]
    after = filled(tmp_path).read_bytes()  # computed anew, in the place of what was there
    assert after != before and after.count(b"\n") == before.count(b"\n")


def test_what_travels_is_sorted_so_that_differences_are_small(tmp_path):
    path = filled(tmp_path)
    lines = path.read_text().splitlines()
    assert len(lines) == 7 and sorted(lines[1:]) == lines[1:] and path.read_bytes().endswith(b"}\n")
    squares(opened(tmp_path, fill=True), [{"of": 7}])
    assert len(set(path.read_text().splitlines()) - set(lines)) == 1


def test_a_shard_begins_elsewhere_and_makes_all(tmp_path):
    questions = [{"of": n} for n in range(200)]
    values, computed = squares(opened(tmp_path, shard="2/4"), questions)
    assert values == [n * n for n in range(200)] and max(computed[:64]) == 113 and sorted(computed) == list(range(200))


PREAMBLE = """
    import os, signal, sys, time
    from pathlib import Path
    from mindscape.store import Maker, Store
    ann = Maker("ann", {"base": "1"}, "float32")
    folder, part, asked = Path(sys.argv[1]), int(sys.argv[2]), []
    def compute(places):
        for i, place in enumerate(places):
            asked.append(place)
            begin(i)
            yield i, {"square": place * place}
"""
SHARE = """
    begin = lambda i: time.sleep(0.01)
    questions = [{"of": n} for n in range(160)]
    (folder / f"ready{part}").touch()
    while not all((folder / f"ready{n}").exists() for n in (1, 2)):
        time.sleep(0.01)
    of = Store(folder / f"user{part}.sqlite", folder / "store", fill=True, shard=f"{part}/2")
    values = of.fetch("square", ann, questions, compute)
    assert [value["square"] for value in values] == [n * n for n in range(160)]
    of.flush()
    print(len(asked))
"""


def python(code, *words):
    code = textwrap.dedent(PREAMBLE) + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], stdout=subprocess.PIPE)


def test_two_processes_share_an_experiment(tmp_path):
    both = [python(SHARE, tmp_path, part) for part in (1, 2)]
    counts = [int(process.communicate(timeout=60)[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(counts) <= 160 + 64  # a batch may be made twice
    assert squares(opened(tmp_path, user="third"), [{"of": n} for n in range(160)])[1] == []


# -- kills and damage --------------------------------------------------------------------------------------------------------

KILLED = """
    begin = lambda i: i == part and os.kill(os.getpid(), signal.SIGKILL)
    of = Store(folder / "me.sqlite", folder / "store", fill=True)
    of.fetch("square", ann, [{"of": n} for n in range(6)], compute)
"""


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_kill_loses_what_was_being_made_and_no_more(tmp_path, after):
    process = python(KILLED, tmp_path, after)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert len(squares(opened(tmp_path, fill=True))[1]) == 6 - after
    assert squares(opened(tmp_path, user="another"))[1] == []  # what the killed one had only cached travels, too


@given(st.data())
def test_damage_at_any_place_is_named_skipped_and_computed_anew(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damage")
    path = filled(folder)
    whole = path.read_bytes()
    starts = [i + 1 for i, byte in enumerate(whole[:-1]) if byte == ord("\n")]
    start = data.draw(st.sampled_from(starts))
    place = start + data.draw(st.integers(len('{"key": "') + 32, whole.index(b"\n", start) - start))
    path.write_bytes(whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 127))]) + whole[place + 1 :])
    store = opened(folder, fill=True)
    values, computed = squares(store)
    assert values == [0, 1, 4, 9, 16, 25] and len(computed) in (1, 2) and store.cache.damaged  # two where lines were joined
    assert all(f"{path.name}, line " in said and "it is computed anew" in said for said in store.cache.damaged)
    assert path.read_bytes() == whole and squares(opened(folder, user="third"))[1] == []


def test_an_entry_whose_key_is_damaged_is_not_found(tmp_path):
    path = filled(tmp_path)
    key = Store.key("square", ANN, {"of": 3})
    path.write_text(path.read_text().replace(key, key[::-1]))
    assert squares(opened(tmp_path)) == ([0, 1, 4, 9, 16, 25], [3])  # and `make test` names what no notebook asks for


def test_a_damaged_line_is_said_once_with_its_number(tmp_path, capsys):
    path = filled(tmp_path)
    lines = path.read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b'"square":', b'"square": ')
    path.write_bytes(b"\n".join(lines))
    store = opened(tmp_path)
    for _ in range(2):
        squares(store)
    said = "expected an entry, whole and as it was written: it is computed anew"
    assert store.cache.damaged == [f"{path.name}, line 4: {said}"]
    assert capsys.readouterr().err == store.cache.damaged[0] + "\n"


@pytest.mark.parametrize("damage", [b"", b"12345678", b"12345678{}", b"\xff" * 20])
def test_a_damaged_entry_of_the_cache_is_computed_anew(tmp_path, damage):
    squares(opened(tmp_path))
    key = Store.key("square", ANN, {"of": 4})
    with closing(sqlite3.connect(tmp_path / "me.sqlite")) as file, file:
        file.execute("UPDATE checked SET value = ? WHERE key = ?", (damage, key))
    store = opened(tmp_path)
    values, computed = squares(store)
    assert values[4] == 16 and computed == [4]
    assert store.cache.damaged == [f"{tmp_path / 'me.sqlite'}: entry {key} is damaged: it is computed anew"]


# -- what it cannot use --------------------------------------------------------------------------------------------------------


NO_HEAD = "line 1: expected what maker's entries follow"


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (b'{"format": "mindscape store 2", "kind": "square"}', "is of format 'mindscape store 2': expected '.* 1'"),
        *((first, NO_HEAD) for first in (b'{"format": "mindscape store 1"}', b"a diary", b"", b"[]")),
    ],
)
def test_a_file_of_another_version_or_of_none(tmp_path, first, said):
    path = filled(tmp_path)
    rest = path.read_bytes().partition(b"\n")[2]
    path.write_bytes(first + b"\nDear diary\n")
    refused(lambda: squares(opened(tmp_path)), said)
    path.write_bytes(first + b"\n" + rest)
    if said is NO_HEAD:  # entries are found by their keys, which are hashes of their maker, too
        store = opened(tmp_path)
        assert squares(store) == ([0, 1, 4, 9, 16, 25], []) and NO_HEAD in store.cache.damaged[0]


@pytest.mark.parametrize("change", [{"maker": {"base": "2"}}, {"kind": "cube"}])
def test_a_file_of_another_maker_is_refused(tmp_path, change):
    path = filled(tmp_path)
    head, _, rest = path.read_text().partition("\n")
    path.write_text(json.dumps(json.loads(head) | change) + "\n" + rest)
    said = "holds entries of 'ann', kind '(square|cube)': expected those of 'ann', kind 'square'"
    refused(lambda: squares(opened(tmp_path)), said)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no such rights here")
def test_a_folder_that_cannot_be_written_loses_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "store"
    folder.mkdir()
    if os.geteuid():
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    else:  # nothing stops root but the disk
        monkeypatch.setattr(stores, "FileLock", failing(errno.EACCES))
    said = "cannot use the store .*: Permission denied; .* leave out fill; .* in the cache"
    refused(lambda: squares(opened(tmp_path, fill=True)), said, MindscapeError)
    folder.chmod(stat.S_IRWXU)
    monkeypatch.undo()
    assert squares(opened(tmp_path))[1] == []


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    whole = filled(tmp_path).read_bytes()
    monkeypatch.setattr(stores.os, "fsync", failing(errno.ENOSPC))
    said = "cannot use the store .*: No space left on device; free some space there"
    refused(lambda: squares(opened(tmp_path, fill=True), [{"of": 9}]), said, MindscapeError)
    monkeypatch.undo()
    assert filled(tmp_path).read_bytes() == whole and not list((tmp_path / "store").glob(".*.[0-9]*"))
    assert squares(opened(tmp_path), [{"of": 9}])[1] == []  # the cache has it


# -- computing anew ------------------------------------------------------------------------------------------------------------


def remade(store, **how):
    before = dict(store._files)
    entries = list(store.remake(**how))
    assert store._files == before
    return entries


def test_a_share_is_computed_anew_and_compared(tmp_path):
    questions = [{"of": n} for n in range(4000)]
    squares(opened(tmp_path), questions)
    store = opened(tmp_path)
    compute = Squares(questions)
    store.fetch("square", ANN, questions, compute)
    drawn = remade(store, share=0.1, seed=7)
    assert len(drawn) in (400, 416) and all(entry.agrees and entry.off == 0 and entry.kind == "square" for entry in drawn)
    assert len(compute.requests) == len(drawn) == stores.BLOCK * len({entry.block for entry in drawn})
    assert [entry.key for entry in remade(store, share=0.1, seed=7)] == [entry.key for entry in drawn]
    assert {entry.key for entry in remade(store, share=0.1, seed=8)} != {entry.key for entry in drawn}
    assert {entry.key for entry in drawn} <= {entry.key for entry in remade(store, share=0.2, seed=7)}
    assert len(remade(store, share=1.0)) == 4000 and len(remade(store, count=5)) == 5
    assert len({tuple(entry.key for entry in remade(store, count=5, seed=seed)) for seed in range(3)}) == 3
    assert remade(store, count=3, kinds=("reply",)) == [] and len(remade(store, count=3, kinds=("square",))) == 3


def test_a_few_are_drawn_among_the_quick_ones(tmp_path):
    """Long replies, and what took long, are left to a share; where there is nothing else, they are drawn."""

    def ask(texts, tokens, seconds=0.0):
        questions = [{"of": f"{text} of {tokens} and {seconds}"} for text in texts]
        compute = stores.each(lambda i: {"text": questions[i]["of"], "completion_tokens": tokens})
        store.fetch("reply", ANN, questions, compute, seconds=seconds)
        return {Store.key("reply", ANN, question) for question in questions}

    for _ in range(2):
        store = opened(tmp_path)
        long = ask("abc", 101)
    assert {entry.key for entry in remade(store, count=5)} == long
    for _ in range(2):
        store = opened(tmp_path)
        long, slow, quick = ask("abc", 101), ask("abc", 100, seconds=11.0), ask("abcd", 100)
    drawn = {entry.key for seed in range(20) for entry in remade(store, count=3, seed=seed)}
    assert drawn == quick and {entry.key for entry in remade(store, share=1.0)} == long | slow | quick


@pytest.mark.parametrize("apart", [False, True])
def test_what_is_asked_on_the_way_is_computed_anew_too(tmp_path, apart):
    """Each time, and nothing of it is filed: otherwise the second time would measure nothing."""
    parts = []

    def halves(store, i):
        within = store.apart() if apart else store
        pair = [{"half": i}, {"half": i + 1}]
        return within.fetch("half", ANN, pair, stores.each(lambda k: parts.append(k) or pair[k]["half"] + len(parts) // 100))

    for _ in range(2):
        store = opened(tmp_path)
        store.fetch("sum", ANN, QUESTIONS, stores.each(lambda i, to=store: sum(halves(to, i))))
        assert len(parts) == len(QUESTIONS) + 1
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.*")}
    for n in (1, 2):
        assert all(entry.agrees for entry in remade(store, share=1.0, kinds=("sum",)))
        assert len(parts) == len(QUESTIONS) + 1 + n * 2 * len(QUESTIONS)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.*")} == before
    halves(store, 0)
    assert len(parts) == len(QUESTIONS) + 1 + 4 * len(QUESTIONS)  # what was there is found again


@pytest.fixture
def clock(monkeypatch):
    """What `perf_counter` says, in a list of one."""
    now = [0.0]
    monkeypatch.setattr(stores.time, "perf_counter", lambda: now[0])
    return now


def test_a_limit_of_time_ends_it_and_what_is_left_is_told(tmp_path, clock):
    """In a random order, in parts that are whole."""

    class Slow(Squares):
        def __call__(self, places):
            for value in super().__call__(places):
                clock[0] += 1.0
                yield value

    for _ in range(2):
        store = opened(tmp_path)
        for text in range(40):
            questions = [{"of": n, "text": text, "texts": f"{text}, {n // 4}"} for n in range(8)]
            store.fetch("square", ANN, questions, Slow(questions))
    whole = {entry.key for entry in remade(store, share=0.5, seed=7)}
    drawn = remade(store, share=0.5, seed=7, seconds=30)
    made, left = ([entry for entry in drawn if (entry.agrees is None) == late] for late in (False, True))
    assert {entry.key for entry in drawn} == whole and len(drawn) == len(whole)
    assert 26 < len(made) <= 32 and all(entry.agrees for entry in made) and all(entry.off is None for entry in left)
    assert not {entry.block for entry in made} & {entry.block for entry in left}
    orders = [[entry.key for entry in remade(store, share=1.0, seed=seed, seconds=30) if entry.agrees] for seed in range(4)]
    assert len({*map(tuple, orders)}) == 4 and all(len({*order}) == len(order) for order in orders)
    assert not [entry for entry in remade(store, share=1.0, seconds=400) if entry.agrees is None]


def test_what_takes_longer_than_is_left_is_not_begun(tmp_path, clock):
    """As the call says, or the entry itself; and what is short beside it is computed."""
    went, dear = [], [7]

    def ask(posed):
        for i, question in enumerate(posed):
            went.append(question["of"])
            clock[0] += 90 if question["of"] in dear else 0.1
            yield i, question["of"] ** 2

    for _ in range(2):
        store = opened(tmp_path)
        for n in range(3):
            questions = [{"of": 20 * n + k} for k in range(16)]
            store.fetch("square", ANN, questions, stores.Joint(str(n), questions, ask), seconds=50 * (n == 2))
    went.clear()
    dear.clear()
    drawn = remade(store, share=1.0, seed=7, seconds=60)
    late = {entry.key for entry in drawn if entry.agrees is None}
    assert late == {Store.key("square", ANN, {"of": 20 * n + k}) for n in (0, 2) for k in range(16)}
    assert sorted(went) == [20 + k for k in range(16)]


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_what_was_asked_for_one_by_one_is_computed_anew_in_one_go(tmp_path, share):
    """If the calls are alike: of one kind and maker, and with the same way to compute; whatever order the values come in."""
    store, went = opened(tmp_path), []

    def ask(questions):
        went.append(list(questions))
        return ((i, questions[i]["of"] ** 2) for i in reversed(range(len(questions))))

    for _, like, n in product(range(2), ("short", "long"), range(80)):
        question = {"of": n, "like": like}
        store.fetch("square", ANN, [question], stores.Joint(like, [question], ask))
    went.clear()
    drawn = remade(store, share=share, seed=7)
    assert len(drawn) == share * 160 and all(entry.agrees for entry in drawn)
    assert sum(map(len, went)) == len(drawn) and len(went) <= 2
    assert all(len({question["like"] for question in call}) == 1 for call in went)
    assert {entry.key for entry in drawn} == {Store.key("square", ANN, question) for call in went for question in call}


def test_entries_about_the_same_texts_are_drawn_together(tmp_path):
    """Their dear part is reading the texts: all of a text's or none, in whichever call they were asked for, and with whichever
    weight of the question."""
    other = Maker("ann", {**ANN.about, "delta": 0.5})
    parts = product(range(40), (0, 5))
    calls = [[{"of": n, "texts": f"book {book}"} for n in range(first, first + 5)] for book, first in parts]
    store = opened(tmp_path)
    for questions, maker in product(2 * calls, (ANN, other)):
        store.fetch("square", maker, questions, Squares(questions))
    assert len(remade(store, share=1.0)) == 800
    drawn = Counter(entry.block for entry in remade(store, share=0.2, seed=3))
    assert set(drawn.values()) == {20} and len(drawn) in (8, 9)


def test_what_does_not_come_out_again_is_told_and_not_kept(tmp_path):
    squares(opened(tmp_path))
    store = opened(tmp_path)
    store.fetch("square", ANN, QUESTIONS, Squares(off=1))
    assert not any(entry.agrees for entry in remade(store, share=1.0))
    assert squares(opened(tmp_path)) == ([0, 1, 4, 9, 16, 25], [])


@pytest.mark.parametrize("seconds", [0.0, 20.0])  # or each alone
def test_the_smallest_of_each_kind_and_maker(tmp_path, seconds):
    made = [("square", ANN), ("square", Maker("bob", {"base": "2"})), ("cube", ANN)]
    questions = [{"of": 40}, {"of": 2}, {"of": 300}]
    for store in (opened(tmp_path, fill=True), opened(tmp_path, user="another")):
        for kind, maker in made:
            store.fetch(kind, maker, questions, Squares(questions), seconds=seconds)
        store.flush()
    for kind, maker in [*made, *made]:  # what the user's cache alone has does not travel, however short
        store.fetch(kind, maker, [{"of": 1}], Squares([{"of": 1}]), seconds=seconds)
    smallest = [(entry.kind, entry.maker, entry.key) for entry in remade(store, smallest=True)]
    assert sorted(smallest) == sorted((kind, by.label, Store.key(kind, by, {"of": 2})) for kind, by in made)


def test_what_took_the_fewest_tokens_is_the_smallest(tmp_path):
    """A short answer may have taken many calls."""
    questions = [{"long": 9000}, {"short": 900}, {"shortest in letters": 12_000}]
    values = [{"text": "a" * tokens, "tokens_total": total} for tokens, total in ((50, 9000), (400, 900), (1, 12_000))]
    for store in (opened(tmp_path, fill=True), opened(tmp_path, user="another")):
        store.fetch("answer", ANN, questions, stores.each(values.__getitem__))
        store.flush()
    assert [entry.key for entry in remade(store, smallest=True)] == [Store.key("answer", ANN, questions[1])]


def test_the_smallest_of_several_makers_are_about_the_same_texts(tmp_path):
    """The vectors of one text serve them all; a shorter entry about another text would not."""
    bob = Maker("bob", {"base": "2"})
    questions = [(ANN, [("a", 40), ("b", 300), ("own", 2)]), (bob, [("a", 300), ("b", 40)])]
    for store in (opened(tmp_path, fill=True), opened(tmp_path, user="another")):
        for maker, pairs in questions:
            queries = [{"texts": texts, "of": number} for texts, number in pairs]
            store.fetch("square", maker, queries, Squares(queries))
        store.flush()
    for maker in (ANN, bob, ANN, bob):  # in the user's cache alone, though both ask about it, too
        store.fetch("square", maker, [{"texts": "0", "of": 1}], Squares([{"of": 1}]))
    keys = {entry.key for entry in remade(store, smallest=True)}
    assert keys == {Store.key("square", ANN, {"texts": "a", "of": 40}), Store.key("square", bob, {"texts": "a", "of": 300})}


def test_only_what_was_found_is_computed_anew(tmp_path):
    store = opened(tmp_path)
    squares(store)
    assert remade(store, share=1.0) == [] == remade(Store(tmp_path / "none.sqlite"), count=3)


@pytest.mark.parametrize(
    ("old", "new", "agrees", "off"),
    [
        ({"text": "Ann"}, {"text": "Bob"}, False, None),
        ({"text": "", "tool_calls": [1]}, {"text": "", "tool_calls": []}, False, None),
        ({"text": "", "tool_calls": []}, {"text": ""}, True, None),
        ({"logprob": -6.0, "tokens": 3}, {"logprob": -6.3, "tokens": 3}, False, 0.1),
        ({"logprob": -6.0, "tokens": 3}, {"logprob": -6.0, "tokens": 4}, False, 0.0),
        ({"ids": [3, 1]}, {"ids": [1, 3]}, False, 0.0),
        ({"ids": []}, {"ids": []}, True, 0.0),
        ({"ids": [3, 1, 3, 1]}, {"ids": [3, 1, 3, 1]}, True, 0.0),
        ({"ids": [3, 1, 3, 1]}, {"ids": [3, 1, 1, 3]}, False, 0.0),
        ({"ids": [3, 1, 2, 4, 5]}, {"ids": [3, 1, 2, 4, 6]}, False, 0.2),
        ([1.0, 200.0], [1.0, 200.1], True, 0.0005),
        ({"recall": [0.5], "seconds": 147.0, "foretold": 221.4}, {"recall": [0.5], "seconds": 302, "foretold": 90}, True, 0.0),
        ({"recall": [0.5], "seconds": 147.0}, {"recall": [0.5]}, False, None),
        ([1.0, {"a": 2.0}], [1.0, {"a": 2.5}], False, 0.2),
        ([1.0], [1.0, 2.0], False, None),
        ({"a": 1}, {"b": 1}, False, None),
        ("a", "a", True, 0.0),
        (True, 2, False, None),
        (None, None, True, 0.0),
        ("1", 1, False, None),
    ],
)
def test_what_agreement_means(old, new, agrees, off):
    assert compare_values(old, new) == (agrees, off)


@given(JSON)
def test_what_is_the_same_agrees(value):
    assert compare_values(value, json.loads(json.dumps(value)))[0]


# -- one for a process, and its speed ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("own_store")
def test_the_environment_says_how_the_store_of_a_process_is_opened(monkeypatch, tmp_path):
    monkeypatch.setenv("MINDSCAPE_CACHE", str(tmp_path))
    for name in ("fill", "fresh"):
        stores.use(None)
        monkeypatch.setenv(f"MINDSCAPE_{name.upper()}", "1")
        assert getattr(stores.current(), name) and stores.current() is stores.current()


def test_a_file_that_numbers_rest_on_is_noted(tmp_path):
    store = opened(tmp_path)
    store.read_file(tmp_path / "times.json")
    assert [(access.kind, access.maker) for access in store.trail] == [("file", "times.json")]


def test_a_pass_of_a_network_is_noted(own_store):
    network = stores.watch(stores.watch(torch.nn.Linear(2, 2), "net"), "net")
    for _ in range(3):
        network(torch.ones(1, 2))
    (access,) = own_store.trail
    assert (access.kind, access.maker, access.computed) == ("pass", "net", 3)


def test_a_look_up_takes_little_beside_what_it_saves(tmp_path):
    """As a ratio of one run: reading entries that travel costs less than twelve times what parsing their lines does."""
    questions = [{"of": n, "text": "Who is Ann? " * 20} for n in range(2000)]
    squares(opened(tmp_path, fill=True), questions)
    lines = opened(tmp_path).path("square", ANN).read_bytes().split(b"\n")[1:-1]
    store = opened(tmp_path, user="another")
    store.fetch("square", ANN, questions[:1], Squares(questions))
    look_up = partial(store.fetch, "square", ANN, questions, Squares(questions))
    parsed, looked_up = least(lambda: [json.loads(line) for line in lines], look_up, runs=5)
    assert looked_up < 12 * parsed, f"{looked_up / len(questions) * 1e6:.0f} µs an entry"


def test_arrays_of_any_shape_are_kept_and_compared():
    vectors, places = np.random.default_rng(0).normal(size=(3, 4)), np.arange(24).reshape(2, 3, 4)
    value = json.loads(json.dumps({"vectors": stores.packed(vectors, 1e-5), "places": stores.packed(places)}))
    np.testing.assert_allclose(stores.unpacked(value["vectors"]), vectors, atol=6e-6)
    assert stores.unpacked(value["places"]).tolist() == places.tolist() and stores.unpacked(stores.packed([])).size == 0
    close = value | {"vectors": stores.packed(vectors + 5e-4, 1e-5)}
    assert compare_values(value, close) == (True, 0.0005)
    assert compare_values(value, value | {"vectors": stores.packed(vectors + 0.01, 1e-5)}) == (False, 0.01)
    places[0, 0, 0] = 7
    assert compare_values(value, value | {"places": stores.packed(places)}) == (False, round(1 / 24, 6))
    assert compare_values(value, value | {"places": stores.packed(places[0])}) == (False, None)


def test_what_an_entry_is_made_of_does_not_travel(tmp_path):
    store = opened(tmp_path, fill=True)

    def part(*names):
        return store.fetch("part", ANN, [{"of": name} for name in names], stores.each(lambda place: place))

    store.fetch("whole", ANN, [{"of": 1}, {"of": 2}], stores.each(lambda place: sum(part(place, -1))))
    assert [path.name.partition(".")[0] for path in (tmp_path / "store").glob("*.jsonl")] == ["whole"]
    part(0)  # asked for by itself
    assert len(list((tmp_path / "store").glob("*.jsonl"))) == 2
