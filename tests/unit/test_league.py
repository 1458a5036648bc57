"""A run with opponents and exploiters: who is met, who is added, what is recorded, and that it resumes exactly."""

import json
import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from duel import Duel, register
from rich.console import Console

from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.play.matches import win_rate_interval
from nemesis.policies.play_style import DEFAULT_STYLE, PlayStyle
from nemesis.population.league import REGISTRY, open_league
from nemesis.storage.checkpoints import files_named, load_checkpoint
from nemesis.storage.policy_files import read_header
from nemesis.training.config import RunConfig
from nemesis.training.loop import resume, train
from nemesis.training.run import Run

torch.set_num_threads(1)

SETTINGS = {
    "game": "duel:plain",
    "updates": 12,
    "collection": {"slots": 24, "decisions": 300},
    "policy": {"width": 16, "layers": 1},
    "learner": {"algorithm": "ppo", "learning_rate": 0.02, "entropy_weight": 0.01},
    "evaluation": {"interval": 100, "matches": 2},
    "checkpoints": {"interval": 4, "keep_last": 10},
    "tracking": {"tensorboard": False},
    "opponents": {
        "shares": {"self": 0.4, "past": 0.3, "scripted": 0.3},
        "past_interval": 3,
        "rotation": 2,
        "adaptation": 0.1,
        "sampling": "prioritised",
    },
}
EXPLOITED = (
    "exploiter.interval=2",
    "exploiter.updates=3",
    "exploiter.decisions=150",
    "exploiter.share=0.5",
    "exploiter.matches=60",
    "exploiter.learner.learning_rate=0.03",
)
# For tests that do not depend on what is learned.
TINY = ("collection.slots=12", "collection.decisions=100", "exploiter.decisions=50", "exploiter.matches=20")


@pytest.fixture(autouse=True)
def duel(monkeypatch: pytest.MonkeyPatch) -> Duel:
    """The game of every run."""
    return register(monkeypatch, Duel(lost=range(0, 100_000, 11)))


def config(*overrides: str) -> RunConfig:
    """Return the config of a run; later overrides replace earlier ones of the same key."""
    last = {override.partition("=")[0]: override for override in overrides}
    return build_config(RunConfig, SETTINGS, list(last.values()))


def trained(path: Path, *overrides: str) -> list[dict[str, float]]:
    train(config(*overrides), path, Console(file=StringIO()), open_league)
    return metrics(path)


