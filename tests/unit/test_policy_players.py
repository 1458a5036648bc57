"""Policies as players: in the style that they were exported with, or as one with a run's last checkpoints."""

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from episodes import KUHN, opened
from rich.console import Console

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.play.play_options import PlayOptions
from nemesis.play.policy_players import open_ensemble, open_policy_player
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.policies.play_style import PlayStyle
from nemesis.storage.policies import Weights, find_policy, load_policy
from nemesis.storage.policy_files import save_policy
from nemesis.training.config import RunConfig
from nemesis.training.loop import train

SETTINGS = {
    "game": f"openspiel:{KUHN}",
    "updates": 4,
    "collection": {"slots": 8, "decisions": 64},
    "policy": {"width": 16, "layers": 1, "memory": "gru"},
    "checkpoints": {"interval": 1, "keep_last": 3},
    "tracking": {"tensorboard": False},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(build_config(RunConfig, SETTINGS), path, Console(quiet=True))
    return path


@pytest.mark.parametrize("weights", ["last", "average"])
def test_the_newest_checkpoints_play_as_one(run: Path, weights: Weights):
    ensemble = open_ensemble(run, opened(KUHN), PlayOptions(ensemble=2, weights=weights))
    for policy, update in zip(ensemble.policies, (4, 3), strict=True):
        expected = load_policy(run / "checkpoints" / f"update-{update:08d}", weights).state_dict()
        for name, tensor in policy.state_dict().items():
            torch.testing.assert_close(tensor, expected[name], rtol=0, atol=0)


def test_everything_that_opens_a_run_takes_the_averaged_weights_by_default(run: Path):
    average, last = load_policy(run, "average"), load_policy(run, "last")
    player = open_policy_player(run, opened(KUHN), slots=2, seed=0, options=PlayOptions())
    for policy in (load_policy(run), find_policy(run).load(opened(KUHN)), player._policy):
        assert torch.equal(policy.heads.value.weight, average.heads.value.weight)
        assert not torch.equal(policy.heads.value.weight, last.heads.value.weight)
    with pytest.raises(UserError, match=r"^weights must be one of average, last, not 'best'\.$"):
        load_policy(run, "best")  # type: ignore[arg-type]


def test_a_damaged_checkpoint_is_skipped(run: Path, tmp_path: Path):
    other = Path(shutil.copytree(run, tmp_path / "run"))
    (other / "checkpoints" / "update-00000004" / "weights.safetensors").write_bytes(b"")
    ensemble = open_ensemble(other, opened(KUHN), PlayOptions(ensemble=2, weights="last"))
    expected = load_policy(run / "checkpoints" / "update-00000003", "last")
    assert torch.equal(ensemble.policies[0].heads.value.weight, expected.heads.value.weight)


def test_too_few_checkpoints_are_an_error_that_says_how_many_there_are(run: Path):
    with pytest.raises(UserError, match=r"has 3 valid checkpoints, and 5 were asked for"):
        open_ensemble(run, opened(KUHN), PlayOptions(ensemble=5))


def test_another_game_is_refused(run: Path):
    with pytest.raises(UserError, match=r"plays openspiel:kuhn_poker, not openspiel:leduc_poker"):
        open_ensemble(run, opened("leduc_poker"), PlayOptions(ensemble=2))


def test_a_policy_file_plays_as_it_was_exported_unless_asked_otherwise(tmp_path: Path):
    game = opened(KUHN)
    config = PolicyConfig(width=16, layers=1)
    file = tmp_path / "policy.safetensors"
    save_policy(file, build_policy(game, config), config, game, {}, PlayStyle(temperature=0))
    with closing(game.pool(512, 0)) as pool:
        waiting, _ = pool.recv()

    def most_answers(play_options: PlayOptions) -> int:
        """Return how many different answers there are to one view, at most."""
        action = open_policy_player(file, game, 512, 0, play_options).act(waiting).action
        return max(len(set(action[(waiting.view == view).all(axis=1)])) for view in np.unique(waiting.view, axis=0))

    assert most_answers(PlayOptions()) == 1
    assert most_answers(PlayOptions(PlayStyle())) == 2
