"""The encoder: the own car with the ball as one vector, which attends to the other cars, in any number and order.

Relative positions and velocities are seen from the own car: forward, right and up. The same weights serve 1v1, 2v2 and
3v3, and the order of team mates or of opponents makes no difference.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from nemesis.games.rocket_league.actions import ACTIONS, CONTROLS
from nemesis.games.rocket_league.arena.soccar import GOAL_BACK, GOAL_HEIGHT
from nemesis.games.rocket_league.network.forecast import FORECASTS, forecast
from nemesis.games.rocket_league.state import PADS
from nemesis.games.rocket_league.views import (
    BALL_SIZE,
    BALL_SPEED,
    CAR_SIZE,
    CARS_AT,
    PADS_AT,
    PLACES,
    POSITION,
    SPEED,
    TEAM,
    ball_columns,
    car_columns,
)

_HEADS = 4
_ABSENT = -1e9  # finite, so that a row without other cars is not nan
_POSITION, _VELOCITY, _SPIN, _FORWARD, _UP = (
    car_columns(name) for name in ("position", "velocity", "spin", "forward", "up")
)
_RELATIVE = 7  # numbers of `_relative`
_FORECAST = 4 * len(FORECASTS)  # numbers of `_ball_to_come`
_OWN = BALL_SIZE + CAR_SIZE + 2 * 3 + 3 * _RELATIVE + _FORECAST + PADS + len(CONTROLS)
_OTHER = CAR_SIZE + 2 * _RELATIVE + 1
_GOAL = torch.tensor([0, GOAL_BACK / POSITION, GOAL_HEIGHT / 2 / POSITION])  # that the seat attacks
_OWN_GOAL = _GOAL * torch.tensor([1, -1, 1])


class RocketLeagueEncoder(nn.Module):
    """Encodes views (…, view) as vectors (…, width); there is no context for the head."""

    goals: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(_OWN, width)
        self.other = nn.Linear(_OTHER, width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.attended = nn.Linear(width, width)
        self.register_buffer("goals", torch.stack([_GOAL, _OWN_GOAL]), persistent=False)

    def forward(self, view: Tensor) -> tuple[Tensor, None]:
        leading, view = view.shape[:-1], view.reshape(-1, view.shape[-1]).float()
        cars = view[:, CARS_AT:PADS_AT].reshape(-1, PLACES, CAR_SIZE)
        car = cars[:, :1]  # (n, 1, field)
        # Places that are empty in the whole batch, four of five in 1v1, cost nothing.
        taken = cars[:, 1:, 0].any(dim=0).nonzero()[:, 0]
        vector = self.own(self._own_features(view, car))
        vector = relu(vector + self._attend(relu(vector), self._other_features(view, car, cars, taken), cars, taken))
        return vector.reshape(*leading, vector.shape[-1]), None

    def _own_features(self, view: Tensor, car: Tensor) -> Tensor:
        """Return what describes the own car, the ball and the goals: (n, feature)."""
        frame = _frame(car)
        position, velocity = _ball(view)
        ball = _relative(car, frame, position, velocity)
        goals = _relative(car, frame, self.goals, torch.zeros_like(self.goals))  # (n, 2, relative)
        spin = _along(frame, car[..., _SPIN])
        future = _ball_to_come(car, frame, position, velocity)
        parts = [view[:, :BALL_SIZE], car[:, 0], frame[:, 0, 1], spin[:, 0], ball[:, 0], goals.flatten(1)]
        return torch.cat([*parts, future.flatten(1), view[:, PADS_AT:]], dim=1)

    def _other_features(self, view: Tensor, car: Tensor, cars: Tensor, taken: Tensor) -> Tensor:
        """Return what describes each other car in some places, relative to the own car and to the ball."""
        others = cars[:, 1 + taken]  # (n, other, field)
        seen = _relative(car, _frame(car), others[..., _POSITION], others[..., _VELOCITY])
        position, velocity = _ball(view)
        to_ball = _relative(others, _frame(others), position, velocity)
        mate = (taken < TEAM - 1).to(others.dtype).expand(len(others), -1)
        return torch.cat([others, seen, to_ball, mate[..., None]], dim=-1)

    def _attend(self, own: Tensor, features: Tensor, cars: Tensor, taken: Tensor) -> Tensor:
        """Return what the own car (n, width) attends to in other cars (n, other, feature): (n, width)."""
        other = relu(self.other(features))  # (n, other, width)
        if other.shape[1] == 1:  # as in 1v1: all attention is on this one, whatever its score
            alone: Tensor = self.attended(other[:, 0])
            return alone
        query, key, value = (_by_head(one) for one in (self.query(own), self.key(other), other))
        score = torch.einsum("nhd,nohd->nho", query, key) / key.shape[-1] ** 0.5
        present = cars[:, 1 + taken, 0] > 0
        weight = torch.where(present[:, None], score, _ABSENT).softmax(dim=-1)
        attended: Tensor = self.attended(torch.einsum("nho,nohd->nhd", weight, value).flatten(1))
        return attended


class RocketLeagueActionHead(nn.Module):
    """Maps features (…, width) to logits (…, action), near uniform at first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, len(ACTIONS))
        nn.init.normal_(self.linear.weight, std=0.01 / width**0.5)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor, context: None) -> Tensor:  # noqa: ARG002 (the interface of all action heads)
        logits: Tensor = self.linear(features)
        return logits


def _by_head(vector: Tensor) -> Tensor:
    return vector.reshape(*vector.shape[:-1], _HEADS, vector.shape[-1] // _HEADS)


def _ball(view: Tensor) -> tuple[Tensor, Tensor]:
    """Return position and velocity of the ball (n, 1, 3), in the units of cars."""
    position, velocity = (view[:, None, ball_columns(name)] for name in ("position", "velocity"))
    return position, velocity * (BALL_SPEED / SPEED)


def _frame(cars: Tensor) -> Tensor:
    """Return the axes of cars (n, car, field): (n, car, axis, 3)."""
    forward, up = cars[..., _FORWARD], cars[..., _UP]
    return torch.stack([forward, torch.linalg.cross(up, forward), up], dim=-2)


def _relative(cars: Tensor, frame: Tensor, position: Tensor, velocity: Tensor) -> Tensor:
    """Return how cars (n, car, field) see bodies: relative position and velocity along their axes, and the distance.

    Either there is one car for all bodies, or one body (n or 1, 3) for all cars.
    """
    away, faster = position - cars[..., _POSITION], velocity - cars[..., _VELOCITY]
    return torch.cat([_along(frame, away), _along(frame, faster), away.norm(dim=-1, keepdim=True)], dim=-1)


def _along(frame: Tensor, vector: Tensor) -> Tensor:
    """Return vectors (n, car, 3) along the axes of cars."""
    return torch.einsum("ncai,nci->nca", frame.expand(-1, vector.shape[1], -1, -1), vector)


def _ball_to_come(car: Tensor, frame: Tensor, position: Tensor, velocity: Tensor) -> Tensor:
    """Return where the ball will be, as the own car (n, 1, field) sees it now, and how far: (n, forecast, 4)."""
    away = forecast(position[:, 0] * POSITION, velocity[:, 0] * SPEED) / POSITION - car[..., _POSITION]
    return torch.cat([_along(frame, away), away.norm(dim=-1, keepdim=True)], dim=-1)
