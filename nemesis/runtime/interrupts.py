"""Ctrl-C and SIGTERM, held back until what is saved then is whole."""

import signal
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """Notes that somebody asked the run to stop; the run looks after each update. A second request does not wait."""

    def __init__(self) -> None:
        self.waiting = False
        # Whoever has set up SIGINT in another way keeps it so.
        self._ours = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self._before = signal.getsignal(signal.SIGTERM)

    def __enter__(self) -> Self:
        if self._ours:
            signal.signal(signal.SIGINT, self._note)
            signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.waiting:
            signal.default_int_handler(number, frame)
        self.waiting = True
