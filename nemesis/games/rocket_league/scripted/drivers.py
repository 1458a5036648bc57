"""The drivers: `idle` does nothing; `driver` follows rules, as simple bots of the community do.

Of each side, the car that is best placed attacks: it meets the ball from behind, so that it goes to the other goal,
and dodges into it. The others stay between the ball and their own goal. A car on the wrong side of the ball drives
around it or back, a ball on the way into the own goal is met wherever it can be, and boost is picked up on the way.
"""

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, FloatArray, IntArray
from nemesis.games.rocket_league.actions import CONTROLS
from nemesis.games.rocket_league.arena.soccar import BACK, GOAL_SIDE, SIDE
from nemesis.games.rocket_league.scripted.driving import Plan, follow, nearest_actions
from nemesis.games.rocket_league.scripted.interception import intercept, predict
from nemesis.games.rocket_league.scripted.sight import Sight, length
from nemesis.games.rocket_league.state import BIG_PADS, PAD_POSITIONS

_FASTEST = 2300.0
_SOON = 4  # step of the prediction by which cars compare who is closer
_POST = GOAL_SIDE - 150  # |x| that shots aim between
_BEHIND = 1.2  # angle between the way to the ball and the way of the ball to the goal, below which a car shoots
_HOME_Y = -BACK + 300
_AHEAD_OF_HOME = (0.0, 0.45, 0.8)  # where the second and the third car wait, from the ball (0) to the own goal (1)
_PAD_WORTH = np.full(len(PAD_POSITIONS), 500, dtype=np.float32)  # the longest detour for it, without any boost
_PAD_WORTH[list(BIG_PADS)] = 2000


def idle(view: npt.NDArray[np.float32], mask: BoolArray, generator: np.random.Generator) -> IntArray:  # noqa: ARG001
    """Touch nothing."""
    return nearest_actions(np.zeros((len(view), len(CONTROLS)), dtype=np.float32), mask)


def driver(view: npt.NDArray[np.float32], mask: BoolArray, generator: np.random.Generator) -> IntArray:
    """Drive by rules."""
    sight = Sight.of(view)
    return nearest_actions(follow(sight, _plan(sight), generator), mask)


def _plan(sight: Sight) -> Plan:
    track = predict(sight.ball, sight.ball_velocity)
    rank = _rank(sight, track[_SOON])
    waits = (np.abs(sight.ball[:, :2]) < 1).all(axis=1) & (length(sight.ball_velocity) < 1)
    scored_on = (track[..., 1] < -BACK) & (np.abs(track[..., 0]) < GOAL_SIDE)
    threatened: BoolArray = np.logical_or.reduce(scored_on, axis=0)
    point, time = intercept(sight, track)
    target, speed, strikes = _attack(sight, point, time, threatened)
    target, speed = _go_around(sight, point, threatened, target, speed)
    waiting = _waiting_place(track[_SOON], rank)
    attacks = (rank == 0) | threatened
    target = np.where(attacks[:, None], target, waiting)
    speed = np.where(attacks, speed, np.clip(length(waiting - sight.position), 300, _FASTEST))
    target, detours = _pick_up_boost(sight, target, rank, ~threatened & ~(waits & (rank == 0)))
    speed = np.where(detours, np.maximum(speed, 1400), speed)
    kicks_off = waits & (rank == 0)
    target = np.where(kicks_off[:, None], sight.ball, target)
    speed = np.where(kicks_off, _FASTEST, speed)
    return Plan(_inside(sight, target), speed, kicks_off | (attacks & strikes), kicks_off | (speed > 1500))


def _rank(sight: Sight, ball: FloatArray) -> IntArray:
    """Return how many cars of the own side are better placed to play the ball (n, 3): (n,). Of equals, the left one."""
    cost = length(sight.side - ball[:, None]) + 1.5 * np.clip(sight.side[..., 1] - ball[:, None, 1], 0, 1500)
    cost = np.where(sight.side_drives, cost, np.inf)
    better = cost[:, 1:] < cost[:, :1] - 1
    equal = (cost[:, 1:] < cost[:, :1] + 1) & (sight.side[:, 1:, 0] > sight.side[:, :1, 0])
    rank: IntArray = (better | equal).sum(axis=1)
    return rank


