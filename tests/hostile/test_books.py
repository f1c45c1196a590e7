"""Folders and files of books as people have them."""

import json
import os
import unicodedata
import warnings
import zipfile

import pytest
from extras import refused

from mindscape import corpora, trail
from mindscape.metrics import bleu, exact_match, rouge_l, token_f1, words
from mindscape.mindgraph.baselines import key
from mindscape.search import BM25
from mindscape.text import Document, locate, mentions

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
LAMP = "The lamp was sold."
PLAIN = "<p>The miller sold the lamp to Ann.</p>"
SOLD = "The miller sold the lamp to Ann."


def epub(path, pages, language="en", spine=None, items=None, kind="application/xhtml+xml"):
    """A book of pages by member name; `items` are what the manifest calls them, `spine` the order of their ids."""
    items = {f"p{i}": name for i, name in enumerate(pages)} if items is None else items
    manifest = "".join(f'<item id="{label}" href="{href}" media-type="{kind}"/>' for label, href in items.items())
    order = "".join(f'<itemref idref="{label}"/>' for label in (items if spine is None else spine))
    metadata = f'<dc:language xmlns:dc="http://purl.org/dc/elements/1.1/">{language}</dc:language>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", CONTAINER)
        package = f"<metadata>{metadata}</metadata><manifest>{manifest}</manifest><spine>{order}</spine>"
        archive.writestr("OEBPS/book.opf", f"<package>{package}</package>")
        for name, html in pages.items():
            archive.writestr(f"OEBPS/{name}", html)
    return path


def test_chapters_come_in_the_order_of_their_numbers(tmp_path):
    for number in (1, 2, 10, 11):
        (tmp_path / f"chapter {number}.txt").write_text(f"Chapter {number}.")
    assert [document.text for document in corpora.load_folder(tmp_path)] == [f"Chapter {number}." for number in (1, 2, 10, 11)]


@pytest.mark.parametrize("name", ["._book.txt", ".hidden.md", "~$book.txt"])
def test_a_hidden_file_or_a_lock_is_no_book(tmp_path, name):
    (tmp_path / "book.md").write_text("A book.")
    (tmp_path / name).write_bytes(b"\x00\x05\x16\x07\xff")
    assert [document.id for document in corpora.load_folder(tmp_path)] == ["book"]


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_is_no_text_where_an_encoding_is_named(tmp_path, encoding):
    (tmp_path / "book.txt").write_bytes("\ufeffA book.".encode(encoding))
    assert corpora.document(tmp_path / "book.txt", encoding=encoding).text == "A book."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("“Who sold it?” Ann asked—the café…", "cp1252"), ("谁买了那盏灯？磨坊主的女儿。", "gb18030"), ("Thé", "cp1252")],
)
def test_the_advice_for_an_encoding_gives_the_text(tmp_path, text, encoding):
    file = tmp_path / "book.txt"
    file.write_bytes(text.encode(encoding))
    refused(lambda: corpora.document(file), f"encoding='{encoding}'.*iconv -f {encoding.upper()} ")
    assert corpora.document(file, encoding=encoding).text == text


def test_an_encoding_that_makes_control_characters_is_refused(tmp_path):
    file = tmp_path / "book.txt"
    file.write_bytes("“Who?”".encode("cp1252"))
    for encoding in ("latin-1", "ISO-8859-1", "iso8859-15"):
        message = r"character 0 is the control character U\+0093 in iso8859.*encoding='cp1252'"
        refused(lambda encoding=encoding: corpora.document(file, encoding=encoding), message)


@pytest.mark.parametrize("encoding", ["idna", "punycode", "unicode_escape", "undefined", "base64", "rot13", "latin-99"])
def test_an_encoding_that_is_none(tmp_path, encoding):
    (tmp_path / "book.txt").write_text(f"A..b\\x41 {'a' * 80}")
    refused(lambda: corpora.document(tmp_path / "book.txt", encoding=encoding), "no encoding of texts is called")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_a_pipe_is_no_book(tmp_path):
    os.mkfifo(tmp_path / "book.txt")
    refused(lambda: corpora.document(tmp_path / "book.txt"), "expected a file, and no folder, pipe or device")


# -- characters that do not show -----------------------------------------------------------------------------------------------

