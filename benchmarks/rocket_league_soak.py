"""Plays 10 million physics ticks of 3v3; fails if memory grows, a number is not finite or a body leaves the arena.

Several processes play, each with a match pool of its own, from all kinds of starts, with random actions that are held
for some decisions, so that cars become fast. Every state, view and reward is checked, and no match may be voided. The
resident memory of each process is sampled at regular intervals (memory.py).
"""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.memory import TOLERANCE, growth, resident
from benchmarks.report import MeasurementError, Row, option_parser, print_table, run, write_figures
from nemesis.core.game import FloatArray, IntArray, count_reasons
from nemesis.games.rocket_league.actions import ACTIONS
from nemesis.games.rocket_league.arena.soccar import GOAL_BACK, HEIGHT, SIDE
from nemesis.games.rocket_league.game import open_game
from nemesis.games.rocket_league.pool import RocketLeaguePool
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.state import ArenaState

TICKS, QUICK_TICKS = 10_000_000, 300_000
SLOTS = 32  # of each process
SAMPLES = 30
HELD = 4  # decisions for which an action is held, on average
VOIDED = ("simulator_failure", "host_lost", "refused", "forfeit")


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process has played so far."""

    ticks: int
    ended: Counter[str]  # reason → matches
    farthest: FloatArray  # (3,) any body so far, uu
    not_finite: int  # numbers so far
    memory: float  # resident megabytes


class Watch:
    """Checks the states of all matches of a pool."""

    def __init__(self, slots: int) -> None:
        self.ticks = 0
        self.not_finite = 0
        self.farthest = np.zeros(3, dtype=np.float32)
        self._match: IntArray = np.full(slots, -1)
        self._tick: IntArray = np.zeros(slots, dtype=np.int64)

    def record(self, match: IntArray, state: ArenaState) -> None:
        """Count ticks and numbers that are not finite, and remember the farthest positions."""
        self.ticks += int((state.tick - np.where(match == self._match, self._tick, 0)).sum())
        self._match, self._tick = match.copy(), state.tick
        self.check(*(getattr(state, field.name) for field in fields(state)))
        for bodies in (state.ball_position, state.position.reshape(-1, 3)):
            self.farthest = np.fmax(self.farthest, np.abs(bodies).max(axis=0))

    def check(self, *arrays: Any) -> None:
        """Count numbers that are not finite."""
        self.not_finite += sum(int((~np.isfinite(array)).sum()) for array in arrays)


def play(pipe: "Connection[Any, Any]", ticks: int, seed: int) -> None:
    """Play so many ticks, and send samples."""
    pool = open_game("3v3", RocketLeagueSettings(match_seconds=30)).pool(SLOTS, seed)
    assert isinstance(pool, RocketLeaguePool)  # noqa: S101
    pool.recorder = watch = Watch(SLOTS)
    generator, ended = np.random.default_rng(seed), Counter[str]()
    held = generator.integers(0, len(ACTIONS), SLOTS * 6)
    for sample in range(1, SAMPLES + 1):
        while watch.ticks * SAMPLES < sample * ticks:
            waiting, results = pool.recv()
            watch.check(waiting.view, waiting.reward)
            ended += count_reasons(results.end_reason)
            changed = generator.random(len(held)) < 1 / HELD
            held = np.where(changed, generator.integers(0, len(ACTIONS), len(held)), held)
            pool.send(held)
        pipe.send(Sample(watch.ticks, Counter(ended), watch.farthest, watch.not_finite, resident(os.getpid())))


def soak(ticks: int, processes: int, seed: int) -> list[list[Sample]]:
    """Play so many ticks in all; returns the samples of each process."""
    context = get_context("spawn")
    pipes = []
    for number in range(processes):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=play, args=(theirs, -(-ticks // processes), seed + number), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
    try:
        return [
            list(samples) for samples in zip(*([pipe.recv() for pipe in pipes] for _ in range(SAMPLES)), strict=True)
        ]
    except EOFError:
        raise MeasurementError("A process that played has died; its error is above.") from None


def check(samples: Sequence[Sequence[Sample]]) -> None:
    """Raise if memory grows, a match was voided, a number is not finite or a body left the arena."""
    last = [own[-1] for own in samples]
    ended = sum((one.ended for one in last), Counter[str]())
    if voided := {reason: ended[reason] for reason in VOIDED if ended[reason]}:
        listed = ", ".join(f"{count} by {reason.replace('_', ' ')}" for reason, count in voided.items())
        raise MeasurementError(f"Matches were voided: {listed}.")
    if count := sum(one.not_finite for one in last):
        raise MeasurementError(f"{count} numbers are not finite.")
    farthest = np.max([one.farthest for one in last], axis=0)
    if (farthest > [SIDE, GOAL_BACK, HEIGHT]).any():
        raise MeasurementError(f"A body left the arena: it was at {_listed(farthest)} uu.")
    grown = {name: share for name, share in memory_growth(samples).items() if share > TOLERANCE}
    if grown:
        listed = ", ".join(f"{name} {share:+.1%}" for name, share in grown.items())
        raise MeasurementError(f"Memory grows by more than {TOLERANCE:.0%} after warm-up: {listed}.")


def memory_growth(samples: Sequence[Sequence[Sample]]) -> dict[str, float]:
    """Return the relative growth of each process's memory after warm-up."""
    return {f"process {number}": growth([one.memory for one in own]) for number, own in enumerate(samples, 1)}


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--ticks", type=int, help=f"how many (default: {TICKS:,}, quick: {QUICK_TICKS:,})")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="that play (default: one per core)")
    options = parser.parse_args()
    ticks: int = options.ticks or (QUICK_TICKS if options.quick else TICKS)
    started = time.monotonic()
    samples = soak(ticks, options.processes, options.seed)
    seconds = time.monotonic() - started
    rows = [_row([own[number] for own in samples]) for number in range(SAMPLES)]
    print_table(f"{rows[-1]['ticks']:,} ticks of 3v3, random play, {options.processes} processes", rows)
    grown, last = memory_growth(samples), [own[-1] for own in samples]
    ended: Mapping[str, int] = sum((one.ended for one in last), Counter[str]())
    farthest = np.max([one.farthest for one in last], axis=0)
    print(f"Ends: {', '.join(f'{count:,} {reason}' for reason, count in ended.items())} in {seconds / 60:.1f} min.")
    print(f"Farthest from the centre: {_listed(farthest)} uu of {SIDE:.0f}, {GOAL_BACK:.0f} and {HEIGHT:.0f}.")
    print(f"Growth after warm-up: {', '.join(f'{name} {share:+.1%}' for name, share in grown.items())}.")
    if options.json:
        figures = {"rows": rows, "ended": dict(ended), "farthest": farthest.tolist(), "growth": grown}
        write_figures(options.json, figures | {"seconds": seconds})
    check(samples)


def _row(samples: Sequence[Sample]) -> Row:
    return {
        "ticks": sum(one.ticks for one in samples),
        "matches": sum(one.ended.total() for one in samples),
        "not_finite": sum(one.not_finite for one in samples),
        **{f"process_{number}_mb": one.memory for number, one in enumerate(samples, 1)},
    }


def _listed(position: FloatArray) -> str:
    return ", ".join(f"{number:.0f}" for number in position)


if __name__ == "__main__":
    run(main)
