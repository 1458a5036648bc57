"""The view record: what one car sees, as floats, from its own side of the field.

A car of side 1 sees the field turned by 180°, so that every seat attacks towards +y, and one policy plays both colours.
The car itself comes first, then its team mates, then its opponents; places of cars that do not take part are zero.
Lengths are in units of `POSITION`, velocities and angular velocities in units of their maxima.
"""

import hashlib
from typing import NamedTuple

import numpy as np

from nemesis.core.game import SIDES, FloatArray, IntArray
from nemesis.games.rocket_league.actions import CONTROLS

TEAM = 3  # most cars of a side
SEATS = SIDES * TEAM
PADS = 34
POSITION, SPEED, SPIN, BOOST = 4096.0, 2300.0, 5.5, 100.0
_BALL_SPEED, _BALL_SPIN = 6000.0, 6.0


class Field(NamedTuple):
    """A part of the record."""

    name: str
    size: int


CAR = (
    Field("present", 1),
    Field("position", 3),
    Field("velocity", 3),
    Field("spin", 3),
    Field("forward", 3),
    Field("up", 3),
    Field("boost", 1),
    Field("on_ground", 1),
    Field("demolished", 1),
    Field("can_flip", 1),
)
BALL = (Field("position", 3), Field("velocity", 3), Field("spin", 3))
CAR_SIZE, BALL_SIZE = sum(field.size for field in CAR), sum(field.size for field in BALL)
CONTROL_SIZE = len(CONTROLS)
CARS_AT, PADS_AT = BALL_SIZE, BALL_SIZE + SEATS * CAR_SIZE
LAST_ACTION_AT = PADS_AT + PADS
VIEW_SIZE = LAST_ACTION_AT + CONTROL_SIZE
VERSION = hashlib.sha256(repr((BALL, CAR, SEATS, PADS, CONTROLS, POSITION, SPEED, SPIN)).encode()).hexdigest()[:16]


def car_columns(name: str) -> slice:
    """Return where a field stands in the part of a car."""
    return _columns(CAR, name)


def ball_columns(name: str) -> slice:
    """Return where a field stands in the part of the ball, which is the first of the record."""
    return _columns(BALL, name)


def cars(view: FloatArray) -> FloatArray:
    """Return the cars (…, car, field) of views (…, view), the own car first."""
    return view[..., CARS_AT:PADS_AT].reshape(*view.shape[:-1], SEATS, CAR_SIZE)


def _columns(fields: tuple[Field, ...], name: str) -> slice:
    at = 0
    for field in fields:
        if field.name == name:
            return slice(at, at + field.size)
        at += field.size
    raise KeyError(name)


# Columns of RocketSim's arrays.
_SIM_CAR = np.array([11, 12, 13, 18, 19, 20, 21, 22, 23, 24, 25, 26, 30, 31, 32, 10, 8, 7])
_SIM_BALL = np.array([0, 1, 2, 7, 8, 9, 10, 11, 12])
_CAR_SCALE = np.repeat([1 / POSITION, 1 / SPEED, 1 / SPIN, 1, 1 / BOOST, 1], [3, 3, 3, 6, 1, 2]).astype(np.float32)
_BALL_SCALE = np.repeat([1 / POSITION, 1 / _BALL_SPEED, 1 / _BALL_SPIN], 3).astype(np.float32)


def _order() -> IntArray:
    """Return the seats (seat, place) in the order in which each seat sees them: itself, its side, the other side."""
    seats = np.arange(SEATS)
    rows = [[seat, *seats[(seats % 2 == seat % 2) & (seats != seat)], *seats[seats % 2 != seat % 2]] for seat in seats]
    return np.array(rows)


_ORDER = _order()


def build_views(
    ball: FloatArray, car: FloatArray, pads: FloatArray, can_flip: FloatArray, present: FloatArray, last: FloatArray
) -> FloatArray:
    """Return the views of all seats: (match, seat, view).

    Takes RocketSim's arrays of the ball (match, turned, …), of the cars (match, seat, turned, …) and of the pads (match,
    turned, pad), each as it is and turned by 180°; which cars can flip and which take part (match, seat); and the last
    controls (match, seat, control).
    """
    matches = len(ball)
    side = np.arange(SEATS) % SIDES
    seen = np.empty((matches, SEATS, SIDES, CAR_SIZE), dtype=np.float32)
    seen[..., 0] = present[..., None]
    seen[..., 1:-1] = car[..., _SIM_CAR] * _CAR_SCALE
    seen[..., -1] = can_flip[..., None]
    seen *= present[..., None, None]
    view = np.empty((matches, SEATS, VIEW_SIZE), dtype=np.float32)
    view[..., :BALL_SIZE] = (ball[..., _SIM_BALL] * _BALL_SCALE)[:, side]
    view[..., CARS_AT:PADS_AT] = seen[:, _ORDER, side[:, None]].reshape(matches, SEATS, -1)
    view[..., PADS_AT:LAST_ACTION_AT] = pads[:, side]
    view[..., LAST_ACTION_AT:] = last
    return view
