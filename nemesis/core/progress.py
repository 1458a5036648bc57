"""What long-running work is doing, for the person who waits for it.

Work calls `report`, as often as it likes. A command shows the reports, with `listening`; without a listener they cost
almost nothing. Listeners belong to a context, so that two runs in one process do not mix. Warnings go to the log, and
from there to what a command shows, with `warnings_shown`.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Thread
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Activity:
    """What is being done, and how far it is where that can be counted."""

    text: str  # such as "Evaluating against greedy"
    done: int = 0
    total: int | None = None
    detail: str = ""  # what else is known, such as "300 in matches that go on"

    def __str__(self) -> str:
        count = "" if self.total is None else f": {self.done:,} of {self.total:,}"
        return f"{self.text}{count}{f' ({self.detail})' if self.detail else ''}"


Listener: TypeAlias = Callable[[Activity | None], None]
"""Gets every activity, and None when nothing is going on."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(text: str, done: int = 0, total: int | None = None, detail: str = "") -> None:
    """Say what is being done now, until the next report."""
    if (listener := _listener.get()) is not None:
        listener(Activity(text, min(done, total) if total is not None else done, total, detail))


def clear() -> None:
    """Say that nothing is going on, so that a result can be printed."""
    if (listener := _listener.get()) is not None:
        listener(None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass all reports of this context to a listener, instead of to the one before."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class WarningHandler(logging.Handler):
    """Passes records of the log to a function, formatted; warnings and errors unless its level is changed."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("Warning: %(message)s"))
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(self.format(record))


@contextmanager
def warnings_shown(show: Callable[[str], None]) -> Iterator[None]:
    """Pass the package's warnings of all threads to a function, instead of to the one before."""
    logger = logging.getLogger("nemesis")
    before = [handler for handler in logger.handlers if isinstance(handler, WarningHandler)]
    handler = WarningHandler(show)
    for other in before:
        logger.removeHandler(other)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        for other in before:
            logger.addHandler(other)


class Ticker:
    """Calls a function regularly from a thread of its own, until it is closed.

    A display uses it to show an activity that goes on for long without a further report.
    """

    def __init__(self, seconds: float, tick: Callable[[], None]) -> None:
        self._closed = Event()
        self._thread = Thread(target=self._run, args=(seconds, tick), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self, seconds: float, tick: Callable[[], None]) -> None:
        # A closed output is an error of the main thread, which writes to it as well.
        with suppress(OSError, ValueError):
            while not self._closed.wait(seconds):
                tick()
