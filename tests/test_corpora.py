"""The plays, counted and accounted for line by line, and books of one's own, good and bad."""

import errno
import re
import struct
import sys
import tracemalloc
import warnings
import zipfile
import zlib
from bisect import bisect
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Comment, NavigableString
from extras import failing, refused
from hypothesis import given
from hypothesis import strategies as st

from mindscape import assets, corpora
from mindscape.corpora import shakespeare
from mindscape.errors import InputError
from mindscape.text import Document

FIXTURES = Path(__file__).parent / "fixtures"
PLAYS = [play.id for play in shakespeare.plays()]

# Scenes an act as editors number them (the Globe text); prologues, choruses and epilogues come on top.
SCENES = dict(line.split(maxsplit=1) for line in (FIXTURES / "scenes.txt").read_text(encoding="utf-8").splitlines())


# The plays


def test_there_are_38_plays_in_six_genres():
    counts = {"comedy": 8, "history": 11, "problem play": 5, "Roman play": 4, "romance": 4, "tragedy": 6}
    assert Counter(play.genre for play in shakespeare.plays()) == counts
    titles = [play.title for play in shakespeare.plays()]
    assert len(set(titles)) == 38 and "Measure for Measure" in titles


def test_series_name_plays_and_the_histories_are_in_order():
    assert {name for series in shakespeare.SERIES.values() for name in series} <= set(PLAYS)
    kings = [shakespeare.play(name).meta["title"].split(",")[0] for name in shakespeare.SERIES["histories"]]
    assert list(dict.fromkeys(kings)) == ["Richard II", "Henry IV", "Henry V", "Henry VI", "Richard III"]


def test_an_unknown_play_is_refused_with_the_nearest_name():
    refused(lambda: shakespeare.play("mcbeth"), "no play 'mcbeth': did you mean 'macbeth'?")
    refused(lambda: shakespeare.play("../tragedies/macbeth"), "lists all")
    refused(lambda: shakespeare.play("zzz"), "lists all")


@pytest.mark.parametrize("name", PLAYS)
def test_every_word_of_the_source_is_kept(name):
    """The text has the file's words in the file's order, but for the marks and the listed repairs."""
    source = next(assets.fetch("plays").rglob(f"{name}.md")).read_text(encoding="utf-8")
    for pattern, repair in shakespeare.REPAIRS.get(name, []):
        source, times = re.subn(pattern, repair, source, flags=re.MULTILINE)
        assert times, f"the repair {pattern} mends nothing"
    for wrong, right in shakespeare.SPEAKERS.get(name, {}).items():
        assert f"**{wrong}**" in source, f"{wrong} is nowhere"
        source = source.replace(f"**{wrong}**", f"**{right}**")

    def letters(text):
        return re.sub(r"[^A-Za-z0-9'&.,;:!?—-]", "", text)

    assert letters(shakespeare.play(name).text) == letters(source.replace("&amp;", "&"))


FOLLOWING = {"title": ["act"], "act": ["scene"], "scene": ["direction", "speaker"], "speaker": ["direction", "speech"]}


@pytest.mark.parametrize("name", PLAYS)
def test_every_line_is_something(name):
    document = shakespeare.play(name)
    lines = shakespeare.lines(document)
    assert [document[line] for line in lines] == [line for line in document.text.split("\n") if line]
    assert not re.search(r"[_*#\\]|&amp;|[ \t]\n|\n\n\n", document.text)
    kinds = [line.kind for line in lines]
    assert kinds[0] == "title" and kinds.count("title") == 1
    for kind, following in pairwise(kinds):
        assert following in FOLLOWING.get(kind, kinds)
    for line in lines:
        text = document[line]
        assert (line.kind == "direction") == bool(re.fullmatch(r"\[[^][]+\]", text))
        assert line.kind in ("act", "scene") or not re.match(r"(ACT|SCENE|Scene) [IVX]+\b|EPILOGUE", text)
        if line.kind == "speaker":
            assert len(text) < 50 and not re.search(r"[.:;?!]|^[a-z]|^OF ", text)
        if line.kind == "speech":  # the names that a careless conversion leaves in the speech
            assert not re.match(r"(Lord Chief-Justice|Varro's Serv|Isidore's Serv|Lucilius' Serv|Master-Gunner)", text)
            assert not re.fullmatch(r"[A-Z]{4,}|Ghosts?|Varro's", text)


