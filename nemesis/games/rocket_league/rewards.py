"""Reward components: what each car did between two decisions, besides goals, which are the result of a match.

Every component is about −1 to 1 per decision. The weights are relative to a goal, which pays 1: those of events are a
part of it, and what is paid in every decision, about 15 times a second, is small: a goal ends the match and with it
all further payments, so what a good car earns per decision has to stay below (1 − discount), or be made zero-sum
(`shared`). Components that describe a car are 0 while it is demolished, and all are 0 for cars that do not take part.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np

from nemesis.core.game import SIDES, BoolArray, FloatArray, RewardComponent
from nemesis.games.rocket_league.state import BALL_RADIUS, ArenaState

# Lengths in uu, velocities in uu/s.
CAR_SPEED, BALL_SPEED = 2300.0, 6000.0  # the largest
CEILING = 2044.0
GOAL = (0.0, 6000.0, 321.0)  # the middle of the back net that side 0 attacks
_FULL_BOOST = 100.0
_STRONG_TOUCH = 2 * CAR_SPEED  # change of the ball's velocity
_AT_CENTRE = 1.0  # distance of the ball in x and y, and its velocity
_TINY = np.float32(1e-6)

COMPONENTS: Mapping[str, RewardComponent] = {
    # Events, 1 each.
    "save": RewardComponent(0.25, sparse=True),  # kept the ball out of its own goal
    "shot": RewardComponent(0.1),  # hit the ball towards the other goal
    "demolition": RewardComponent(0.1),  # demolished a car
    "demolished": RewardComponent(0.1),  # was demolished: −1
    # Events, 0 to 1.
    "touch": RewardComponent(0.1),  # change of the ball's velocity by a touch / (2 × largest speed of a car)
    "aerial_touch": RewardComponent(0.2),  # height of the ball / most, if a car in the air begins to touch it
    "boost_gained": RewardComponent(0.05),  # rise of √(boost / 100)
    # In every decision, −1 to 1.
    "velocity_to_ball": RewardComponent(0.005),  # the car's velocity towards the ball / largest
    "ball_to_goal": RewardComponent(0.02),  # the ball's velocity towards the other goal / largest
    "facing_ball": RewardComponent(0.001),  # cosine of the angle between the car's front and the ball
    "alignment": RewardComponent(0.001),  # mean cosine of: own goal → car → ball, and car → ball with car → other goal
    # In every decision, 0 to 1.
    "boost_kept": RewardComponent(0.001),  # √(boost / 100)
    "speed": RewardComponent(0.001),  # the car's speed / largest
    "aerial": RewardComponent(0.005),  # of a car in the air: its height or, if lower, that of the ball / ceiling
    "kickoff": RewardComponent(0.02),  # of a side's closest car, while the ball waits at the centre: velocity_to_ball
    # For the metrics, and never shared.
    "touched": RewardComponent(0.0),  # 1 if the car itself touched the ball
}
_COLUMNS = {name: column for column, name in enumerate(COMPONENTS)}
UNSHARED = _COLUMNS["touched"]


def rewards(before: ArenaState, after: ArenaState) -> FloatArray:
    """Return the components (match, seat, component) of what happened from one decision to the next.

    Both states are of the same matches: for a match that has ended, `after` is its last state, not its successor's.
    """
    goal, own_goal = _goals(after.present.shape[1])
    position, ball = after.position, after.ball_position[:, None]
    driving = after.present & ~after.demolished
    flying = driving & ~after.on_ground
    to_ball = ball - position
    distance = _length(to_ball)
    to_ball /= np.maximum(distance, _TINY)[..., None]
    approach = _dot(after.velocity, to_ball) / CAR_SPEED
    ways = np.empty((3, *position.shape), dtype=np.float32)
    for way, start, end in zip(ways, (ball, own_goal, position), (goal, position, goal), strict=True):
        np.subtract(end, start, out=way)
    far = np.maximum(_length(ways), _TINY)
    onward = _dot(to_ball, ways[1:]) / far[1:]
    boost, boost_before = np.sqrt(after.boost / _FULL_BOOST), np.sqrt(before.boost / _FULL_BOOST)
    reward = np.zeros((*after.present.shape, len(COMPONENTS)), dtype=np.float32)
    for column, values in {
        "save": after.saves,
        "shot": after.shots,
        "demolition": after.demolitions,
        "boost_gained": np.maximum(boost - boost_before, 0) * (driving & ~before.demolished),
        "velocity_to_ball": approach * driving,
        "ball_to_goal": _dot(after.ball_velocity[:, None], ways[0]) / far[0] / BALL_SPEED,
        "facing_ball": _dot(after.forward, to_ball) * driving,
        "alignment": (onward[0] + onward[1]) / 2 * driving,
        "boost_kept": boost * driving,
        "speed": _length(after.velocity) / CAR_SPEED * driving,
        "aerial": np.minimum(position[..., 2], ball[..., 2]) / CEILING * flying,
    }.items():
        reward[..., _COLUMNS[column]] = values
    # Events that are rare cost nothing while there are none.
    if after.touched.any():
        strength = _length(after.ball_velocity - before.ball_velocity) / _STRONG_TOUCH
        height = (after.ball_position[:, 2] - BALL_RADIUS) / (CEILING - 2 * BALL_RADIUS)
        reward[..., _COLUMNS["touched"]] = after.touched
        reward[..., _COLUMNS["touch"]] = after.touched * np.minimum(strength, 1)[:, None]
        begun = flying & after.touched & ~before.touched
        reward[..., _COLUMNS["aerial_touch"]] = begun * np.minimum(np.maximum(height, 0), 1)[:, None]
    if after.demolished.any():
        reward[..., _COLUMNS["demolished"]] = -1.0 * (after.demolished & ~before.demolished)
    if (kickoff := _takes_kickoff(before, np.where(driving, distance, np.inf))) is not None:
        reward[..., _COLUMNS["kickoff"]] = np.maximum(approach, 0) * kickoff
    reward *= after.present[..., None]
    return reward


def shared(reward: FloatArray, present: BoolArray, team_spirit: float, *, zero_sum: bool) -> FloatArray:
    """Return rewards (match, seat, component) of cars that take part (match, seat), shared within and between sides.

        r' = (1 − τ) r + τ · mean of the own side − mean of the other side, the last with `zero_sum` only

    So the mean rewards of the two sides sum to zero and, if the sides have as many cars, all rewards of a match do.
    """
    if team_spirit == 0 and not zero_sum:
        return reward * present[..., None]
    matches, seats, components = reward.shape
    by_side = (reward * present[..., None]).reshape(matches, seats // SIDES, SIDES, components)
    cars = present.reshape(matches, seats // SIDES, SIDES).sum(axis=1, dtype=np.float32)
    mean = by_side.sum(axis=1) / np.maximum(cars, 1)[..., None]  # (match, side, component)
    received = (1 - team_spirit) * by_side + team_spirit * mean[:, None]
    if zero_sum:
        received -= mean[:, None, ::-1]
    result: FloatArray = received.reshape(reward.shape) * present[..., None]
    return result


@cache
def _goals(seats: int) -> tuple[FloatArray, FloatArray]:
    """Return the goals that seats attack and those that they defend: (seat, 3) each."""
    goal = np.tile(np.array(GOAL, dtype=np.float32), (seats, 1))
    goal[1::SIDES, 1] *= -1
    own_goal = goal.copy()
    own_goal[:, 1] *= -1
    return goal, own_goal


def _dot(one: FloatArray, other: FloatArray) -> FloatArray:
    product: FloatArray = np.vecdot(one, other)
    return product


def _length(vector: FloatArray) -> FloatArray:
    length: FloatArray = np.sqrt(_dot(vector, vector))
    return length


def _takes_kickoff(before: ArenaState, distance: FloatArray) -> BoolArray | None:
    """Return which cars (match, seat) are the closest of their side to a ball that waits at the centre.

    The distance of cars that cannot drive is infinite. Returns None if no ball waits.
    """
    ball = np.concatenate([before.ball_position[:, :2], before.ball_velocity], axis=1)
    waits = np.flatnonzero((np.abs(ball) < _AT_CENTRE).all(axis=1))
    if not waits.size:
        return None
    takes = np.zeros(distance.shape, dtype=np.bool_)
    for side in range(SIDES):
        near = distance[waits, side::SIDES]
        closest = near.argmin(axis=1)
        takes[waits, side + SIDES * closest] = np.isfinite(near[np.arange(len(waits)), closest])
    return takes
