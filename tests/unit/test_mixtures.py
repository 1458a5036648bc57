"""A mixture is a player: in every match, and for each side, it draws one of its players."""

import json
from pathlib import Path

import numpy as np
import pytest
from duel import BREATH, Duel, register

from nemesis.cli import main
from nemesis.core.errors import UserError
from nemesis.core.game import Decisions
from nemesis.core.masks import pack_mask
from nemesis.evaluation.entrants import open_entrants
from nemesis.play.named_players import check_player, open_player, parts_of
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import MixturePlayer
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.mixtures import Mixture, read_mixture, write_mixture
from nemesis.storage.policy_files import save_policy

SLOTS = 400


def mixture_file(folder: Path, **players: float) -> str:
    path = folder / "mixture.json"
    write_mixture(path, Mixture("duel:plain", {}, players))
    return str(path)


def decisions(slots: int, seat: int) -> Decisions:
    """One decision of a seat in the match of every slot, in the first round."""
    number = np.arange(slots)
    view = np.tile(np.array([8, 8, 0, 0], dtype=np.int16), (slots, 1))
    return Decisions(number, number, np.full(slots, seat), view, pack_mask(np.tile(np.arange(4) < BREATH, (slots, 1))))


def test_a_player_is_drawn_for_every_match_and_side_and_kept_until_its_end(tmp_path: Path):
    player = open_player(Duel(), mixture_file(tmp_path, timid=1, bold=3), SLOTS, 0, PlayOptions())
    first = player.act(decisions(SLOTS, 0)).action
    assert set(first.tolist()) == {0, 2}
    assert np.mean(first == 2) == pytest.approx(0.75, abs=0.07)
    other = player.act(decisions(SLOTS, 1)).action
    assert 0.2 < np.mean(first != other) < 0.55  # 0.375 if drawn independently
    assert (player.act(decisions(SLOTS, 0)).action == first).all()
    player.forget(np.arange(SLOTS // 2))
    again = player.act(decisions(SLOTS, 0)).action
    assert (again != first)[: SLOTS // 2].any()
    assert (again == first)[SLOTS // 2 :].all()


def test_a_restored_mixture_goes_on_as_the_saved_one(tmp_path: Path):
    name = mixture_file(tmp_path, random=1, bold=1, timid=1)
    one, other = (open_player(Duel(), name, SLOTS, seed, PlayOptions()) for seed in (0, 1))
    one.act(decisions(SLOTS, 0))
    other.restore(one.snapshot())
    for player in (one, other):
        player.forget(np.arange(5))
    assert (one.act(decisions(SLOTS, 0)).action == other.act(decisions(SLOTS, 0)).action).all()


def test_players_without_a_match_are_closed():
    opened = []

    def open_numbered(number: int, seed: int):
        opened.append(number)
        return open_player(Duel(), "timid", SLOTS, seed, PlayOptions())

    player = MixturePlayer(open_numbered, np.ones(100).tolist(), SLOTS, 0)
    player.act(decisions(SLOTS, 0))
    assert len(opened) > 90
    player.forget(np.arange(SLOTS))
    assert len(player._players) <= 8


def test_policies_of_a_mixture_are_found_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    game, config = register(monkeypatch, Duel()), PolicyConfig(width=8, layers=1)
    save_policy(tmp_path / "policy.safetensors", build_policy(game, config), config, game, {})
    name = mixture_file(tmp_path, bold=1, **{"policy.safetensors": 3})
    assert parts_of(name) == ["bold", str(tmp_path / "policy.safetensors")]
    assert read_mixture(Path(name)).players == {"bold": 0.25, str(tmp_path / "policy.safetensors"): 0.75}
    entrants = open_entrants([name, "timid"], None, [])
    assert entrants.game is game
    assert len(entrants.open(name, 2, 0).act(decisions(2, 0)).action) == 2


def test_a_mixture_is_a_player_of_a_tournament(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    register(monkeypatch, Duel())
    assert main(["evaluate", mixture_file(tmp_path, timid=1, bold=1), "timid", "--matches", "20"]) == 0
    assert "mixture.json against timid: win rate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"format": 1}', "is not a mixture of players; such a file has"),
        ("{", "is not a mixture of players, or it is damaged"),
        ('{"format": 2, "game": "a:b", "settings": {}, "mixture": {"a": 1}}', "has format 2"),
        ('{"format": 1, "game": "a:b", "settings": {}, "mixture": {"a": -1}}', "not a number of at least 0, that of a"),
        ('{"format": 1, "game": "a:b", "settings": {}, "mixture": {"a": 0}}', "no player with a weight above 0"),
    ],
)
def test_a_file_that_is_no_mixture_is_refused(content: str, sentence: str, tmp_path: Path):
    path = tmp_path / "mixture.json"
    path.write_text(content)
    with pytest.raises(UserError, match=sentence):
        check_player(Duel(), str(path))


def test_a_mixture_of_mixtures_and_one_of_unknown_players_are_refused(tmp_path: Path):
    name = mixture_file(tmp_path, nobody=1)
    with pytest.raises(UserError, match="no opponent called 'nobody'"):
        check_player(Duel(), name)
    outer = tmp_path / "outer.json"
    content = {"format": 1, "game": "duel:plain", "settings": {}, "mixture": {"mixture.json": 1}}
    outer.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"is a mixture of .*mixture\.json, which is another"):
        check_player(Duel(), str(outer))


def test_code_that_a_mixture_names_is_imported_only_with_permission(tmp_path: Path):
    name = mixture_file(tmp_path, **{"duel:always": 1})
    with pytest.raises(UserError, match="names code to import: duel:always"):
        check_player(Duel(), name)
    check_player(Duel(), name, imports=True)