@pytest.mark.parametrize("name", PLAYS)
def test_scenes_and_speeches_are_in_their_places(name):
    document = shakespeare.play(name)
    scenes, speeches = shakespeare.scenes(document), shakespeare.speeches(document)
    acts = {act: [scene for scene in scenes if scene.act == act] for act in dict.fromkeys(s.act for s in scenes)}
    induction = name in ("henry-iv-part-2", "the-taming-of-the-shrew")
    assert list(acts) == [0, 1, 2, 3, 4, 5][not induction :]
    for parts in acts.values():
        numbers = [scene.scene for scene in parts]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[0] in (0, 1)
    for speech in speeches:
        (home,) = [scene for scene in scenes if scene.start <= speech.start and speech.end <= scene.end]
        assert (home.act, home.scene) == (speech.act, speech.scene)
    assert {(speech.act, speech.scene) for speech in speeches} == {(scene.act, scene.scene) for scene in scenes}
    for places in (scenes, speeches):
        assert all(a.end < b.start for a, b in pairwise(places))
    assert all(document[scene].startswith(scene.heading) for scene in scenes)
    lines = shakespeare.lines(document)
    assert len(speeches) == sum(line.kind == "speaker" for line in lines)
    spoken = [line for line in lines if line.kind == "speech"]
    starts = [speech.start for speech in speeches]
    assert all(line.end <= speeches[bisect(starts, line.start) - 1].end for line in spoken)
    speakers = {speech.speaker for speech in speeches}
    assert len({speaker.lower() for speaker in speakers}) == len(speakers)
    numbered = [[scene for scene in parts if scene.scene and scene.heading != "EPILOGUE"] for parts in acts.values()]
    assert " ".join(str(len(parts)) for parts in numbered) == SCENES[name]


@pytest.mark.parametrize(
    "name, line, act, scene, speaker",
    [
        ("hamlet", "To be, or not to be: that is the question", 3, 1, "HAMLET"),
        ("julius-caesar", "I could be well moved", 3, 1, "CAESAR"),  # another's name stood there
        ("henry-iv-part-2", "I know thee not, old man", 5, 5, "KING HENRY V"),
    ],
)
def test_known_speeches(name, line, act, scene, speaker):
    play = shakespeare.play(name)
    at = play.text.index(line)
    (speech,) = [speech for speech in shakespeare.speeches(play) if speech.start <= at < speech.end]
    assert (speech.act, speech.scene, speech.speaker) == (act, scene, speaker)


def test_only_a_play_as_it_is_given_has_scenes():
    refused(lambda: shakespeare.scenes(Document("macbeth", "Is this a dagger")), "is not a play")
    refused(lambda: shakespeare.scenes(Document("other", "text")), "is not a play")


# Own books


@pytest.mark.parametrize(
    "data, encoding, text",
    [
        ("Thé first\r\nline".encode(), None, "Thé first\r\nline"),
        ("first".encode("utf-8-sig"), None, "first"),
        ("naïve 林".encode("utf-16"), None, "naïve 林"),
        (b"\xfe\xff" + "naïve".encode("utf-16-be"), None, "naïve"),
        ("Thé".encode("latin-1"), "latin-1", "Thé"),
        ("林黛玉".encode("gb18030"), "gb18030", "林黛玉"),
    ],
)
def test_a_text_file_is_taken_as_it_is(tmp_path, data, encoding, text):
    file = tmp_path / "my.book.txt"
    file.write_bytes(data)
    document = corpora.document(file, encoding=encoding)
    assert document.text == text
    assert document.id == "my.book" and document.meta == {"file": "my.book.txt"}


