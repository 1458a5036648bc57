"""A policy in one file: the same network again, or a sentence that says why not."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch
from episodes import KUHN, LEDUC, opened
from rich.console import Console

from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage import policies
from nemesis.storage.checkpoints import save_checkpoint
from nemesis.storage.policies import find_checkpoint, find_policy, load_policy, policy_path
from nemesis.storage.policy_files import read_header, save_policy
from nemesis.training.config import RunConfig
from nemesis.training.loop import train
from nemesis.training.run import Run

CONFIG = PolicyConfig(width=16, layers=1, memory="gru")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    game = opened(LEDUC)
    torch.manual_seed(0)
    save_policy(tmp_path / "policy.safetensors", build_policy(game, CONFIG), CONFIG, game, {"by": "somebody"})
    return tmp_path / "policy.safetensors"


def test_the_same_network_comes_back(file: Path):
    torch.manual_seed(0)
    expected = build_policy(opened(LEDUC), CONFIG).state_dict()
    before = torch.get_rng_state()
    policy = find_policy(file).load(opened(LEDUC))
    assert torch.equal(torch.get_rng_state(), before)  # opening one changes no run
    assert not policy.training
    for name, weights in policy.state_dict().items():
        assert torch.equal(weights, expected[name])
    header = read_header(file)
    assert (header.game, header.policy, header.about) == (f"openspiel:{LEDUC}", CONFIG, {"by": "somebody"})


def test_another_game_is_refused(file: Path):
    with pytest.raises(UserError, match=r"plays openspiel:leduc_poker, not openspiel:kuhn_poker"):
        find_policy(file).load(opened(KUHN))


class InWorld:
    """A game in one of several worlds."""

    def __init__(self, name: str, world: str) -> None:
        self.spec = replace(opened(name).spec, world=world)


def test_another_world_is_played_in_with_a_warning(file: Path, caplog: pytest.LogCaptureFixture):
    trained = rewritten(file, world="the arena A")
    find_policy(trained).check(InWorld(LEDUC, "the arena A"))
    find_policy(file).check(InWorld(LEDUC, "the arena A"))  # it says nothing of where it was trained
    assert not caplog.messages
    find_policy(trained).check(InWorld(LEDUC, "the arena B"))
    assert caplog.messages == [f"{trained} was trained in the arena A, and plays in the arena B here."]


def rewritten(file: Path, **changes: object) -> Path:
    """Return a copy of a file whose header says something else."""
    with safetensors.safe_open(file, "pt") as opened_file:
        head = json.loads(opened_file.metadata()["nemesis"])
    other = file.with_name("other.safetensors")
    safetensors.torch.save_file(safetensors.torch.load_file(file), other, {"nemesis": json.dumps(head | changes)})
    return other


def test_another_version_of_the_view_record_is_refused(file: Path):
    with pytest.raises(UserError, match=r"reads another version of the view record"):
        find_policy(rewritten(file, view_version="older")).load(opened(LEDUC))


def test_a_checkpoint_of_another_version_of_the_view_record_is_refused(tmp_path: Path):
    game = opened(LEDUC)
    policy = build_policy(game, CONFIG).state_dict()
    config = build_config(RunConfig, {"game": f"openspiel:{LEDUC}", "policy": CONFIG.model_dump(mode="json")})
    state = {"view_version": "older", "decisions": 0}
    path = save_checkpoint(tmp_path, 1, {"weights": policy, "average": policy}, state, config.model_dump(mode="json"))
    for weights in ("last", "average"):
        with pytest.raises(UserError, match=r"update-00000001 reads another version of the view record of openspiel"):
            find_policy(path).load(game, weights)
    with closing(Run(config, tmp_path)) as run, pytest.raises(UserError, match=r"another version of the view record"):
        run.restore(find_checkpoint(path))


def test_a_checkpoint_that_does_not_describe_its_policy_is_damaged(tmp_path: Path):
    path = save_checkpoint(tmp_path, 1, {"weights": {}}, {}, {"game": f"openspiel:{LEDUC}", "policy": {}})
    with pytest.raises(UserError, match=r"update-00000001 is damaged: it does not describe its policy"):
        find_policy(path)


def test_a_newer_format_is_refused(file: Path):
    with pytest.raises(UserError, match=r"has format 99"):
        read_header(rewritten(file, format=99))


def test_weights_that_do_not_fit_are_refused(file: Path):
    policy = CONFIG.model_dump(mode="json") | {"width": 24}
    with pytest.raises(UserError, match=r"has another shape: .* is \(16, .* there and \(24, .* here\. Set policy"):
        find_policy(rewritten(file, policy=policy)).load(opened(LEDUC))


def test_a_policy_with_other_parts_is_refused(file: Path):
    policy = CONFIG.model_dump(mode="json") | {"action_values": True}
    with pytest.raises(UserError, match=r"has another shape: only the policy here has heads\.action_values"):
        find_policy(rewritten(file, policy=policy)).load(opened(LEDUC))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 64])
def test_what_is_no_policy_is_said_to_be_none(tmp_path: Path, content: bytes):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UserError, match=r"is not a policy file of Nemesis, or it is damaged"):
        read_header(tmp_path / "file")


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path):
    with pytest.raises(UserError, match=r"There is no policy at"):
        read_header(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"There is no policy at"):
        find_policy(tmp_path / "nothing.safetensors")


def test_a_run_is_exported_as_a_file_that_can_be_evaluated(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    settings = {
        "game": f"openspiel:{KUHN}",
        "updates": 2,
        "collection": {"slots": 8, "decisions": 64},
        "policy": {"width": 16, "layers": 1},
        "tracking": {"tensorboard": False},
    }
    train(build_config(RunConfig, settings), tmp_path / "run", Console(quiet=True))
    file = tmp_path / "kuhn.safetensors"
    assert main(["export", str(tmp_path / "run"), str(file)]) == 0
    assert "kuhn_poker" in capfd.readouterr().out
    expected = load_policy(tmp_path / "run").state_dict()
    policy = find_policy(file).load(opened(KUHN))
    assert all(torch.equal(weights, expected[name]) for name, weights in policy.state_dict().items())
    assert read_header(file).about["update"] == 2
    loaded = load_policy(str(file)).state_dict()
    assert all(torch.equal(weights, expected[name]) for name, weights in loaded.items())
    assert main(["evaluate", str(file), "--matches", "20"]) == 0
    assert "against random" in capfd.readouterr().out


def saved_checkpoint(path: Path) -> Path:
    config = build_config(RunConfig, {"game": f"openspiel:{LEDUC}", "policy": CONFIG.model_dump(mode="json")})
    policy = build_policy(opened(LEDUC), CONFIG).state_dict()
    state = {"view_version": opened(LEDUC).spec.view_version, "decisions": 7}
    return save_checkpoint(path, 1, {"weights": policy, "average": policy}, state, config.model_dump(mode="json"))


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("folder", "folder already exists; name a new file, or remove it first."),
        ("file", "file already exists; name a new file, or remove it first."),
        ("file/x.safetensors", "x.safetensors cannot be written: "),
        ("x" * 300, "x cannot be written: File name too long."),
    ],
)
def test_an_export_overwrites_nothing_and_fails_in_a_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], target: str, sentence: str
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    assert main(["export", str(saved_checkpoint(tmp_path / "checkpoints")), str(tmp_path / target)]) == 2
    assert sentence in capfd.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_file_is_exported_again_but_has_one_kind_of_weights(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    first, second = str(tmp_path / "first.safetensors"), str(tmp_path / "second.safetensors")
    assert main(["export", str(saved_checkpoint(tmp_path / "checkpoints")), first]) == 0
    assert main(["export", first, second, "--last"]) == 2
    assert "--last is for runs and checkpoints" in capfd.readouterr().err
    assert main(["export", first, second]) == 0


def test_a_policy_that_comes_with_nemesis_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(policies, "_SHIPPED_FOLDER", tmp_path)
    with pytest.raises(UserError, match=r"no shipped:kuhn\. Nemesis comes with no policies\."):
        policy_path("shipped:kuhn")
    (tmp_path / "kuhn.safetensors").touch()
    assert policy_path("shipped:kuhn") == tmp_path / "kuhn.safetensors"
    with pytest.raises(UserError, match=r"no shipped:leduc\. Nemesis comes with shipped:kuhn\."):
        policy_path("shipped:leduc")
    assert policy_path("runs/shipped") == Path("runs/shipped")
