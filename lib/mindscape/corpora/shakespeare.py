"""Shakespeare's 38 plays, with scenes and speeches as places in the text.

The source is the asset "plays": one Markdown file a play, made from an old web edition. `play` gives it as plain text:

    ACT I

    SCENE I. A desert place.

    [Thunder and lightning. Enter three Witches]

    First Witch
    When shall we three meet again
    In thunder, lightning, or in rain?

Markdown's marks are gone, stage directions stand in square brackets, the speaker on a line before the speech. What the
Markdown file has lost or misread is repaired first (`REPAIRS`), and misprints in speakers' names are set right
(`SPEAKERS`), as shakespeare.toml lists them; the words that are spoken stay as they are. All offsets are characters of
`Document.text`.

This does not know line numbers, does not tell verse from prose, and does not decide that GLOUCESTER and KING RICHARD
III are one man: a name is the one that stands before the speech. Taught in notebook 00_start_here.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Literal

from mindscape import assets, paths, trail
from mindscape.errors import InputError, require
from mindscape.question import ClaimPair, Question, load_claims, load_questions
from mindscape.text import Document

Kind = Literal["title", "act", "scene", "direction", "speaker", "speech"]

_LISTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
REPAIRS, SPEAKERS, GENRES = (_LISTED[name] for name in ("repairs", "speakers", "genres"))
SERIES = {name: tuple(titles) for name, titles in _LISTED["series"].items()}  # plays that share characters


@dataclass(frozen=True)
class Play:
    """One entry of the list of plays."""

    id: str
    title: str
    genre: str


@dataclass(frozen=True)
class Line:
    """A line of the text without its line break, and what it is."""

    kind: Kind
    start: int
    end: int


@dataclass(frozen=True)
class Scene:
    """A scene with its heading, up to the next one.

    Act 0 comes before act 1: an induction, a prologue. Scene 0 is a prologue or a chorus before scene 1; an epilogue follows
    the last one.
    """

    act: int
    scene: int
    heading: str
    start: int
    end: int


@dataclass(frozen=True)
class Speech:
    """What one speaker says without another between, stage directions within it included, the speaker's name not.

    Where several speak together, `speaker` joins the names by " & ".
    """

    act: int
    scene: int
    speaker: str
    start: int
    end: int


def plays() -> list[Play]:
    """All plays, by genre and id.

    >>> len(plays()), plays()[0]
    (38, Play(id='a-midsummer-night-s-dream', title="A Midsummer Night's Dream", genre='comedy'))
    """
    return [Play(name, play(name).meta["title"], play(name).meta["genre"]) for name in _files()]


def play(name: str) -> Document:
    """One play as a document; `meta` has its title and genre. Raises InputError for a name that `plays` does not list.

    >>> macbeth = play("macbeth")
    >>> macbeth.meta["title"], macbeth.meta["genre"], len(macbeth.text)
    ('Macbeth', 'tragedy', 101207)
    """
    if name not in _files():
        close = get_close_matches(name, _files(), n=1, cutoff=0.4)
        raise InputError(f"no play {name!r}: {f'did you mean {close[0]!r}? ' if close else ''}`plays()` lists all")
    return _parse(name)[0]


def lines(document: Document) -> list[Line]:
    """Every line of a play that is not blank, in order; within a speech "[Aside]" is a line of its own, a direction.

    Raises InputError for a document that is not one of `play`'s.

    >>> macbeth = play("macbeth")
    >>> [line.kind for line in lines(macbeth)[:6]]
    ['title', 'act', 'scene', 'direction', 'speaker', 'speech']
    """
    known = document.id in _files() and document == play(document.id)
    require(known, f"document {document.id!r} is not a play: expected one as `play` gives it")
    return list(_parse(document.id)[1])


@cache
def questions(name: str | None = None) -> tuple[Question, ...]:
    """The kit's own questions on fourteen of the plays, or on one; each was answered by a second reader.

    They are in modern English and avoid the words of their evidence; `data/shakespeare/README.md` says how they were
    made. Empty for a play without questions. Raises InputError for a name that `plays` does not list.

    >>> len(questions()), questions("macbeth")[0].question
    (303, 'Whose forfeited rank does the king award to his victorious general?')
    """
    return _of(load_questions(paths.data("shakespeare", "questions.jsonl"), play), name)


@cache
def claims(name: str | None = None) -> tuple[ClaimPair, ...]:
    """The kit's own pairs of claims, a true one and a false one; otherwise as `questions`.

    >>> len(claims())
    96
    """
    return _of(load_claims(paths.data("shakespeare", "claims.jsonl"), play), name)


def summary(name: str) -> str:
    """The kit's own summary of a play, 120 to 300 words. Raises InputError for a play that has none.

    >>> len(summary("macbeth").split())
    241
    """
    return _summaries(name)[None, None]


def scene_summaries(name: str) -> list[str]:
    """The kit's own summaries of a play's scenes, in the order of `scenes`. Errors as in `summary`.

    >>> len(scene_summaries("macbeth")) == len(scenes(play("macbeth")))
    True
    """
    return [_summaries(name)[scene.act, scene.scene] for scene in scenes(play(name))]


@cache
def _summaries(name: str) -> dict[tuple[int | None, int | None], str]:
    play(name)
    rows = [row for row in map(json.loads, trail.lines(paths.data("shakespeare", "summaries.jsonl"))) if row["play"] == name]
    require(rows, f"the kit has no summary of {name!r}: expected one of the plays that `questions` ask about")
    return {(row["act"], row["scene"]): row["summary"] for row in rows}


def _of(rows: list, name: str | None) -> tuple:
    """The rows on one play, or all."""
    if name is not None:
        play(name)
    return tuple(row for row in rows if name in (None, row.doc_id))


def scenes(document: Document) -> list[Scene]:
    """The scenes of a play, in order. Errors as in `lines`.

    >>> scenes(play("macbeth"))[0].heading
    'SCENE I. A desert place.'
    """
    spans = []
    for act, scene, line in _walk(document):
        if line.kind == "scene":
            spans.append(Scene(act, scene, document[line], line.start, line.end))
        elif line.kind not in ("title", "act"):
            spans[-1] = replace(spans[-1], end=line.end)
    return spans


def speeches(document: Document) -> list[Speech]:
    """The speeches of a play, in order. Errors as in `lines`.

    >>> macbeth = play("macbeth")
    >>> speech = speeches(macbeth)[2]
    >>> speech.act, speech.scene, speech.speaker, macbeth[speech]
    (1, 1, 'Third Witch', 'That will be ere the set of sun.')
    """
    turns, speaker = [], None
    for act, scene, line in _walk(document):
        if line.kind == "speaker":
            speaker, begun = document[line], False
        elif line.kind == "speech" and not begun:
            begun = True
            turns.append(Speech(act, scene, speaker, line.start, line.end))
        elif line.kind == "speech":
            turns[-1] = replace(turns[-1], end=line.end)
    return turns


def _walk(document: Document) -> Iterator[tuple[int, int, Line]]:
    """The lines with the numbers of their act and scene."""
    act = scene = 0
    for line in lines(document):
        if line.kind == "act":
            act, scene = _numeral(document[line]), 0
        elif line.kind == "scene":
            scene = scene + 1 if document[line] == "EPILOGUE" else _numeral(document[line])
        yield act, scene, line


def _numeral(heading: str) -> int:
    """The number in "ACT IV" or "SCENE XII. A room."; 0 for an induction or a prologue.

    >>> _numeral("ACT IV"), _numeral("SCENE XII. A room."), _numeral("PROLOGUE")
    (4, 12, 0)
    """
    match = re.match(r"(?:ACT|SCENE) ([IVX]+)", heading)
    digits = [{"I": 1, "V": 5, "X": 10}[letter] for letter in (match[1] if match else "")]
    return sum(-a if a < b else a for a, b in pairwise([*digits, 0]))


@cache
def _files() -> dict[str, Path]:
    folder = assets.fetch("plays")
    return {file.stem: file for genre in GENRES for file in sorted(folder.joinpath(genre).glob("*.md"))}


@cache
def _parse(name: str) -> tuple[Document, list[Line]]:
    source = _files()[name].read_text(encoding="utf-8")
    for pattern, repair in REPAIRS.get(name, []):
        source = re.sub(pattern, repair, source, flags=re.MULTILINE)
    text, spans = "", []
    for paragraph in _paragraphs(source):
        for kind, row in paragraph:
            if kind == "speaker":
                row = SPEAKERS.get(name, {}).get(row, row)
            spans.append(Line(kind, len(text), len(text) + len(row)))
            text += row + "\n"
        text += "\n"
    meta = {"title": text[: text.index("\n")], "genre": GENRES[_files()[name].parent.name]}
    return Document(name, text.rstrip("\n") + "\n", "en", meta), spans


def _paragraphs(source: str) -> list[list[tuple[Kind, str]]]:
    """The paragraphs of a play's Markdown, each a list of (kind, line)."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", source.strip()):
        rows: list[tuple[Kind, str]] = []
        direction = ""
        for row in map(str.strip, paragraph.split("\n")):
            if direction or re.match(r"_|\*(?!\*)|\[.*_$", row):  # "_Exit_", "*Exit.*", "[Aside]_"; some on two rows
                direction = f"{direction} {row}"
                if row[-1] in "_*" and len(row) > 1:
                    words = re.sub(r"[][]", "", _plain(direction)).replace(" 's ", "'s ")
                    rows.append(("direction", f"[{words}]"))
                    direction = ""
            elif row.startswith("#"):
                rows.append((_kind(row.lstrip("# ")), row.lstrip("# ")))
            elif row.startswith("**"):
                rows.append(("speaker", _plain(row)))
            elif paragraphs and paragraphs[-1][-1][0] == "scene" and not rows:  # a heading that goes on after a blank line
                paragraphs[-1][-1] = ("scene", f"{paragraphs[-1][-1][1]} {_plain(row)}")
            else:
                rows.append(("speech", _plain(row)))
        if rows:
            paragraphs.append(rows)
    return paragraphs


def _kind(heading: str) -> Kind:
    if re.match(r"ACT [IVX]+$|INDUCTION$", heading):
        return "act"
    return "scene" if re.match(r"SCENE [IVX]+\b|PROLOGUE|EPILOGUE", heading.upper()) else "title"


def _plain(row: str) -> str:
    """A line without marks and escapes of Markdown.

    >>> _plain("__\\\\[Sings, &amp; c\\\\.]_")
    '[Sings, &c.]'
    """
    row = re.sub(r"\\([][.-])", r"\1", row.replace("_", "").replace("*", ""))
    return unescape(row).replace("& c", "&c").strip()
