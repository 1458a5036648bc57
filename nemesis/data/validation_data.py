"""The episodes of the validation or test split, which are never learned from: read once, and kept in memory."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nemesis.core.game import Game
from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories
from nemesis.data.augmentation import Augmentation
from nemesis.data.config import DataConfig, Shares
from nemesis.data.dataset import Dataset, open_dataset
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.shards import DatasetError
from nemesis.data.split import Split, episodes_of

_BATCH = 4096  # decisions of one part
_SEED = 7  # the same episodes with the same augmentation every time, so that runs can be compared


def read_split(config: DataConfig, game: Game, split: Split = "validation") -> list[Trajectories]:
    """Return the episodes of a split of all sources, each with its share of at most `validation_decisions`."""
    augmentation = Augmentation(config, game)
    total = sum(config.sources.values())
    parts: list[Trajectories] = []
    found = 0
    for number, (path, weight) in enumerate(config.sources.items()):
        dataset = open_dataset(Path(path), game.spec, any_format=config.any_format)
        limit = math.ceil(config.validation_decisions * weight / total)
        for batch in _batches(dataset, split, config.shares, limit):
            report(f"Reading the {split} split", found, config.validation_decisions)
            found += batch.decisions
            parts.append(augmentation.trajectories(batch, (_SEED, number, len(parts))))
    if not parts:
        raise DatasetError(f"No match of data.sources is in the {split} split; set a larger data.{split}.")
    return parts


def _batches(dataset: Dataset, split: Split, shares: Shares, limit: int) -> Iterator[Episodes]:
    pending: list[Episodes] = []
    for episodes in _row_groups(dataset, split, shares, limit):
        pending.append(episodes)
        if sum(part.decisions for part in pending) >= _BATCH:
            yield concatenate(pending)
            pending = []
    if pending:
        yield concatenate(pending)


def _row_groups(dataset: Dataset, split: Split, shares: Shares, limit: int) -> Iterator[Episodes]:
    """Yield the episodes of row groups in a random order, until there are enough decisions."""
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
