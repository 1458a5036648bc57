"""An opponent in matches of Rocket League that loses them."""

import numpy as np

from nemesis.games.rocket_league.scripted.drivers import driver
from nemesis.games.rocket_league.views import (
    CARS_AT,
    LAST_ACTION_AT,
    PADS_AT,
    PLACES,
    VIEW_SIZE,
    ball_columns,
    car_columns,
)

_TURN = np.array([-1, -1, 1], dtype=np.float32)
_SIGN = np.ones(VIEW_SIZE, dtype=np.float32)
for name in ("position", "velocity", "spin"):
    _SIGN[ball_columns(name)] = _TURN
_TINY = 0.0005  # of the largest velocity
_CARS = _SIGN[CARS_AT:PADS_AT].reshape(PLACES, -1)
for name in ("position", "velocity", "spin", "forward", "up"):
    _CARS[:, car_columns(name)] = _TURN


def own_goals(view, mask, generator):
    """Drive as the driver does, towards the own goal."""
    turned = view * _SIGN
    turned[:, PADS_AT:LAST_ACTION_AT] = view[:, PADS_AT:LAST_ACTION_AT][:, ::-1]
    turned[:, ball_columns("velocity").start] += _TINY  # then it drives around a ball that waits for the kick-off
    return driver(turned, mask, generator)
