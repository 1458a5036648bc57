"""Finished episodes: the contract between whoever plays matches and whoever learns from them.

An *episode* is one seat's part in one match. Episodes are stored flat: the decisions of episode e are the rows
offsets[e] to offsets[e + 1] of every per-decision array, in the order in which they were made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    opponent_action: npt.NDArray[np.int16] | None = (
        None  # (decision, deed) what the opponent did at that moment, −1 if unknown
    )
    known: BoolArray | None = None  # (decision,) whether the action is known, −1 where not; None if all are

    possible: BoolArray | None = (
        None  # (decision, action) what an unknown action may have been, none where nobody knows
    )
    terminated: BoolArray | None = None  # (episode,) whether the result came by play; None if all did

    @property
    def decisions(self) -> int:
        return len(self.action)

    @property
    def episodes(self) -> int:
        return len(self.result)

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all but the potentials, masks as bits, for whoever stores or sends them."""
        names = (name for name in self.__slots__ if name != "potential")
        arrays = {name: array for name in names if (array := getattr(self, name)) is not None}
        return arrays | {name: np.packbits(arrays[name], axis=1) for name in _OF_ACTIONS if name in arrays}

    @staticmethod
    def from_arrays(arrays: Mapping[str, npt.NDArray[Any]], actions: int) -> "Trajectories":
        """Return what `arrays` took apart."""
        masks = {
            name: np.unpackbits(arrays[name], axis=1, count=actions).view(np.bool_)
            for name in _OF_ACTIONS
            if name in arrays
        }
        return Trajectories(**{**arrays, **masks})

    def portions(self, limit: int) -> "Iterator[Trajectories]":
        """Yield the episodes in stretches of at most so many decisions, or of one episode that has more."""
        first = 0
        while first < self.episodes:
            last = int(np.searchsorted(self.offsets, self.offsets[first] + limit, side="right")) - 1
            last = max(last, first + 1)
            yield self.episodes_at(slice(first, last))
            first = last

    def episodes_at(self, episodes: slice) -> "Trajectories":
        """Return a stretch of the episodes."""
        first, last, _ = episodes.indices(self.episodes)
        offsets = self.offsets[first : last + 1]
        return self._at(np.arange(first, last), np.arange(offsets[0], offsets[-1]), offsets - offsets[0])

    def begun_since(self, version: int) -> "Trajectories":
        """Return the episodes whose first decision was made by this version or a newer one."""
        begun = self.version[self.offsets[:-1]] >= version
        lengths = self.lengths[begun]
        rows = np.flatnonzero(np.repeat(begun, self.lengths))
        return self._at(np.flatnonzero(begun), rows, np.append(0, np.cumsum(lengths)))

    def without_stale(self, oldest: int, *, remembers: bool) -> "Trajectories":
        """Return the episodes without the decisions, at their beginning, that an older version than this one made.

        If the policy remembers, an episode goes on at the next decision before which its memory was kept: it could not
        be run from any other.
        """
        fresh = self.version >= oldest
        if fresh.all():
            return self
        may_begin = fresh
        if remembers:
            may_begin = np.zeros(self.decisions, dtype=np.bool_)
            may_begin[self.memory_row] = True
            may_begin[self.offsets[:-1]] = True
            may_begin &= fresh
        # The first row of each episode at which it may begin, or the row after its end.
        candidate = np.where(may_begin, np.arange(self.decisions), self.decisions)
        first = np.minimum.accumulate(candidate[::-1])[::-1]
        first = np.minimum(np.append(first, self.decisions)[self.offsets[:-1]], self.offsets[1:])
        episodes = np.flatnonzero(first < self.offsets[1:])
        rows = np.flatnonzero(np.arange(self.decisions) >= np.repeat(first, self.lengths))
        lengths = self.offsets[1:][episodes] - first[episodes]
        return self._at(episodes, rows, np.append(0, np.cumsum(lengths)))

    def _at(self, episodes: IntArray, rows: IntArray, offsets: IntArray) -> "Trajectories":
        """Return some episodes, with only those ascending rows of theirs."""
        kept = np.isin(self.memory_row, rows)
        per_decision: dict[str, Any] = {
            name: array[rows] for name in _PER_DECISION if (array := getattr(self, name)) is not None
        }
        return replace(
            self,
            **per_decision,
            offsets=offsets,
            match=self.match[episodes],
            seat=self.seat[episodes],
            result=self.result[episodes],
            terminated=None if self.terminated is None else self.terminated[episodes],
            memory_row=np.searchsorted(rows, self.memory_row[kept]),
            memory=self.memory[kept],
        )


_ALWAYS = ("view", "mask", "action", "log_prob", "value", "version", "tick")
_OF_ACTIONS = ("mask", "possible")
_PER_DECISION = (*_ALWAYS, "potential", "opponent_action", "known", "possible")


def concatenate(parts: Sequence[Trajectories]) -> Trajectories:
    """Return the episodes of several batches as one; potentials are not computed yet."""
    if len(parts) == 1:
        return parts[0]
    first_row = np.cumsum([0] + [part.decisions for part in parts])
    starts = [part.offsets[:-1] + row for part, row in zip(parts, first_row, strict=False)]
    remembering = [part.memory for part in parts if len(part.memory_row)]
    opponent_actions = [part.opponent_action for part in parts if part.opponent_action is not None]
    return Trajectories(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _ALWAYS},
        offsets=np.concatenate([*starts, first_row[-1:]]),
        match=np.concatenate([part.match for part in parts]),
        seat=np.concatenate([part.seat for part in parts]),
        result=np.concatenate([part.result for part in parts]),
        memory_row=np.concatenate([part.memory_row + row for part, row in zip(parts, first_row, strict=False)]),
        memory=np.concatenate(remembering) if remembering else parts[0].memory,
        opponent_action=np.concatenate(opponent_actions) if len(opponent_actions) == len(parts) else None,
        known=_joined_flags([part.known for part in parts], [part.decisions for part in parts]),
        possible=_joined_possible(parts),
        terminated=_joined_flags([part.terminated for part in parts], [part.episodes for part in parts]),
    )


def _joined_flags(flags: Sequence[BoolArray | None], lengths: Sequence[int]) -> BoolArray | None:
    """Join flags, None for those that are all set."""
    if all(part is None for part in flags):
        return None
    return np.concatenate(
        [np.ones(length, np.bool_) if part is None else part for part, length in zip(flags, lengths, strict=True)]
    )


def _joined_possible(parts: Sequence[Trajectories]) -> BoolArray | None:
    if all(part.possible is None for part in parts):
        return None
    return np.concatenate([np.zeros_like(part.mask) if part.possible is None else part.possible for part in parts])
