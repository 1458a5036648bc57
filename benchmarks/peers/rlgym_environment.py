"""RLGym's environment of Rocket League as its users set it up: the peer of our match pool.

RLGym 2.0.1 with its default observation, its lookup table of 90 actions repeated for 8 ticks, kick-offs, and the
endings of our pool. RLGym ships two reward functions. The others here are written as its guide teaches, and together
they pay for less than half of what our dense rewards do.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.report import MeasurementError
from nemesis.core.game import FloatArray
from nemesis.games.rocket_league.views import (
    BALL_SIZE,
    BALL_SPEED,
    BALL_SPIN,
    BOOST,
    CAR_SIZE,
    CARS_AT,
    PADS_AT,
    PLACES,
    POSITION,
    SPEED,
    SPIN,
    TEAM,
    VIEW_SIZE,
    car_columns,
)

ACTION_REPEAT = 8
TOUCH_SECONDS, MATCH_SECONDS = 30.0, 120.0
Environment: TypeAlias = Any  # rlgym.api.RLGym

_PADS, _OWN, _CAR = 34, 9, 20  # numbers in its default observation: pads, further ones of the own car, of any car
_CARS_AT = BALL_SIZE + _PADS + _OWN
_FIELDS = {"position": 0, "forward": 3, "up": 6, "velocity": 9, "spin": 12, "boost": 15, "on_ground": 17}


def is_installed() -> bool:
    """Return whether RLGym is installed."""
    return find_spec("rlgym") is not None and find_spec("rlgym.rocket_league") is not None


def check_installed() -> None:
    """Raise if RLGym is not installed."""
    if not is_installed():
        raise MeasurementError(
            "RLGym is missing. Install it with: pip install --no-deps rlgym-api==2.0.0 rlgym-rocket-league==2.0.1"
        )


def make_environment(size: int) -> Environment:
    """Return an environment with so many cars a side."""
    from rlgym.api import RLGym  # noqa: PLC0415  optional
    from rlgym.rocket_league.action_parsers import LookupTableAction, RepeatAction  # noqa: PLC0415
    from rlgym.rocket_league.done_conditions import (  # noqa: PLC0415
        AnyCondition,
        GoalCondition,
        NoTouchTimeoutCondition,
        TimeoutCondition,
    )
    from rlgym.rocket_league.obs_builders import DefaultObs  # noqa: PLC0415
    from rlgym.rocket_league.reward_functions import CombinedReward, GoalReward, TouchReward  # noqa: PLC0415
    from rlgym.rocket_league.sim import RocketSimEngine  # noqa: PLC0415
    from rlgym.rocket_league.state_mutators import (  # noqa: PLC0415
        FixedTeamSizeMutator,
        KickoffMutator,
        MutatorSequence,
    )

    return RLGym(
        state_mutator=MutatorSequence(FixedTeamSizeMutator(size, size), KickoffMutator()),
        obs_builder=DefaultObs(),
        action_parser=RepeatAction(LookupTableAction(), ACTION_REPEAT),
        reward_fn=CombinedReward(
            (GoalReward(), 1.0),
            (TouchReward(), 0.1),
            (SpeedTowardBallReward(), 0.005),
            (VelocityBallToGoalReward(), 0.02),
            (FaceBallReward(), 0.001),
            (InAirReward(), 0.005),
            (BoostKeptReward(), 0.001),
        ),
        transition_engine=RocketSimEngine(),
        termination_cond=GoalCondition(),
        truncation_cond=AnyCondition(NoTouchTimeoutCondition(TOUCH_SECONDS), TimeoutCondition(MATCH_SECONDS)),
    )


class _CarReward(ABC):
    """A reward function that looks at one car after the other."""

    def reset(self, agents: Sequence[str], state: Any, shared_info: dict[str, Any]) -> None: ...  # noqa: B027 (RLGym calls it, and there is nothing to reset)

    def get_rewards(self, agents: Sequence[str], state: Any, *_: Any) -> dict[str, float]:
        return {agent: self.reward(state.cars[agent], state) for agent in agents}

    @abstractmethod
    def reward(self, car: Any, state: Any) -> float: ...


class SpeedTowardBallReward(_CarReward):
    """The velocity of the car towards the ball, if it is positive."""

    def reward(self, car: Any, state: Any) -> float:
        towards = state.ball.position - car.physics.position
        return max(float(np.dot(car.physics.linear_velocity, towards / np.linalg.norm(towards))) / SPEED, 0.0)


class VelocityBallToGoalReward(_CarReward):
    """The velocity of the ball towards the goal that the car attacks."""

    def reward(self, car: Any, state: Any) -> float:
        goal = np.array([0, -5120 if car.is_orange else 5120, 321.0], dtype=np.float32)
        towards = goal - state.ball.position
        return float(np.dot(state.ball.linear_velocity, towards / np.linalg.norm(towards))) / BALL_SPEED


class FaceBallReward(_CarReward):
    """The cosine of the angle between the front of the car and the ball."""

    def reward(self, car: Any, state: Any) -> float:
        towards = state.ball.position - car.physics.position
        return float(np.dot(car.physics.forward, towards / np.linalg.norm(towards)))


class InAirReward(_CarReward):
    """1 in the air."""

    def reward(self, car: Any, state: Any) -> float:  # noqa: ARG002
        return float(not car.on_ground)


class BoostKeptReward(_CarReward):
    """The root of the boost."""

    def reward(self, car: Any, state: Any) -> float:  # noqa: ARG002
        return float(np.sqrt(car.boost_amount / BOOST))


def as_views(observation: npt.NDArray[np.float64], size: int) -> FloatArray:
    """Return default observations (n, number) in the layout of our views, so that the same network can read them.

    Columns that an observation does not have are 0.
    """
    view = np.zeros((len(observation), VIEW_SIZE), dtype=np.float32)
    ball = slice(0, BALL_SIZE)
    view[:, ball] = observation[:, ball] * np.repeat([2300 / POSITION, 2300 / BALL_SPEED, np.pi / BALL_SPIN], 3)
    view[:, PADS_AT : PADS_AT + _PADS] = observation[:, BALL_SIZE : BALL_SIZE + _PADS] == 0
    cars = observation[:, _CARS_AT:].reshape(-1, PLACES, _CAR)
    seen = view[:, CARS_AT:PADS_AT].reshape(-1, PLACES, CAR_SIZE)
    scales = {"position": 2300 / POSITION, "spin": np.pi / SPIN}
    for name, at in _FIELDS.items():
        columns = car_columns(name)
        width = columns.stop - columns.start
        seen[..., columns] = cars[..., at : at + width] * scales.get(name, 1.0)
    taken = np.arange(PLACES) % TEAM < size
    seen[..., car_columns("present")] = taken[:, None]
    seen[..., car_columns("demolished")] = cars[..., 16:17] > 0
    seen[..., car_columns("supersonic")] = cars[..., 19:20]
    view[:, CARS_AT:PADS_AT] = seen.reshape(len(view), -1)
    return view
