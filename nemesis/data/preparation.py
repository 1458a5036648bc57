"""From stored episodes to what a learner takes: guesses hidden and battles retold, if so configured."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import AugmentedGame, BoolArray, Game, GuessedGame
from nemesis.core.trajectory import Trajectories
from nemesis.data.config import DataConfig
from nemesis.data.episodes import Episodes


class Preparation:
    """Prepares episodes of one game."""

    def __init__(self, config: DataConfig, game: Game) -> None:
        self._config = config
        self._actions = game.spec.actions
        self._hide = game.without_guesses if isinstance(game, GuessedGame) else _hidden
        self._game = _augmenter(config, game)

    def trajectories(self, episodes: Episodes, seed: Sequence[int]) -> Trajectories:
        """Return episodes as they are learned from; the seed decides how they are retold."""
        trajectories = episodes.trajectories(self._actions, version=0)
        if self._config.hide_guesses and episodes.guessed is not None:
            guessed = np.unpackbits(episodes.guessed, axis=1, count=episodes.view.shape[1]).view(np.bool_)
            trajectories = replace(trajectories, view=self._hide(episodes.view, guessed))
        if self._game is None:
            return trajectories
        masks = [trajectories.mask] if trajectories.possible is None else [trajectories.mask, trajectories.possible]
        view, retold, action = self._game.augment(
            self._config.augment,
            trajectories.view,
            np.stack(masks, axis=1),
            trajectories.action,
            np.repeat(np.arange(trajectories.episodes), trajectories.lengths),
            np.random.default_rng(tuple(seed)),
        )
        mask, possible = retold[:, 0], retold[:, 1] if len(masks) > 1 else None
        return replace(trajectories, view=view, mask=mask, action=action, possible=possible)


def _hidden(view: npt.NDArray[Any], guessed: BoolArray) -> npt.NDArray[Any]:
    return view * ~guessed


def _augmenter(config: DataConfig, game: Game) -> AugmentedGame | None:
    if not config.augment:
        return None
    if not isinstance(game, AugmentedGame):
        raise UserError(f"data.augment is nothing for {game.spec.name}, whose episodes can be told in one way alone.")
    for name in config.augment:
        if name not in game.augmentations:
            raise UserError(f"data.augment has '{name}'; {game.spec.name} knows {', '.join(game.augmentations)}.")
    return game
