"""Texts that others wrote, as `mindscape.text.Document`s: your own books, and Shakespeare's plays (`shakespeare`).

Novels that the kit writes are in the package `storyworld`, files of published benchmarks in `benchmarks`.

    document            one book: a plain text, Markdown or EPUB file
    load_folder         all books in a folder
    joined, read_own    several texts as one; a file or a folder in a language that the kit has prompts in

A text or Markdown file is taken as it is, marks and line breaks included, so offsets fit the file. An EPUB becomes the
text of its pages in reading order, with a blank line between paragraphs; pictures, scripts, styles, ruby notes, page
numbers, the marks of notes and characters that do not show are left out. A file is data: nothing in it is run, unpacked to
disk, or fetched.

This reads no PDF, no Word file and no book under digital rights management. Taught in notebooks 00_start_here and
52_your_own_book.
"""

import codecs
import os
import posixpath
import re
import struct
import unicodedata
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element, ParseError

from bs4 import BeautifulSoup, CData, NavigableString, PageElement, ParserRejectedMarkup, Tag
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from mindscape.errors import InputError, require
from mindscape.text import Document

LANGUAGES = ("en", "zh")  # that the kit has prompts in
UNTOLD = ("", "und", "mul", "mis", "zxx")  # what a book says whose language is not known, or several
SPELLED = {  # what EPUBs say besides the tag of two letters that they ought to
    **dict.fromkeys(("eng", "english", "anglais", "englisch"), "en"),
    **dict.fromkeys(("zho", "chi", "cmn", "chinese", "mandarin", "中文", "汉语", "漢語", "简体中文", "繁體中文"), "zh"),
}
SUFFIXES = (".txt", ".md", ".epub")
# Python's codecs for something else.
NO_TEXTS = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape")
NO_BOOK = (".", "~$")  # begins the names of hidden files and of locks, which have a book's suffix too
LARGEST_MEMBER = 8_000_000  # bytes of one file in an EPUB, unpacked; a parse tree takes up to 250 times that at worst
LARGEST_BOOK = 128_000_000  # bytes of all its pages
PICTURES = ("image/", "audio/", "video/", "font/")  # begin the media types of what has no text
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # all that EPUB 3.3 allows, and all that unpack within a bound
# What zipfile raises for a bad archive. RuntimeError: locked, or of a later version; the last three: a bad field.
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OverflowError, struct.error)
CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
DROPPED = ("head", "script", "style", "svg", "template", "rt", "rp")
# Of epub:type and role: marks of notes, and page numbers.
NOT_TEXT = {"noteref", "pagebreak", "doc-noteref", "doc-pagebreak"}
NOTE_MARK = re.compile(r"\s*(?:\[\s*(?:\d{1,4}|[a-z*†‡§])\s*\]|[*†‡§]{1,3}|[\u00b9\u00b2\u00b3\u2070-\u2079]+)\s*")
RAISED = re.compile(r"\s*[\[(]?(?:\d{1,4}|[*†‡§]{1,3})[\])]?\s*")
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
HIDDEN = dict.fromkeys((0x00AD, 0x200B, 0x2060, 0xFEFF))  # places where a word may be broken, or may not
BLOCKS = (
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "div", "dl", "dt", "figcaption"),
    *("figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"),
    *("section", "table", "td", "th", "tr", "ul"),
)
OTHER_ENCODING = (
    "name the right encoding, as in document(path, encoding={}) or --encoding, or convert the file: iconv -f {} -t UTF-8"
)
OTHER_ENCODING_IN_EPUB = "an EPUB is in UTF-8 or UTF-16: convert the book to a text file, and load that"


