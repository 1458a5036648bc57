"""Finished episodes: the contract between whoever plays matches and whoever learns from them.

An *episode* is one seat's part in one match. Episodes are stored flat: the decisions of episode e are the rows
offsets[e] to offsets[e + 1] of every per-decision array, in the order in which they were made.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Trajectories:
    """A batch of finished episodes."""

    view: npt.NDArray[Any]  # (decision, view)
    mask: BoolArray  # (decision, action)
    action: IntArray  # (decision,)
    log_prob: FloatArray  # (decision,) of the action, under the policy that chose it
    value: FloatArray  # (decision,) predicted then
    version: IntArray  # (decision,) number of updates behind the policy that chose it
    tick: IntArray  # (decision,) how many decisions the match had seen before, of either seat

    offsets: IntArray  # (episode + 1,)
    match: IntArray  # (episode,)
    seat: IntArray  # (episode,)
    result: FloatArray  # (episode,) the seat's return, divided by the game's utility scale

    memory_row: IntArray  # (kept,) ascending rows whose memory state before the decision was kept
    memory: FloatArray  # (kept, state)

    potential: FloatArray | None = None  # (decision,) how far the seat is ahead, if getting ahead is rewarded

    @property
    def decisions(self) -> int:
        return len(self.action)

    @property
    def episodes(self) -> int:
        return len(self.result)

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)
