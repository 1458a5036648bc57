"""The view record: what one car sees, as floats, from its own side of the field.

A car of side 1 sees the field turned by 180°, so that every seat attacks towards +y, and one policy plays both colours.
The car itself comes first, then its team mates, then its opponents; places of cars that do not take part are zero, so
that views of 1v1, 2v2 and 3v3 have one layout. Lengths are in units of `POSITION`, velocities and angular velocities in
units of their maxima.
"""

import hashlib
from functools import cache
from typing import NamedTuple

import numpy as np

from nemesis.core.game import SIDES, FloatArray, IntArray
from nemesis.games.rocket_league.actions import CONTROLS
from nemesis.games.rocket_league.state import PADS, ArenaState

TEAM = 3  # most cars of a side
PLACES = SIDES * TEAM  # of cars in a view
POSITION, SPEED, SPIN, BOOST = 4096.0, 2300.0, 5.5, 100.0
BALL_SPEED, BALL_SPIN = 6000.0, 6.0


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
    Field("supersonic", 1),
)
BALL = (Field("position", 3), Field("velocity", 3), Field("spin", 3))
CAR_SIZE, BALL_SIZE = sum(field.size for field in CAR), sum(field.size for field in BALL)
CARS_AT, PADS_AT = BALL_SIZE, BALL_SIZE + PLACES * CAR_SIZE
LAST_ACTION_AT = PADS_AT + PADS
VIEW_SIZE = LAST_ACTION_AT + len(CONTROLS)
_SCALES = (POSITION, SPEED, SPIN, BOOST, BALL_SPEED, BALL_SPIN)
VERSION = hashlib.sha256(repr((BALL, CAR, PLACES, PADS, CONTROLS, _SCALES)).encode()).hexdigest()[:16]

_TURN = np.array([[1, 1, 1], [-1, -1, 1]], dtype=np.float32)  # (side, 3) how a side sees vectors


def car_columns(name: str) -> slice:
    """Return where a field stands in the part of a car."""
    return _columns(CAR, name)


def ball_columns(name: str) -> slice:
    """Return where a field stands in the part of the ball, which is the first of the record."""
    return _columns(BALL, name)


def cars_of(view: FloatArray) -> FloatArray:
    """Return the cars (…, place, field) of views (…, view), the own car first."""
    return view[..., CARS_AT:PADS_AT].reshape(*view.shape[:-1], PLACES, CAR_SIZE)


def build_views(state: ArenaState, controls: FloatArray) -> FloatArray:
    """Return what all seats see: (match, seat, view). Takes the last controls of each seat (match, seat, control)."""
    matches, seats = state.present.shape
    view = np.empty((matches, seats, VIEW_SIZE), dtype=np.float32)
    ball, cars = _ball(state), _cars(state)
    seen = cars.reshape(matches, -1, CAR_SIZE).take(_order(seats), axis=1)  # (match, seat, place, field)
    view[..., CARS_AT:PADS_AT] = seen.reshape(matches, seats, -1)
    for side, pads in enumerate((state.pads, state.pads[:, ::-1])):  # the pads are symmetric
        view[:, side::SIDES, :BALL_SIZE] = ball[:, None, side]
        view[:, side::SIDES, PADS_AT:LAST_ACTION_AT] = pads[:, None]
    view[..., LAST_ACTION_AT:] = controls
    return view


def _ball(state: ArenaState) -> FloatArray:
    """Return the ball as each side sees it: (match, side, field)."""
    parts = [state.ball_position, state.ball_velocity, state.ball_spin]
    ball: FloatArray = np.concatenate(parts, axis=-1, dtype=np.float32) / _BALL_SCALES
    turned: FloatArray = ball[:, None] * _TURNS[:, :BALL_SIZE]
    return turned


def _cars(state: ArenaState) -> FloatArray:
    """Return the cars as each side sees them, and a place without a car: (match, seat + 1, side, field)."""
    matches, seats = state.present.shape
    parts = [state.position, state.velocity, state.spin, state.forward, state.up]
    vectors = np.concatenate(parts, axis=-1) / _CAR_SCALES
    car = np.empty((matches, seats + 1, SIDES, CAR_SIZE), dtype=np.float32)
    car[:, seats] = 0
    own = car[:, :seats]
    own[..., 0] = state.present[..., None]
    np.multiply(vectors[..., None, :], _TURNS, out=own[..., 1:16])
    for column, flag in enumerate(
        (state.boost / BOOST, state.on_ground, state.demolished, state.can_flip, state.supersonic), start=16
    ):
        own[..., column] = flag[..., None]
    return car


_TURNS = np.tile(_TURN, 5)  # of five vectors
_BALL_SCALES = np.repeat(np.array([POSITION, BALL_SPEED, BALL_SPIN], dtype=np.float32), 3)
_CAR_SCALES = np.repeat(np.array([POSITION, SPEED, SPIN, 1, 1], dtype=np.float32), 3)


@cache
def _order(seats: int) -> IntArray:
    """Return which cars (seat, place) each seat sees, as places in `_cars` with seats and sides as one axis."""
    order, own = np.full((seats, PLACES), seats), np.arange(seats)  # at first all without a car
    for seat in range(seats):
        mates = [other for other in own[seat % SIDES :: SIDES] if other != seat]
        order[seat, : 1 + len(mates)] = [seat, *mates]
        order[seat, TEAM : TEAM + seats // SIDES] = own[1 - seat % SIDES :: SIDES]
    return order * SIDES + own[:, None] % SIDES


def _columns(fields: tuple[Field, ...], name: str) -> slice:
    at = 0
    for field in fields:
        if field.name == name:
            return slice(at, at + field.size)
        at += field.size
    raise KeyError(name)
