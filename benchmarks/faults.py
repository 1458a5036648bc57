"""Fault tolerance: actors, simulator hosts and the learner itself are killed at random moments while a run trains.

    python -m benchmarks.faults --kills 20 [--preset rocket_league_1v1]

A run of a preset with actors is started, and one of its processes after another is killed without warning. In some
games, actors have simulator hosts. Measured is the time until
  actor, host    the run has replaced it (`replaced`) and has completed its next update (`recovered`)
  learner        no process of the run is left (`orphans_gone`), and the resumed run has completed its next update
It is a failure if this takes too long. So is a match that counts although it was voided: matches in flight in a killed
host must be reported as lost (`voided`). At the end, the opponent pool must have counted exactly the matches that the
actors saw end by play, according to their end reasons, and no member may be credited with more.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import MeasurementError, Row, option_parser, print_table, run, write_figures

KILLS, QUICK_KILLS = 20, 3
KINDS = ("actor", "host", "learner")
PRESETS: Mapping[str, Sequence[str]] = {  # with settings of their own
    "gen1randombattle": ("policy.size=nano",),
    "rocket_league_1v1": (
        "policy.width=48",
        "collection.segment=64",
        "opponents.scripted=random",
        "rocket_league.match_seconds=5",  # so that many matches end
    ),
}
HOSTED = ("gen1randombattle",)  # presets whose actors have simulator hosts
SETTINGS = (
    "updates=100000",
    "collection.actors=2",
    "collection.slots=32",
    "collection.decisions=512",
    "opponents.shares.self=0.5",
    "opponents.shares.scripted=0.3",
    "opponents.shares.past=0.2",
    "opponents.past_interval=10",
    "evaluation.interval=1000000",
    "evaluation.matches=10",
    "checkpoints.interval=2",
    "tracking.tensorboard=false",
)
START_LIMIT = 180.0  # seconds
REPLACEMENT_LIMIT = 5.0
RECOVERY_LIMIT = 60.0
COUNTED = ("played", "tie", "turn_limit", "time_limit")
HOST_LOST = "host_lost"
ORPHAN_LIMIT = 2.0
PROGRAM = "import sys; from nemesis.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a run."""

    actors: list[int]
    hosts: list[int]
    others: list[int]

    @property
    def all(self) -> list[int]:
        return self.actors + self.hosts + self.others


