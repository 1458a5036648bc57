"""From where a driver wants to be to the inputs of a controller, and from those to the nearest of the actions.

On the ground a car steers to its target. To hit the ball, or to gain speed without boost, it jumps, lets the button go
and jumps again with a direction: a dodge. In the air it turns its wheels down and its front to where it flies.
"""

from dataclasses import dataclass

import numpy as np

from nemesis.core.game import BoolArray, FloatArray, IntArray
from nemesis.games.rocket_league.actions import ACTIONS, CONTROLS
from nemesis.games.rocket_league.scripted.sight import Sight, cross, dot, length

_WEIGHTS = np.array([2, 2, 1, 1, 1, 20, 5, 0.5], dtype=np.float32)  # of the controls, when an action is chosen
_SQUARES = (ACTIONS**2) @ _WEIGHTS  # (action,)

_LEVEL = np.array([0, 0, 1], dtype=np.float32)
_HORIZONTAL = np.array([1, 1, 0], dtype=np.float32)
# Curvature of the path of a car that steers fully, by its speed.
_SPEEDS, _CURVATURES = (0, 500, 1000, 1500, 1750, 2300), (0.0069, 0.00398, 0.00235, 0.001375, 0.0011, 0.00088)
_CONTACT = 150.0  # distance of the centres of car and ball when they touch
_JUMP_AHEAD, _DODGE_AHEAD = 0.3, 0.2  # seconds before a touch
_FULL_STEER = 0.12  # angle from which on a car steers all the time
_ROOF_HEIGHT = 80.0  # below it, a car on its back lies on its roof
_JUMP_SPEED = 420.0  # upwards, at the end of a jump with the button held


@dataclass(frozen=True, slots=True)
class Plan:
    """What drivers want."""

    target: FloatArray  # (n, 3)
    speed: FloatArray  # (n,) on the way there
    strikes: BoolArray  # (n,) dodges into the ball when it gets there
    hurries: BoolArray  # (n,) dodges to gain speed, where the way is long enough


def nearest_actions(controls: FloatArray, mask: BoolArray) -> IntArray:
    """Return the legal actions (n,) that are closest to wanted inputs (n, control)."""
    distance = _SQUARES - 2 * (controls * _WEIGHTS) @ ACTIONS.T
    action: IntArray = np.where(mask, distance, np.inf).argmin(axis=1)
    return action


def follow(sight: Sight, plan: Plan, generator: np.random.Generator) -> FloatArray:
    """Return the inputs (n, control) that bring cars to where they want to be."""
    ahead = _Ahead.of(sight, plan)
    driven = _drive(sight, plan, ahead, generator.random(len(plan.speed), dtype=np.float32))
    return np.where(sight.on_ground[:, None], driven, _fly(sight, plan, ahead))


@dataclass(frozen=True, slots=True)
class _Ahead:
    """The target and the ball as seen from the car."""

    angle: FloatArray  # (n,) to the target, positive to the right
    distance: FloatArray  # (n,) to the target
    forward: FloatArray  # (n,) part of the way to the target
    sideways: FloatArray  # (n,)
    speed: FloatArray  # (n,) forward
    ball_angle: FloatArray  # (n,)
    ball_height: FloatArray  # (n,) above the car
    touch: FloatArray  # (n,) seconds to the touch of the ball

    @classmethod
    def of(cls, sight: Sight, plan: Plan) -> "_Ahead":
        way, to_ball = plan.target - sight.position, sight.ball - sight.position
        forward, sideways = dot(way, sight.forward), dot(way, sight.right)
        ball_distance = length(to_ball)
        closing = dot(sight.velocity - sight.ball_velocity, to_ball) / ball_distance
        return cls(
            angle=np.arctan2(sideways, forward),
            distance=length(way),
            forward=forward,
            sideways=sideways,
            speed=dot(sight.velocity, sight.forward),
            ball_angle=np.arctan2(dot(to_ball, sight.right), dot(to_ball, sight.forward)),
            ball_height=dot(to_ball, sight.up),
            touch=np.maximum(ball_distance - _CONTACT, 0) / np.maximum(closing, 100),
        )


def _drive(sight: Sight, plan: Plan, ahead: _Ahead, chance: FloatArray) -> FloatArray:
    """Return the inputs of cars on the ground or on a wall.

    A small angle is steered with a probability, since the wheels have no position between straight and full. It is
    decided by numbers (n,) between 0 and 1.
    """
    angle, speed = ahead.angle, ahead.speed
    error = angle - 0.05 * dot(sight.spin, sight.up)  # the car goes on turning for a while
    steer = np.sign(error) * (np.abs(error) > _FULL_STEER * chance)
    radius = 1 / np.interp(np.abs(speed), _SPEEDS, _CURVATURES)
    too_close = ahead.forward**2 + (np.abs(ahead.sideways) - radius) ** 2 < (0.9 * radius) ** 2  # to turn there
    wanted = np.where(too_close, np.minimum(plan.speed, 600), plan.speed)
    slides = (np.abs(angle) > 1.3) & (speed > 500) & (sight.up[:, 2] > 0.8)
    boosts = (np.abs(angle) < 0.3) & (wanted > np.maximum(speed, 1300) + 100) & (sight.boost > 0) & (speed < 2290)
    throttle = np.where(speed < wanted, 1, np.where(speed < wanted + 200, 0, -1))
    blocked = _blocked(sight) & (speed < 100)
    throttle = np.where(blocked, -1, throttle)
    flat = (sight.up[:, 2] > 0.85) & ~sight.held_jump
    strikes = plan.strikes & (ahead.touch < _JUMP_AHEAD + ahead.ball_height.clip(0, 200) / 1000)
    strikes &= (np.abs(ahead.ball_angle) < 0.35) & (ahead.ball_height < 260) & (speed > 300)
    hurries = plan.hurries & (np.abs(angle) < 0.1) & (speed > 1000) & (speed < 1900) & (sight.boost < 10)
    hurries &= (ahead.distance > 1.1 * speed + 500) & (np.abs(dot(sight.spin, sight.up)) < 0.5)
    return _controls(
        throttle=throttle, steer=steer, yaw=steer, boost=boosts, handbrake=slides, jump=flat & (strikes | hurries)
    )