def document(path: str | Path, language: str | None = None, encoding: str | None = None) -> Document:
    """One book. Its id is the file's name without the suffix; `meta` has the file's name, and an EPUB's title.

    Text is read as UTF-8, or as UTF-16 where a byte order mark says so, unless `encoding` names another one; that is
    for text and Markdown files alone, as an EPUB has no other. `language` is an ISO 639-1 code; by default it is what
    an EPUB says, or else "zh" where at least three in ten letters are Chinese characters and "en" otherwise.
    Raises InputError for a file that is missing, of another kind, in another encoding, broken, or without text. What a spine
    names and an EPUB lacks is left out with a warning, and stands in `meta` under "left out".

    >>> document("walden.txt")                                                               # doctest: +SKIP
    Document(id='walden', text='When I wrote the following…', language='en', meta={'file': 'walden.txt'})
    """
    path = Path(path)
    suffix = path.suffix.lower()
    require(suffix in SUFFIXES, f"{path}: expected a file that ends in {', '.join(SUFFIXES)}")
    meta: dict[str, Any] = {"file": path.name}
    with reading(path):
        require(path.is_file() or not path.exists(), f"{path}: expected a file, and no folder, pipe or device")
        if suffix == ".epub":
            text, title, said, left_out = _epub(path)
            language = language or said
            meta |= ({"title": title} if title else {}) | ({"left out": left_out} if left_out else {})
        else:
            text = _decode(path.read_bytes(), str(path), encoding)
    require(text.strip(), f"{path} is empty: expected some text")
    return Document(path.stem, text, language or _language(text), meta)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises InputError, which names the path and what the system says, in place of an OSError.

    >>> with reading(Path("absent.txt")):
    ...     Path("absent.txt").read_bytes()
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: absent.txt: cannot be read: No such file or directory
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def load_folder(path: str | Path, language: str | None = None, encoding: str | None = None) -> list[Document]:
    """All books in a folder, in the order of their names, chapter 2 before chapter 10; arguments and errors as in `document`.

    Files of other kinds, hidden ones, locks of a word processor and folders within are passed over.
    Raises InputError too where there is no book at all, or two would have the same id.

    >>> [document.id for document in load_folder("books")]                                   # doctest: +SKIP
    ['moby-dick', 'walden']
    """
    folder = Path(path)
    with reading(folder):
        require(folder.is_dir(), f"{folder}: expected a folder")
        named = (file for file in folder.iterdir() if not file.name.startswith(NO_BOOK))
        files = sorted((file for file in named if file.suffix.lower() in SUFFIXES and file.is_file()), key=_natural)
    require(files, f"{folder} holds no book: expected files that end in {', '.join(SUFFIXES)}")
    by_id: dict[str, Path] = {}
    for file in files:
        first = by_id.setdefault(file.stem, file)
        require(first is file, f"{folder}: {first.name} and {file.name} have the same id: rename one")
    return [document(file, language, encoding) for file in files]


def _natural(file: Path) -> list[tuple[int, str]]:
    """A key that sorts names by their text, and the numbers in them by value."""
    return [(int(piece), "") if index % 2 else (0, piece) for index, piece in enumerate(re.split("([0-9]+)", file.name))]


def joined(documents: Sequence[Document], name: str) -> Document:
    """Several texts as one, a blank line between two; `parts` in its meta says where each begins.

    Raises InputError for texts in several languages. Taught in notebook 52_your_own_book.

    >>> joined([Document("a", "One."), Document("b", "Two.")], "both").meta
    {'parts': {'a': 0, 'b': 6}}
    """
    languages = sorted({part.language for part in documents})
    require(len(languages) == 1, f"{name} holds {' and '.join(languages)}: expected one language")
    text, parts = "", {}
    for part in documents:
        parts[part.id] = len(text)
        text += part.text.rstrip() + "\n\n"
    return Document(name, text, languages[0], {"parts": parts})


def read_own(path: str | Path, language: str = "", encoding: str = "") -> Document:
    """A file, or the files of a folder in a row, in a language that the kit has prompts in.

    Raises InputError for another language, and as `document`, `load_folder` and `joined` do. Taught in notebook
    52_your_own_book.

    >>> read_own("novels").meta                                                                  # doctest: +SKIP
    {'parts': {'moby-dick': 0, 'walden': 1215236}}
    """
    with reading(Path(path)):
        path = Path(os.path.abspath(Path(path).expanduser()))  # a link is what it is called, not what it leads to
        folder = path.is_dir()
    how = language or None, encoding or None
    book = joined(load_folder(path, *how), path.name) if folder else document(path, *how)
    require(book.language in LANGUAGES, f'{path.name} is in {book.language!r}: expected en or zh (language="en")')
    return book


