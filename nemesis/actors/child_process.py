"""Child processes of a run."""

import os
import signal
import threading
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path

from nemesis.core.allocator import keep_freed_memory
from nemesis.storage.run_directory import log_to_run


@dataclass(frozen=True, slots=True)
class Failure:
    """A message for the user about why a process cannot continue."""

    message: str


def set_up_child(folder: Path) -> None:
    """Set up a child process of a run.

    It ignores keyboard interrupts, which the run handles, logs to the run's log, and exits when the run's process ends.
    Simulator hosts do not need this: they exit when their standard input is closed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed_memory()
    if folder.is_dir():
        log_to_run(folder)
    parent = parent_process()
    assert parent is not None  # noqa: S101

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end(process: BaseProcess) -> None:
    """Kill a process that has nothing to save."""
    if process.is_alive():
        process.kill()
    process.join()