@pytest.mark.parametrize(
    "data, options, message",
    [
        ("Thé".encode("latin-1"), {}, r"bad\.txt: byte 2 \(0xe9\) is not UTF-8: .*encoding='cp1252'.*iconv"),
        (b"\xff\xfea", {}, r"byte 2 \(0x61\) is not UTF-16"),
        (b"\xef\xbb\xbfabc \xff", {}, r"byte 7 \(0xff\) is not UTF-8"),  # counted with the byte order mark
        ("Thé".encode(), {"encoding": "ascii"}, r"byte 2 \(0xc3\) is not ascii"),
        ("text".encode("utf-16-le"), {}, "character 1 is NUL.*encoding='utf-16-le'"),
        ("他走了。\n雨停了。\n".encode("utf-16-be"), {}, "encoding='utf-16-be'"),
        (b"What a day. " * 200 + b"\0", {}, "character 2400 is NUL.*encoding='cp1252'"),  # zeros of no encoding
        (b"", {}, r"bad\.txt is empty"),
        (b"\xef\xbb\xbf \r\n", {}, r"bad\.txt is empty"),
    ],
)
def test_a_bad_text_file_is_refused(tmp_path, data, options, message):
    file = tmp_path / "bad.txt"
    file.write_bytes(data)
    refused(lambda: corpora.document(file, **options), message)


def test_a_path_that_is_no_book_is_refused(tmp_path):
    (tmp_path / "folder.txt").mkdir()
    refused(lambda: corpora.document(tmp_path / "absent.txt"), "cannot be read: No such file")
    refused(lambda: corpora.document(tmp_path / "folder.txt"), "expected a file, and no folder, pipe or device")
    refused(lambda: corpora.document(tmp_path / "book.pdf"), "expected a file that ends in .txt, .md, .epub")


@pytest.mark.parametrize(
    "text, language",
    [
        ("It was the best of times.", "en"),
        ("此开卷第一回也。", "zh"),
        ("黛玉 said nothing, and the whole long room was silent.", "en"),
        ("贾宝玉初试云雨情 (chapter)", "zh"),
        ("1234", "en"),
    ],
)
def test_the_language_is_guessed_unless_given(tmp_path, text, language):
    file = tmp_path / "book.md"
    file.write_text(text, encoding="utf-8")
    assert corpora.document(file).language == language
    assert corpora.document(file, language="de").language == "de"


def test_a_folder_gives_its_books_in_order(tmp_path):
    for name in ("b.txt", "a.MD", "notes.pdf"):
        (tmp_path / name).write_text(f"text of {name}", encoding="utf-8")
    epub(tmp_path / "c.epub")
    (tmp_path / "inner.txt").mkdir()
    assert [document.id for document in corpora.load_folder(tmp_path)] == ["a", "b", "c"]
    (tmp_path / "b.md").write_text("again", encoding="utf-8")
    refused(lambda: corpora.load_folder(tmp_path), r"b\.md and b\.txt have the same id")


def test_a_folder_is_read_as_one_text_whose_files_are_known(tmp_path):
    for name, text in (("b.txt", "Two."), ("a.md", "One.\n\n\n")):
        (tmp_path / name).write_text(text)
    both = corpora.read_own(tmp_path)
    assert both.text == "One.\n\nTwo.\n\n" and both.meta == {"parts": {"a": 0, "b": 6}}
    assert corpora.read_own(tmp_path / "b.txt").text == "Two."
    (tmp_path / "kept").mkdir()
    (tmp_path / "b.txt").rename(tmp_path / "kept" / "1f3a")  # as caches of large files keep them
    (tmp_path / "b.txt").symlink_to(tmp_path / "kept" / "1f3a")
    assert corpora.read_own(tmp_path / "b.txt").id == "b" and corpora.read_own(tmp_path).text == both.text