def _decode(data: bytes, where: str, encoding: str | None = None, advice: str = OTHER_ENCODING) -> str:
    """Bytes as text. `where` names them in an error, and `advice` ends it."""
    if encoding is None:
        encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        encoding = codecs.lookup(encoding).name
        if encoding in NO_TEXTS:
            raise LookupError(encoding)
        text = data.decode(encoding)
    except LookupError:
        said = f"no encoding of texts is called {encoding!r}: expected a name like 'cp1252', 'gb18030'"
        raise InputError(f"{where}: {said}") from None
    except UnicodeDecodeError as error:
        start = error.start + len(data) - len(error.object)  # utf-8-sig takes the mark away before it counts
        byte = f"byte {start} (0x{data[start]:02x})"
        name = {"utf-8-sig": "UTF-8", "utf-8": "UTF-8", "utf-16": "UTF-16"}.get(encoding, encoding)
        raise InputError(f"{where}: {byte} is not {name}: {_advised(advice, data)}") from None
    text = text.removeprefix("\ufeff")  # a byte order mark, which only some codecs take away
    if "\0" in text:
        raise InputError(f"{where}: character {text.index(chr(0))} is NUL, which no text has: {_advised(advice, data)}")
    if not encoding.startswith("utf") and (control := re.search("[\x80-\x9f]", text)):
        fault = f"character {control.start()} is the control character U+{ord(control[0]):04X} in {encoding}"
        raise InputError(f"{where}: {fault}, which no text has: {_advised(advice, data)}")
    return text


def _advised(advice: str, data: bytes) -> str:
    """The advice, with an encoding in which the bytes are text: Chinese where that is what they say then, else that of Windows,
    which also stands as an example where they are text in none. Many zeros are UTF-16's, before or behind ASCII's bytes."""
    before, behind = data[::2].count(0), data[1::2].count(0)
    wide = "utf-16-be" if before > behind else "utf-16-le"
    for name in (wide,) if 1000 * (before + behind) > len(data) else ("gb18030", "cp1252", "latin-1"):
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        if not re.search("[\x80-\x9f\ue000-\uf8ff\0]", text) and (name != "gb18030" or _language(text) == "zh"):
            return advice.format(repr(name), name.upper())
    return advice.format("'cp1252'", "CP1252")


def _language(text: str) -> str:
    return "zh" if 10 * len(CHINESE.findall(text)) >= 3 * max(1, sum(map(str.isalpha, text))) else "en"


def _epub(path: Path) -> tuple[str, str, str, tuple[str, ...]]:
    """The text, the title, the language and what is left out of a book; title and language are empty where it does not say.

    After EPUB 3.3: META-INF/container.xml names the package file; its spine lists the pages in reading order.
    """
    try:
        archive = zipfile.ZipFile(path)
    except BROKEN as error:
        raise InputError(f"{path} is not an EPUB: {error}") from None
    with archive:
        rootfile = _xml(path, archive, "META-INF/container.xml").find(".//{*}rootfile")
        named = "" if rootfile is None else rootfile.get("full-path", "")
        require(named, f"{path}: META-INF/container.xml names no package file: expected a rootfile with full-path")
        package_name = _found(archive, _inside(path, "", named))
        package = _xml(path, archive, package_name)
        items = {item.get("id"): item for item in package.iterfind("{*}manifest/{*}item")}
        pages, size, left_out = [], 0, []
        for itemref in package.iterfind("{*}spine/{*}itemref"):
            item = items.get(itemref.get("idref"))
            if item is None or not item.get("href"):
                left_out.append(f"{itemref.get('idref')!r} is in the spine and not in the manifest")
                continue
            name = _found(archive, _inside(path, posixpath.dirname(package_name), item.get("href")))
            kind = item.get("media-type", "")
            if kind.startswith(PICTURES):
                left_out.append(f"{name} is {kind} and no page")
                continue
            if name not in archive.NameToInfo:
                left_out.append(f"{name} is missing from the book")
                continue
            data = _member(path, archive, name)
            size += len(data)
            require(size <= LARGEST_BOOK, f"{path}: its pages have more than {LARGEST_BOOK / 1e6:.0f} MB: expected a book")
            where = f"{path}: {name}"
            pages.append(page(_decode(data, where, advice=OTHER_ENCODING_IN_EPUB), where))
    if left_out:
        require(any(pages), f"{path}: {left_out[0]}, and there is no page with text: expected a book")
        warnings.warn(f"{path.name}: {'; '.join(left_out)}: left out", stacklevel=3)
    dublin = "{*}metadata/{http://purl.org/dc/elements/1.1/}"
    title, language = (package.findtext(dublin + name) or "" for name in ("title", "language"))
    return "\n\n".join(filter(None, pages)), title.strip(), _tag(language), tuple(left_out)


