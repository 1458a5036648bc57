"""Child processes of a run."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from nemesis.core.allocator import keep_freed_memory
from nemesis.core.errors import UserError
from nemesis.core.interrupts import SIGNALS
from nemesis.storage.run_directory import log_to_run

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failure:
    """A message for the user about why a process cannot continue."""

    message: str


def ignore_signals() -> None:
    """Leave requests to stop to the run's process: a terminal and a service manager send them to all processes."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def set_up_child(folder: Path | None, log_level: int) -> None:
    """Set up a child process of a run, or of another command, which has no folder.

    It ignores requests to stop, which the run handles, logs to the run's log, and exits when the run's process ends.
    Simulator hosts do not need this: they exit when their standard input is closed.
    """
    ignore_signals()
    keep_freed_memory()
    if folder is not None and folder.is_dir():
        log_to_run(folder, log_level)
    parent = parent_process()
    assert parent is not None  # noqa: S101

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def failures_reported(name: str, run: "Connection[Any, Any]") -> Iterator[None]:
    """Send the run why this process cannot continue, if the user can fix it; else log the exception and exit."""
    try:
        yield
    except UserError as error:
        with suppress(OSError):  # the run may have ended meanwhile
            run.send(Failure(str(error)))
    except Exception:
        parent = parent_process()
        if parent is None or parent.is_alive():  # else this process ends too, and its connections are broken
            _log.exception("%s (process %d) has failed.", name, os.getpid())
        sys.exit(1)


def end(process: BaseProcess) -> None:
    """Kill a process that has nothing to save."""
    if process.is_alive():
        process.kill()
    process.join()
