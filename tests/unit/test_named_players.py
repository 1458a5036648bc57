"""Names of players mean the same in tournaments, in environments and for `nemesis watch`."""

from pathlib import Path

import pytest
import torch
from duel import Duel, register

from nemesis.core.errors import UserError
from nemesis.environments.opponents import opponent_for
from nemesis.evaluation.entrants import Entrants
from nemesis.games.config import GameConfig
from nemesis.play.named_players import check_player
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player, RandomPlayer, ScriptedPlayer
from nemesis.play.policy_players import PolicyPlayer
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.policy_files import save_policy

torch.set_num_threads(1)


def opened(game: Duel, name: str) -> list[Player]:
    """Return the player of that name as a tournament and as an environment opens it."""
    return [
        Entrants(game, GameConfig(game=game.spec.name), [name], PlayOptions()).open(name, 2, 0),
        opponent_for(game, name, 2)(0),
    ]


def test_scripted_players_and_functions_are_opened_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "first_legal.py").write_text("def choose(view, mask, generator):\n    return mask.argmax(axis=1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name, kind in (("random", RandomPlayer), ("timid", ScriptedPlayer), ("first_legal:choose", ScriptedPlayer)):
        assert [type(player) for player in opened(Duel(), name)] == [kind, kind]


def test_what_exists_on_disk_is_a_policy_even_if_it_is_named_like_a_scripted_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    game, small = register(monkeypatch, Duel()), PolicyConfig(width=8, layers=1)
    save_policy(Path("timid"), build_policy(game, small), small, game, {})
    assert [type(player) for player in opened(game, "timid")] == [PolicyPlayer, PolicyPlayer]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "bald",
            r"has no opponent called 'bald'\. It has random, timid, bold\..* There is no run, checkpoint",
        ),
        ("runs/bald", "runs/bald"),
        ("shipped:bald", "There is no shipped:bald"),
    ],
)
def test_what_is_no_player_is_refused(name: str, sentence: str):
    with pytest.raises(UserError, match=sentence):
        check_player(Duel(), name)
