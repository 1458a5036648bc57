"""Datasets of real episodes, for tests of what reads and writes them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from episodes import LEDUC, build_policy, opened, play

from nemesis.core.trajectory import Trajectories
from nemesis.data.dataset import Card
from nemesis.data.episodes import Episodes
from nemesis.data.writer import DatasetWriter

SPEC = opened(LEDUC).spec


@cache
def played(decisions: int = 2000, seed: int = 0) -> Trajectories:
    game = opened(LEDUC)
    return play(game, build_policy(game), decisions, seed=seed)


def episodes(decisions: int = 2000, seed: int = 0, **changes: Any) -> Episodes:
    """Return whole matches of Leduc poker, both seats of each."""
    trajectories = played(decisions, seed)
    source = [f"{seed}-{match}" for match in trajectories.match]
    return replace(from_trajectories(trajectories, source, "leduc_poker"), **changes)


def from_trajectories(trajectories: Trajectories, source: Sequence[str], format_name: str) -> Episodes:
    """Return finished episodes with the ids of the battles (episode,) that they come from."""
    ended = trajectories.offsets[1:] - 1
    reward = np.zeros(trajectories.decisions, dtype=np.float32)
    reward[ended] = trajectories.result
    known = trajectories.known
    action = trajectories.action.astype(np.int32)
    return Episodes(
        view=trajectories.view,
        mask=trajectories.mask,
        action=action if known is None else np.where(known, action, np.int32(-1)),
        tick=trajectories.tick.astype(np.int32),
        log_prob=trajectories.log_prob,
        value=trajectories.value,
        reward=reward,
        possible=None,
        guessed=None,
        offsets=trajectories.offsets,
        source=np.array(source, dtype=np.str_),
        group=np.array(source, dtype=np.str_),
        format=np.full(trajectories.episodes, format_name),
        ending=np.full(trajectories.episodes, "played"),
        seat=trajectories.seat.astype(np.int8),
        result=trajectories.result,
        rating=np.full(trajectories.episodes, np.nan, dtype=np.float32),
    )


def write(path: Path, *parts: Episodes, shard: int = 600, row_group: int = 100) -> Card:
    with DatasetWriter(path, SPEC, shard_decisions=shard, row_group_decisions=row_group) as writer:
        for part in parts:
            writer.append(part)
        return writer.finish()


def assert_same(left: Episodes, right: Episodes) -> None:
    for name in left.__slots__:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
