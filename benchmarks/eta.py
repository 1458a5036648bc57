"""How right the time left is that a run shows: the preset of `make train`, or another, from its start to its end.

    python -m benchmarks.eta
    python -m benchmarks.eta --preset kuhn updates=2000

The run writes plain lines, as into a file. The time left of the lines after about a tenth, a quarter, a half and three
quarters of the updates is compared with how long the command then went on, until its process ended.

Exit codes: 0 when the time left after a tenth is within a quarter of what it took, 1 when no line shows it, as
in a run of a few seconds, 3 when it is further off.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

from benchmarks.report import MeasurementError, option_parser, print_table, progress, run, warn_if_busy, write_json

WRONG = 3  # exit code
BAR = 0.25
PRESET = "gen1randombattle"  # of `make train`
PLACES = (0.1, 0.25, 0.5, 0.75)  # shares of the updates; the bar is for the first
NEAR = 0.5  # a line counts for a place if its share of the updates differs by at most this part of it
QUICK = ("updates=30", "evaluation.interval=10", "evaluation.matches=40")

_LINE = re.compile(r"update (\d+)/(\d+) .*\| ETA (\d+):(\d\d):(\d\d) ")


@dataclass(frozen=True, slots=True)
class Reading:
    """The time left that a line showed, and when."""

    share: float  # of the updates that were done
    seconds: float  # since the start of the command
    left: float  # seconds


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--preset", default=PRESET, help=f"name or file of a preset (default: {PRESET})")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings to change")
    options = parser.parse_args()
    warn_if_busy()
    with tempfile.TemporaryDirectory() as folder:
        settings = [*(QUICK if options.quick else ()), *options.overrides, f"seed={options.seed}"]
        readings, took = measure(["train", options.preset, "--run", f"{folder}/run", *settings])
    rows = compared(readings, took)
    print_table(f"Time left that {options.preset} showed, and what it took", rows)
    if options.json:
        write_json(options.json, rows)
    if abs(rows[0]["error"]) > BAR:
        print(f"The time left after a tenth is off by {rows[0]['error']:+.0%}; the bar is {BAR:.0%}.", file=sys.stderr)
        sys.exit(WRONG)


def measure(arguments: Sequence[str]) -> tuple[list[Reading], float]:
    """Run a command of Nemesis; returns what its lines showed, and how many seconds it took."""
    started = perf_counter()
    command = [sys.executable, "-m", "nemesis", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101
        readings = list(readings_of((perf_counter() - started, line) for line in process.stdout))
    if process.returncode:
        raise MeasurementError(f"{' '.join(command)} ended with exit code {process.returncode}.")
    return readings, perf_counter() - started


def readings_of(lines: Iterable[tuple[float, str]]) -> Iterable[Reading]:
    """Yield the readings among lines, each with the seconds when it was written."""
    for seconds, line in lines:
        if shown := _LINE.match(line):
            update, total, hours, minutes, rest = map(int, shown.groups())
            progress(line.strip())
            yield Reading(update / total, seconds, 3600 * hours + 60 * minutes + rest)


def compared(readings: Sequence[Reading], took: float) -> list[dict[str, float]]:
    """Return a row for each place; the error is that of the time left, as a part of what it took."""
    rows = []
    for place in PLACES:
        near = min(readings, key=lambda one: abs(one.share - place), default=None)
        if near is None or abs(near.share - place) > NEAR * place:
            raise MeasurementError(f"No line shows the time left after about {place:.0%} of the run; it is too short.")
        left = took - near.seconds
        rows.append(
            {"share": near.share, "shown_s": near.left, "took_s": left, "error": near.left / left - 1, "run_s": took}
        )
    return rows


if __name__ == "__main__":
    run(main)