class Training:
    """A run in a process of its own, which can be killed and resumed."""

    def __init__(self, preset: str, path: Path, seed: int) -> None:
        self.path = path
        self._log = (path.parent / "output.txt").open("a", encoding="utf-8")
        settings = (*SETTINGS, *PRESETS[preset], f"seed={seed}")
        self.process = self._start(["train", preset, *settings, "--run", str(path)])

    def resume(self) -> None:
        self.process = self._start(["resume", str(self.path)])

    def updates(self) -> int:
        """Return the last update in the metrics."""
        lines = self._lines()
        return int(lines[-1]["update"]) if lines else -1

    def hosts_lost(self) -> int:
        """Return how many matches were voided with their hosts, according to the metrics."""
        lines = self._lines()
        return int(lines[-1].get(f"collection/ended/{HOST_LOST}", 0)) if lines else 0

    def last_write(self) -> float:
        """Return when the metrics were last written."""
        return (self.path / "metrics.jsonl").stat().st_mtime

    def processes(self) -> Processes:
        descendants = _descendants(self.process.pid)
        servers = [pid for pid, (parent, command) in descendants.items() if _is_server(parent, command, self.process)]
        forked = [pid for pid, (parent, _) in descendants.items() if parent in servers]
        # Not hosts of the learner, which only evaluate.
        hosts = {
            pid: parent for pid, (parent, command) in descendants.items() if "main.js" in command and parent in forked
        }
        actors = [pid for pid in forked if pid in hosts.values()] if hosts else forked  # with hosts, if it has started
        return Processes(actors, list(hosts), [pid for pid in descendants if pid not in hosts and pid not in actors])

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()

    def _start(self, arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", PROGRAM, *arguments]
        return subprocess.Popen(command, stdout=self._log, stderr=self._log, start_new_session=True)

    def _lines(self) -> list[dict[str, Any]]:
        file = self.path / "metrics.jsonl"
        if not file.exists():
            return []
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--kills", type=int, help=f"number of kills (default: {KILLS}, quick: {QUICK_KILLS})")
    parser.add_argument(
        "--preset", choices=PRESETS, default="gen1randombattle", help="what is trained (default: gen1randombattle)"
    )
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if kind != "host" or options.preset in HOSTED]
    kills: int = options.kills or (QUICK_KILLS if options.quick else KILLS)
    generator = random.Random(options.seed)  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        training = Training(options.preset, Path(folder) / "run", options.seed)
        try:
            _wait(training, "complete its first updates", lambda: training.updates() >= 3, START_LIMIT)
            rows = [_kill(training, kinds, generator, number) for number in range(kills)]
            last = training.updates()
            _wait(training, "save", lambda: _newest_checkpoint(training.path) > last, RECOVERY_LIMIT)
            matches = _matches(_newest_state(training.path))
        finally:
            training.close()
    print_table("Kills, and seconds until recovery", rows)
    by_kind = {kind: sum(row["killed"] == kind for row in rows) for kind in kinds}
    print(f"Matches: {matches}.")
    if options.json:
        write_figures(options.json, {"kills": rows, "by_kind": by_kind, "matches": matches})
    _check(matches, _lost_since_the_last_learner(rows))
    slow = [row for row in rows if row["killed"] != "learner" and row["replaced"] > REPLACEMENT_LIMIT]
    if slow:
        raise MeasurementError(f"{len(slow)} processes were only replaced after more than {REPLACEMENT_LIMIT:.0f} s.")


def _kill(training: Training, kinds: Sequence[str], generator: random.Random, number: int) -> Row:
    """Kill one process of the run at a random moment, and measure its recovery."""
    time.sleep(generator.uniform(0.5, 3.0))
    processes = training.processes()
    kind = generator.choice(kinds)
    before, started = training.updates(), time.monotonic()
    row: dict[str, Any] = {"number": number, "killed": kind, "update": before}
    if kind == "learner":
        training.process.kill()
        training.process.wait()
        gone = _wait(
            training, "end its orphaned processes", lambda: not _alive(processes.all), ORPHAN_LIMIT, running=False
        )
        newest, started, killed = _newest_checkpoint(training.path), time.monotonic(), time.time()
        training.resume()
        # Updates after the checkpoint that were written before the kill do not count.
        _wait(
            training,
            "continue after it was resumed",
            lambda: training.last_write() > killed and training.updates() > newest,
            START_LIMIT,
        )
        recovered = time.monotonic() - started
        return row | {"orphans_gone": gone, "replaced": None, "recovered": recovered, "voided": None}
    candidates = processes.actors if kind == "actor" else processes.hosts
    if not candidates:
        raise MeasurementError(f"The run has no {kind} to kill.")
    target, lost = generator.choice(candidates), training.hosts_lost()
    os.kill(target, signal.SIGKILL)

    def replaced() -> bool:
        now = training.processes()
        return target not in now.all and len(now.actors if kind == "actor" else now.hosts) >= len(candidates)

    took = _wait(training, f"replace a {kind}", replaced, RECOVERY_LIMIT)
    _wait(training, f"continue after the loss of a {kind}", lambda: training.updates() > before, RECOVERY_LIMIT)
    recovered = time.monotonic() - started
    if kind == "host":  # checked now, since a learner that is killed later loses what it had not saved
        _wait(training, "void the matches of a host", lambda: training.hosts_lost() > lost, RECOVERY_LIMIT)
    voided = training.hosts_lost() - lost
    return row | {"orphans_gone": None, "replaced": took, "recovered": recovered, "voided": voided}


