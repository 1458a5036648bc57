"""The training, validation and test splits of datasets.

A split takes whole groups of matches, because matches of a series have the same players and teams. The split of a group
follows from its id alone. It is the same in every dataset, and stays the same when a dataset grows.
"""

import hashlib
from typing import Literal, TypeAlias

import numpy as np

from nemesis.core.game import BoolArray, IntArray
from nemesis.data.config import Shares
from nemesis.data.episodes import Episodes, Texts

Split: TypeAlias = Literal["train", "validation", "test"]
_SCALE = 1 << 64


def belonging(group: Texts, split: Split, shares: Shares) -> BoolArray:
    """Return which groups (n,) belong to a split."""
    names, place = np.unique(group, return_inverse=True)
    number = np.array([_number(name) for name in names.tolist()])
    test, train = number < shares.test, number >= shares.test + shares.validation
    chosen: BoolArray = {"train": train, "validation": ~(test | train), "test": test}[split]
    return chosen[place]


def episodes_of(episodes: Episodes, split: Split, shares: Shares) -> IntArray:
    """Return the numbers of the episodes that belong to a split."""
    return np.flatnonzero(belonging(episodes.group, split, shares))


def _number(name: str) -> float:
    """Return a hash of a name, as a number from 0 to 1."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") / _SCALE
