"""From stored episodes to trajectories: hides guesses and augments episodes, if so configured."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import AugmentedGame, BoolArray, Game, GuessedGame
from nemesis.core.masks import pack_mask, unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.data.config import DataConfig
from nemesis.data.episodes import Episodes


class Augmentation:
    """Prepares episodes of one game for a learner."""

    def __init__(self, config: DataConfig, game: Game) -> None:
        self._names = config.augment
        self._hide_guesses = config.hide_guesses
        self._actions = game.spec.actions
        self._without_guesses = game.without_guesses if isinstance(game, GuessedGame) else _without_guesses
        self._game = _augmented_game(config, game)

    def trajectories(self, episodes: Episodes, seed: Sequence[int]) -> Trajectories:
        """Return episodes as trajectories; the seed determines how they are augmented."""
        trajectories = episodes.trajectories()
        if self._hide_guesses and episodes.guessed is not None:
            guessed = unpack_mask(episodes.guessed, episodes.view.shape[1])
            trajectories = replace(trajectories, view=self._without_guesses(episodes.view, guessed))
        if self._game is None:
            return trajectories
        mask, possible = trajectories.mask, trajectories.possible
        packed = mask[:, None] if possible is None else np.stack([mask, possible], axis=1)
        view, legal, action = self._game.augment(
            self._names,
            trajectories.view,
            unpack_mask(packed, self._actions),
            trajectories.action,
            np.repeat(np.arange(trajectories.episodes), trajectories.lengths),
            np.random.default_rng(tuple(seed)),
        )
        packed = pack_mask(legal)
        return replace(
            trajectories,
            view=view,
            mask=packed[:, 0],
            action=action,
            possible=None if possible is None else packed[:, 1],
        )


def _without_guesses(view: npt.NDArray[Any], guessed: BoolArray) -> npt.NDArray[Any]:
    return view * ~guessed


def _augmented_game(config: DataConfig, game: Game) -> AugmentedGame | None:
    if not config.augment:
        return None
    if not isinstance(game, AugmentedGame):
        raise UserError(f"{game.spec.name} has no augmentations; leave data.augment empty.")
    for name in config.augment:
        if name not in game.augmentations:
            raise UserError(
                f"data.augment has '{name}'; the augmentations of {game.spec.name} are {', '.join(game.augmentations)}."
            )
    return game
