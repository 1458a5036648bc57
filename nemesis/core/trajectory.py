"""Trajectories: the contract between those who play matches and those who learn from them.

An *episode* is one seat's part in one match, or a segment of it that is handed over before the match has ended.
Episodes are stored flat: the decisions of episode e are the rows offsets[e] to offsets[e + 1] of every per-decision
array, in the order in which they were made.

An episode that ends by the rules is *terminated*, and its result is paid at its last decision. Any other goes on beyond
its last decision, or was truncated there. Its return goes on with `bootstrap`, the value that the policy predicted
for `final_view`, what the seat saw next.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, FloatArray, IntArray
from nemesis.core.masks import PackedMask


@dataclass(frozen=True, slots=True)
class Trajectories:
    """A batch of episodes."""

    view: npt.NDArray[Any]  # (decision, view)
    mask: PackedMask  # (decision, byte) packed
    action: IntArray  # (decision,)
    log_prob: FloatArray  # (decision,) of the action, under the policy that chose it
    value: FloatArray  # (decision,) predicted at the time
    version: IntArray  # (decision,) number of updates behind the policy that chose it
    tick: IntArray  # (decision,) number of earlier decisions of the match, of all seats

    offsets: IntArray  # (episode + 1,)
    match: IntArray  # (episode,)
    seat: IntArray  # (episode,)
    result: FloatArray  # (episode,) the return of its side, divided by the game's utility scale; 0 if not terminated

    memory_row: IntArray  # (kept,) ascending rows whose memory state before the decision was kept
    memory: FloatArray  # (kept, state)

    reward: FloatArray | None = None
    """(decision,) that the game paid until the seat's next decision, besides the result; (decision, component) from a
    game whose rewards have components, until they are weighted."""
    potential: FloatArray | None = None  # (decision,) for reward shaping
    final_potential: FloatArray | None = None  # (episode,) of the final view; 0 if terminated
    opponent_action: npt.NDArray[np.int16] | None = None  # (decision, part) classes of it, −1 where there is none
    known: BoolArray | None = None  # (decision,) whether the action is known, it is −1 where not; None if all are
    possible: PackedMask | None = None  # (decision, byte) packed: what an unknown action may have been, 0 if unknown

    terminated: BoolArray | None = None  # (episode,) whether it ended by the rules; None if all did
    bootstrap: FloatArray | None = None  # (episode,) value after the last decision; 0 if terminated
    final_view: npt.NDArray[Any] | None = None  # (episode, view) seen after the last decision; 0 if terminated
    first_version: IntArray | None = None  # (episode,) that began the match's episode; None if no segments are there

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
        """Return all arrays by name but the potentials, to store or send them."""
        names = (name for name in self.__slots__ if name not in _POTENTIALS)
        return {name: array for name in names if (array := getattr(self, name)) is not None}

    @staticmethod
    def from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> "Trajectories":
        """Return the trajectories that `arrays` took apart."""
        return Trajectories(**arrays)

    def portions(self, limit: int) -> "Iterator[Trajectories]":
        """Yield the episodes in order, in portions of at most so many decisions or of one episode that has more."""
        first = 0
        while first < self.episodes:
            last = int(np.searchsorted(self.offsets, self.offsets[first] + limit, side="right")) - 1
            last = max(last, first + 1)
            yield self.episodes_at(slice(first, last))
            first = last

    def episodes_at(self, episodes: slice) -> "Trajectories":
        """Return a range of the episodes."""
        first, last, _ = episodes.indices(self.episodes)
        offsets = self.offsets[first : last + 1]
        return self._at(np.arange(first, last), np.arange(offsets[0], offsets[-1]), offsets - offsets[0])

    def begun_since(self, version: int) -> "Trajectories":
        """Return the episodes of matches that were begun by this version or a newer one."""
        first_version = self.version[self.offsets[:-1]] if self.first_version is None else self.first_version
        begun = first_version >= version
        lengths = self.lengths[begun]
        rows = np.flatnonzero(np.repeat(begun, self.lengths))
        return self._at(np.flatnonzero(begun), rows, np.append(0, np.cumsum(lengths)))

    def without_stale(self, oldest: int, *, recurrent: bool) -> "Trajectories":
        """Return the episodes without decisions, at their start, of policies older than this version.

        The episode of a recurrent policy starts at the next decision before which its memory was kept: the policy
        cannot be run from any other.
        """
        fresh = self.version >= oldest
        if fresh.all():
            return self
        may_start = fresh
        if recurrent:
            may_start = np.zeros(self.decisions, dtype=np.bool_)
            may_start[self.memory_row] = True
            may_start[self.offsets[:-1]] = True
            may_start &= fresh
        # The first row of each episode at which it may start, or the row after its end.
        candidate = np.where(may_start, np.arange(self.decisions), self.decisions)
        first = np.minimum.accumulate(candidate[::-1])[::-1]
        first = np.minimum(np.append(first, self.decisions)[self.offsets[:-1]], self.offsets[1:])
        episodes = np.flatnonzero(first < self.offsets[1:])
        rows = np.flatnonzero(np.arange(self.decisions) >= np.repeat(first, self.lengths))
        lengths = self.offsets[1:][episodes] - first[episodes]
        return self._at(episodes, rows, np.append(0, np.cumsum(lengths)))

    def _at(self, episodes: IntArray, rows: IntArray, offsets: IntArray) -> "Trajectories":
        """Return some episodes, with only those ascending rows of theirs."""
        kept = np.isin(self.memory_row, rows)
        picked: dict[str, Any] = {name: array[rows] for name, array in self._present(_PER_DECISION)}
        picked |= {name: array[episodes] for name, array in self._present(_PER_EPISODE)}
        memory_row = np.searchsorted(rows, self.memory_row[kept])
        return replace(self, **picked, offsets=offsets, memory_row=memory_row, memory=self.memory[kept])

    def _present(self, names: Sequence[str]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        return ((name, array) for name in names if (array := getattr(self, name)) is not None)


_POTENTIALS = ("potential", "final_potential")
_PER_EPISODE = ("match", "seat", "result", "terminated", "bootstrap", "final_view", "first_version", "final_potential")
_NEITHER = ("offsets", "memory_row", "memory")
_PER_DECISION = tuple(field.name for field in fields(Trajectories) if field.name not in (*_PER_EPISODE, *_NEITHER))


def concatenate(parts: Sequence[Trajectories]) -> Trajectories:
    """Return the episodes of several batches as one batch, without potentials."""
    if len(parts) == 1:
        return parts[0]
    first_row = np.cumsum([0] + [part.decisions for part in parts])
    starts = [part.offsets[:-1] + row for part, row in zip(parts, first_row, strict=False)]
    memories = [part.memory for part in parts if len(part.memory_row)]
    columns: dict[str, Any] = {
        name: _concatenate(parts, name) for name in (*_PER_DECISION, *_PER_EPISODE) if name not in _POTENTIALS
    }
    return Trajectories(
        **columns,
        offsets=np.concatenate([*starts, first_row[-1:]]),
        memory_row=np.concatenate([part.memory_row + row for part, row in zip(parts, first_row, strict=False)]),
        memory=np.concatenate(memories) if memories else parts[0].memory,
    )


def _concatenate(parts: Sequence[Trajectories], name: str) -> npt.NDArray[Any] | None:
    """Join one array of all parts; a part that does without it gets the value that its absence stands for."""
    arrays = [getattr(part, name) for part in parts]
    sample = next((array for array in arrays if array is not None), None)
    if sample is None or (name == "opponent_action" and any(array is None for array in arrays)):
        return None
    lengths = [part.decisions if name in _PER_DECISION else part.episodes for part in parts]
    return np.concatenate(
        [
            _absent(part, name, sample, length) if array is None else array
            for part, array, length in zip(parts, arrays, lengths, strict=True)
        ]
    )


def _absent(part: Trajectories, name: str, sample: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    if name == "first_version":
        return part.version[part.offsets[:-1]]
    fill = name in ("known", "terminated")  # absent: all are
    return np.full((length, *sample.shape[1:]), fill, dtype=sample.dtype)