def _tag(said: str) -> str:
    """The code of a language from what an EPUB says; empty where that is none.

    >>> _tag("eng"), _tag("zh-Hant-TW"), _tag("en_US"), _tag("und"), _tag("English")
    ('en', 'zh', 'en', '', 'en')
    """
    plain = said.strip().lower()
    first = re.split("[-_ (,;]", plain)[0]
    code = SPELLED.get(plain) or SPELLED.get(first, first)
    return "" if code in UNTOLD else code


def _inside(path: Path, folder: str, href: str) -> str:
    """The name of the member that `href` in `folder` points to, as it stands there, if it stays within the book, and on one
    line."""
    name = posixpath.normpath(posixpath.join(folder, href.partition("#")[0].replace("\\", "/")))
    for form in (name, posixpath.normpath(unquote(name).replace("\\", "/"))):
        outside = form.startswith(("/", "..")) or ":" in form or form.splitlines() != [form]
        require(not outside, f"{path}: {href!r} points outside the book")
    return name


def _found(archive: zipfile.ZipFile, name: str) -> str:
    """The member that a name means: without its percent signs, as it is, or in another case or form of Unicode, as programs
    write them that never unpack what they pack. Without one, the name for people."""
    plain = unquote(name)
    for form in (plain, name):
        if form in archive.NameToInfo:
            return form
    wanted = {_alike(plain), _alike(name)}
    members = archive.NameToInfo.items()
    return next((member for member, info in members if not wanted.isdisjoint(map(_alike, _names(info)))), plain)


def _names(member: zipfile.ZipInfo) -> set[str]:
    """A member's name, and what its bytes say in UTF-8 or in Chinese Windows' encoding where the archive does not say which it
    is, as Info-ZIP's zip writes it: zipfile then reads it as cp437."""
    names = {member.filename}
    if not member.flag_bits & 0x800 and not member.orig_filename.isascii():
        for encoding in ("utf-8", "gb18030"):
            with suppress(UnicodeError):
                names.add(member.orig_filename.encode("cp437").decode(encoding))
    return names


def _alike(member: str) -> str:
    return unicodedata.normalize("NFC", member.replace("\\", "/")).casefold()


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """What a member unpacks to.

    The size that the archive declares may be a lie. A read of that size and a byte unpacks no further, and ends in a
    wrong check sum where the member is longer; a read without a size would unpack all of it before the cut.
    """
    info = archive.NameToInfo.get(name)
    require(info, f"{path}: {name} is missing from the book")
    method, most = info.compress_type, f"{LARGEST_MEMBER / 1e6:.0f} MB"
    require(method in METHODS, f"{path}: {name} is packed by method {method}: expected 0 (stored) or 8 (deflated)")
    require(info.file_size <= LARGEST_MEMBER, f"{path}: {name} has more than {most}: expected a part of a book")
    try:
        with archive.open(info) as file:
            return file.read(info.file_size + 1)
    except BROKEN as error:
        raise InputError(f"{path}: {name} cannot be unpacked: {str(error) or 'it ends too early'}") from None


