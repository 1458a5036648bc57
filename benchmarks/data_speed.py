"""Whether loading a dataset slows a learner down, and how much memory loading takes.

A dataset of VGC battles is recorded (random play, copied under new ids until it is large), and behaviour cloning
updates a policy:
  memory   from batches that were prepared before
  fed      from a feed that prepares them at the same time, in its thread
  alone    the speed of the feed while nothing is learned
The goal is 95 % of the speed with batches in memory. Blocks of updates alternate, and ratios are medians over all
pairs. Speeds are per second of wall time, since the feed works on another core, so keep the machine free. Two figures
depend less on that: the ratio per CPU second of the learner's thread, and the share of time that it waited for a batch.

For memory, a process of its own reads one epoch of a dataset several times larger than the buffer, and reports its peak
growth.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time

import numpy as np
import torch

from benchmarks.report import MeasurementError, Row, option_parser, print_table, run, write_figures
from nemesis.core.game import Game
from nemesis.core.trajectory import Trajectories
from nemesis.data.config import DataConfig
from nemesis.data.dataset import open_dataset
from nemesis.data.feed import Feed
from nemesis.data.writer import DatasetWriter
from nemesis.evaluation.dataset_collection import collect
from nemesis.evaluation.entrants import open_entrants
from nemesis.games import open_game
from nemesis.learners.behaviour_cloning import BehaviourCloning
from nemesis.learners.config import BehaviourCloningConfig
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig, Size

GAME = "pokemon:gen9vgc2025regi"
BATCH = 2048  # decisions
BUFFER = 8192  # decisions
GOAL = 0.95
SIZES: tuple[Size, ...] = ("nano", "small")  # of the policy; the smallest needs data fastest
AUGMENTATIONS = ((), ("order", "slots"))
_KIBIBYTE = 1024
_MEGABYTE = 1e6


def main() -> None:
    options = option_parser(__doc__ or "").parse_args()
    torch.set_num_threads(1)
    game = open_game(GAME)
    with TemporaryDirectory() as folder:
        path = Path(folder, "large")
        decisions = prepare(game, Path(folder, "small"), path, options.seed, quick=options.quick)
        turns, updates = (2, 6) if options.quick else (6, 12)
        speeds = [
            measure_speed(game, path, size, names, turns, updates, options.seed)
            for size in (SIZES[:1] if options.quick else SIZES)
            for names in AUGMENTATIONS
        ]
        memory = measure_memory(game, path, decisions, options.seed)
    print_table(f"Decisions per second of behaviour cloning, batches of {BATCH}", speeds)
    print_table("Memory of one epoch, in megabytes", [memory])
    if options.json:
        write_figures(options.json, {"speed": [dict(row) for row in speeds], "memory": dict(memory)})


def prepare(game: Game, small: Path, large: Path, seed: int, *, quick: bool) -> int:
    """Record battles, copy them until they fill the buffer many times, and return the number of decisions."""
    collect(open_entrants(["random"], GAME, ()), ["random"], small, matches=30 if quick else 200, seed=seed)
    shards = open_dataset(small).shards
    recorded = [shard.read(group) for shard in shards for group in range(len(shard.row_groups))]
    with DatasetWriter(large, game.spec) as writer:
        copy = 0
        while writer.decisions < (8 if quick else 48) * BUFFER:
            for part in recorded:
                writer.append(replace(part, source=np.array([f"{copy}-{source}" for source in part.source])))
            copy += 1
        writer.finish()
        return writer.decisions


def measure_speed(
    game: Game, path: Path, size: Size, augment: Sequence[str], turns: int, updates: int, seed: int
) -> Row:
    """Alternate blocks of updates from memory and from the feed."""
    torch.manual_seed(seed)
    policy = build_policy(game, PolicyConfig(size=size))
    learner = BehaviourCloning(policy, BehaviourCloningConfig(), torch.device("cpu"), seed)
    with closing(_feed(game, path, augment, seed)) as feed:
        kept = [feed.take() for _ in range(updates)]
    learner.update(kept[0], 0.0)  # warm-up
    from_memory, fed = [], []
    for turn in range(turns):
        from_memory.append(_time_updates(learner, iter(kept), updates))
        with closing(_feed(game, path, augment, seed + 1 + turn)) as feed:
            first = feed.take()  # a run waits for its first batch once
            fed.append(_time_updates(learner, _following(first, feed, updates), updates))
    pairs = list(zip(fed, from_memory, strict=True))
    return {
        "policy": size,
        "augmentation": ", ".join(augment) or "none",
        "memory": median(pace.speed for pace in from_memory),
        "fed": median(pace.speed for pace in fed),
        "ratio": median(feed.speed / memory.speed for feed, memory in pairs),
        "goal": GOAL,
        "thread_ratio": median(feed.thread_speed / memory.thread_speed for feed, memory in pairs),
        "waited": median(pace.waited for pace in fed),
        "alone": _feed_alone(game, path, augment, seed),
    }


def measure_memory(game: Game, path: Path, decisions: int, seed: int) -> Row:
    """Read one epoch in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        grown, given = pool.apply(_grow, (str(path), seed))
    if given < decisions:
        raise MeasurementError(f"The feed returned {given} of {decisions} decisions, so its memory cannot be compared.")
    row = game.spec.view_size * game.spec.view_bytes + game.spec.actions / 8  # bytes of a decision in the buffer
    return {
        "decisions": decisions,
        "on_disk": sum(shard.size for shard in open_dataset(path).card.shards) / _MEGABYTE,
        "unpacked": decisions * row / _MEGABYTE,
        "two_buffers": 2 * BUFFER * row / _MEGABYTE,
        "grown_by": grown / _MEGABYTE,
    }


