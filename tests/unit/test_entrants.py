"""The players of a tournament share one game, with settings that all of them agree on."""

from pathlib import Path

import pytest

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.evaluation.entrants import open_entrants
from nemesis.storage.checkpoints import save_checkpoint
from nemesis.training.config import RunConfig


def checkpoint(root: Path, *overrides: str) -> str:
    """Write what a tournament reads of a checkpoint before the matches."""
    config = build_config(RunConfig, {"game": "pokemon:gen1ou"}, overrides)
    state = {"view_version": "1", "decisions": 0}
    return str(save_checkpoint(root, 1, {"weights": {}}, state, config.model_dump(mode="json")))


def test_runs_with_different_settings_of_the_game_are_refused_until_one_is_chosen(tmp_path: Path):
    names = [
        checkpoint(tmp_path / "a", "pokemon.turn_limit=100", "pokemon.hosts=1"),
        checkpoint(tmp_path / "b", "pokemon.teams=mine", "pokemon.hosts=2"),
    ]
    with pytest.raises(UserError) as caught:
        open_entrants(names, None, [])
    assert str(caught.value) == (
        f"{names[0]} and {names[1]} were trained with different settings of the game: pokemon.teams is null and "
        '"mine", pokemon.turn_limit is 100 and 300. Say which are used for all players, such as pokemon.teams=null '
        "pokemon.turn_limit=100."
    )
    entrants = open_entrants(names, None, ["pokemon.teams=null", "pokemon.turn_limit=100"])
    assert entrants.game.spec.name == "pokemon:gen1ou"