def _xml(path: Path, archive: zipfile.ZipFile, name: str) -> Element:
    data = _member(path, archive, name)
    try:
        return fromstring(data)
    except (ParseError, DefusedXmlException, LookupError, ValueError) as error:  # LookupError: an unknown encoding
        raise InputError(f"{path}: {name} is not the XML of a book: {error}") from None


def page(html: str, where: str) -> str:
    """The text of one page: a blank line between blocks, `<br/>` as a line break, other white space as one blank."""
    require("<!ENTITY" not in html, f"{where} declares entities of its own: expected plain XHTML")
    # Where no ">" follows, a "<" begins no tag; the parser would look for one from each of them to the end.
    closed = html.rfind(">") + 1
    html = html[:closed] + re.sub("<(?=[A-Za-z/!?])", "&lt;", html[closed:])
    html = "<html>" + html  # or BeautifulSoup warns of pages that begin as XML, or as a file's name
    try:
        soup = BeautifulSoup(html, "html.parser")
    except (ParserRejectedMarkup, ValueError) as error:  # ValueError: a character reference of thousands of digits
        raise InputError(f"{where} is not a page of a book: {str(error).splitlines()[-1].strip()}") from None
    pieces, block = [], None
    # Nodes with the block around each, the next one last: a page may be nested to any depth.
    waiting: list[tuple[PageElement, Tag | None]] = [(soup, None)]
    while waiting:
        node, home = waiting.pop()
        if isinstance(node, Tag):
            name = _local(node)
            if name in DROPPED or _is_mark(node, name):
                continue
            if name in BLOCKS:
                home = node
            pieces.append("\n\n" if home is node else "\n" if name == "br" else "")
            waiting.extend((child, home) for child in reversed(node.contents))
        elif type(node) is NavigableString or type(node) is CData:  # and not a comment or the like
            if home is not block:
                pieces.append("\n\n")
                block = home
            text = node.translate(HIDDEN)
            if _local(node.parent) == "sup":
                text = text.translate(SUPERSCRIPT)  # or 10² would be read as 102
            pieces.append(text if home and _local(home) == "pre" else re.sub(r"\s+", " ", text))
    paragraphs = re.split(r"\n\s*\n", "".join(pieces))
    stripped = ["\n".join(map(str.strip, paragraph.strip().split("\n"))) for paragraph in paragraphs]
    return "\n\n".join(filter(None, stripped))


def _is_mark(node: Tag, name: str) -> bool:
    """Whether an element is the mark of a note or the number of a page, which would be glued to the word before it."""
    if not NOT_TEXT.isdisjoint(f"{node.get('epub:type') or ''} {node.get('role') or ''}".split()):
        return True
    parts = _few(node) if name in ("a", "sup") else []
    text = "".join(part for part in parts if isinstance(part, str))
    if name == "a":
        raised = any(isinstance(part, Tag) and _local(part) == "sup" for part in (node.parent, *parts))
        mark = NOTE_MARK.fullmatch(text) or (raised and RAISED.fullmatch(text))
        return "#" in (node.get("href") or "") and bool(mark)
    before = node.previous_sibling
    word = re.search(r"(\w*)\W?\Z", before[-40:]) if isinstance(before, NavigableString) else None
    # m² and 10² keep theirs; a word of three letters or more, or the end of a sentence, has a note
    return bool(RAISED.fullmatch(text)) and bool(word) and len(word[1]) > 2 and not word[1].isdigit()


def _few(node: Tag, most: int = 9) -> list[PageElement]:
    """What is within an element, at any depth; nothing where that is more than a mark has."""
    elements: list[PageElement] = []
    for part in node.next_elements:  # and not its descendants, of which bs4 looks for the last one first, however deep
        if not any(part.parent is home for home in (node, *elements)):
            break
        if len(elements) == most:
            return []
        elements.append(part)
    return elements


def _local(node: Tag) -> str:
    """An element's name; XHTML may give it a prefix."""
    return node.name.rpartition(":")[2]