def test_a_book_is_read_in_a_language_of_the_kit_and_a_folder_in_one(tmp_path):
    (tmp_path / "a.txt").write_text("One.")
    refused(lambda: corpora.read_own(tmp_path / "a.txt", language="de"), "a.txt is in 'de': expected en or zh")
    (tmp_path / "b.txt").write_text("谁买了那盏灯？")
    refused(lambda: corpora.read_own(tmp_path), "holds en and zh: expected one language")


def test_a_folder_without_books_is_refused(tmp_path):
    refused(lambda: corpora.load_folder(tmp_path), "holds no book: expected files that end in .txt, .md, .epub")
    refused(lambda: corpora.load_folder(tmp_path / "absent"), "expected a folder")


EPUB = FIXTURES / "epub"
MEMBERS = {"container": "META-INF/container.xml", "package": "OEBPS/book.opf", "two": "OEBPS/text/two.xhtml"}
CONTAINER, PACKAGE, TWO = ((EPUB / name).read_text(encoding="utf-8") for name in MEMBERS.values())


def epub(path, **members):
    """A small EPUB; a member may be replaced, or left out by None."""
    files = {file.relative_to(EPUB).as_posix(): file.read_bytes() for file in EPUB.rglob("*.*") if file.is_file()}
    files |= {MEMBERS[name]: content for name, content in members.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            if files[name] is not None:
                archive.writestr(name, files[name])
    return path


def test_an_epub_gives_its_pages_in_reading_order(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = corpora.document(epub(tmp_path / "book.epub"))
    paragraphs = ["Chapter One", "It was the best\nof times—it was", "bare", "nested", "text", "漢", "The end.", "a\nb"]
    assert document.text.split("\n\n") == paragraphs
    assert (document.id, document.language) == ("book", "en")
    assert document.meta == {"title": "A Book", "file": "book.epub"}


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_chinese_names_that_the_archive_does_not_say_are_utf8(tmp_path, encoding):
    """As Info-ZIP's zip and Windows in Chinese pack them: the bytes of the name alone, which zipfile reads as cp437."""
    plain = zipfile.ZipFile(epub(tmp_path / "plain.epub"))
    package = PACKAGE.replace('"text/two.xhtml"', '"text/%E7%AC%AC%E4%BA%8C%E7%AB%A0.xhtml"')
    stand_in = "OEBPS/text/" + "#" * len("第二章".encode(encoding)) + ".xhtml"
    with zipfile.ZipFile(tmp_path / "zh.epub", "w") as made:
        for name in plain.namelist():
            data = package if name.endswith(".opf") else plain.read(name)
            made.writestr(stand_in if name.endswith("two.xhtml") else name, data)
    packed = (tmp_path / "zh.epub").read_bytes()
    named = "第二章".encode(encoding)
    assert packed.count(b"#" * len(named)) == 2
    (tmp_path / "zh.epub").write_bytes(packed.replace(b"#" * len(named), named))
    document = corpora.document(tmp_path / "zh.epub")
    assert document.text == corpora.document(tmp_path / "plain.epub").text and "left out" not in document.meta


def test_a_folder_that_may_not_be_read_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "iterdir", failing(errno.EACCES))
    refused(lambda: corpora.load_folder(tmp_path), "cannot be read: Permission denied")
    monkeypatch.setattr(Path, "is_dir", failing(errno.EACCES))
    refused(lambda: corpora.read_own(tmp_path), "cannot be read: Permission denied")
    monkeypatch.undo()
    refused(lambda: corpora.read_own("x" * 300 + ".txt"), "cannot be read: File name too long")


BOMB = '<!DOCTYPE b [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'


@pytest.mark.parametrize(
    "members, message",
    [
        ({"container": None}, "META-INF/container.xml is missing"),
        ({"container": "<container/>"}, "names no package file"),
        ({"container": "<container>"}, "container.xml is not the XML of a book"),
        ({"container": BOMB + "<b>&b;</b>"}, "container.xml is not the XML of a book: EntitiesForbidden"),
        ({"package": BOMB + "<b>&b;</b>"}, "book.opf is not the XML of a book: EntitiesForbidden"),
        ({"package": None}, "OEBPS/book.opf is missing"),
        ({"two": BOMB + "<p>&b;</p>"}, "two.xhtml declares entities"),
        ({"two": "Thé".encode("latin-1")}, r"two.xhtml: byte 2 \(0xe9\) is not UTF-8: an EPUB is in UTF-8 or UTF-16"),
        ({"two": "<p>T\0</p>"}, "two.xhtml: character 4 is NUL, .*: an EPUB is in UTF-8 or UTF-16"),
        ({"two": " " * (corpora.LARGEST_MEMBER + 1)}, "two.xhtml has more than 8 MB"),
        ({"two": "<![foo[ bar ]]>"}, "two.xhtml is not a page of a book: .*unknown status keyword 'foo'"),
        ({"two": f"<p>&#{'9' * 5000};</p>"}, "two.xhtml is not a page of a book: Exceeds the limit"),
        ({"container": '<?xml version="1.0" encoding="foo"?><a/>'}, "container.xml is not the XML .* foo"),
        ({"package": '<?xml version="1.0" encoding="hex"?><a/>'}, "book.opf is not the XML .*'hex'"),
        ({"package": PACKAGE.replace("text/two", "text/t%0Awo")}, r"'text/t%0Awo.xhtml' points outside"),
        ({"container": CONTAINER.replace("OEBPS/", "../")}, "'../book.opf' points outside"),
        ({"package": PACKAGE.replace("text/two", "../../secret")}, "secret.xhtml' points outside"),
        ({"package": PACKAGE.replace("text/two.xhtml", "/etc/passwd")}, "'/etc/passwd' points outside"),
        ({"package": PACKAGE.replace("text/two", "%2e%2e/%2e%2e/two")}, "points outside"),
        ({"package": PACKAGE.replace("text/two", "file:///two")}, "points outside"),
        ({"package": re.sub("<itemref[^>]*>", "", PACKAGE)}, "is empty"),
    ],
)
def test_a_bad_epub_is_refused(tmp_path, members, message):
    said = str(refused(lambda: corpora.document(epub(tmp_path / "bad.epub", **members)), message))
    assert "bad.epub" in said and len(said.splitlines()) == 1


def test_an_encoding_is_for_text_files_alone(tmp_path):
    """A folder may hold both, and an EPUB is UTF-8 or UTF-16, whatever the text files are."""
    epub(tmp_path / "a.epub", two="<p>naïve</p>".encode("utf-16"))
    (tmp_path / "b.txt").write_bytes("naïve".encode("latin-1"))
    books = corpora.load_folder(tmp_path, encoding="latin-1")
    assert [book.text.split()[-1] for book in books] == ["naïve", "naïve"]
    epub(tmp_path / "a.epub", two="Thé".encode("latin-1"))
    assert "encoding=" not in str(refused(lambda: corpora.document(tmp_path / "a.epub", encoding="latin-1"), "UTF-16"))


def test_a_file_that_is_no_zip_or_a_broken_one_is_refused(tmp_path):
    file = tmp_path / "bad.epub"
    file.write_bytes(b"not a zip")
    refused(lambda: corpora.document(file), "bad.epub is not an EPUB")
    data = bytearray(epub(file).read_bytes())
    at = data.index(b"container.xml") + 20
    data[at : at + 20] = bytes(20)
    file.write_bytes(data)
    refused(lambda: corpora.document(file), "container.xml cannot be unpacked")


def test_a_book_that_repeats_a_large_page_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "LARGEST_BOOK", 10_000)
    package = PACKAGE.replace('<itemref idref="two"/>', '<itemref idref="two"/>' * 200)
    refused(lambda: corpora.document(epub(tmp_path / "bad.epub", package=package)), "more than 0 MB")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_page_packed_in_another_way_is_refused(tmp_path, method):
    """The standard library unpacks these without a bound."""
    file = epub(tmp_path / "bad.epub", two=None)
    with zipfile.ZipFile(file, "a", method) as archive:
        archive.writestr("OEBPS/text/two.xhtml", TWO)
    refused(lambda: corpora.document(file), f"two.xhtml is packed by method {method}: expected 0 .* or 8")


