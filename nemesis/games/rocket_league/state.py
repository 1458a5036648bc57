"""The state of all arenas of a pool as arrays: what views, rewards, endings and recordings are computed from."""

from dataclasses import dataclass, fields

import numpy as np

from nemesis.core.game import BoolArray, FloatArray, IntArray

BALL_RADIUS = 91.25  # uu
PAD_POSITIONS: FloatArray = np.array(  # (pad, 2) of boost, in RocketSim's order; pad p and pad 33 − p are opposite
    [
        *[(0, -4240), (-1792, -4184), (1792, -4184), (-3072, -4096), (3072, -4096), (-940, -3308), (940, -3308)],
        *[(0, -2816), (-3584, -2484), (3584, -2484), (-1788, -2300), (1788, -2300), (-2048, -1036), (0, -1024)],
        *[(2048, -1036), (-3584, 0), (-1024, 0), (1024, 0), (3584, 0), (-2048, 1036), (0, 1024), (2048, 1036)],
        *[(-1788, 2300), (1788, 2300), (-3584, 2484), (3584, 2484), (0, 2816), (-940, 3308), (940, 3308)],
        *[(-3072, 4096), (3072, 4096), (-1792, 4184), (1792, 4184), (0, 4240)],
    ],
    dtype=np.float32,
)
PADS = len(PAD_POSITIONS)
BIG_PADS = (3, 4, 15, 18, 29, 30)  # fill up the boost; the others give 12


@dataclass(frozen=True, slots=True)
class ArenaState:
    """The matches of a pool at one moment, in world coordinates: uu, uu/s and rad/s, and nothing turned.

    Seat s belongs to side s mod 2. Side 0 (blue) attacks towards +y, side 1 (orange) towards −y. All numbers of cars
    that do not take part are 0.
    """

    ball_position: FloatArray  # (match, 3)
    ball_velocity: FloatArray  # (match, 3)
    ball_spin: FloatArray  # (match, 3)
    position: FloatArray  # (match, seat, 3)
    velocity: FloatArray  # (match, seat, 3)
    spin: FloatArray  # (match, seat, 3)
    forward: FloatArray  # (match, seat, 3)
    up: FloatArray  # (match, seat, 3)
    boost: FloatArray  # (match, seat) 0 to 100
    on_ground: BoolArray  # (match, seat)
    demolished: BoolArray  # (match, seat)
    can_flip: BoolArray  # (match, seat)
    supersonic: BoolArray  # (match, seat)
    touched: BoolArray  # (match, seat) touched the ball since the last decision
    goals: FloatArray  # (match, seat) events since the last decision
    saves: FloatArray  # (match, seat)
    shots: FloatArray  # (match, seat)
    demolitions: FloatArray  # (match, seat)
    pads: FloatArray  # (match, pad) 1 if it can be picked up
    present: BoolArray  # (match, seat)
    tick: IntArray  # (match,) since the match began

    def at(self, rows: IntArray) -> "ArenaState":
        """Return some of the matches."""
        return ArenaState(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


BALL_START, CAR_START = 9, 17  # numbers in a start


@dataclass(frozen=True, slots=True)
class Start:
    """What a match starts from, in world coordinates; all pads can be picked up."""

    ball: FloatArray  # (9,) position, velocity, spin
    car: FloatArray  # (seat, 17) position, velocity, spin, forward, up, boost, whether it is on the ground or a wall
