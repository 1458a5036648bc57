"""Datasets of real battles: recorded, retold and fed."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nemesis.cli import main
from nemesis.data.config import DataConfig
from nemesis.data.feed import Feed
from nemesis.games import open_game
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, cut

DECISIONS = 300


@pytest.mark.parametrize("battle", ["gen1ou", "gen9vgc2025regi"])
def test_battles_are_recorded_and_retold(battle: str, tmp_path: Path):
    game = open_game(f"pokemon:{battle}")
    arguments = ["collect", "random", "greedy", "--game", game.spec.name, "--matches", "6", "--out", str(tmp_path)]
    assert main(arguments) == 0
    settings = {"sources": [str(tmp_path)], "validation": 0}
    batches = []
    for augment in ((), ("order", "slots")):
        config = DataConfig.model_validate({**settings, "augment": augment})
        with closing(Feed(config, game, DECISIONS, seed=0)) as feed:
            batches.append(feed.take())
    plain, retold = batches
    assert plain.view.dtype == np.int16
    rows = np.arange(plain.decisions)
    assert plain.mask[rows, plain.action].all()
    assert retold.mask[rows, retold.action].all()
    np.testing.assert_array_equal(plain.mask.sum(axis=1), retold.mask.sum(axis=1))
    assert (plain.action != retold.action).mean() > 0.1
    before, after = cut(plain.view), cut(retold.view)
    for side in (OWN, FOE):  # the same Pokémon, elsewhere
        one, other = (np.sort(part.pokemon[:, side, :, POKEMON.column("species")], axis=1) for part in (before, after))
        np.testing.assert_array_equal(one, other)
    turn = POSITION.column("turn")
    np.testing.assert_array_equal(before.position[:, turn], after.position[:, turn])
