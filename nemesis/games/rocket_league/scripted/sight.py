"""What a scripted driver reads in its view: the ball, its own car and the cars of both sides, in uu and seconds."""

from dataclasses import dataclass

import numpy as np

from nemesis.core.game import BoolArray, FloatArray
from nemesis.games.rocket_league import views
from nemesis.games.rocket_league.actions import CONTROLS
from nemesis.games.rocket_league.state import PADS
from nemesis.games.rocket_league.views import LAST_ACTION_AT, PADS_AT, TEAM, ball_columns, car_columns

_LAST_JUMP = LAST_ACTION_AT + CONTROLS.index("jump")


@dataclass(frozen=True, slots=True)
class Sight:
    """Views (n, view), taken apart. The driver attacks towards +y; its left is +x."""

    ball: FloatArray  # (n, 3)
    ball_velocity: FloatArray  # (n, 3)
    position: FloatArray  # (n, 3) of the own car, as what follows
    velocity: FloatArray  # (n, 3)
    spin: FloatArray  # (n, 3)
    forward: FloatArray  # (n, 3)
    right: FloatArray  # (n, 3)
    up: FloatArray  # (n, 3)
    boost: FloatArray  # (n,) 0 to 100
    on_ground: BoolArray  # (n,)
    can_flip: BoolArray  # (n,)
    held_jump: BoolArray  # (n,) in its last action
    side: FloatArray  # (n, car, 3) positions of the own side, the own car first
    opponents: FloatArray  # (n, car, 3)
    side_drives: BoolArray  # (n, car) takes part and is not demolished
    opponent_drives: BoolArray  # (n, car)
    pads: BoolArray  # (n, pad) can be picked up

    @classmethod
    def of(cls, view: FloatArray) -> "Sight":
        """Read views (n, view)."""
        cars = views.cars_of(view)
        own = cars[:, 0]
        forward, up = own[:, car_columns("forward")], own[:, car_columns("up")]
        positions = cars[..., car_columns("position")] * views.POSITION
        drives = (cars[..., car_columns("present")] > 0.5) & (cars[..., car_columns("demolished")] < 0.5)
        return cls(
            ball=view[:, ball_columns("position")] * views.POSITION,
            ball_velocity=view[:, ball_columns("velocity")] * views.BALL_SPEED,
            position=positions[:, 0],
            velocity=own[:, car_columns("velocity")] * views.SPEED,
            spin=own[:, car_columns("spin")] * views.SPIN,
            forward=forward,
            right=cross(up, forward),
            up=up,
            boost=own[:, car_columns("boost")][:, 0] * views.BOOST,
            on_ground=own[:, car_columns("on_ground")][:, 0] > 0.5,
            can_flip=own[:, car_columns("can_flip")][:, 0] > 0.5,
            held_jump=view[:, _LAST_JUMP] > 0.5,
            side=positions[:, :TEAM],
            opponents=positions[:, TEAM:],
            side_drives=drives[:, :TEAM, 0],
            opponent_drives=drives[:, TEAM:, 0],
            pads=view[:, PADS_AT : PADS_AT + PADS] > 0.5,
        )


def dot(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the inner products of vectors (…, k)."""
    product: FloatArray = np.einsum("...i,...i->...", one, other)
    return product


def cross(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the cross products of vectors (n, 3); `np.cross` takes ten times as long for few of them."""
    (a, b, c), (x, y, z) = one.T, other.T
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=1)


def length(vector: FloatArray) -> FloatArray:
    """Return the lengths of vectors (…, k), at least a small number, so that one can divide by them."""
    return np.sqrt(dot(vector, vector)) + np.float32(1e-3)
