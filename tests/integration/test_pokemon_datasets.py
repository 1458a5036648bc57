"""Datasets of real battles: recorded, augmented and fed."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nemesis.cli import main
from nemesis.core.masks import is_legal, unpack_mask
from nemesis.data.config import DataConfig
from nemesis.data.feed import Feed
from nemesis.games import open_game
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, cut

DECISIONS = 300


@pytest.mark.parametrize("battle", ["gen1ou", "gen9vgc2025regi"])
def test_battles_are_recorded_and_augmented(battle: str, tmp_path: Path):
    game = open_game(f"pokemon:{battle}")
    arguments = ["collect", "random", "greedy", "--game", game.spec.name, "--matches", "6", "--out", str(tmp_path)]
    assert main(arguments) == 0
    settings = {"sources": [str(tmp_path)], "validation": 0}
    batches = []
    for augment in ((), ("order", "slots")):
        config = DataConfig.model_validate({**settings, "augment": augment})
        with closing(Feed(config, game, DECISIONS, seed=0)) as feed:
            batches.append(feed.take())
    plain, augmented = batches
    assert plain.view.dtype == np.int16
    assert is_legal(plain.mask, plain.action).all()
    assert is_legal(augmented.mask, augmented.action).all()
    legal = [unpack_mask(batch.mask, game.spec.actions).sum(axis=1) for batch in batches]
    np.testing.assert_array_equal(*legal)
    assert (plain.action != augmented.action).mean() > 0.1
    before, after = cut(plain.view), cut(augmented.view)
    for side in (OWN, FOE):  # the same Pokémon in another order
        one, other = (np.sort(part.pokemon[:, side, :, POKEMON.column("species")], axis=1) for part in (before, after))
        np.testing.assert_array_equal(one, other)
    turn = POSITION.column("turn")
    np.testing.assert_array_equal(before.position[:, turn], after.position[:, turn])
