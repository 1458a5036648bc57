"""A request to stop is recorded once while a run works, and ends anything else at once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from nemesis.core.interrupts import Interrupted, Interrupts, interruptible


@pytest.fixture(autouse=True)
def default_handlers() -> Iterator[None]:
    """Handle signals as a process does that was not started in the background."""
    defaults = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in defaults.items()}
    yield
    for number, handler in before.items():
        assert signal.getsignal(number) == defaults[number]  # left as it was found
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_is_recorded_with_its_name_and_exit_code(number: signal.Signals, code: int):
    with interruptible(), Interrupts() as interrupts:
        assert not interrupts.requested
        signal.raise_signal(number)
        assert interrupts.requested
    assert interrupts.cause is not None
    assert (str(interrupts.cause), interrupts.cause.exit_code) == (number.name, code)


def test_a_second_signal_stops_at_once():
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Interrupted, match="SIGTERM"):
            signal.raise_signal(signal.SIGTERM)
    assert str(interrupts.cause) == "SIGINT"


def test_a_terminal_that_is_closed_may_send_its_signal_twice():
    with Interrupts() as interrupts:
        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM):
            signal.raise_signal(number)
    assert str(interrupts.cause) == "SIGHUP"


def test_outside_of_a_run_a_signal_ends_the_work_at_once():
    with pytest.raises(Interrupted, match="SIGHUP") as ended, interruptible():
        signal.raise_signal(signal.SIGHUP)
    assert ended.value.exit_code == 129


def test_a_request_is_not_taken_for_the_import_error_that_it_causes():
    """Extension modules that are interrupted while they are imported raise errors of their own."""

    def imported() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    with pytest.raises(Interrupted, match="SIGTERM"), interruptible():
        imported()


def test_a_signal_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    with interruptible(), Interrupts() as interrupts:
        signal.raise_signal(signal.SIGHUP)
    assert not interrupts.requested
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_an_output_that_is_closed_is_a_request_and_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    with Interrupts() as interrupts, os.fdopen(os.dup(writer), "w", buffering=1, encoding="utf-8") as stream:
        watched = interrupts.watched(stream)
        watched.write("a line\n")
        watched.write("another\n")
        watched.flush()
        assert interrupts.cause is not None
        assert interrupts.cause.exit_code == 141
        signal.raise_signal(signal.SIGINT)  # the first signal: Ctrl-C ends the reader of a pipe as well
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is buffered cannot be written at the end
    os.close(writer)
    assert "a closed standard output" in str(interrupts.cause)


def test_a_command_that_was_started_without_an_output_does_its_work():
    command = [sys.executable, "-m", "nemesis", "config", "list"]
    assert subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], check=False, timeout=600).returncode == 0
