"""Where the ball will be: it flies, and bounces off the floor, the walls and the ceiling.

Corners, goals and spin are left out.
"""

import torch
from torch import Tensor

from nemesis.games.rocket_league.arena.soccar import BACK, HEIGHT, SIDE
from nemesis.games.rocket_league.state import BALL_RADIUS

STEP, STEPS = 0.2, 10  # of the simulation, in seconds
FORECASTS = (1, 2, 3, 5, 7, 10)  # the steps that are returned
_GRAVITY, _BOUNCE, _DRAG = 650.0, 0.6, 0.03
_HALF = (SIDE - BALL_RADIUS, BACK - BALL_RADIUS, HEIGHT / 2 - BALL_RADIUS)
_MIDDLE = (0.0, 0.0, HEIGHT / 2)


@torch.no_grad()
def forecast(position: Tensor, velocity: Tensor) -> Tensor:
    """Return where balls (n, 3), in uu and uu/s, will be: (n, forecast, 3)."""
    middle, half = position.new_tensor(_MIDDLE), position.new_tensor(_HALF)
    fall = position.new_tensor((0.0, 0.0, _GRAVITY * STEP))
    position = position - middle
    places = []
    for step in range(1, STEPS + 1):
        velocity = velocity * (1 - _DRAG * STEP) - fall
        position = position + velocity * STEP
        beyond = position.abs() > half
        position = position.clamp(-half, half)
        velocity = torch.where(beyond, -_BOUNCE * velocity, velocity)
        if step in FORECASTS:
            places.append(position + middle)
    return torch.stack(places, dim=1)
