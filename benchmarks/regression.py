"""Is the checkout slower than another commit? Runs the speed benchmarks of both in turns and compares the figures.

    python -m benchmarks.regression COMMIT

COMMIT is checked out into a temporary worktree that shares the installed Python packages, and the Node packages if both
lock files are identical; otherwise the commit installs its own on first use. A turn measures both sides, and which side
goes first alternates. Each side runs its own `benchmarks.training_speed --quick` on gen1ou, and its own
`benchmarks.learner_speed --quick`, three times as often. Turns are short and many because the speed of a machine drifts
over minutes. Only our figures count, in decisions per second, not those of the peers. A ratio is the median over all
turns of checkout / COMMIT.

Exit codes: 0 when every ratio is at least 0.95, 1 when something could not be measured, 3 when a ratio is lower.
Keep the cores free.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from benchmarks.report import MeasurementError, option_parser, print_table, progress, run, write_figures

BAR = 0.95
SLOWER = 3  # exit code
TURNS, QUICK_TURNS = 5, 2
LEARNER_TURNS = 3  # of the learner's benchmark, for each of the training loop's
TRAINING, LEARNER = "training_speed", "learner_speed"
NO_PEER = "--no-peer"  # of the training benchmark; older commits do not have it,
FORMAT = "gen1ou"  # and this is where the peer, which they run too, learns soonest
CHECKOUT = Path(__file__).resolve().parent.parent
HOST = Path("nemesis", "games", "pokemon", "host")
_LIMIT = 3600.0  # seconds of one benchmark
_ATTEMPTS = 3  # the peer of older commits does not always learn in the quick benchmark's time, which makes it fail
_STOP_LIMIT = 10.0  # seconds until an interrupted benchmark is killed

Figures: TypeAlias = Mapping[str, float]  # decisions per second by name


@dataclass(frozen=True, slots=True)
class Turn:
    """The figures of one turn."""

    checkout: Figures
    commit: Figures


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of both sides over all turns."""

    figure: str
    checkout: float  # median
    commit: float  # median
    ratio: float  # median of checkout / commit
    turns: int

    @property
    def passed(self) -> bool:
        return self.ratio >= BAR


@dataclass(frozen=True, slots=True)
class Side:
    """A source tree and how its benchmarks are run."""

    name: str
    root: Path
    training_options: Sequence[str]  # beside --quick

    def training(self, seed: int) -> dict[str, float]:
        """Run the benchmark of the training loop and return our figures."""
        options = ["--formats", FORMAT, *self.training_options]
        return self._figures(TRAINING, options, seed, training_figures)

    def learner(self, seed: int) -> dict[str, float]:
        """Run the benchmark of the learner and return our figures."""
        return self._figures(LEARNER, [], seed, learner_figures)

    def _figures(
        self, name: str, options: Sequence[str], seed: int, figures: Callable[[Mapping[str, Any]], dict[str, float]]
    ) -> dict[str, float]:
        progress(f"  {self.name}: {name} …")
        report = _report(self.root, name, ["--quick", *options, "--seed", str(seed)])
        try:
            return figures(report)
        except KeyError as error:
            raise MeasurementError(f"{name} of {self.name} does not report {error}.") from None


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("commit", metavar="COMMIT", help="what the checkout is compared to")
    parser.add_argument("--turns", type=int, help=f"of each side (default: {TURNS}, quick: {QUICK_TURNS})")
    options = parser.parse_args()
    turns: int = (QUICK_TURNS if options.quick else TURNS) if options.turns is None else options.turns
    if turns < 1:
        parser.error("--turns must be at least 1.")
    commit = _git("rev-parse", "--verify", f"{options.commit}^{{commit}}")
    with worktree(commit) as root:
        checkout, other = (
            Side(name, path, _training_options(path)) for name, path in (("checkout", CHECKOUT), (options.commit, root))
        )
        if not _share_node_packages(root):
            progress(f"{options.commit}: installing its Node packages …")
            _report(root, TRAINING, ["--quick", "--formats", FORMAT, *other.training_options])
        training = list(_turns(checkout, other, turns, Side.training, options.seed))
        learner = list(_turns(checkout, other, LEARNER_TURNS * turns, Side.learner, options.seed))
    compared = [compare(training), compare(learner)]
    comparisons = [comparison for some, _ in compared for comparison in some]
    unpaired = [name for _, names in compared for name in names]
    rows = [{**asdict(each), f"at_least_{BAR}": "yes" if each.passed else "no"} for each in comparisons]
    print_table(f"Decisions per second of the checkout and of {options.commit}", rows)
    if unpaired:
        print(f"Measured on one side only, and not compared: {', '.join(unpaired)}.")
    if options.json:
        sides = {"checkout": _git("describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"), "commit": commit}
        write_figures(
            options.json,
            {
                "sides": sides,
                "rows": rows,
                "unpaired": unpaired,
                "training_turns": [asdict(turn) for turn in training],
                "learner_turns": [asdict(turn) for turn in learner],
            },
        )
    if sentence := verdict(comparisons, options.commit):
        print(sentence, file=sys.stderr)
        sys.exit(SLOWER)


