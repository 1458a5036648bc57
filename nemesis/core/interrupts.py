"""Requests to stop: SIGINT (Ctrl-C), SIGTERM, SIGHUP (a closed terminal), and a closed standard output.

A run delays them until it has saved. Everywhere else they end the work at once.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import IO, Any, Self, TextIO, TypeAlias, cast

Stop: TypeAlias = Callable[[], bool]
"""Polled by long-running work: whether to stop."""

SIGNALS = tuple(
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # Windows has no SIGHUP
OUTPUT_CLOSED = 141  # exit code, as of a process that SIGPIPE ended


class StoppedError(Exception):
    """Work was interrupted on request; its partial results are discarded."""


class Interrupted(KeyboardInterrupt):
    """Work was ended on request; the process ends with the exit code."""

    def __init__(self, cause: str, exit_code: int) -> None:
        super().__init__(cause)
        self.exit_code = exit_code

    @classmethod
    def by(cls, number: int) -> Self:
        return cls(signal.Signals(number).name, 128 + number)


def never() -> bool:
    return False


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Interrupted` for all requests, as Python does for SIGINT, so that all that is open is closed.

    An extension module that is being imported answers with an ImportError of its own; the request is raised instead.
    """
    handler = _Raise()
    with _handlers(handler, SIGNALS):
        try:
            yield
        except Exception:
            if handler.raised is not None:
                raise handler.raised from None
            raise


class Interrupts:
    """Records the first request to stop, which the run checks after each update.

    A second SIGINT or SIGTERM stops at once. SIGHUP does not count: a terminal that is closed may send several, and
    SIGTERM after them.
    """

    def __init__(self) -> None:
        self.cause: Interrupted | None = None
        self._signalled = False
        self._installed = _handlers(self._handle, SIGNALS)

    @property
    def requested(self) -> bool:
        return self.cause is not None

    def watched(self, stream: IO[str]) -> IO[str]:
        """Return a stream that requests to stop when the given one cannot be written, and then drops all text."""
        return watched(stream, self._close_output)

    def __enter__(self) -> Self:
        self._installed.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._installed.__exit__(kind, error, traceback)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if signal.Signals(number).name != "SIGHUP":
            if self._signalled:
                raise Interrupted.by(number)
            self._signalled = True
        self.cause = self.cause or Interrupted.by(number)

    def _close_output(self, error: OSError) -> None:
        self.cause = self.cause or Interrupted(f"a closed standard output ({error.strerror})", OUTPUT_CLOSED)


def watched(stream: IO[str], on_error: Callable[[OSError], None]) -> TextIO:
    """Return a stream that reports the first error of the given one, and then drops all text."""
    return cast("TextIO", _Watched(stream, on_error))


class _Watched:
    """A text stream whose first error is passed to a function, and which drops all text after it."""

    def __init__(self, stream: IO[str], on_error: Callable[[OSError], None]) -> None:
        self._stream = stream
        self._on_error = on_error
        self._failed = False

    def write(self, text: str) -> int:
        self._attempt(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._attempt(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _attempt(self, output: Callable[[], object]) -> None:
        if self._failed:
            return
        try:
            output()
        except OSError as error:
            self._failed = True
            self._on_error(error)


class _Raise:
    """A signal handler that raises, and remembers that it has."""

    def __init__(self) -> None:
        self.raised: Interrupted | None = None

    def __call__(self, number: int, _: FrameType | None) -> None:
        self.raised = Interrupted.by(number)
        raise self.raised


@contextmanager
def _handlers(handler: Callable[[int, FrameType | None], None], numbers: tuple[signal.Signals, ...]) -> Iterator[None]:
    """Handle signals in a block. Custom handlers and ignored signals, as under `nohup`, are left as they are."""
    if current_thread() is not main_thread():  # handlers can be set only in the main thread
        yield
        return
    previous = {number: found for number in numbers if _is_ours(found := signal.getsignal(number))}
    for number in previous:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, found in previous.items():
            signal.signal(number, found)


def _is_ours(handler: object) -> bool:
    return handler in (signal.SIG_DFL, signal.default_int_handler) or isinstance(handler, _Raise)
