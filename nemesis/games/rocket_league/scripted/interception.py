"""Where the ball will be, and where a car can meet it.

The ball flies, bounces off the planes of the arena and rolls; its spin is left out. A car turns first, then speeds up
along a straight line.
"""

import numpy as np

from nemesis.core.game import FloatArray
from nemesis.games.rocket_league.arena.soccar import BACK, CORNER, GOAL_HEIGHT, GOAL_SIDE, HEIGHT, SIDE
from nemesis.games.rocket_league.scripted.sight import Sight, dot, length
from nemesis.games.rocket_league.state import BALL_RADIUS

STEP, STEPS = 0.1, 25  # of the prediction, in seconds
TIMES = (STEP * np.arange(1, STEPS + 1, dtype=np.float32))[:, None]  # (step, 1)
_GRAVITY, _BOUNCE, _DRAG = 650.0, 0.6, 0.03
_HIGHEST = 260.0  # centre of a ball that a jump can reach
_CONTACT = 150.0  # distance of the centres of car and ball when they touch
_CAR_SPEED, _THROTTLE_SPEED = 2300.0, 1410.0  # most, with and without boost
_ACCELERATION, _BOOST_ACCELERATION = 900.0, 991.7
_ENOUGH_BOOST = 12.0
_TURN_TIME = 0.35  # seconds per radian

_DIAGONAL = np.sqrt(0.5)
_NORMALS = np.array(  # (plane, 3) into the field; back walls first
    [[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0]]
    + [[x * _DIAGONAL, y * _DIAGONAL, 0] for x in (-1, 1) for y in (-1, 1)],
    dtype=np.float32,
)
_DEPTHS = np.array([BACK, BACK, 0, HEIGHT, SIDE, SIDE] + [CORNER * _DIAGONAL] * 4, dtype=np.float32) - BALL_RADIUS


def predict(ball: FloatArray, velocity: FloatArray) -> FloatArray:
    """Return where balls (n, 3) will be: (step, n, 3)."""
    position, velocity = ball.copy(), velocity.copy()
    track = np.empty((STEPS, *ball.shape), dtype=np.float32)
    for step in range(STEPS):
        velocity[:, 2] -= _GRAVITY * STEP
        velocity *= 1 - _DRAG * STEP
        position += velocity * STEP
        inside = position @ _NORMALS.T + _DEPTHS  # (n, plane) negative beyond a plane
        in_goal = (np.abs(position[:, 0]) < GOAL_SIDE) & (position[:, 2] < GOAL_HEIGHT)
        inside[in_goal, :2] = 0
        beyond = np.minimum(inside, 0)
        approach = np.minimum(velocity @ _NORMALS.T, 0) * (beyond < 0)
        position -= beyond @ _NORMALS
        velocity -= (1 + _BOUNCE) * approach @ _NORMALS
        track[step] = position
    return track


def intercept(sight: Sight, track: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where (n, 3) and when (n,) cars can first meet the ball on its track (step, n, 3) near the ground."""
    way = track - sight.position
    distance = length(way)  # (step, n)
    turn = np.arccos(np.clip(dot(way, sight.forward) / distance, -1, 1))
    speed = np.clip(dot(way, sight.velocity) / distance, 0, _CAR_SPEED)
    boosts = sight.boost > _ENOUGH_BOOST
    most = np.where(boosts, _CAR_SPEED, np.maximum(_THROTTLE_SPEED, speed))
    acceleration = np.where(boosts, _ACCELERATION + _BOOST_ACCELERATION, _ACCELERATION)
    driven = np.maximum(TIMES - _TURN_TIME * turn, 0)
    speeding = np.minimum(driven, (most - speed) / acceleration)
    reach = speed * speeding + acceleration * speeding**2 / 2 + most * (driven - speeding) + _CONTACT
    met = (reach >= distance) & (track[..., 2] < _HIGHEST)
    met[-1] = True
    first = met.argmax(axis=0)
    point: FloatArray = track[first, np.arange(len(first))]
    return point, TIMES[first, 0]
