"""Episodes as datasets store them: what each seat saw and did, and where it comes from.

They are `Trajectories` without what belongs to a run (versions, memories, potentials), and with their origin: the
match, its format, the rating of who had the seat. The episodes of a match follow each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, FloatArray, IntArray
from nemesis.core.masks import PackedMask
from nemesis.core.trajectory import Trajectories

Bytes = npt.NDArray[np.uint8]
Texts = npt.NDArray[np.str_]

ENDINGS = ("played", "forfeit", "timer", "truncated")  # by the rules, by forfeit, out of time, or by a limit


@dataclass(frozen=True, slots=True)
class Episodes:
    """A batch of finished episodes with their origin."""

    view: npt.NDArray[Any]  # (decision, view)
    mask: PackedMask  # (decision, byte)
    action: npt.NDArray[np.int32]  # (decision,) −1 where it is unknown
    tick: npt.NDArray[np.int32]  # (decision,) number of earlier decisions of the match, of all seats
    log_prob: FloatArray  # (decision,) of the action, under the policy that chose it; nan if no policy did
    value: FloatArray  # (decision,) predicted at the time; nan if it was not
    reward: FloatArray  # (decision,) as the source has it: by default the result, at the last decision
    possible: PackedMask | None  # (decision, byte) what an unknown action may have been, 0 if nothing is known
    guessed: Bytes | None  # (decision, byte) packed like masks: which numbers of the view are guessed (imputed)

    offsets: IntArray  # (episode + 1,)
    source: Texts  # (episode,) id of the match
    group: Texts  # (episode,) of related matches, such as a series between the same players
    format: Texts  # (episode,)
    ending: Texts  # (episode,) values of ENDINGS
    seat: npt.NDArray[np.int8]  # (episode,)
    result: FloatArray  # (episode,) the seat's return, divided by the game's utility scale
    rating: FloatArray  # (episode,) of who had the seat; nan if there is none

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
    def match_starts(self) -> IntArray:
        """The first episode of each match: (match,)."""
        return np.flatnonzero(np.append(True, self.source[1:] != self.source[:-1])) if self.count else np.zeros(0, int)

    def at(self, episodes: IntArray) -> "Episodes":
        """Return some of the episodes, in the given order."""
        lengths = self.lengths[episodes]
        offsets = np.append(0, np.cumsum(lengths))
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[episodes] - offsets[:-1], lengths)
        picked: dict[str, Any] = {name: getattr(self, name)[rows] for name in _PER_DECISION}
        picked |= {name: getattr(self, name)[episodes] for name in _PER_EPISODE}
        picked |= {name: None if (bits := getattr(self, name)) is None else bits[rows] for name in _OPTIONAL}
        return Episodes(**picked, offsets=offsets)

    def trajectories(self) -> Trajectories:
        """Return the episodes as learners take them; no update of the run came before any of their decisions."""
        known = self.known
        terminated = self.ending == "played"
        reward = self.reward.copy()
        reward[self.offsets[1:] - 1] -= self.result  # which trajectories pay by themselves
        return Trajectories(
            view=self.view,
            mask=self.mask,
            action=self.action.astype(np.int64),
            log_prob=self.log_prob,
            value=self.value,
            version=np.zeros(self.decisions, dtype=np.int64),
            tick=self.tick.astype(np.int64),
            offsets=self.offsets,
            match=np.unique(self.source, return_inverse=True)[1],
            seat=self.seat.astype(np.int64),
            result=self.result,
            memory_row=np.zeros(0, dtype=np.int64),
            memory=np.zeros((0, 0), dtype=np.float32),
            reward=reward if reward.any() else None,
            known=None if known.all() else known,
            possible=self.possible,
            terminated=None if terminated.all() else terminated,
        )


_PER_EPISODE = ("source", "group", "format", "ending", "seat", "result", "rating")
_OPTIONAL = ("possible", "guessed")  # per decision
_PER_DECISION = tuple(
    field.name for field in fields(Episodes) if field.name not in (*_PER_EPISODE, *_OPTIONAL, "offsets")
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
    columns |= {name: _concatenate_bits([getattr(part, name) for part in parts], parts) for name in _OPTIONAL}
    return Episodes(**columns, offsets=np.concatenate([*starts, first_row[-1:]]))


def _concatenate_bits(bits: Sequence[Bytes | None], parts: Sequence[Episodes]) -> Bytes | None:
    """Join packed bits of all parts; None stands for zeros."""
    width = next((rows.shape[1] for rows in bits if rows is not None), None)
    if width is None:
        return None
    return np.concatenate(
        [
            np.zeros((part.decisions, width), dtype=np.uint8) if rows is None else rows
            for rows, part in zip(bits, parts, strict=True)
        ]
    )