def _blocked(sight: Sight) -> BoolArray:
    """Return which cars (n,) have another car in front of them."""
    way = np.concatenate([sight.side[:, 1:], sight.opponents], axis=1) - sight.position[:, None]
    drives = np.concatenate([sight.side_drives[:, 1:], sight.opponent_drives], axis=1)
    distance = length(way)
    ahead = np.einsum("nci,ni->nc", way, sight.forward) > 0.8 * distance
    blocked: BoolArray = (drives & ahead & (distance < 300)).any(axis=1)
    return blocked


def _fly(sight: Sight, plan: Plan, ahead: _Ahead) -> FloatArray:
    """Return the inputs of cars in the air."""
    rising, height = sight.velocity[:, 2], sight.position[:, 2]
    holds = (
        plan.strikes
        & sight.held_jump
        & sight.can_flip
        & (ahead.ball_height > 110)
        & (rising > 0)
        & (rising < _JUMP_SPEED)
    )
    ready = sight.can_flip & ~sight.held_jump & (sight.up[:, 2] > 0.6)
    strikes = ready & plan.strikes & (ahead.touch < _DODGE_AHEAD) & (ahead.ball_height < 180)
    hurries = ready & ~strikes & plan.hurries & (rising > 100) & (height < 150) & (np.abs(ahead.angle) < 0.3)
    hurries &= ahead.distance > 1000
    on_roof = (sight.up[:, 2] < -0.6) & (height < _ROOF_HEIGHT) & ~sight.held_jump
    dodge = np.where(strikes, ahead.ball_angle, ahead.angle)
    forward, sideways = np.cos(dodge), np.sin(dodge)
    dodges = strikes | hurries
    pitch, yaw, roll = _level(sight)
    return _controls(
        steer=np.where(dodges, 0, yaw),
        yaw=np.where(dodges, 0, yaw),
        pitch=np.where(dodges, -np.sign(forward) * (np.abs(forward) > 0.38), pitch),
        roll=np.where(dodges, np.sign(sideways) * (np.abs(sideways) > 0.38), roll),
        jump=dodges | holds | on_roof,
        handbrake=dodges,
    )


def _level(sight: Sight) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return pitch, yaw and roll (n,) that turn the wheels down and the front to where the car flies."""
    flight = sight.velocity * _HORIZONTAL
    fast = length(flight) > 200
    front: FloatArray = np.where(fast[:, None], flight, sight.forward * _HORIZONTAL)
    front = front / length(front)[:, None]
    level: FloatArray = np.broadcast_to(_LEVEL, front.shape)
    turn = cross(sight.forward, front) + cross(sight.up, level)  # axis, right-handed
    pitch = -dot(turn, sight.right) + 0.25 * dot(sight.spin, sight.right)
    yaw = dot(turn, sight.up) - 0.3 * dot(sight.spin, sight.up)
    roll = -dot(turn, sight.forward) + 0.1 * dot(sight.spin, sight.forward)
    # A dodge forward turns the car once around; it is left to do so until its front comes up again.
    tumbles = (dot(sight.spin, sight.right) > 3) & ((sight.forward[:, 2] < 0.1) | (sight.up[:, 2] < 0))
    pitch = np.where(tumbles, 0, pitch)
    # The axis vanishes for a car that flies on its back: it rolls over either side. On the ground it jumps instead.
    on_back = (sight.up[:, 2] < -0.9) & (sight.position[:, 2] > _ROOF_HEIGHT)
    roll = np.where(on_back, np.where(roll < 0, -1, 1), roll)
    return _pressed(pitch), _pressed(yaw), _pressed(roll)


def _pressed(wanted: FloatArray) -> FloatArray:
    """Return −1, 0 or 1 for inputs (n,) that have no levels between."""
    pressed: FloatArray = np.sign(wanted) * (np.abs(wanted) > 0.2)
    return pressed


def _controls(**inputs: FloatArray | BoolArray) -> FloatArray:
    """Return inputs (n, control) by name; those that are not given are 0."""
    controls = np.zeros((len(inputs["jump"]), len(CONTROLS)), dtype=np.float32)
    for name, values in inputs.items():
        controls[:, CONTROLS.index(name)] = values
    return controls
