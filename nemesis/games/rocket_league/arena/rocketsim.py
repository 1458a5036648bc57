"""Arenas of RocketSim that compute equal matches from equal starts and equal actions.

What RocketSim computes depends on more than the state that it lets us set. It remembers contacts, and the forces and
the friction of wheels: here a match starts after ticks in the air, on the ground and in the air again, which make them
equal. It goes through the cars in an order that follows from their addresses: here cars are made again until that order
is the one of their seats. It lets demolished cars return at random places: here they return when and where the match
says so. Then a match is the same, bit by bit, in any arena of any process.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, FloatArray
from nemesis.games.rocket_league.actions import ACTIONS
from nemesis.games.rocket_league.state import CAR_START, Start

_NEVER = 1e5  # seconds
_SETTLING = (1000.0, 17.0, 1000.0)  # heights of cars at rest before a match: in the air, on the ground, in the air
_SETTLING_TICKS = 2  # at each
_MOST_TRIES = 500  # to make cars in the right order; about half of them succeed
_BALL_APART = np.array([0, -1000, 1000, 0, 0, 0, 0, 0, 0], dtype=np.float32)


def rocketsim() -> Any:
    """Return the module RocketSim."""
    try:
        import RocketSim  # noqa: PLC0415  optional
    except ModuleNotFoundError:
        raise UserError(
            "Rocket League needs the package rocketsim; install it with `pip install 'nemesis-rl[rocketleague]'`."
        ) from None
    return RocketSim


def controls_by_action() -> list[Any]:
    """Return RocketSim's controls of each action."""
    made = []
    for row in ACTIONS.tolist():
        one = rocketsim().CarControls()
        one.throttle, one.steer, one.pitch, one.yaw, one.roll = row[:5]
        one.jump, one.boost, one.handbrake = (value > 0 for value in row[5:])
        made.append(one)
    return made


class Arena(NamedTuple):
    """An arena with its cars in the order of seats. It stops at the tick of a goal."""

    arena: Any
    cars: Sequence[Any]

    @classmethod
    def make(cls, cars: int) -> "Arena":
        """Make an arena with the collision meshes that are in use (`meshes.use_meshes`)."""
        module = rocketsim()
        arena = module.Arena(module.GameMode.SOCCAR)
        rules = arena.get_mutator_config()
        rules.respawn_delay = _NEVER
        arena.set_mutator_config(rules)
        arena.set_goal_score_callback(_stop)
        occupied: list[Any] = []  # cars at the addresses of those that were in the wrong order
        for attempt in range(_MOST_TRIES):
            made = cls(arena, [arena.add_car(seat % SIDES) for seat in range(cars)])
            if made._order() == list(range(cars)):
                return made
            for car in reversed(made.cars):
                arena.remove_car(car)
            del made, car
            other = module.Arena(module.GameMode.SOCCAR, config=module.ArenaConfig(use_custom_broadphase=False))
            occupied.append((other, [other.add_car(0) for _ in range(1 + attempt % 5)]))
        raise RuntimeError("RocketSim has not made cars in the order of their seats.")

    def begin(self, start: Start) -> None:
        """Set the state that a match starts from."""
        for height in _SETTLING:
            self._set(Start(_BALL_APART, _apart(len(self.cars), height)))
            self.arena.step(_SETTLING_TICKS)
        self._set(start)
        full = rocketsim().BoostPadState()
        for pad in self.arena.get_boost_pads():
            pad.set_state(full)
        self.arena.get_gym_state()  # which cars touched the ball is counted from here

    def _set(self, start: Start) -> None:
        module = rocketsim()
        neutral, ball = module.CarControls(), module.BallState()
        ball.pos, ball.vel, ball.ang_vel = (module.Vec(*vector) for vector in start.ball.reshape(3, 3).tolist())
        self.arena.ball.set_state(ball)
        for car, row in zip(self.cars, start.car, strict=True):
            position, velocity, spin, forward, up = row[:15].reshape(5, 3)
            state = module.CarState()
            state.pos, state.vel, state.ang_vel = (module.Vec(*one.tolist()) for one in (position, velocity, spin))
            state.rot_mat = module.RotMat(*forward.tolist(), *np.cross(up, forward).tolist(), *up.tolist())
            state.boost, state.is_on_ground = float(row[15]), bool(row[16])
            car.set_state(state)
            car.set_controls(neutral)

    def _order(self) -> list[int]:
        """Return the order in which RocketSim goes through the cars: the first gets the boost that all reach."""
        pad = next(pad for pad in self.arena.get_boost_pads() if pad.is_big)
        x, y, _ = pad.get_pos().as_tuple()
        order: list[int] = []
        while len(order) < len(self.cars):
            cars = _apart(len(self.cars))
            for seat in set(range(len(self.cars))) - set(order):
                cars[seat, :3] = x + 130 * (seat % 3 - 1), y + 120 * (seat // 3) - 60, 60
            self._set(Start(_BALL_APART, cars))
            pad.set_state(rocketsim().BoostPadState())
            self.arena.step(1)
            order.append(int(np.argmax([car.get_state().boost for car in self.cars])))
        return order


def _apart(cars: int, height: float = _SETTLING[0]) -> FloatArray:
    """Return cars (seat, 17) at rest, without boost, that do not touch each other."""
    rows = np.zeros((cars, CAR_START), dtype=np.float32)
    rows[:, 0], rows[:, 1], rows[:, 2] = 500 * np.arange(cars) - 1250, 1000, height
    rows[:, 9], rows[:, 14] = 1, 1  # forward is +x, up is +z
    return rows


def _stop(arena: Any, **event: Any) -> None:  # noqa: ARG001
    arena.stop()
