"""From a game to the spaces of an environment, and from a match's end to rewards."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.game import FloatArray, Game, GameSpec, Results, is_counted, is_terminated, side_of
from nemesis.games import family_of, open_game
from nemesis.games.config import GameConfig

MASK_TYPE = np.int8  # what gymnasium's Discrete.sample takes


def as_game(game: str | Game, settings: Mapping[str, Any] | None) -> Game:
    """Return the game of a name, with settings of its family, or the game itself."""
    if not isinstance(game, str):
        if settings:
            raise UserError("Settings belong to a game that is given by name; this one is open already.")
        return game
    if not settings:
        return open_game(game)
    family = family_of(game)
    group = "game_settings" if family is None else family.name
    return build_config(GameConfig, {"game": game, group: dict(settings)}).open_game()


def view_type(spec: GameSpec) -> type[np.int16] | type[np.float32]:
    """Return the type of a view's numbers."""
    return np.int16 if spec.view_bytes == 2 else np.float32


def view_space(spec: GameSpec) -> Box:
    """Return the space of views; integers have the limits of their type, floats have none."""
    dtype = view_type(spec)
    low, high = (np.iinfo(np.int16).min, np.iinfo(np.int16).max) if dtype is np.int16 else (-np.inf, np.inf)
    return Box(low, high, (spec.view_size,), dtype)


def mask_space(spec: GameSpec) -> Box:
    """Return the space of action masks."""
    return Box(0, 1, (spec.actions,), MASK_TYPE)


def action_space(spec: GameSpec) -> "Discrete[np.int64]":
    """Return the space of actions."""
    return Discrete(spec.actions)


def paid(reward: FloatArray, weights: FloatArray | None) -> npt.NDArray[np.float64]:
    """Return rewards (…,) as they are, or the sum of components (…, component) with weights (component,)."""
    return (reward if weights is None else reward @ weights).astype(np.float64)


def final_rewards(results: Results, spec: GameSpec, weights: FloatArray | None) -> npt.NDArray[np.float64]:
    """Return what the seats get when matches end: (m, seat).

    That is the return of the seat's side in a match that ended by the rules, and the game's own rewards since the
    seat's last decision, unless the match is voided. Weights (component,) are those of reward components, if any.
    """
    returns = results.returns[:, side_of(np.arange(spec.seats))]
    total = np.where(is_terminated(results.end_reason)[:, None], returns, 0).astype(np.float64)
    if results.reward is not None:
        total += np.where(is_counted(results.end_reason)[:, None], paid(results.reward, weights), 0)
    return total


def check_seat(seat: int | None, spec: GameSpec) -> None:
    """Raise unless the game has this seat, or None for seats 0 and 1 in turn."""
    if seat is not None and not 0 <= seat < spec.seats:
        raise UserError(f"{spec.name} has seats 0 to {spec.seats - 1}, and no seat {seat}; None takes 0 and 1 in turn.")
