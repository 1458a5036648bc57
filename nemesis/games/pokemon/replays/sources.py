"""Public replays on disk: files and folders of JSON, saved pages and raw logs, optionally compressed.

    .json          a replay as Showdown serves it ({"id": …, "log": …}), several, or a list
    .jsonl         one on each line
    .html, .htm    pages that Showdown saves, with the log in a script of class battle-log-data
    .log           the log itself
    ….gz           any of them, compressed

All of it is untrusted. Files are read part by part, within limits. Every part gives a `ReplayLog` or a `ReplayError`
with file and line. Ids have a fixed shape, and no path is made from one.
"""

import codecs
import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

from nemesis.core.errors import UserError
from nemesis.core.replays import ReplayError, ReplayLog
from nemesis.games.pokemon.formats import Format, find_format

LARGEST_PART = 1 << 23  # bytes of one replay in its file
LARGEST_RATIO = 150  # of decompressed to compressed size; logs usually have a ratio of ten
_FREE = 1 << 24  # bytes that any file may decompress to
_CHUNK = 1 << 16
UNREADABLE = "unreadable part"
# As Showdown names replays: an optional server, the format, a number, and the password if the replay is private.
_ID = re.compile(r"([a-z0-9]{1,40}-){1,2}[0-9]{1,20}(-[a-z0-9]{1,40}pw)?")
_TIER = re.compile(r"^\|tier\|([^|\n]{1,80})", re.MULTILINE)
_BETWEEN_VALUES = re.compile(r"[\s,\[\]]*")
_LOG_MARK, _ID_MARK = "battle-log-data", 'name="replayid" value="'
_BEST_OF_THREE = "bo3"
_NO_LOG = "This is not a replay, because it has no log."


class ReplaySources:
    """The replay logs of files and folders. Every iteration starts with the first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files = [file for path in paths for file in _files(path)]
        self.size = sum(file.stat().st_size for file in self._files)
        self.done = 0  # bytes that this iteration has read

    @property
    def progress(self) -> float:
        """The share of the files that this iteration has read."""
        return min(self.done / max(self.size, 1), 1.0)

    def __iter__(self) -> Iterator[ReplayLog | ReplayError]:
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
    """Return the format that a log names; the battles of a best-of-three series belong to the format itself."""
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
    """A file that is being read part by part, and its limits."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.line = 1  # the first of the current part
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
        """Bytes of the file that were read."""
        return 0 if self._raw is None else self._raw.tell()

    def read(self, most: int) -> bytes:
        return self._take(lambda: self._stream.read(most))

    def read_line(self) -> bytes | None:
        """Return the next line, None if it is too long, an empty one at the end."""
        line = self._take(lambda: self._stream.readline(LARGEST_PART))
        if len(line) < LARGEST_PART or line.endswith(b"\n"):
            return line
        while line and not line.endswith(b"\n"):
            line = self._take(lambda: self._stream.readline(LARGEST_PART))
        return None

    def whole(self) -> str:
        """Return the text of a file that holds one replay."""
        content = b""
        while chunk := self.read(LARGEST_PART + 1 - len(content)):
            content += chunk
        if len(content) > LARGEST_PART:
            raise _UnreadableError(f"The file has more than {LARGEST_PART >> 20} MB.")
        return _text(content)

    def replay(self, log: object, identity: object) -> ReplayLog | ReplayError:
        """Return a log with its id, if they are what they should be."""
        if not isinstance(log, str):
            return self.error(_NO_LOG)
        # A replay that was saved under another name is identified by its content.
        named = isinstance(identity, str) and _ID.fullmatch(identity)
        hashed = f"log-{hashlib.sha256(log.encode(errors='surrogatepass')).hexdigest()[:24]}"
        return ReplayLog(str(identity) if named else hashed, log, f"{self.file}:{self.line}")

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
            raise _UnreadableError(f"The file decompresses to more than {LARGEST_RATIO} times its size.")
        return data


def _json(part: _Part) -> Iterator[ReplayLog | ReplayError]:
    """Read objects one by one, whether or not they are in a list."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    parser = json.JSONDecoder()
    text, start, ended = "", 0, False  # what was read, and where its unused part starts
    while True:
        gap = _BETWEEN_VALUES.match(text, start)
        part.line += text.count("\n", start, gap.end() if gap else start)
        start = gap.end() if gap else start
        if start < len(text):
            try:
                value, end = parser.raw_decode(text, start)
            except (ValueError, RecursionError) as error:
                if ended or len(text) - start > LARGEST_PART:
                    raise _UnreadableError(f"This is not JSON, or too long: {_reason(error)}.") from None
            else:
                yield _from_json(part, value)
                part.line += text.count("\n", start, end)
                start = end
                continue
        elif ended:
            return
        text, start = text[start:], 0
        # The chunk doubles what is there, so that a long value is not parsed too often.
        chunk = part.read(max(_CHUNK, len(text)))
        ended = not chunk
        try:
            text += decode(chunk, ended)
        except UnicodeDecodeError as error:
            raise _UnreadableError(f"This is not UTF-8: {error.reason}.") from None


def _json_lines(part: _Part) -> Iterator[ReplayLog | ReplayError]:
    while (line := part.read_line()) != b"":
        if line is None:
            yield part.error(f"The line has more than {LARGEST_PART >> 20} MB.")
        elif line.strip():
            try:
                yield _from_json(part, json.loads(line.decode("utf-8-sig")))
            except (ValueError, RecursionError) as error:
                yield part.error(f"This is not JSON: {_reason(error)}.")
        part.line += 1


def _page(part: _Part) -> Iterator[ReplayLog | ReplayError]:
    text = part.whole()
    mark = text.find(_LOG_MARK)
    start = text.find(">", mark) + 1
    end = text.find("</script", start)
    if mark < 0 or start == 0 or end < 0:
        yield part.error("The page has no battle log.")
        return
    before, found, after = text.partition(_ID_MARK)
    identity = after[: after.find('"')] if found and len(before) < mark else _stem(part.file)
    yield part.replay(text[start:end].replace("<\\/", "</").strip(), identity)


def _log(part: _Part) -> Iterator[ReplayLog | ReplayError]:
    yield part.replay(part.whole(), _stem(part.file))


_READERS: dict[str, Callable[[_Part], Iterator[ReplayLog | ReplayError]]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".html": _page,
    ".htm": _page,
    ".log": _log,
}


def _from_json(part: _Part, value: Any) -> ReplayLog | ReplayError:
    if not isinstance(value, dict) or "log" not in value:
        return part.error(_NO_LOG)
    log = value["log"]
    return part.replay("" if log is None else log, value.get("id"))


def _files(path: Path) -> list[Path]:
    """Return the files of a source, in a fixed order."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _kind(file) in _READERS and file.is_file())
        if not files:
            raise UserError(f"There are no replays in {path}: no file there ends in {_endings()}.")
        return files
    if not path.is_file():
        raise UserError(f"There is no file or folder {path} to import replays from.")
    if _kind(path) not in _READERS:
        raise UserError(f"{path} is not a file of replays: their names end in {_endings()}.")
    return [path]


def _kind(file: Path) -> str:
    name = Path(file.name.lower().removesuffix(".gz"))
    return name.suffix


def _endings() -> str:
    return f"{', '.join(_READERS)}, or one of these with .gz"


def _stem(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).stem


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _UnreadableError(f"This is not UTF-8: {error.reason}.") from None


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg[:1].lower() + error.msg[1:]
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