def training_figures(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the speed of our training loop from the report of `training_speed`."""
    return {
        f"training loop, {battle_format}, actors: {actors}": speed
        for battle_format, row in report["formats"].items()
        for actors, speed in row["nemesis_by_actors"].items()
    }


def learner_figures(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the speeds of our policies and learners from the report of `learner_speed`."""
    return {row["measure"].partition(", against ")[0]: row["ours"] for row in report["rows"]}


def compare(turns: Sequence[Turn]) -> tuple[list[Comparison], list[str]]:
    """Pair the figures of both sides; returns the comparisons and the names that only one side has."""
    first = turns[0]
    paired = [name for name in first.checkout if name in first.commit]
    if not paired:
        raise MeasurementError("The two commits have no figure in common, so nothing can be compared.")
    comparisons = []
    for name in paired:
        checkout, commit = [turn.checkout[name] for turn in turns], [turn.commit[name] for turn in turns]
        ratio = median(ours / theirs for ours, theirs in zip(checkout, commit, strict=True))
        comparisons.append(Comparison(name, median(checkout), median(commit), ratio, len(turns)))
    return comparisons, sorted(first.checkout.keys() ^ first.commit.keys())


def verdict(comparisons: Sequence[Comparison], commit: str) -> str:
    """Return a sentence that names the figures below the bar; empty when there are none."""
    slower = [f"{each.figure} ({each.ratio:.3f})" for each in comparisons if not each.passed]
    if not slower:
        return ""
    return f"The checkout is slower than {commit}; the ratio is below {BAR} for: {'; '.join(slower)}."


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="nemesis-") as folder:
        root = Path(folder, "worktree")
        try:
            _git("worktree", "add", "--detach", str(root), commit)
            yield root
        finally:
            with suppress(MeasurementError):  # there is none if the first command failed
                _git("worktree", "remove", "--force", str(root))


def _turns(
    checkout: Side, other: Side, turns: int, measure: Callable[[Side, int], dict[str, float]], seed: int
) -> Iterator[Turn]:
    for number in range(turns):
        progress(f"Turn {number + 1} of {turns}")
        if number % 2 == 0:
            yield Turn(checkout=measure(checkout, seed), commit=measure(other, seed))
        else:
            yield Turn(commit=measure(other, seed), checkout=measure(checkout, seed))


def _share_node_packages(root: Path) -> bool:
    """Link the installed Node packages into a worktree; returns whether it can use them."""
    packages = CHECKOUT / HOST / "node_modules"
    locks = [path / HOST / "package-lock.json" for path in (CHECKOUT, root)]
    if not packages.exists() or not locks[1].exists() or locks[0].read_bytes() != locks[1].read_bytes():
        return False
    (root / HOST / "node_modules").symlink_to(packages.resolve(), target_is_directory=True)
    return True


def _training_options(root: Path) -> list[str]:
    return [NO_PEER] if NO_PEER in _benchmark(root, TRAINING, ["--help"]) else []


def _report(root: Path, name: str, options: Sequence[str]) -> dict[str, Any]:
    """Run a benchmark of a source tree and return what it wrote as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                _benchmark(root, name, [*options, "--json", str(file)])
                break
            except MeasurementError as error:
                if not attempts_left:
                    raise
                progress(f"  Trying again: {error}")
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return report


def _benchmark(root: Path, name: str, options: Sequence[str]) -> str:
    """Run a benchmark of a source tree and return its standard output."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *options]
    process = subprocess.Popen(
        command,
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that it can be ended with all its processes
    )
    try:
        output, errors = process.communicate(timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"{' '.join(command)} in {root} took more than {_LIMIT:.0f} s.") from None
    finally:
        _stop(process)
    if process.returncode:
        raise MeasurementError(f"{' '.join(command)} failed in {root}:\n{errors.strip()[-2000:]}")
    return output


def _stop(process: "subprocess.Popen[str]") -> None:
    """Interrupt a benchmark that still runs, so that it ends its own processes, and kill what is left after a while."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=_STOP_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _git(*arguments: str) -> str:
    outcome = subprocess.run(
        ["git", "-C", str(CHECKOUT), *arguments],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode:
        raise MeasurementError(f"git {' '.join(arguments)} failed: {outcome.stderr.strip()}")
    return outcome.stdout.strip()


if __name__ == "__main__":
    run(main)
