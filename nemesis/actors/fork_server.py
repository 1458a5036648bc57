"""How child processes are started: from a fork server that has imported everything, where the platform has one."""

import multiprocessing
import signal
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, TypeAlias, Union

from nemesis.core.interrupts import SIGNALS

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext  # not available on Windows

ProcessContext: TypeAlias = Union[SpawnContext, "ForkServerContext"]


def process_context() -> ProcessContext:
    """Return the start method: a fork server with preloaded modules, if the platform has one, else spawn."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["nemesis.actors.preload"])
    return context


def start_fork_server(context: ProcessContext) -> None:
    """Start the fork server, if it is used, with signals blocked until it ignores them."""
    if context.get_start_method() != "forkserver":
        return
    from multiprocessing import forkserver, resource_tracker  # noqa: PLC0415  not available on Windows

    resource_tracker.ensure_running()  # which would unblock signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
