"""Ctrl-C and SIGTERM, delayed until the run has saved."""

import signal
from collections.abc import Callable
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Self, TypeAlias

Stop: TypeAlias = Callable[[], bool]
"""Polled by long-running work: whether to stop."""


class StoppedError(Exception):
    """Work was interrupted on request; its partial results are discarded."""


def never() -> bool:
    return False


class Interrupts:
    """Records a request to stop, which the run checks after each update. A second request stops at once."""

    def __init__(self) -> None:
        self.requested = False
        # Custom handlers and ignored signals are left as they are.
        self._previous = {
            number: handler
            for number in (signal.SIGINT, signal.SIGTERM)
            if (handler := signal.getsignal(number)) in (signal.default_int_handler, signal.SIG_DFL)
        }
        if current_thread() is not main_thread():  # handlers can be set only in the main thread
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
