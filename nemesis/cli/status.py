"""The status of a command on standard error: what it is doing, from the first moment on.

On a terminal, it is one line that is replaced and finally removed. Elsewhere, it is a line for the first activity, and
for each further one that takes longer than two seconds.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import Lock
from time import monotonic
from typing import TextIO

from nemesis.core.progress import Activity, Ticker, clear, listening, warnings_shown

_REDRAW = 0.1  # seconds between draws on a terminal
_ELAPSED = 2.0  # seconds after which the time is shown
_REPEAT = 5  # times the patience until a line about the same activity
_WIDTH = 80  # of a terminal that does not tell
_ERASE = "\r\x1b[2K"


class StatusLine:
    """Shows activities on a stream."""

    def __init__(self, stream: TextIO, patience: float = 2.0) -> None:
        """Write to a stream; where it is no terminal, after so many seconds without a line."""
        self._stream = stream
        self._terminal = stream.isatty()
        self._patience = patience
        self._lock = Lock()
        self._activity: Activity | None = None
        self._shown: str | None = None  # text of the activity that was shown last
        self._started = self._written = monotonic()
        self._ticker: Ticker | None = None

    def show(self, activity: Activity | None) -> None:
        """Show an activity; None removes the line of the last one."""
        with self._lock:
            new = activity is not None and (self._activity is None or activity.text != self._activity.text)
            self._activity = activity
            if new:
                self._started = monotonic()
            if activity is None:
                self._erase()
            elif self._terminal and (new or monotonic() - self._written > _REDRAW):
                self._draw(activity)
            elif self._ticker is None:
                self._print(activity)
        if activity is not None and self._ticker is None:
            self._ticker = Ticker(self._patience / 2, self._tick)

    def message(self, text: str) -> None:
        """Show a permanent line above that of the activity."""
        with self._lock:
            self._erase()
            self._write(f"{text}\n")

    def close(self) -> None:
        if self._ticker is not None:
            self._ticker.close()
        self.show(None)

    def _tick(self) -> None:
        with self._lock:
            activity = self._activity
            if activity is None:
                return
            if self._terminal:
                self._draw(activity)
                return
            patience = self._patience * (_REPEAT if activity.text == self._shown else 1)
            if monotonic() - max(self._written, self._started) >= patience:
                self._print(activity)

    def _draw(self, activity: Activity) -> None:
        self._write(_ERASE + f"{activity}{self._time(activity)} …"[: terminal_width(self._stream) - 1])
        self._shown = activity.text

    def _print(self, activity: Activity) -> None:
        self._write(f"{activity}{self._time(activity)} …\n")
        self._shown = activity.text

    def _time(self, activity: Activity) -> str:
        """Return how long an activity takes, or will still take where that is known."""
        seconds = monotonic() - self._started
        if seconds < _ELAPSED:
            return ""
        if not activity.total or not activity.done:
            return f", {seconds:.0f} s"
        return f", {seconds * (activity.total / activity.done - 1):.0f} s left"

    def _erase(self) -> None:
        if self._terminal and self._shown is not None:
            self._write(_ERASE)
            self._shown = None

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        with suppress(OSError, ValueError):  # a status that nobody can see must not end the command
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        self._written = monotonic()


def terminal_width(stream: TextIO) -> int:
    """Return the columns of a terminal. The function of shutil does the same, but its import is slow."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


@contextmanager
def status_line(stream: TextIO | None = None) -> Iterator[None]:
    """Show the activities of a command until it ends, and the warnings of the log among them."""
    stream = stream or sys.stderr
    if stream is None:  # the process was started without one
        yield
        return
    line = StatusLine(stream)

    def warn(text: str) -> None:
        if not any(isinstance(handler, logging.FileHandler) for handler in logging.getLogger("nemesis").handlers):
            line.message(text)  # a run that is open has a log and a display of its own

    with listening(line.show), warnings_shown(warn):
        try:
            yield
        finally:
            line.close()


def output(text: str, end: str = "\n", error: bool = False) -> None:
    """Print a result of a command, instead of its status; `error` prints what need not reach anyone."""
    clear()
    with suppress(OSError) if error else nullcontext():
        print(text, end=end, file=sys.stderr if error else sys.stdout, flush=error)
