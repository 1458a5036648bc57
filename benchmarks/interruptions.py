"""Nothing is lost when a run is ended: runs are interrupted at random moments, checked and resumed.

    python -m benchmarks.interruptions [--moments 10]

Short updates on Kuhn poker, with an evaluation or a checkpoint after almost each, in one process and with two actors. A
run is ended by SIGINT or SIGHUP to all its processes, as a terminal does, by SIGTERM to the first, or by closing the
pipe of its standard output. Some moments are while it starts. Afterwards
  exit     its exit code says what ended it: 130, 129, 143 or 141, and none of its processes is left
  saved    its newest checkpoint is complete, and of the last update in the metrics
  logged   run.log names what ended it
  resumed  `nemesis resume` continues from this checkpoint, and the metrics have every update once
A run that was ended before its first evaluation has nothing to save, and only its exit is checked.

Exit codes: 0 when all of this holds, 1 when something could not be measured, 3 when not.
"""

import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.report import MeasurementError, option_parser, print_table, progress, run, write_figures
from nemesis.cli import main as nemesis
from nemesis.storage.checkpoints import CheckpointError, newest_valid
from nemesis.storage.metrics import read_metrics

MOMENTS, QUICK_MOMENTS = 10, 2
FAILED = 3  # exit code
CLOSED = "closed stdout"
CAUSES = ("SIGINT", "SIGTERM", "SIGHUP", CLOSED)
ACTORS = (0, 2)
EARLY = 0.3  # share of the moments that are while the run starts
EARLY_SECONDS, SECONDS = 6.0, 4.0  # after its start, and after its first update
FURTHER = 3  # updates of the resumed run
LIMIT = 600.0  # seconds that a busy machine may take for anything
SETTINGS = (
    "updates=100000",
    "collection.slots=64",
    "collection.decisions=128",
    "policy.size=nano",
    "evaluation.interval=3",
    "checkpoints.interval=4",
    "tracking.tensorboard=false",
)
# A shell that runs this in the background makes its children ignore Ctrl-C, and nohup SIGHUP.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from nemesis.cli import main
sys.exit(main())
"""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a run is ended: so many seconds after its first update, or after its start."""

    early: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found after a run was ended."""

    actors: int
    cause: str
    moment: Moment
    update: int | None  # of the newest checkpoint; None if the run had not begun
    problems: Sequence[str]


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--moments", type=int, help=f"of each kind (default: {MOMENTS}, quick: {QUICK_MOMENTS})")
    options = parser.parse_args()
    count: int = (QUICK_MOMENTS if options.quick else MOMENTS) if options.moments is None else options.moments
    if count < 1:
        parser.error("--moments must be at least 1.")
    generator = random.Random(options.seed)  # noqa: S311
    outcomes = []
    for actors in ACTORS:
        for cause in CAUSES:
            for _ in range(count):
                with tempfile.TemporaryDirectory(prefix="nemesis-") as folder:
                    outcomes.append(interrupt(Path(folder, "run"), actors, cause, draw(generator)))
                progress(describe(outcomes[-1]))
    rows = [row(outcomes, actors, cause) for actors in ACTORS for cause in CAUSES]
    print_table(f"Runs that were ended, {count} moments each", rows)
    if options.json:
        write_figures(options.json, {"rows": rows, "outcomes": [asdict(one) for one in outcomes]})
    if any(one.problems for one in outcomes):
        sys.exit(FAILED)


def draw(generator: random.Random) -> Moment:
    early = generator.random() < EARLY
    return Moment(early, generator.uniform(0.0, EARLY_SECONDS if early else SECONDS))


def interrupt(path: Path, actors: int, cause: str, moment: Moment) -> Outcome:
    """Start a run, end it, check what it left, and resume it."""
    arguments = ["train", "kuhn", *SETTINGS, f"collection.actors={actors}", "--run", str(path)]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE if cause == CLOSED else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _wait(process, path, moment)
        _end(process, cause)
        problems = _exit_problems(process, cause, path)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    recorded = _recorded(path)
    if not recorded:
        return Outcome(actors, cause, moment, None, problems)
    update, found = _saved_problems(path, recorded)
    problems += found
    if _name(cause) not in (log := (path / "run.log").read_text(encoding="utf-8")).rpartition("Ended by")[2]:
        problems.append(f"run.log does not name the cause: {log[-500:]}")
    if update is not None:
        problems += _resume_problems(path, update)
    return Outcome(actors, cause, moment, update, problems)


def row(outcomes: Sequence[Outcome], actors: int, cause: str) -> dict[str, str | int]:
    own = [one for one in outcomes if (one.actors, one.cause) == (actors, cause)]
    return {
        "actors": actors,
        "ended_by": cause,
        "moments": len(own),
        "before_the_first_evaluation": sum(one.update is None for one in own),
        "updates_saved": sum(one.update or 0 for one in own),
        "failures": sum(bool(one.problems) for one in own),
    }


def describe(outcome: Outcome) -> str:
    moment = f"{outcome.moment.seconds:.2f} s after its {'start' if outcome.moment.early else 'first update'}"
    state = "not begun" if outcome.update is None else f"saved at update {outcome.update}"
    verdict = " ".join(outcome.problems) or "As it should be."
    return f"actors: {outcome.actors}, {outcome.cause}, {moment}: {state}. {verdict}"


def _wait(process: "subprocess.Popen[str]", path: Path, moment: Moment) -> None:
    """Wait for a moment, which is never reached if the process ends."""
    deadline = time.monotonic() + LIMIT
    while not moment.early and len(_recorded(path)) < 2:
        if process.poll() is not None:
            raise MeasurementError(f"The run failed: {process.communicate()[1]}")
        if time.monotonic() > deadline:
            raise MeasurementError(f"The run did not finish an update in {LIMIT:.0f} s.")
        time.sleep(0.01)
    time.sleep(moment.seconds)


def _end(process: "subprocess.Popen[str]", cause: str) -> None:
    if cause == CLOSED:
        assert process.stdout  # noqa: S101
        process.stdout.close()
    elif cause == "SIGTERM":
        process.terminate()
    else:
        os.killpg(process.pid, signal.Signals[cause])


def _exit_problems(process: "subprocess.Popen[str]", cause: str, path: Path) -> list[str]:
    """Wait for the end of a run and return what is wrong with it."""
    number = 13 if cause == CLOSED else signal.Signals[cause]
    assert process.stderr  # noqa: S101
    try:
        process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        return [f"It did not end in {LIMIT:.0f} s."]
    problems = []
    begun = (path / "config.yaml").exists()  # before, Python itself may end it
    expected = (128 + number,) if begun else (128 + number, -number)
    if process.returncode not in expected:
        problems.append(f"Its exit code is {process.returncode}, not {expected[0]}.")
    errors = [line for line in process.stderr.read().splitlines() if not line.endswith("…")]  # without the status
    if begun and errors:
        problems.append(f"It printed errors: {errors}")
    if _left(process.pid):
        problems.append("Processes of it are left.")
    return problems


def _left(group: int) -> bool:
    """Return whether processes of a group are left after a while."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


