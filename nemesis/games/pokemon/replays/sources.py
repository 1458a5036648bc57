"""Public replays as people keep them: files and folders of JSON, saved pages and raw logs, perhaps compressed.

    .json          a replay as Showdown serves it ({"id": …, "log": …}), several, or a list
    .jsonl         one on each line
    .html, .htm    pages that Showdown saves, with the log in a script of class battle-log-data
    .log           the log itself
    ….gz           any of them compressed

All of it is untrusted. Files are read part by part, never as a whole, and every part gives a `Replay` or a
`ReplayError` with file and line. Ids are made of few characters, and no path is made of one.
"""

import codecs
import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

from nemesis.core.errors import UserError
from nemesis.games.pokemon.formats import Format, find_format
from nemesis.games.pokemon.replays.reading import ReplayError

LARGEST_PART = 1 << 23  # bytes of one replay, as it stands in its file
LARGEST_RATIO = 150  # of a file's size and that of what it holds; logs shrink to a tenth
_FREE = 1 << 24  # bytes that any file may unfold to
_CHUNK = 1 << 16
UNREADABLE = "unreadable part"
# As Showdown names them: perhaps a server, the format, a number, and perhaps the password of a private one.
_ID = re.compile(r"([a-z0-9]{1,40}-){1,2}[0-9]{1,20}(-[a-z0-9]{1,40}pw)?")
_TIER = re.compile(r"^\|tier\|([^|\n]{1,80})", re.MULTILINE)
_BETWEEN_VALUES = re.compile(r"[\s,\[\]]*")
_LOG_MARK, _ID_MARK = "battle-log-data", 'name="replayid" value="'
_BEST_OF_THREE = "bo3"


@dataclass(frozen=True, slots=True)
class Replay:
    """A public log, not read yet."""

    id: str
    log: str
    where: str  # file and line


class ReplaySources:
    """The replays of files and folders, each time from the first to the last."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files = [file for path in paths for file in _files(path)]
        self.size = sum(file.stat().st_size for file in self._files)
        self.done = 0  # bytes that were read of all files, this time

    @property
    def share(self) -> float:
        """What part of all files was read, this time."""
        return min(self.done / max(self.size, 1), 1.0)

    def __iter__(self) -> Iterator[Replay | ReplayError]:
        self.done = before = 0
        for file in self._files:
            with _Part(file) as part:
                try:
                    for found in _READERS[_kind(file)](part):
                        self.done = before + part.consumed
                        yield found
                except _UnreadableError as error:
                    yield ReplayError(str(file), UNREADABLE, str(error), part.line)
                before += part.consumed


def format_of(log: str) -> Format | None:
    """Return the format that a log says it is of; battles of a best-of-three series are of the format itself."""
    tier = _TIER.search(log)
    name = re.sub(r"[^a-z0-9]+", "", tier[1].lower()) if tier else ""
    for candidate in (name.removesuffix(_BEST_OF_THREE), name):
        try:
            return find_format(candidate)
        except UserError:
            continue
    return None


class _UnreadableError(Exception):
    """The rest of a file cannot be read."""


class _Part:
    """A file that is being read, with the limits that it has to keep."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.line = 1  # at which the part begins that is being read
        self._raw: BufferedReader | None = None
        self._stream: Any = None
        self._produced = 0

    def __enter__(self) -> "_Part":
        return self

    def __exit__(self, *_: object) -> None:
        if self._raw is not None:
            self._raw.close()

    @property
    def consumed(self) -> int:
        """Bytes of the file."""
        return 0 if self._raw is None else self._raw.tell()

    def read(self, most: int) -> bytes:
        return self._take(lambda: self._stream.read(most))

    def read_line(self) -> bytes | None:
        """Return the next line, None if it is too long, or nothing at the end."""
        line = self._take(lambda: self._stream.readline(LARGEST_PART))
        if len(line) < LARGEST_PART or line.endswith(b"\n"):
            return line
        while line and not line.endswith(b"\n"):
            line = self._take(lambda: self._stream.readline(LARGEST_PART))
        return None

    def whole(self) -> str:
        """Return the text of a file that is one replay."""
        content = b""
        while chunk := self.read(LARGEST_PART + 1 - len(content)):
            content += chunk
        if len(content) > LARGEST_PART:
            raise _UnreadableError(f"The file holds more than {LARGEST_PART >> 20} MB.")
        return _text(content)

    def replay(self, log: object, identity: object) -> Replay | ReplayError:
        """Return what is said to be a log with an id."""
        if not isinstance(log, str):
            return self.error("It is no replay, for it has no log.")
        # What was saved under another name than Showdown's is called after its content.
        named = isinstance(identity, str) and _ID.fullmatch(identity)
        hashed = f"log-{hashlib.sha256(log.encode(errors='surrogatepass')).hexdigest()[:24]}"
        return Replay(str(identity) if named else hashed, log, f"{self.file}:{self.line}")

    def error(self, message: str) -> ReplayError:
        return ReplayError(str(self.file), UNREADABLE, message, self.line)

    def _take(self, read: Callable[[], bytes]) -> bytes:
        try:
            if self._raw is None:
                self._raw = self.file.open("rb")
                self._stream = gzip.GzipFile(fileobj=self._raw) if self.file.suffix.lower() == ".gz" else self._raw
            data = read()
        except (OSError, EOFError, zlib.error) as error:
            raise _UnreadableError(f"The file cannot be read: {error}.") from None
        self._produced += len(data)
        if self._produced > _FREE + LARGEST_RATIO * self.consumed:
            raise _UnreadableError(f"The file unfolds to more than {LARGEST_RATIO} times its size.")
        return data