def metrics(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def registry(path: Path) -> dict:
    return json.loads((path / REGISTRY).read_text())


def test_the_policy_meets_itself_its_past_and_scripted_opponents(tmp_path: Path):
    lines = trained(tmp_path)
    names = {member["name"] for member in registry(tmp_path)["members"]}
    assert names == {"random", "timid", "bold", *(f"past-{update:08d}" for update in (3, 6, 9, 12))}
    assert lines[-1]["opponents/share/self"] >= 0.35
    met = {name.rpartition("/")[2] for line in lines for name in line if name.startswith("opponents/member_share/")}
    assert met >= {"bold", "past-00000003"}
    for line in lines[1:]:
        shares = [value for name, value in line.items() if name.startswith("opponents/share/")]
        assert sum(shares) == pytest.approx(1)
    records = {member["name"]: np.array(member["record"]) for member in registry(tmp_path)["members"]}
    assert records["past-00000003"].sum() > 0
    assert all(records["bold"].sum(axis=1) > 0)  # from both sides


def test_an_exploiter_is_trained_evaluated_and_met_at_once_if_it_wins(tmp_path: Path):
    lines = trained(tmp_path, *EXPLOITED, "exploiter.threshold=0", "updates=16", "opponents.shares.exploiter=0.2")
    results = registry(tmp_path)["exploiters"]
    assert len(results) >= 2
    first = results[0]
    assert first["update"] == 2
    assert first["added"]
    assert (first["low"], first["high"]) == pytest.approx(win_rate_interval(first["win_rate"], first["matches"]))
    assert first["matches"] + first["voided"] == 60
    evaluated = next(line for line in lines if "exploiter/win_rate" in line)
    assert evaluated["exploiter/target_update"] == 2
    assert evaluated["opponents/member_share/exploiter-00000002"] > 0
    assert any(member["category"] == "exploiter" for member in registry(tmp_path)["members"])


def test_an_exploiter_that_does_not_win_enough_is_reported_but_not_met(tmp_path: Path):
    trained(tmp_path, *EXPLOITED, "exploiter.threshold=0.99", "updates=10", "opponents.shares.exploiter=0.2")
    assert registry(tmp_path)["exploiters"]
    assert not any(result["added"] for result in registry(tmp_path)["exploiters"])
    assert not any(member["category"] == "exploiter" for member in registry(tmp_path)["members"])


@pytest.mark.parametrize("start", ["scratch", "target"])
def test_an_exploiter_learns_to_beat_its_target(tmp_path: Path, start: str):
    settings = (*EXPLOITED, f"exploiter.start={start}", "exploiter.updates=20", "exploiter.matches=300")
    trained(tmp_path, *settings, "updates=22", "exploiter.interval=1")
    (result,) = registry(tmp_path)["exploiters"]
    assert result["update"] == 1  # a target that has hardly learned
    assert result["low"] > 0.5


def test_a_resumed_or_branched_league_ends_like_one_that_was_never_stopped(tmp_path: Path):
    straight, stopped, branched = (tmp_path / name for name in ("straight", "stopped", "branched"))
    settings = (*EXPLOITED, *TINY, "exploiter.threshold=0", "opponents.shares.exploiter=0.2")
    trained(straight, *settings)
    step = Run.step

    def failing(run: Run) -> dict[str, float]:
        if run.update == 10:
            raise UserError("Something broke half way.")
        return step(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "step", failing)
        with pytest.raises(UserError, match="half way"):
            trained(stopped, *settings)
    resume(stopped, [], Console(file=StringIO()), open_league)
    before = {path: path.read_bytes() for path in straight.rglob("*") if path.is_file()}
    resume(straight, [], Console(file=StringIO()), open_league, checkpoint=4, new=branched)
    assert {path: path.read_bytes() for path in straight.rglob("*") if path.is_file()} == before
    for run in (stopped, branched):
        ours, theirs = (load_checkpoint(path / "checkpoints" / "update-00000012") for path in (run, straight))
        for group in ("weights", "average", "matchmaker", "source"):
            expected = theirs.tensors(group)
            for name, tensor in ours.tensors(group).items():
                assert torch.equal(tensor, expected[name]), (group, name)
        assert ours.state["matchmaker"] == theirs.state["matchmaker"]
        assert registry(run) == registry(straight)
        assert [line["update"] for line in metrics(run)] == list(range(13))
    origin = json.loads((branched / "environment.json").read_text())["branched_from"]
    assert origin == {"run": str(straight), "update": 4}
    assert [path.name for path in (branched / "checkpoints").iterdir()].count("update-00000000") == 0


def test_files_that_no_checkpoint_needs_are_removed_and_every_kept_one_can_be_resumed(tmp_path: Path):
    settings = ("opponents.past_interval=1", "opponents.members=2", "checkpoints.interval=2", "checkpoints.keep_last=2")
    path = tmp_path / "run"
    trained(path, *EXPLOITED, *TINY, *settings, "updates=20", "exploiter.updates=1", "opponents.shares.scripted=0")
    made = [file.name.partition("-")[0] for file in (path / "members").iterdir()]
    assert 2 <= made.count("past") <= 8  # of 20
    assert 1 <= made.count("target") <= 5
    assert len(registry(path)["exploiters"]) >= 8
    kept = sorted(one.name for one in (path / "checkpoints").iterdir())
    assert kept == ["update-00000018", "update-00000020"]
    for name in kept:
        for file in load_checkpoint(path / "checkpoints" / name).state["files"]:
            assert (path / file).exists()
    shutil.rmtree(path / "checkpoints" / kept[-1])
    resume(path, ["updates=22"], Console(file=StringIO()), open_league)
    assert metrics(path)[-1]["update"] == 22


def test_files_stay_while_a_checkpoint_does_not_say_what_it_needs(tmp_path: Path):
    state = tmp_path / "update-00000002" / "state.json"
    state.parent.mkdir()
    state.write_text(json.dumps({"update": 2, "state": {"files": ["members/past-00000001.safetensors"]}}))
    assert files_named(tmp_path) == {"members/past-00000001.safetensors"}
    state.write_text(json.dumps({"update": 2, "state": {}}))
    assert files_named(tmp_path) is None


def test_cloned_policies_are_copied_into_the_run_and_met(tmp_path: Path):
    trained(tmp_path / "teacher", "updates=4")
    lines = trained(
        tmp_path / "run", f"opponents.cloned={tmp_path / 'teacher'}", "opponents.shares.cloned=0.3", "updates=4"
    )
    assert (tmp_path / "run" / "members" / "cloned-0.safetensors").exists()
    assert lines[-1]["opponents/member_share/cloned-0"] > 0
    (tmp_path / "teacher").rename(tmp_path / "gone")
    resume(tmp_path / "run", ["updates=6"], Console(file=StringIO()), open_league)
    assert metrics(tmp_path / "run")[-1]["update"] == 6
    resume(tmp_path / "run", ["updates=8"], Console(file=StringIO()), open_league, new=tmp_path / "branch")
    assert metrics(tmp_path / "branch")[-1]["update"] == 8
    assert metrics(tmp_path / "run")[-1]["update"] == 6
    with pytest.raises(UserError, match="already has a run; continue it"):
        resume(tmp_path / "run", ["updates=8"], Console(file=StringIO()), open_league, new=tmp_path / "branch")


def test_cloned_policies_keep_their_style_and_what_the_run_makes_plays_as_it_is(tmp_path: Path):
    trained(tmp_path / "teacher", "updates=2")
    file = tmp_path / "teacher.safetensors"
    assert main(["export", str(tmp_path / "teacher"), str(file), "--temperature", "0.3", "--top-p", "0.9"]) == 0
    settings = (*EXPLOITED, *TINY, "exploiter.threshold=0", "opponents.shares.exploiter=0.2", "updates=8")
    trained(tmp_path / "run", f"opponents.cloned={file}", "opponents.shares.cloned=0.3", *settings)
    styles = {one.stem: read_header(one).style for one in (tmp_path / "run" / "members").iterdir()}
    assert styles.pop("cloned-0") == PlayStyle(0.3, 0.9)
    assert {name.partition("-")[0] for name in styles} == {"past", "exploiter", "target"}
    assert set(styles.values()) == {DEFAULT_STYLE}


def test_a_run_without_opponents_is_plain_self_play(tmp_path: Path):
    lines = trained(tmp_path, "opponents.shares.past=0", "opponents.shares.scripted=0", "updates=2")
    assert not any(name.startswith("opponents/") for name in lines[-1])
    assert not (tmp_path / REGISTRY).exists()
