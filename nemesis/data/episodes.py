"""Episodes as datasets keep them: what was seen and done, by whom, and where it comes from.

They are `Trajectories` without what belongs to a run (versions, memories, potentials), and with what a run need not
know: the battle they come from, its format, the rating of whoever played. Masks stay packed, eight actions in a byte,
and battles stay together: both seats of one follow each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, FloatArray, IntArray
from nemesis.core.trajectory import Trajectories

Bytes = npt.NDArray[np.uint8]
Texts = npt.NDArray[np.str_]


ENDINGS = ("played", "forfeit", "timer")  # by play, by giving up, or since somebody did not choose in time


@dataclass(frozen=True, slots=True)
class Episodes:
    """A batch of finished episodes with their origin."""

    view: npt.NDArray[Any]  # (decision, view)
    mask: Bytes  # (decision, byte) packed
    action: npt.NDArray[np.int32]  # (decision,) −1 where it is not known
    tick: npt.NDArray[np.int32]  # (decision,) how many decisions the match had seen before, of either seat
    log_prob: FloatArray  # (decision,) of the action under the policy that chose it, nan if no policy did
    value: FloatArray  # (decision,) predicted then, nan if nobody did
    reward: FloatArray  # (decision,) as the source tells it: the result at the last decision, unless it tells more
    possible: Bytes | None  # (decision, byte) packed like masks: what an unknown action may have been, 0 if not known
    guessed: Bytes | None  # (decision, byte) packed: which numbers of the view are guesses; None if none are

    offsets: IntArray  # (episode + 1,)
    source: Texts  # (episode,) id of the battle
    group: Texts  # (episode,) of battles that are alike, such as a series between the same players
    format: Texts  # (episode,)
    ending: Texts  # (episode,) values of ENDINGS
    seat: npt.NDArray[np.int8]  # (episode,)
    result: FloatArray  # (episode,) the seat's return, divided by the game's utility scale
    rating: FloatArray  # (episode,) of whoever had the seat, nan if there is none

    @property
    def decisions(self) -> int:
        return len(self.action)

    @property
    def count(self) -> int:
        return len(self.result)

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    @property
    def known(self) -> BoolArray:
        """Which actions (decision,) are known."""
        return self.action >= 0

    @property
    def battle_starts(self) -> IntArray:
        """The first episode of each battle: (battle,)."""
        return np.flatnonzero(np.append(True, self.source[1:] != self.source[:-1])) if self.count else np.zeros(0, int)

    def at(self, episodes: IntArray) -> "Episodes":
        """Return some of the episodes, in the order that is asked for."""
        lengths = self.lengths[episodes]
        offsets = np.append(0, np.cumsum(lengths))
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[episodes] - offsets[:-1], lengths)
        picked: dict[str, Any] = {name: getattr(self, name)[rows] for name in _PER_DECISION}
        picked |= {name: getattr(self, name)[episodes] for name in _PER_EPISODE}
        picked |= {name: None if (bits := getattr(self, name)) is None else bits[rows] for name in _PERHAPS}
        return Episodes(**picked, offsets=offsets)

    def trajectories(self, actions: int, version: int) -> Trajectories:
        """Return the episodes as a learner takes them, as if a policy of this version had played them."""
        known = self.known
        terminated = self.ending == "played"

        def unpacked(bits: Bytes) -> BoolArray:
            return np.unpackbits(bits, axis=1, count=actions).view(np.bool_)

        return Trajectories(
            view=self.view,
            mask=unpacked(self.mask),
            action=self.action.astype(np.int64),
            log_prob=self.log_prob,
            value=self.value,
            version=np.full(self.decisions, version, dtype=np.int64),
            tick=self.tick.astype(np.int64),
            offsets=self.offsets,
            match=np.unique(self.source, return_inverse=True)[1],
            seat=self.seat.astype(np.int64),
            result=self.result,
            memory_row=np.zeros(0, dtype=np.int64),
            memory=np.zeros((0, 0), dtype=np.float32),
            known=None if known.all() else known,
            possible=None if self.possible is None else unpacked(self.possible),
            terminated=None if terminated.all() else terminated,
        )


_PER_EPISODE = ("source", "group", "format", "ending", "seat", "result", "rating")
_PERHAPS = ("possible", "guessed")  # of decisions, if there are any
_PER_DECISION = tuple(
    field.name for field in fields(Episodes) if field.name not in (*_PER_EPISODE, *_PERHAPS, "offsets")
)


def concatenate(parts: Sequence[Episodes]) -> Episodes:
    """Return the episodes of several batches as one."""
    if len(parts) == 1:
        return parts[0]
    first_row = np.cumsum([0] + [part.decisions for part in parts])
    starts = [part.offsets[:-1] + row for part, row in zip(parts, first_row, strict=False)]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in (*_PER_DECISION, *_PER_EPISODE)
    }
    columns |= {name: _joined_bits([getattr(part, name) for part in parts], parts) for name in _PERHAPS}
    return Episodes(**columns, offsets=np.concatenate([*starts, first_row[-1:]]))


def _joined_bits(bits: Sequence[Bytes | None], parts: Sequence[Episodes]) -> Bytes | None:
    """Join packed bits, None for those of which none is set."""
    widths = [rows.shape[1] for rows in bits if rows is not None]
    if not widths:
        return None
    none = [np.zeros((part.decisions, widths[0]), dtype=np.uint8) for part in parts]
    return np.concatenate([blank if rows is None else rows for rows, blank in zip(bits, none, strict=True)])