def _attack(
    sight: Sight, point: FloatArray, time: FloatArray, threatened: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return target (n, 3), speed (n,) and whether to dodge into the ball (n,), to meet it at a point in time."""
    way = point - sight.position
    distance = length(way)
    shot, miss = _shot(way, point)
    lines_up = np.where(threatened, 0.15, 0.35) * np.clip(np.abs(miss) / 0.8, 0, 1)
    behind: FloatArray = np.minimum(lines_up * distance, 1500)
    target: FloatArray = point - behind[:, None] * shot
    speed = np.clip(length(target - sight.position) / time, 200, _FASTEST)
    clears = (point[:, 1] < 0) & (way[:, 1] > 0.3 * distance)
    return target, speed, (np.abs(miss) < 0.5) | clears


def _shot(way: FloatArray, point: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the direction (n, 3) in which a ball is shot, and the angle (n,) between it and the way of the car.

    It is the direction of the car's way (n, 3), where this leads from the point (n, 3) between the posts.
    """
    depth = BACK - np.minimum(point[:, 1], BACK - 300)
    driven = np.arctan2(way[:, 0], way[:, 1])
    angle = np.clip(driven, np.arctan2(-_POST - point[:, 0], depth), np.arctan2(_POST - point[:, 0], depth))
    miss = (driven - angle + np.pi) % (2 * np.pi) - np.pi
    return _at(np.sin(angle), np.cos(angle)), miss


def _go_around(
    sight: Sight, point: FloatArray, threatened: BoolArray, target: FloatArray, speed: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return target (n, 3) and speed (n,) of cars, changed for those that would hit the ball towards their own goal."""
    way = point - sight.position
    distance = length(way)
    wrong_side = way[:, 1] < np.maximum(0.15 * distance, 50)
    past = np.where(way[:, 0] > 0, -1, 1)  # the side of the ball on which the car passes
    around = _at(point[:, 0] + 400 * past, point[:, 1] - 700)
    home = _at(np.clip(point[:, 0], -500, 500), np.full_like(distance, _HOME_Y))
    pressed = np.where(sight.opponent_drives, length(sight.opponents - point[:, None]), np.inf).min(axis=1) < distance
    back = np.where((threatened | (pressed & (distance > 1500)))[:, None], home, around)
    return np.where(wrong_side[:, None], back, target), np.where(wrong_side, _FASTEST, speed)


def _waiting_place(ball: FloatArray, rank: IntArray) -> FloatArray:
    """Return where cars (n, 3) wait that do not attack, by their rank (n,)."""
    share = np.array(_AHEAD_OF_HOME, dtype=np.float32)[rank]
    return _at((1 - share) * ball[:, 0], (1 - share) * ball[:, 1] + share * _HOME_Y)


def _pick_up_boost(sight: Sight, target: FloatArray, rank: IntArray, free: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Return targets (n, 3), replaced by a boost pad where one is on the way, and whether (n,) they are."""
    position, direct = sight.position[:, None, :2], length((target - sight.position)[:, :2])
    way = PAD_POSITIONS - position  # (n, pad, 2)
    distance = length(way)
    facing = np.einsum("npi,ni->np", way, sight.forward[:, :2]) / distance
    detour = distance + length(target[:, None, :2] - PAD_POSITIONS) - direct[:, None] + 300 * (1 - facing)
    need = (1 - sight.boost / 100) * np.where(rank == 0, 0.5, 1)
    gain = np.where(sight.pads, need[:, None] * _PAD_WORTH - detour, -np.inf)
    best = gain.argmax(axis=1)
    takes = free & (gain.max(axis=1) > 0) & (direct > 1200) & sight.on_ground
    return np.where(takes[:, None], _at(*PAD_POSITIONS[best].T), target), takes


def _inside(sight: Sight, target: FloatArray) -> FloatArray:
    """Return targets (n, 3) within the field; from a goal, between its posts first."""
    in_goal = np.abs(sight.position[:, 1]) > BACK - 20
    x = np.clip(target[:, 0], -SIDE + 100, SIDE - 100)
    x = np.where(in_goal, np.clip(x, -GOAL_SIDE + 150, GOAL_SIDE - 150), x)
    y = np.where(in_goal, np.clip(target[:, 1], -BACK + 300, BACK - 300), target[:, 1])
    return _at(x, y)


def _at(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return points (n, 3) on the ground."""
    return np.stack([x, y, np.zeros_like(x)], axis=1, dtype=np.float32)