def _saved_problems(path: Path, recorded: Sequence[int]) -> tuple[int | None, list[str]]:
    """Return the update of the newest checkpoint, and what is wrong with it."""
    try:
        checkpoint, skipped = newest_valid(path / "checkpoints")
    except CheckpointError as error:
        return None, [str(error)]
    problems = list(skipped)
    if checkpoint.update != recorded[-1]:
        problems.append(f"Its newest checkpoint is of update {checkpoint.update}, the last one was {recorded[-1]}.")
    return checkpoint.update, problems


def _resume_problems(path: Path, update: int) -> list[str]:
    """Resume a run for some updates and return what is wrong."""
    output, last = io.StringIO(), update + FURTHER
    with redirect_stdout(output), redirect_stderr(output):
        code = nemesis(["resume", str(path), f"updates={last}"])
    if code:
        return [f"It cannot be resumed: {output.getvalue()}"]
    problems = []
    if f"Resumed at update {update} of {last}" not in (path / "run.log").read_text(encoding="utf-8"):
        problems.append(f"It was not resumed at update {update}.")
    if _recorded(path) != list(range(last + 1)):
        problems.append("The resumed run does not have every update once in its metrics.")
    return problems


def _recorded(path: Path) -> list[int]:
    return [line["update"] for line in read_metrics(path / "metrics.jsonl")]


def _name(cause: str) -> str:
    return "a closed standard output" if cause == CLOSED else cause


if __name__ == "__main__":
    run(main)
