"""Plays tens of thousands of random battles; fails if memory grows, a battle is voided or a host is lost.

The resident memory of Python and of every host is sampled at regular intervals. The first third of the samples is
warm-up, in which V8 and the recordings that the pool keeps reach their final size. The rest is halved, and no process
may have a median in the second half that is more than 10 % above that of the first half.
"""

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.memory import TOLERANCE, growth, resident
from benchmarks.pokemon_speed import open_pool, random_actions
from benchmarks.report import MeasurementError, option_parser, print_table, run, write_figures
from nemesis.core.game import EndReason, is_counted
from nemesis.games.pokemon.formats import find_format
from nemesis.games.pokemon.hosts.pool import BattlePool

HOSTS, SLOTS = 2, 128
SAMPLES = 30
QUICK_BATTLES = 3000


@dataclass(frozen=True, slots=True)
class Sample:
    """The state after some battles."""

    battles: int
    decisions: int
    seconds: float
    memory: tuple[float, ...]  # resident megabytes of Python and of every host


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--format", default="gen1randombattle", help="what to play (default: gen1randombattle)")
    parser.add_argument("--battles", type=int, help="how many (default: 50,000 in singles, 20,000 in doubles)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    battle_format = find_format(options.format)
    default = 50_000 if battle_format.slots == 1 else 20_000
    battles: int = options.battles or (QUICK_BATTLES if options.quick else default)
    if battles < SAMPLES:
        raise MeasurementError(f"{battles} battles are too few to measure memory growth; play at least {SAMPLES}.")
    pool = open_pool(battle_format.id, HOSTS, SLOTS, options.seed)
    try:
        pids = pool.host_pids
        samples, reasons = soak(pool, battles, options.seed)
        kept_hosts = pool.host_pids == pids
    finally:
        pool.close()
    rows = [_row(before, sample) for before, sample in zip([None, *samples], samples, strict=False)]
    print_table(f"{battles:,} battles of {battle_format.id}, random play", rows)
    ends = ", ".join(f"{count:,} {reason.name.lower().replace('_', ' ')}" for reason, count in sorted(reasons.items()))
    grown = memory_growth(samples)
    print(f"Ends: {ends}. Growth after warm-up: {_listed(grown)}.")
    if options.json:
        named = {reason.name.lower(): count for reason, count in sorted(reasons.items())}
        write_figures(options.json, {"rows": rows, "ends": named, "growth": grown})
    check(grown, reasons, kept_hosts)


def memory_growth(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the relative growth of each process's memory from the first to the second half after warm-up."""
    columns = zip(*(sample.memory for sample in samples), strict=True)
    return {name: growth(column) for name, column in zip(_processes(len(samples[0].memory)), columns, strict=True)}


def soak(pool: BattlePool, battles: int, seed: int) -> tuple[list[Sample], Counter[EndReason]]:
    """Play so many battles; returns samples of the memory and why the battles ended."""
    generator = np.random.default_rng(seed)
    samples: list[Sample] = []
    reasons: Counter[EndReason] = Counter()
    decisions, started = 0, time.monotonic()
    while len(samples) < SAMPLES:
        waiting, ended = pool.recv()
        pool.send(random_actions(waiting.mask, generator))
        decisions += len(waiting)
        reasons.update(EndReason(reason) for reason in ended.end_reason.tolist())
        if reasons.total() * SAMPLES >= (len(samples) + 1) * battles:
            megabytes = tuple(resident(pid) for pid in (os.getpid(), *pool.host_pids))
            samples.append(Sample(reasons.total(), decisions, time.monotonic() - started, megabytes))
    return samples, reasons


def check(growths: dict[str, float], reasons: Counter[EndReason], kept_hosts: bool) -> None:
    """Raise if memory grows, a battle was voided or a host was lost."""
    voided = {reason: count for reason, count in reasons.items() if not is_counted(np.array([reason]))[0]}
    if voided:
        listed = ", ".join(f"{count} by {reason.name.lower().replace('_', ' ')}" for reason, count in voided.items())
        raise MeasurementError(f"Battles were voided: {listed}. See the log above.")
    if not kept_hosts:
        raise MeasurementError("A host was lost; see the log above.")
    grown = {name: share for name, share in growths.items() if share > TOLERANCE}
    if grown:
        raise MeasurementError(f"Memory grows by more than {TOLERANCE:.0%} after warm-up: {_listed(grown)}.")


def _row(before: Sample | None, sample: Sample) -> dict[str, float]:
    decisions = sample.decisions - (before.decisions if before else 0)
    seconds = sample.seconds - (before.seconds if before else 0.0)
    processes = zip(_processes(len(sample.memory)), sample.memory, strict=True)
    return {
        "battles": sample.battles,
        "minutes": sample.seconds / 60,
        "decisions_per_second": decisions / seconds,
        **{f"{name}_mb": megabytes for name, megabytes in processes},
    }


def _processes(count: int) -> list[str]:
    return ["python", *(f"host_{number}" for number in range(1, count))]


def _listed(growths: dict[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {share:+.1%}" for name, share in growths.items())


if __name__ == "__main__":
    run(main)
