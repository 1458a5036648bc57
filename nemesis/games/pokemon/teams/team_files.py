"""Reads teams from files: a paste, several pastes under headings (Showdown's backup), packed lines, or JSON.

Files are untrusted. Their size is limited, and nothing in them is executed. A file or an entry that cannot be read
counts as a team with a problem, so that it hides no other. Whether the teams are legal is left to the validator.
"""

import gzip
import json
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nemesis.core.errors import UserError

_TEXT_SUFFIXES = (".txt", ".team", ".paste", ".packed")
_JSON_SUFFIXES = (".json", ".jsonl")
_MAX_BYTES = 64 << 20  # of a file, after decompression
MAX_TEAM_BYTES = 64 << 10

_HEADING_MARK = "==="
_HEADING = re.compile(r"(?:\[(?P<format>[^\]]*)\])?(?P<name>.*)")  # between two marks
_STORED_LINE = re.compile(r"^(?P<format>[a-z0-9-]+)\](?P<name>[^|]*)\|(?P<team>.*)$")


class TeamError(UserError):
    """Teams that cannot be read or used; the message names the file and the position in it."""


@dataclass(frozen=True, slots=True)
class WrittenTeam:
    """One team as its author wrote it."""

    text: str
    file: str  # name without suffixes
    label: str  # its name in the file; the name of the file if it is the only one there
    source: str  # file and position, for messages
    problem: str | None = None  # why it cannot be read, as a sentence; there is no text then


class _Entry(NamedTuple):
    """A part of a file."""

    position: str
    name: str
    text: str
    problem: str | None = None


def read_teams(path: Path, battle_format: str) -> list[WrittenTeam]:
    """Return the teams of a file, or of all team files of a folder, except those marked for another format."""
    try:
        files = sorted(file for file in path.iterdir() if _is_team_file(file)) if path.is_dir() else [path]
    except OSError as error:
        raise TeamError(f"{path} cannot be read: {error.strerror}.") from error
    if not files:
        known = ", ".join(f"*{suffix}" for suffix in (*_TEXT_SUFFIXES, *_JSON_SUFFIXES))
        raise TeamError(f"{path} has no file of teams ({known}). Folders inside it are not read.")
    teams = [team for file in files for team in _read_file(file, battle_format)]
    if not teams:
        raise TeamError(f"{path} has no team for {battle_format}.")
    return teams


def read_text(file: Path) -> str:
    """Return the text of a regular file, decompressed if needed, within the size limit."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise TeamError("It is not a file that can be read.")
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise TeamError(f"It holds more than {_MAX_BYTES >> 20} MB; split it into several files.")
        return content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise TeamError(f"It cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    except UnicodeDecodeError as error:
        raise TeamError("It is not UTF-8 text.") from error


def printable(text: str) -> str:
    """Return the printable characters of untrusted text."""
    return "".join(character for character in text if character.isprintable())


def _read_file(file: Path, battle_format: str) -> Iterator[WrittenTeam]:
    stem = _stem(file)
    try:
        entries = list(_entries(_kind(file), read_text(file), battle_format))
    except TeamError as error:
        entries = [_Entry("", "", "", str(error))]
    for position, name, text, problem in entries:
        label = printable(name)
        if len(entries) == 1:
            where = position if problem else ""
            yield WrittenTeam(text, stem, stem, ", ".join(filter(None, (str(file), where))), problem)
        else:
            source = ", ".join(filter(None, (str(file), position, label)))
            yield WrittenTeam(text, stem, label or position, source, problem)


def _entries(kind: str, text: str, battle_format: str) -> Iterator[_Entry]:
    if not text.strip():
        raise TeamError("It is empty.")
    if kind == ".jsonl":
        yield from _lines(text)
    elif kind == ".json":
        yield from _json(text)
    elif any(_is_heading(line) for line in text.split("\n")):
        yield from _under_headings(text, battle_format)
    elif all("|" in line for line in text.split("\n") if line.strip()):
        yield from _packed(text, battle_format)
    else:
        yield _Entry("", "", text)


def _lines(text: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            position = f"line {number}"
            try:
                yield _entry(position, _parsed(line))
            except TeamError as error:
                yield _Entry(position, "", "", str(error))


def _json(text: str) -> Iterator[_Entry]:
    content = _parsed(text)
    if isinstance(content, list) and any(_is_entry(entry) for entry in content):
        for number, entry in enumerate(content, start=1):
            yield _entry(f"entry {number}", entry)
    elif _is_entry(content):
        yield _entry("", content)
    else:
        yield _Entry("", "", text)


def _under_headings(text: str, battle_format: str) -> Iterator[_Entry]:
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if _is_heading(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        heading = _HEADING.fullmatch(lines[start].strip().strip("=").strip())
        team = "\n".join(lines[start + 1 : end]).strip()
        if heading and team and heading["format"] in (None, "", battle_format):
            yield _Entry(f"line {start + 1}", heading["name"].strip(), team)


def _is_heading(line: str) -> bool:
    mark, stripped = _HEADING_MARK, line.strip()
    return stripped.startswith(mark) and stripped.endswith(mark) and len(stripped) > 2 * len(mark)


def _packed(text: str, battle_format: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.split("\n"), start=1):
        stored = _STORED_LINE.match(line)  # the browser's storage format: format]name|packed team
        if stored and stored["format"] == battle_format:
            yield _Entry(f"line {number}", stored["name"], stored["team"])
        elif line.strip() and not stored:
            yield _Entry(f"line {number}", "", line.strip())


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("team"), str | list)


def _entry(position: str, value: Any) -> _Entry:
    if not _is_entry(value):
        return _Entry(position, "", "", 'An entry must be an object with "team" and, optionally, "id".')
    team = value["team"]
    return _Entry(position, str(value.get("id", "")), team if isinstance(team, str) else json.dumps(team))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TeamError(f"This is not JSON ({error}).") from error


def _is_team_file(file: Path) -> bool:
    """Return whether a file has the name of a team file. Some published sets use names such as `1.gen1ou_team`."""
    kind = _kind(file)
    return not file.name.startswith(".") and (kind in (*_TEXT_SUFFIXES, *_JSON_SUFFIXES) or kind.endswith("_team"))


def _kind(file: Path) -> str:
    """Return the suffix that gives the format of a file, without `.gz`."""
    return (file.with_suffix("") if file.suffix == ".gz" else file).suffix


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").removesuffix(_kind(file))