def _matches(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the matches as the pool and the actors counted them, from the state of a checkpoint."""
    pool, counts = _unfold(state["matchmaker"])["pool"], _unfold(state["source"])["counts"]
    return {
        **pool["matches"],
        "recorded": sum(sum(sum(seat) for seat in member["record"]) for member in pool["members"]),
        "played": counts["matches"],
        "voided": counts["voided"],
        "ended": counts["ended"],
    }


def _lost_since_the_last_learner(rows: Sequence[Row]) -> int:
    """Return how many matches were voided with hosts since a learner was last killed, which may lose earlier counts."""
    last = max((number for number, row in enumerate(rows) if row["killed"] == "learner"), default=-1)
    return sum(row["voided"] for row in rows[last + 1 :] if row["killed"] == "host")


def _check(matches: Mapping[str, Any], hosts_lost: int) -> None:
    """Raise if a voided match counts or a played one does not; at least `hosts_lost` matches must be voided."""
    ended: Mapping[str, int] = matches["ended"]
    counted = sum(ended.get(reason, 0) for reason in COUNTED)
    if counted != matches["played"] or sum(ended.values()) - counted != matches["voided"]:
        raise MeasurementError(f"The match counts disagree with the end reasons: {matches}.")
    if ended.get(HOST_LOST, 0) < hosts_lost:
        raise MeasurementError(f"{hosts_lost} matches were lost with their hosts, but not all were voided: {matches}.")
    if matches["self"] + matches["others"] != matches["played"]:
        raise MeasurementError(f"The pool does not count exactly the matches that ended by play: {matches}.")
    if not matches["recorded"] <= matches["credited"] <= matches["others"]:
        raise MeasurementError(f"Members are credited with matches that they did not play: {matches}.")


def _newest_state(path: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((_checkpoint_path(path) / "state.json").read_text(encoding="utf-8"))["state"]
    return state


def _unfold(tree: Any) -> Any:
    """Decode a checkpoint's state as far as JSON can express it."""
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "dict":
        return {key: _unfold(node) for key, node in content}
    return [_unfold(node) for node in content] if kind in ("list", "tuple") else content


def _wait(training: Training, what: str, condition: Callable[[], bool], limit: float, *, running: bool = True) -> float:
    """Wait until the run has done something; returns the seconds that it took."""
    started = time.monotonic()
    while not condition():
        if running and training.process.poll() is not None:
            raise MeasurementError(f"The run exited before it could {what}; see {training.path.parent}.")
        if time.monotonic() - started > limit:
            raise MeasurementError(f"The run did not {what} within {limit:.0f} s.")
        time.sleep(0.02)
    return time.monotonic() - started


def _newest_checkpoint(path: Path) -> int:
    return int(_checkpoint_path(path).name.removeprefix("update-"))


def _checkpoint_path(path: Path) -> Path:
    return max((path / "checkpoints").glob("update-*"))


def _descendants(pid: int) -> dict[int, tuple[int, str]]:
    """Return all descendants of a process, with their parents and commands."""
    parents: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(file.parent.name)] = _parent(int(file.parent.name))
        except (OSError, IndexError):
            continue
    family: set[int] = {pid}
    found: dict[int, tuple[int, str]] = {}
    while fresh := {child for child, parent in parents.items() if parent in family and child not in family}:
        family |= fresh
    for child in family - {pid}:
        try:
            command = Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8", errors="replace")
            found[child] = (parents[child], command)
        except OSError:
            continue
    return found


def _is_server(parent: int, command: str, learner: "subprocess.Popen[bytes]") -> bool:
    """Return whether a process is the fork server that starts the actors of a learner."""
    return parent == learner.pid and "forkserver" in command


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def _alive(pids: Sequence[int]) -> bool:
    return any(_state(pid) not in ("", "Z") for pid in pids)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""


if __name__ == "__main__":
    run(main)