def _json(part: _Part) -> Iterator[Replay | ReplayError]:
    """Read objects one after the other, with commas and brackets of a list around them or not."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    parser = json.JSONDecoder()
    text, start, ended = "", 0, False  # what was read, and how far it is used up
    while True:
        gap = _BETWEEN_VALUES.match(text, start)
        part.line += text.count("\n", start, gap.end() if gap else start)
        start = gap.end() if gap else start
        if start < len(text):
            try:
                value, end = parser.raw_decode(text, start)
            except (ValueError, RecursionError) as error:
                if ended or len(text) - start > LARGEST_PART:
                    raise _UnreadableError(f"It is no JSON, or too long: {_reason(error)}.") from None
            else:
                yield _from_json(part, value)
                part.line += text.count("\n", start, end)
                start = end
                continue
        elif ended:
            return
        text, start = text[start:], 0
        # As much again as there is, so that a long value is not tried too often.
        chunk = part.read(max(_CHUNK, len(text)))
        ended = not chunk
        try:
            text += decode(chunk, ended)
        except UnicodeDecodeError as error:
            raise _UnreadableError(f"It is no UTF-8: {error.reason}.") from None


def _json_lines(part: _Part) -> Iterator[Replay | ReplayError]:
    while (line := part.read_line()) != b"":
        if line is None:
            yield part.error(f"The line has more than {LARGEST_PART >> 20} MB.")
        elif line.strip():
            try:
                yield _from_json(part, json.loads(line.decode("utf-8-sig")))
            except (ValueError, RecursionError) as error:
                yield part.error(f"It is no JSON: {_reason(error)}.")
        part.line += 1


def _page(part: _Part) -> Iterator[Replay | ReplayError]:
    text = part.whole()
    mark = text.find(_LOG_MARK)
    start = text.find(">", mark) + 1
    end = text.find("</script", start)
    if mark < 0 or start == 0 or end < 0:
        yield part.error("The page has no log of a battle.")
        return
    before, found, after = text.partition(_ID_MARK)
    identity = after[: after.find('"')] if found and len(before) < mark else _stem(part.file)
    yield part.replay(text[start:end].replace("<\\/", "</").strip(), identity)


def _log(part: _Part) -> Iterator[Replay | ReplayError]:
    yield part.replay(part.whole(), _stem(part.file))


_READERS: dict[str, Callable[[_Part], Iterator[Replay | ReplayError]]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".html": _page,
    ".htm": _page,
    ".log": _log,
}


def _from_json(part: _Part, value: Any) -> Replay | ReplayError:
    if not isinstance(value, dict) or "log" not in value:
        return part.error("It is no replay, for it has no log.")
    log = value["log"]
    return part.replay("" if log is None else log, value.get("id"))


def _files(path: Path) -> list[Path]:
    """Return the files of a source, in an order that is always the same."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _kind(file) in _READERS and file.is_file())
        if not files:
            raise UserError(f"There are no replays in {path}: no file there ends in {_endings()}.")
        return files
    if not path.is_file():
        raise UserError(f"There is no file or folder {path} to import replays from.")
    if _kind(path) not in _READERS:
        raise UserError(f"{path} does not end as replays do: in {_endings()}.")
    return [path]


def _kind(file: Path) -> str:
    name = Path(file.name.lower().removesuffix(".gz"))
    return name.suffix


def _endings() -> str:
    return f"{', '.join(_READERS)}, or any of them and .gz"


def _stem(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).stem


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _UnreadableError(f"It is no UTF-8: {error.reason}.") from None


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg[:1].lower() + error.msg[1:]
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return "it is nested too deep" if isinstance(error, RecursionError) else "a number has too many digits"