def test_a_size_that_lies_is_not_believed(tmp_path):
    """A page of 24 MB that says it has 100 bytes, with the check sum of these; or none."""
    page = b" " * 24_000_000
    data = epub(tmp_path / "bad.epub", two=page).read_bytes()
    for said in (0, 100):
        for check in (zlib.crc32(page), zlib.crc32(page[:said])):
            lying = data.replace(struct.pack("<L", len(page)), struct.pack("<L", said))
            lying = lying.replace(struct.pack("<L", zlib.crc32(page)), struct.pack("<L", check))
            (tmp_path / "bad.epub").write_bytes(lying)
            tracemalloc.start()
            try:
                document = corpora.document(tmp_path / "bad.epub")
            except InputError as error:
                assert "two.xhtml cannot be unpacked: Bad CRC-32" in str(error)
                assert check != zlib.crc32(page[:said])
            else:
                assert document.text.endswith("漢") and check == zlib.crc32(page[:said])
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2_000_000


def test_any_changed_byte_of_the_directory_gives_a_book_or_one_line(tmp_path):
    data = epub(tmp_path / "good.epub").read_bytes()
    file = tmp_path / "bad.epub"
    for at in range(data.index(b"PK\1\2"), len(data)):
        for change in (0x01, 0x08, 0xFF):
            file.write_bytes(data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])
            try:
                corpora.document(file)
            except InputError as error:
                assert "bad.epub" in str(error) and len(str(error).splitlines()) == 1


