"""How soon the command line answers: help, a wrong key, and the first sign of life of a training.

    python -m benchmarks.startup

Each command runs in a new process, as a user starts it, on a pseudo-terminal. Its modules are compiled before, which
Python does on first use. The figures are seconds until it ends, or until it has written its first character; medians
over ten runs that take turns.

Exit codes: 0 when every median is within its bar, 1 when something could not be measured, 3 when one is above it.
"""

import os
import pty
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.report import MeasurementError, option_parser, print_table, run, warn_if_busy, write_json

SLOWER = 3  # exit code
RUNS, QUICK_RUNS = 10, 2


@dataclass(frozen=True, slots=True)
class Case:
    """A command, what it must write, and within which time."""

    name: str
    arguments: Sequence[str]
    expected: str
    bar: float  # seconds
    first_output: bool = False  # whether only the first output counts; the command is then stopped


CASES = (
    Case("nemesis --help", ["--help"], "Display this message", 0.3),
    Case("a wrong key", ["train", "kuhn", "learner.gama=0.9"], "learner.gama", 0.4),
    Case("first sign of life of nemesis train", ["train", "kuhn", "--run", "run"], "kuhn", 0.3, first_output=True),
)


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--runs", type=int, help=f"of each command (default: {RUNS}, quick: {QUICK_RUNS})")
    options = parser.parse_args()
    warn_if_busy()
    runs: int = options.runs or (QUICK_RUNS if options.quick else RUNS)
    seconds: dict[str, list[float]] = {case.name: [] for case in CASES}
    with tempfile.TemporaryDirectory() as compiled:
        for case in CASES:
            seconds_of(case, compiled)  # compiles the modules
        for _ in range(runs):
            for case in CASES:
                seconds[case.name].append(seconds_of(case, compiled))
    rows = [
        {
            "command": case.name,
            "median_s": median(seconds[case.name]),
            "slowest_s": max(seconds[case.name]),
            "bar_s": case.bar,
            "runs": runs,
        }
        for case in CASES
    ]
    print_table("Seconds until the command line answers", rows)
    if options.json:
        write_json(options.json, rows)
    if slow := [case.name for case in CASES if median(seconds[case.name]) > case.bar]:
        print(f"Above the bar: {', '.join(slow)}.", file=sys.stderr)
        sys.exit(SLOWER)


def seconds_of(case: Case, compiled: str) -> float:
    """Run a command once, with compiled modules in a folder, and return how long it took."""
    command = [str(Path(sys.executable).with_name("nemesis")), *case.arguments]
    environment = os.environ | {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = pty.openpty()
        started = perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        output = b""
        try:
            while chunk := _read(ours):
                output += chunk
                if case.first_output and case.expected.encode() in output:
                    return perf_counter() - started
            process.wait()
            seconds = perf_counter() - started
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
            os.close(ours)
    if case.expected.encode() not in output:
        raise MeasurementError(f"{' '.join(command)} did not write '{case.expected}' but: {output.decode()[-500:]}")
    return seconds


def _read(terminal: int) -> bytes:
    """Return the next output of a terminal; nothing when the command has closed it."""
    with suppress(OSError):
        return os.read(terminal, 4096)
    return b""


if __name__ == "__main__":
    run(main)