@dataclass(frozen=True, slots=True)
class _Pace:
    """How fast a learner was."""

    speed: float  # decisions per second
    thread_speed: float  # decisions per CPU second of its thread
    waited: float  # share of the time


def _time_updates(learner: BehaviourCloning, batches: Iterator[Trajectories], updates: int) -> _Pace:
    """Measure the speed of so many updates."""
    decisions, waited = 0, 0.0
    started, worked = perf_counter(), thread_time()
    for _ in range(updates):
        asked = perf_counter()
        batch = next(batches)
        waited += perf_counter() - asked
        learner.update(batch, 0.0)
        decisions += batch.decisions
    took = perf_counter() - started
    return _Pace(decisions / took, decisions / (thread_time() - worked), waited / took)


def _following(first: Trajectories, feed: Feed, updates: int) -> Iterator[Trajectories]:
    yield first
    for _ in range(updates - 1):
        yield feed.take()


def _feed_alone(game: Game, path: Path, augment: Sequence[str], seed: int) -> float:
    """Return the decisions per second of the feed when nothing is learned."""
    with closing(_feed(game, path, augment, seed)) as feed:
        feed.take()
        started, given = perf_counter(), 0
        for _ in range(8):
            given += feed.take().decisions
        return given / (perf_counter() - started)


def _feed(game: Game, path: Path, augment: Sequence[str], seed: int) -> Feed:
    config = DataConfig(sources={str(path): 1.0}, validation=0.0, buffer=BUFFER, augment=tuple(augment))
    return Feed(config, game, BATCH, seed)


def _grow(path: str, seed: int) -> tuple[float, int]:
    """Return the peak growth of this process in bytes while it reads one epoch, and the number of decisions."""
    game = open_game(GAME)
    before, given = _memory("VmRSS"), 0
    with closing(_feed(game, Path(path), (), seed)) as feed:
        while not any(feed.epochs.values()):
            given += feed.take().decisions
    return _memory("VmHWM") - before, given  # the peak; `ru_maxrss` would include that of the parent process


def _memory(name: str) -> float:
    """Return a figure of this process's memory from /proc, in bytes."""
    status = Path("/proc/self/status")
    if not status.exists():
        raise MeasurementError("Memory can only be measured on Linux, since it is read from /proc/self/status.")
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(f"{name}:"))
    return float(line.split()[1]) * _KIBIBYTE


if __name__ == "__main__":
    run(main)
