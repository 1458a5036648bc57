"""The last checkpoints of a run, opened as one player."""

import shutil
from pathlib import Path

import pytest
import torch
from episodes import KUHN, opened
from rich.console import Console

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.runtime.assembly import load_policy
from nemesis.runtime.config import RunConfig
from nemesis.runtime.policy_players import open_last_checkpoints
from nemesis.runtime.training import train

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


@pytest.mark.parametrize("average", [False, True])
def test_the_newest_checkpoints_play_as_one(run: Path, average: bool):
    ensemble = open_last_checkpoints(run, opened(KUHN), 2, average)
    for policy, update in zip(ensemble.policies, (4, 3), strict=True):
        expected = load_policy(run / "checkpoints" / f"update-{update:08d}", average).state_dict()
        for name, weights in policy.state_dict().items():
            torch.testing.assert_close(weights, expected[name], rtol=0, atol=0)


def test_a_damaged_checkpoint_is_passed_over(run: Path, tmp_path: Path):
    other = Path(shutil.copytree(run, tmp_path / "run"))
    (other / "checkpoints" / "update-00000004" / "weights.safetensors").write_bytes(b"")
    ensemble = open_last_checkpoints(other, opened(KUHN), 2)
    expected = load_policy(run / "checkpoints" / "update-00000003")
    assert torch.equal(ensemble.policies[0].heads.value.weight, expected.heads.value.weight)


def test_too_few_checkpoints_are_an_error_that_tells_how_many_there_are(run: Path):
    with pytest.raises(UserError, match=r"has 3 whole checkpoints, and 5 were asked for"):
        open_last_checkpoints(run, opened(KUHN), 5)


def test_another_game_is_refused(run: Path):
    with pytest.raises(UserError, match=r"plays openspiel:kuhn_poker, not openspiel:leduc_poker"):
        open_last_checkpoints(run, opened("leduc_poker"), 2)