HIDDEN = ["\u00ad", "\u200b", "\u200c", "\u2060", "\ufeff", "\u200e", "\u00ad\u200b"]


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda text: "+".join(f"{ord(letter):04x}" for letter in text))
def test_what_does_not_show_changes_no_score_and_hides_no_name(hidden):
    text, written = f"The mil{hidden}ler sold the lan{hidden}tern.", "The miller sold the lantern."
    assert words(text, "en") == words(written, "en")
    assert exact_match(text, written, "en") == token_f1(text, written, "en") == rouge_l(text, written, "en") == 1
    assert bleu(text, written, "en") == bleu(written, written, "en")
    ids, scores = BM25(["Tom sings.", text]).search(["Whose lantern?"], k=1)
    assert ids.tolist() == [[1]] and scores[0, 0] > 0
    assert mentions("lantern", text) == [text.index("lan")] and mentions(f"lan{hidden}tern", written) == [20]
    assert locate("sold the lantern", Document("d", text)) is not None
    assert key(f"the mil{hidden}ler") == key("The Miller")
    chinese = f"磨坊{hidden}主卖了那盏灯。"
    assert words(chinese, "zh") == words("磨坊主卖了那盏灯。", "zh")
    assert words(chinese, "zh", "words") == words("磨坊主卖了那盏灯。", "zh", "words")
    assert exact_match(chinese, "磨坊主卖了那盏灯", "zh") == 1 and mentions("磨坊主", chinese) == [0]


@pytest.mark.parametrize(
    "written",
    [
        *("Ann O'Hara", "Ann\nO'Hara", "Ann \r\n O’Hara", "Ann\u00a0O’Hara", "ANN\u2003OʼHARA"),
        *("Ａｎｎ　Ｏ＇Ｈａｒａ", "Ann\u2028O‘Hara"),
    ],
)
def test_a_name_is_found_however_it_is_written(written):
    for name in ("Ann O'Hara", "Ann O’Hara", "ann\u00a0o'hara"):
        assert mentions(name, f"So {written}'s lamp.") == [3]


def test_accents_are_letters_composed_or_not():
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, "José left. Jose came; Josés all.")
        assert len(mentions("Jose", text)) == 1 and len(mentions("José", text)) == 1
        assert text[mentions("Jose", text)[0] :].startswith("Jose came")


# -- EPUB ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('<p>The lamp<sup><a epub:type="noteref" href="#n1">1</a></sup> was sold<a href="#n2">[2]</a>.</p>', LAMP),
        ('<p>The lamp<a href="n.xhtml#n1"><sup>12</sup></a> was sold<a role="doc-noteref" href="#x">*</a>.</p>', LAMP),
        ("<p>The lamp<sup>1</sup> was sold.<sup>23</sup></p>", LAMP),
        ("<p>10<sup>2</sup> m<sup>2</sup>, the 1<sup>st</sup></p>", "10² m², the 1st"),
        ('<p>See <a href="#p12">12</a>, and <a href="#c2">Chapter 2</a>.</p>', "See 12, and Chapter 2."),
        ('<p>A lamp<span epub:type="pagebreak" id="p7">7</span> shone.</p>', "A lamp shone."),
        ("<p><![CDATA[The miller & Ann]]> left.</p>", "The miller & Ann left."),
        ("<p>The<!-- no --> mil&shy;ler sold the lan\u00adtern.</p>", "The miller sold the lantern."),
        (
            '<h:html xmlns:h="x"><h:head><h:title>T</h:title></h:head><h:body><h:p>One.</h:p><h:p>Two.</h:p></h:body></h:html>',
            "One.\n\nTwo.",
        ),
        ("<x:pre>a\n b</x:pre><x:p>c<x:br/>d</x:p>", "a\nb\n\nc\nd"),
    ],
)
def test_a_page_gives_its_words(tmp_path, html, text):
    assert corpora.document(epub(tmp_path / "b.epub", {"c1.xhtml": html})).text == text


