"""Recordings of matches: compact frames, 15 a second, as int16.

A frame is one row: the fields of the arena, then those of each car. What a car did is summed up since the frame before,
so that no touch is lost between two frames. Between the last frame and the end of a match, the newest state counts as a
frame, so that a recording ends with the goal. Of a very long match, the last minutes are kept.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, FloatArray, IntArray
from nemesis.games.rocket_league.state import PADS, ArenaState

FRAME_TICKS = 8  # from one frame to the next, unless decisions are farther apart
PADS_PER_NUMBER = 12  # pad p is bit p mod 12 of number p // 12
CONDITIONS = ("on_ground", "demolished", "supersonic")
EVENTS = ("touch", "goal", "save", "shot", "demolition")  # since the frame before
FLAGS = (*CONDITIONS, *EVENTS)  # bits of a number, the first is the lowest
_MOST_FRAMES = 9000  # of a match: ten minutes
_KEPT_BYTES = 32 * 2**20  # of matches that have ended
_LARGEST = np.iinfo(np.int16).max

Numbers = npt.NDArray[np.int16]


class Field(NamedTuple):
    """A part of a frame."""

    name: str
    size: int
    scale: int  # numbers are multiplied by it, and rounded


ARENA = (Field("ball", 3, 5), Field("pads", -(-PADS // PADS_PER_NUMBER), 1))
CAR = (
    Field("position", 3, 5),
    Field("forward", 3, _LARGEST),
    Field("up", 3, _LARGEST),
    Field("boost", 1, 100),
    Field("flags", 1, 1),
)
ARENA_SIZE, CAR_SIZE = (sum(field.size for field in fields) for fields in (ARENA, CAR))


@dataclass(frozen=True, slots=True)
class Recording:
    """The frames of one match."""

    match: int
    cars: int
    tick: npt.NDArray[np.int32]  # (frame,) since the match began
    frame: Numbers  # (frame, number)


class FrameRecorder:
    """Records all matches of a pool, within bounded memory; the matches that ended first are forgotten first."""

    def __init__(self, slots: int, seats: int) -> None:
        self._frame = np.zeros((slots, 64, ARENA_SIZE + seats * CAR_SIZE), dtype=np.int16)
        self._tick = np.zeros((slots, 64), dtype=np.int32)
        self._match = np.full(slots, -1)
        self._cars = np.zeros(slots, dtype=np.int64)
        self._complete = np.zeros(slots, dtype=np.int64)  # frames, without the one that the next state replaces
        self._length = np.zeros(slots, dtype=np.int64)  # frames with it
        self._last = np.zeros(slots, dtype=np.int64)  # tick of the last complete frame
        self._events = np.zeros((slots, seats), dtype=np.int16)  # since then
        self._ended: OrderedDict[int, Recording] = OrderedDict()

    def record(self, match: IntArray, state: ArenaState) -> None:
        """Take the numbers (slot,) and the state of all matches after a step."""
        if (begun := np.flatnonzero(match != self._match)).size:
            self._begin(begun, match, state)
        self._events |= _bits([state.touched, state.goals, state.saves, state.shots, state.demolitions])
        self._make_room()
        slot, place = np.arange(len(match)), self._complete % self._tick.shape[1]
        self._frame[slot, place] = encode(state, self._events)
        self._tick[slot, place] = state.tick
        due = state.tick // FRAME_TICKS > self._last // FRAME_TICKS
        self._length = self._complete + 1
        self._complete = np.where(due, self._length, self._complete)
        self._last = np.where(due, state.tick, self._last)
        self._events[due] = 0

    def recording(self, match: int) -> Recording | None:
        """Return a match that goes on or has ended lately; None if there is no such match."""
        if (slots := np.flatnonzero(self._match == match)).size:
            return self._recorded(int(slots[0]))
        return self._ended.get(match)

    def _begin(self, slots: IntArray, match: IntArray, state: ArenaState) -> None:
        """Keep what was recorded in some slots (n,), and record new matches there."""
        for slot in slots[self._match[slots] >= 0].tolist():
            self._ended[int(self._match[slot])] = self._recorded(slot)
        while sum(recording.frame.nbytes for recording in self._ended.values()) > _KEPT_BYTES:
            self._ended.popitem(last=False)
        self._match[slots], self._cars[slots] = match[slots], state.present[slots].sum(axis=1)
        self._complete[slots], self._length[slots], self._last[slots], self._events[slots] = 0, 0, 0, 0

    def _make_room(self) -> None:
        room = self._tick.shape[1]
        if self._complete.max() >= room and room < _MOST_FRAMES:
            more = ((0, 0), (0, min(room, _MOST_FRAMES - room)))
            self._tick, self._frame = np.pad(self._tick, more), np.pad(self._frame, (*more, (0, 0)))

    def _recorded(self, slot: int) -> Recording:
        length, cars = int(self._length[slot]), int(self._cars[slot])
        place = np.arange(max(length - self._tick.shape[1], 0), length) % self._tick.shape[1]
        numbers = ARENA_SIZE + cars * CAR_SIZE
        return Recording(int(self._match[slot]), cars, self._tick[slot, place], self._frame[slot, place, :numbers])


def encode(state: ArenaState, events: Numbers) -> Numbers:
    """Return matches as frames (match, number); takes the events of the cars (match, seat) as bits."""
    flags = _bits([state.on_ground, state.demolished, state.supersonic]) | events << len(CONDITIONS)
    parts = (state.position, state.forward, state.up, state.boost[..., None])
    numbers = [_rounded(part, field) for part, field in zip(parts, CAR, strict=False)]
    car = np.concatenate([*numbers, flags[..., None]], axis=-1)
    pads = np.zeros((len(flags), ARENA[1].size * PADS_PER_NUMBER), dtype=np.int16)
    pads[:, :PADS] = state.pads > 0.5
    packed = pads.reshape(len(pads), -1, PADS_PER_NUMBER) @ (1 << np.arange(PADS_PER_NUMBER, dtype=np.int16))
    ball = _rounded(state.ball_position, ARENA[0])
    frame: Numbers = np.concatenate([ball, packed, car.reshape(len(car), -1)], axis=1)
    return frame


def _rounded(array: FloatArray, field: Field) -> Numbers:
    """Return an array as numbers of a frame; what is outside of the arena, or nowhere, is clipped."""
    scaled = np.nan_to_num(np.rint(array * field.scale))
    numbers: Numbers = scaled.clip(-_LARGEST, _LARGEST).astype(np.int16)
    return numbers


def _bits(flags: list[BoolArray | FloatArray]) -> Numbers:
    """Return flags (match, seat) as bits of one number, the first as the lowest."""
    bits: Numbers = np.zeros(flags[0].shape, dtype=np.int16)
    for bit, flag in enumerate(flags):
        bits |= (flag > 0).astype(np.int16) << bit
    return bits
