"""Ctrl-C and SIGTERM, delayed until the run has saved."""

import signal
from collections.abc import Callable
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Self, TypeAlias

Stop: TypeAlias = Callable[[], bool]
"""Called now and then by long work: whether to stop."""


class StoppedError(Exception):
    """Work was interrupted half way, as requested; nothing of it counts."""


def never() -> bool:
    return False


class Interrupts:
    """Notes that somebody asked the run to stop; the run looks after each update. A second request does not wait."""

    def __init__(self) -> None:
        self.requested = False
        # Whoever ignores a signal or has a handler of their own keeps it so.
        self._previous = {
            number: handler
            for number in (signal.SIGINT, signal.SIGTERM)
            if (handler := signal.getsignal(number)) in (signal.default_int_handler, signal.SIG_DFL)
        }
        if current_thread() is not main_thread():  # only there can handlers be set
            self._previous = {}

    def __enter__(self) -> Self:
        for number in self._previous:
            signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            signal.default_int_handler(number, frame)
        self.requested = True
