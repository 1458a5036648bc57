"""The matches of a pool in RocketSim: actions in, the state of all arenas as arrays out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from operator import methodcaller
from typing import Any

import numpy as np

from nemesis.core.game import SIDES, BoolArray, FloatArray, IntArray
from nemesis.games.rocket_league.actions import NEUTRAL
from nemesis.games.rocket_league.arena.rocketsim import Arena, controls_by_action
from nemesis.games.rocket_league.arena.soccar import GOAL_BACK, HEIGHT, SIDE
from nemesis.games.rocket_league.state import PADS, ArenaState, Start

TICKS = 120  # per second
_RESPAWN = 3 * TICKS  # after which a demolished car returns
_CENTRE = np.array([0, 0, HEIGHT / 2], dtype=np.float32)
_FARTHEST = np.array([SIDE, GOAL_BACK, HEIGHT / 2], dtype=np.float32) + 100  # from it, where no body is but by an error

_SCORE, _BALL, _CAR = 4, 25, 36  # numbers in RocketSim's arrays
_ABSENT = bytes(2 * 4 * _CAR)  # stands for a car that does not take part
_bytes_of = methodcaller("tobytes", "A")  # of an array, in its own order
# Columns of these arrays.
_COUNTS = slice(2, 6)  # goals, saves, shots and demolitions of a car
_DEMOLISHED, _ON_GROUND, _TOUCHED, _BOOST = 7, 8, 9, 10
_POSITION, _VELOCITY, _SPIN, _FORWARD, _UP = (slice(at, at + 3) for at in (11, 18, 21, 24, 30))
_BALL_POSITION, _BALL_VELOCITY, _BALL_SPIN = (slice(at, at + 3) for at in (0, 7, 10))


@dataclass(frozen=True, slots=True)
class _Reading:
    """What RocketSim reports of some matches, one per row."""

    ball: FloatArray  # (row, column)
    car: FloatArray  # (row, seat, column)
    can_flip: BoolArray  # (row, seat)
    supersonic: BoolArray  # (row, seat)
    pads: FloatArray  # (row, pad)
    score: FloatArray  # (row, side) since the arena was made, as are the tick and what cars have done
    tick: IntArray  # (row,)

    @classmethod
    def empty(cls, slots: int, seats: int) -> "_Reading":
        return cls(
            ball=np.zeros((slots, _BALL), dtype=np.float32),
            car=np.zeros((slots, seats, _CAR), dtype=np.float32),
            can_flip=np.zeros((slots, seats), dtype=np.bool_),
            supersonic=np.zeros((slots, seats), dtype=np.bool_),
            pads=np.zeros((slots, PADS), dtype=np.float32),
            score=np.zeros((slots, SIDES), dtype=np.float32),
            tick=np.zeros(slots, dtype=np.int64),
        )

    def replaced(self, rows: IntArray, by: "_Reading") -> "_Reading":
        """Return these rows with some of them (n,) replaced."""
        arrays = {field.name: getattr(self, field.name).copy() for field in fields(self)}
        for name, array in arrays.items():
            array[rows] = getattr(by, name)
        return _Reading(**arrays)


class _Reports:
    """Collects what RocketSim reports of one match after the other."""

    def __init__(self, seats: int) -> None:
        self._seats = seats
        self._bytes: list[bytes] = []  # of each match: score, pads, ball and cars
        self._flags: list[bool] = []  # of each car of each match: whether it can flip, and whether it is supersonic
        self._tick: list[int] = []

    def add(self, arena: Any, cars: Sequence[Any]) -> None:
        """Add the match in an arena with these cars."""
        flags = self._flags
        try:
            self._bytes.extend(map(_bytes_of, arena.get_gym_state()))
        except RuntimeError:  # it has lost a body, whose position is not a number any more
            numbers = 2 * (PADS + _BALL + len(cars) * _CAR)
            self._bytes += [bytes(4 * _SCORE), np.full(numbers, np.nan, dtype=np.float32).tobytes()]
        for car in cars:
            state = car.get_state()
            flags.append(state.has_flip_or_jump())
            flags.append(state.is_supersonic)
        for _ in range(self._seats - len(cars)):
            self._bytes.append(_ABSENT)
            flags += (False, False)
        self._tick.append(arena.tick_count)

    def reading(self) -> _Reading:
        """Return all matches that were added."""
        # To join bytes is several times faster than to make an array of a list of small arrays. All but the score are
        # in Fortran order, so each number as it is comes before the same one turned.
        rows = np.frombuffer(b"".join(self._bytes), dtype=np.float32).reshape(len(self._tick), -1)
        bodies = rows[:, _SCORE::2].copy()
        flags = np.frombuffer(bytes(self._flags), dtype=np.bool_).reshape(-1, self._seats, 2)
        return _Reading(
            ball=bodies[:, PADS : PADS + _BALL],
            car=bodies[:, PADS + _BALL :].reshape(-1, self._seats, _CAR),
            can_flip=flags[..., 0],
            supersonic=flags[..., 1],
            pads=bodies[:, :PADS],
            score=rows[:, 2:_SCORE],
            tick=np.array(self._tick, dtype=np.int64),
        )


class Simulation:
    """Arenas in numbered slots, each with one match; collision meshes must be in use (`meshes.use_meshes`)."""

    def __init__(self, slots: int, seats: int, tick_skip: int, action_delay: int) -> None:
        self._tick_skip = tick_skip
        delay, self._wait = divmod(action_delay, tick_skip)  # in decisions, and further ticks
        self._controls = controls_by_action()
        self._made: dict[tuple[int, int], Arena] = {}  # by slot and number of cars
        self._playing: list[Arena] = [Arena(None, ())] * slots  # until their first match begins
        self._present = np.zeros((slots, seats), dtype=np.bool_)
        self._queue = np.full((slots, delay, seats), NEUTRAL)  # actions that do not act yet, the oldest first
        self._down = np.zeros((slots, seats), dtype=np.int64)  # ticks since a car was demolished
        self._first_tick = np.zeros(slots, dtype=np.int64)  # of each match
        self._first_score = np.zeros((slots, SIDES), dtype=np.float32)
        self._events = np.zeros(
            (slots, seats, _COUNTS.stop - _COUNTS.start), dtype=np.float32
        )  # since the last decision
        self._now = _Reading.empty(slots, seats)

    @property
    def state(self) -> ArenaState:
        """The state of all matches; later steps do not change its arrays."""
        now, car, events = self._now, self._now.car, self._events
        return ArenaState(
            ball_position=now.ball[:, _BALL_POSITION],
            ball_velocity=now.ball[:, _BALL_VELOCITY],
            ball_spin=now.ball[:, _BALL_SPIN],
            position=car[..., _POSITION],
            velocity=car[..., _VELOCITY],
            spin=car[..., _SPIN],
            forward=car[..., _FORWARD],
            up=car[..., _UP],
            boost=car[..., _BOOST],
            on_ground=car[..., _ON_GROUND] > 0,
            demolished=car[..., _DEMOLISHED] > 0,
            can_flip=now.can_flip,
            supersonic=now.supersonic,
            touched=car[..., _TOUCHED] > 0,
            goals=events[..., 0],
            saves=events[..., 1],
            shots=events[..., 2],
            demolitions=events[..., 3],
            pads=now.pads,
            present=self._present,
            tick=now.tick - self._first_tick,
        )

    @property
    def scored(self) -> BoolArray:
        """Which side (slot, side) has scored since the match began."""
        scored: BoolArray = self._now.score > self._first_score
        return scored

    @property
    def failed(self) -> BoolArray:
        """In which slots (slot,) RocketSim has lost a body: it is outside of the arena, or nowhere."""
        bodies = np.concatenate([self._now.ball[:, None, _BALL_POSITION], self._now.car[..., _POSITION]], axis=1)
        outside: BoolArray = np.logical_not(np.abs(bodies - _CENTRE) < _FARTHEST)  # true for nan
        failed: BoolArray = np.logical_or.reduce(outside.reshape(len(outside), -1), axis=1)
        return failed

    def begin(self, starts: Mapping[int, Start]) -> None:
        """Start new matches by slot, in ascending order."""
        slots = np.array(list(starts))
        failed, present = self.failed, self._present.copy()
        for slot, start in starts.items():
            if failed[slot]:
                self._made.pop((slot, len(self._playing[slot].cars)), None)
            cars = len(start.car)
            if (slot, cars) not in self._made:
                self._made[slot, cars] = Arena.make(cars)
            self._playing[slot] = self._made[slot, cars]
            self._playing[slot].begin(start)
            present[slot] = np.arange(present.shape[1]) < cars
        self._present = present
        self._queue[slots], self._down[slots] = NEUTRAL, 0
        reports = _Reports(present.shape[1])
        for slot in slots.tolist():
            reports.add(*self._playing[slot])
        self._take(slots, reports)
        self._events[slots] = 0
        self._first_tick[slots], self._first_score[slots] = self._now.tick[slots], self._now.score[slots]

    def step(self, slots: IntArray, actions: IntArray) -> None:
        """Play the matches of some slots (n,), ascending, to their next decision, with actions (n, seat)."""
        if self._queue.shape[1]:
            queue = np.concatenate([self._queue[slots], actions[:, None]], axis=1)
            self._queue[slots], actions = queue[:, 1:], queue[:, 0]
        self._return_cars(slots)
        wait, ticks, controls, playing = self._wait, self._tick_skip - self._wait, self._controls, self._playing
        reports = _Reports(actions.shape[1])
        add = reports.add
        for slot, chosen in zip(slots.tolist(), actions.tolist(), strict=True):
            arena, cars = playing[slot]
            if wait:
                arena.step(wait)
            for car, action in zip(cars, chosen, strict=False):  # seats without a car come last
                car.set_controls(controls[action])
            arena.step(ticks)
            add(arena, cars)  # at once, while the arena is in the cache of the processor
        self._take(slots, reports)

    def _return_cars(self, slots: IntArray) -> None:
        """Let cars return that have been demolished for long enough, at a place that follows from the match's clock."""
        demolished = self._now.car[..., _DEMOLISHED] > 0
        if not demolished.any():
            self._down[slots] = 0
            return
        down = np.where(demolished[slots], self._down[slots] + self._tick_skip, 0)
        self._down[slots] = down
        if not (down > _RESPAWN).any():
            return
        for row, seat in np.argwhere(down > _RESPAWN).tolist():
            slot = slots[row]
            tick = int(self._now.tick[slot] - self._first_tick[slot])
            self._playing[slot].cars[seat].respawn(seed=tick * self._down.shape[1] + seat)

    def _take(self, slots: IntArray, reports: _Reports) -> None:
        """Take what RocketSim reports of the matches in some slots (n,), ascending; earlier arrays stay as they are."""
        before, now = self._now, reports.reading()
        if len(slots) == len(before.tick):
            self._events = now.car[..., _COUNTS] - before.car[..., _COUNTS]
            self._now = now
            return
        self._events = self._events.copy()
        self._events[slots] = now.car[..., _COUNTS] - before.car[slots, :, _COUNTS]
        self._now = before.replaced(slots, now)