@pytest.mark.parametrize(
    ("said", "language"),
    [
        *((tag, "en") for tag in ("en", "eng", "en-US", "en_GB", "EN", " en ", "English", "und", "", "mul", "zxx")),
        *((tag, "zh") for tag in ("zh", "zho", "chi", "cmn-Hans-CN", "zh-TW", "Chinese", "中文")),
        ("fr-CA", "fr"),
    ],
)
def test_languages_as_books_name_them(tmp_path, said, language):
    book = epub(tmp_path / "b.epub", {"c1.xhtml": PLAIN}, language=said)
    assert corpora.document(book).language == language
    if language == "fr":
        refused(lambda: corpora.read_own(book), "is in 'fr': expected en or zh")


def test_the_text_decides_where_a_book_does_not_say(tmp_path):
    book = epub(tmp_path / "b.epub", {"c1.xhtml": "<p>谁买了那盏灯？</p>"}, language="und")
    assert corpora.document(book).language == "zh"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"items": {"a": "c1.xhtml", "b": "c2.xhtml"}}, "OEBPS/c2.xhtml is missing from the book"),
        ({"items": {"a": "c1.xhtml"}, "spine": ["a", "b"]}, "'b' is in the spine and not in the manifest"),
        ({"items": {"a": "c1.xhtml", "b": ""}}, "'b' is in the spine and not in the manifest"),
    ],
)
def test_a_bad_entry_of_the_spine_costs_itself_alone(tmp_path, change, said):
    book = epub(tmp_path / "b.epub", {"c1.xhtml": PLAIN}, **change)
    with pytest.warns(UserWarning, match=f"b.epub: {said}: left out"):
        document = corpora.document(book)
    assert document.text == SOLD and document.meta["left out"] == (said,)


def test_a_picture_in_the_spine_is_left_out(tmp_path):
    book = epub(tmp_path / "b.epub", {"cover.jpg": b"\xff\xd8\0"}, kind="image/jpeg")
    refused(lambda: corpora.document(book), "OEBPS/cover.jpg is image/jpeg and no page, and there is no page with text")


@pytest.mark.parametrize(
    ("href", "member"),
    [
        ("c%201.xhtml", "c%201.xhtml"),
        ("c%201.xhtml", "c 1.xhtml"),
        ("text%5Cc1.xhtml", "text\\c1.xhtml"),
        ("text/c1.xhtml", "text\\c1.xhtml"),
        ("text\\c1.xhtml", "text/c1.xhtml"),
        ("C1.XHTML", "c1.xhtml"),
        ("caf%C3%A9.xhtml", "cafe\u0301.xhtml"),
        ("cafe\u0301.xhtml", "café.xhtml"),
        ("c1.xhtml#top", "c1.xhtml"),
    ],
)
def test_a_page_is_found_under_the_name_that_a_program_gave_it(tmp_path, href, member):
    with warnings.catch_warnings(action="error"):
        assert corpora.document(epub(tmp_path / "b.epub", {member: PLAIN}, items={"a": href})).text == SOLD


def test_of_two_names_the_exact_one_is_meant(tmp_path):
    pages = {"c 1.xhtml": "<p>Blank.</p>", "c%201.xhtml": "<p>Percent.</p>", "C1.xhtml": "<p>Large.</p>", "c1.xhtml": PLAIN}
    book = epub(tmp_path / "b.epub", pages, items={"a": "c1.xhtml", "b": "C1.xhtml", "c": "c%201.xhtml"})
    assert corpora.document(book).text == f"{SOLD}\n\nLarge.\n\nBlank."


# -- lines ---------------------------------------------------------------------------------------------------------------------


def test_a_line_ends_at_a_line_feed_alone(tmp_path):
    rows = [{"text": "one\u2028two\u0085three\x0cfour\rfive"}, {"text": "six"}]
    for end in ("\n", ""):
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + end
        (tmp_path / "rows.jsonl").write_bytes(text.encode())
        assert list(map(json.loads, trail.lines(tmp_path / "rows.jsonl"))) == rows


def test_an_encoding_is_advised_in_which_the_bytes_say_something(tmp_path):
    """German in Latin-1 can be read as GB 18030, too, and says nothing then."""
    german, chinese = tmp_path / "de.txt", tmp_path / "zh.txt"
    german.write_bytes("Köln und für die Bürger; schön gewählt.".encode("latin-1"))
    chinese.write_bytes("安娜在河边卖了一盏铜灯。".encode("gb18030"))
    refused(lambda: corpora.document(german), r"encoding='cp1252'")
    refused(lambda: corpora.document(chinese), r"encoding='gb18030'")
