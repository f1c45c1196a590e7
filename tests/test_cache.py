"""The cache on disk: whole values, clear about a bad file or a full disk. After a kill: test_store.py."""

from concurrent.futures import ThreadPoolExecutor

from extras import refused
from hypothesis import given
from hypothesis import strategies as st

from mindscape.cache import Cache, digest
from mindscape.errors import MindscapeError


def test_values_come_back_and_absent_keys_do_not(tmp_path):
    cache = Cache(tmp_path / "deep" / "s.sqlite")
    many = {f"k{i}": bytes([i % 256]) * i for i in range(1200)}  # more than one statement's variables
    hits, stored = Cache.hits, Cache.stored
    cache.put(many)
    assert cache.get([*many, "absent"]) == many
    assert len(cache) == Cache.hits - hits == Cache.stored - stored == 1200


def test_threads_share_a_cache(tmp_path):
    cache = Cache(tmp_path / "s.sqlite")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: cache.put({f"k{i}": b"v"}), range(200)))
    assert len(cache) == 200


def test_a_full_disk_is_one_clear_line_and_loses_nothing(tmp_path):
    cache = Cache(tmp_path / "s.sqlite")
    cache.put({"kept": b"v"})
    pages = cache._open().execute("PRAGMA page_count").fetchone()[0]
    cache._open().execute(f"PRAGMA max_page_count = {pages + 2}")
    said = "full; free some space there, or set MINDSCAPE_CACHE"
    refused(lambda: cache.put({"big": b"v" * 100_000}), said, MindscapeError)
    assert cache.get(["kept", "big"]) == {"kept": b"v"}


def test_a_file_that_is_no_cache_is_named_and_kept(tmp_path, capsys):
    poem = "this is a poem, not a database, and it is long enough to be read as a header"
    (tmp_path / "s.sqlite").write_text(poem)
    cache = Cache(tmp_path / "s.sqlite")
    assert cache.get(["k"]) == {}
    cache.put({"k": b"v"})
    assert Cache(tmp_path / "s.sqlite").get(["k"]) == {"k": b"v"}
    assert (tmp_path / "s.sqlite.damaged-1").read_text() == poem
    said = "is damaged (file is not a database): it is kept as s.sqlite.damaged-1; 0 entries of it could be read"
    assert f"s.sqlite {said}" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    for cache in (Cache(tmp_path / "file" / "s.sqlite"), Cache(tmp_path)):
        said = "cannot use the cache .*; see that it can be written, or set MINDSCAPE"
        refused(lambda cache=cache: cache.put({"k": b"v"}), said, MindscapeError)


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_digests_differ_where_contents_do(a, b):
    assert (digest(*a) == digest(*b)) == (a == b)
    assert digest({"x": a, "y": b}) == digest({"y": b, "x": a})


def test_digest_is_pinned():
    """Keys on disk stay valid from one version of the kit to the next."""
    assert digest("mindscape", 1, {"é": [0.5, None, "中"]}) == "9881120fad32fbba30e5d7670156daba"
