"""The battles that are never learned from, read once and kept, as far as there is room."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nemesis.core.game import Game
from nemesis.core.trajectory import Trajectories
from nemesis.data.config import DataConfig
from nemesis.data.dataset import Dataset, open_dataset
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.preparation import Preparation
from nemesis.data.shards import DatasetError
from nemesis.data.split import Shares, Split, episodes_of

_AT_ONCE = 4096  # decisions that are foretold together
_SEED = 7  # always the same battles, told in the same way, so that runs can be compared


def read_validation(config: DataConfig, game: Game, split: Split = "validation") -> list[Trajectories]:
    """Return the held-out or tested battles of all sources, each with its share of at most `held_out_decisions`."""
    preparation = Preparation(config, game)
    total = sum(config.sources.values())
    prepared: list[Trajectories] = []
    for number, (path, weight) in enumerate(config.sources.items()):
        dataset = open_dataset(Path(path), game.spec, any_format=config.any_format)
        limit = math.ceil(config.validation_decisions * weight / total)
        waiting: list[Episodes] = []
        for episodes in _battles(dataset, split, config.shares, limit):
            waiting.append(episodes)
            if sum(part.decisions for part in waiting) >= _AT_ONCE:
                prepared.append(preparation.trajectories(concatenate(waiting), (_SEED, number, len(prepared))))
                waiting = []
        if waiting:
            prepared.append(preparation.trajectories(concatenate(waiting), (_SEED, number, len(prepared))))
    if not prepared:
        raise DatasetError("No battle of data.sources is held out; set another data.validation.")
    return prepared


def _battles(dataset: Dataset, split: Split, shares: Shares, limit: int) -> Iterator[Episodes]:
    groups = [(shard, group) for shard in dataset.shards for group in range(len(shard.row_groups))]
    found = 0
    for number in np.random.default_rng(_SEED).permutation(len(groups)).tolist():
        if found >= limit:
            return
        shard, group = groups[number]
        episodes = shard.read(group)
        chosen = episodes_of(episodes, split, shares)
        if len(chosen):
            yield episodes.at(chosen)
            found += int(episodes.lengths[chosen].sum())
