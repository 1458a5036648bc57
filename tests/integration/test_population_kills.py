"""A population that plays is killed at any moment: its counts are those of its log, and nothing is played twice."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
from background import Background, command, wait_until

from nemesis.cli import main
from nemesis.population.store.payoff_log import LOG, read_log
from nemesis.population.store.standings import standings

KILLS = 4
MATCHES = 3000  # of each of three pairs


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def ended_or_grown(process: Background, path: Path, size: int) -> bool:
    return not process.alive or size_of(path) > size


def test_nothing_is_lost_or_counted_twice(tmp_path: Path):
    folder = tmp_path / "population"
    assert main(["population", "create", str(folder), "--game", "openspiel:leduc_poker"]) == 0
    for name in ("one", "two", "three"):
        assert main(["population", "add", str(folder), "random", "--name", name]) == 0
    generator = np.random.default_rng(0)
    play = ("population", "play", str(folder), "--matches", str(MATCHES), "--processes", "2")
    before = 0
    for kill in range(KILLS):
        size = size_of(folder / LOG)
        process = command(tmp_path / f"killed-{kill}.txt", *play)
        wait_until(partial(ended_or_grown, process, folder / LOG, size))
        time.sleep(float(generator.uniform(0, 0.3)))
        if process.alive:
            os.kill(process.pid, signal.SIGKILL)
        process.finish()
        found = standings(folder)
        seen = read_log(folder).matches
        key = np.stack([seen.session, seen.pool, seen.match])
        assert len(np.unique(key, axis=1).T) == len(seen) >= before
        assert found.counts.matches.sum() // 2 + found.counts.voided.sum() // 2 == len(seen)
        before = len(seen)
    last = command(tmp_path / "last.txt", *play)
    assert last.finish() == 0, last.printed
    found = standings(folder)
    more = found.counts.matches - MATCHES * (1 - np.eye(3, dtype=int))
    assert ((more == 0) | (more == 1)).all()  # a kill may leave half of a pair of matches, which is played as a pair
    assert found.log.problems == ()
