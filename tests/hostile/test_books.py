"""Folders and files of books as people have them."""

import pytest

from mindscape.corpora import own


def test_chapters_come_in_the_order_of_their_numbers(tmp_path):
    for number in (1, 2, 10, 11):
        (tmp_path / f"chapter {number}.txt").write_text(f"Chapter {number}.")
    assert [one.text for one in own.load_folder(tmp_path)] == ["Chapter 1.", "Chapter 2.", "Chapter 10.", "Chapter 11."]


@pytest.mark.parametrize("name", ["._book.txt", ".hidden.md", "~$book.txt"])
def test_a_hidden_file_or_a_lock_is_no_book(tmp_path, name):
    (tmp_path / "book.md").write_text("A book.")
    (tmp_path / name).write_bytes(b"\x00\x05\x16\x07\xff")
    assert [one.id for one in own.load_folder(tmp_path)] == ["book"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_is_no_text_where_an_encoding_is_named(tmp_path, encoding):
    (tmp_path / "book.txt").write_bytes("\ufeffA book.".encode(encoding))
    assert own.load(tmp_path / "book.txt", encoding=encoding).text == "A book."
