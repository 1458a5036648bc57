"""Which battles are learned from, held out or only tested on: decided by their group, never by the decision.

Battles of a series have the same players and teams, so that one of them would give the others away. A group is on the
same side in every dataset that has it, and stays there when a dataset grows.
"""

import hashlib
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from nemesis.core.game import BoolArray, IntArray
from nemesis.data.episodes import Episodes, Texts

Split: TypeAlias = Literal["train", "validation", "test"]
_SCALE = 1 << 64


class Shares(NamedTuple):
    """How much of all battles a run does not learn from."""

    validation: float  # by which it is judged while it learns
    test: float = 0.0  # which it never sees


def belonging(group: Texts, split: Split, shares: Shares) -> BoolArray:
    """Return which groups (n,) belong to a split."""
    names, place = np.unique(group, return_inverse=True)
    number = np.array([_number(name) for name in names.tolist()])
    test, known = number < shares.test, number >= shares.test + shares.validation
    chosen: BoolArray = {"train": known, "validation": ~(test | known), "test": test}[split]
    return chosen[place]


def episodes_of(episodes: Episodes, split: Split, shares: Shares) -> IntArray:
    """Return which of the episodes belong to a split."""
    return np.flatnonzero(belonging(episodes.group, split, shares))


def _number(name: str) -> float:
    """Return a number from 0 to 1 that follows from a name."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") / _SCALE
