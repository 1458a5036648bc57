"""Commands of Nemesis in processes of their own, forked from one that has imported torch already."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from nemesis.cli import main
from nemesis.core.interrupts import SIGNALS

LIMIT = 600.0  # seconds that a busy machine may take for anything


class Background:
    """A process that runs a function; what it prints goes into a file."""

    def __init__(self, output: Path, function: Callable[..., object], *arguments: object, **environment: str) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["nemesis.actors.preload"])  # as for actors, so that both share one fork server
        self._output = output
        output.touch()
        self._process = context.Process(target=_run, args=(output, environment, function, arguments))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def printed(self) -> str:
        return self._output.read_text(encoding="utf-8")

    def finish(self) -> int | None:
        """Wait for the end, and return the exit code."""
        self._process.join(LIMIT)
        return self._process.exitcode


def command(output: Path, *arguments: str, **environment: str) -> Background:
    """Run a command of Nemesis."""
    return Background(output, _exit_with_code, arguments, **environment)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def _exit_with_code(arguments: tuple[str, ...]) -> None:
    sys.exit(main(arguments))


def _run(
    output: Path, environment: dict[str, str], function: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    file = os.open(output, os.O_WRONLY | os.O_CREAT)
    for standard in (1, 2):
        os.dup2(file, standard)
    os.environ.update(environment)
    # The fork server ignores all signals that end a run.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    function(*arguments)