def calls(function, *arguments):
    """How many calls of Python functions, and resumptions of generators, one call makes."""
    events = Counter()
    sys.setprofile(lambda frame, event, argument: events.update([event]))
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return events["call"]


@pytest.mark.parametrize("piece", ["<b>x", "<div>x", "<p>x", "<svg>x", "<b>x</b>"])
def test_the_work_on_a_page_grows_with_its_length_and_not_its_depth(piece):
    once, twice = (calls(corpora.page, piece * n, "page") for n in (400, 800))
    assert twice < 2.2 * once


def test_a_page_may_be_nested_as_deeply_as_it_likes():
    assert corpora.page("<b>x" * 5000, "page") == "x" * 5000
    assert corpora.page("<div>x" * 5000, "page") == "\n\n".join("x" * 5000)


def slow_page(html):
    """As `page`, with the enclosing block of each text looked for among all that enclose it."""
    soup = BeautifulSoup("<html>" + html, "html.parser")
    pieces, block = [], None
    for node in soup.descendants:
        if isinstance(node, Comment) or {node.name, *(parent.name for parent in node.parents)} & set(corpora.DROPPED):
            continue
        if not isinstance(node, NavigableString):
            pieces.append("\n\n" if node.name in corpora.BLOCKS else "\n" if node.name == "br" else "")
            continue
        home = next((parent for parent in node.parents if parent.name in corpora.BLOCKS), None)
        if home is not block:
            pieces.append("\n\n")
            block = home
        pieces.append(node if home and home.name == "pre" else re.sub(r"\s+", " ", node))
    paragraphs = re.split(r"\n\s*\n", "".join(pieces))
    stripped = ["\n".join(line.strip() for line in paragraph.strip().split("\n")) for paragraph in paragraphs]
    return "\n\n".join(filter(None, stripped))


@given(
    st.lists(
        st.sampled_from(
            [f"<{slash}{name}>" for name in ("b", "p", "div", "pre", "svg", "ruby", "rt") for slash in ("", "/")]
            + ["<br/>", "<!-- no -->", "one", " two\n three ", "\n", "红 楼"]
        ),
        max_size=30,
    )
)
def test_a_page_is_what_the_slow_way_makes_of_it(pieces):
    assert corpora.page("".join(pieces), "page") == slow_page("".join(pieces))
