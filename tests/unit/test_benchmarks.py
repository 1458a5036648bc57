"""Benchmarks: the hand-written peer learns what the production learner does, and commits are compared fairly."""

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import learner_speed, regression
from benchmarks.peers.plain_torch import PlainLearner, PlainPolicy
from benchmarks.regression import Turn
from benchmarks.report import MeasurementError
from nemesis.learners.config import PPOConfig, RNaDConfig
from nemesis.policies.config import PolicyConfig

torch.set_num_threads(1)

TINY = learner_speed.Size(PolicyConfig(width=16, layers=1, memory="lstm"), view=8, actions=16, decisions=240)
CUT: dict[str, Any] = {"sequence_length": 16, "minibatch": 120}
# Every term strong enough, and enough updates for the averaged weights to fall behind, that leaving one out shows.
STRONG = CUT | {"learning_rate": 0.01, "magnet_weight": 0.5, "average_weight": 0.5, "probability_floor": 0.5}
UPDATES = 6


@pytest.mark.parametrize("kind", [PPOConfig, RNaDConfig])
def test_peer_follows_the_defaults(kind: type[PPOConfig]):
    row = learner_speed.measure_update(kind.model_validate(CUT), TINY, 1, seed=0, compared_updates=UPDATES)
    assert row["ratio"] == pytest.approx(row["ours"] / row["peer"])


def test_peer_has_every_term_of_rnad():
    learner_speed.measure_update(RNaDConfig.model_validate(STRONG), TINY, 1, seed=0, compared_updates=UPDATES)


@pytest.mark.parametrize(
    "change",
    [
        {"magnet_weight": 0.0},
        {"average_weight": 0.0},
        {"average_span": 1.0},
        {"probability_floor": 0.1},
        {"entropy_weight": 0.05},
        {"momentum": 0.9},
    ],
    ids=lambda change: next(iter(change)),
)
def test_peer_that_learns_otherwise_is_refused(change: dict[str, float], monkeypatch: pytest.MonkeyPatch):
    def otherwise(policy: PlainPolicy, _: PPOConfig, seed: int) -> PlainLearner:
        return PlainLearner(policy, RNaDConfig.model_validate(STRONG | change), seed)

    monkeypatch.setattr(learner_speed, "PlainLearner", otherwise)
    with pytest.raises(MeasurementError, match="the same weights"):
        learner_speed.measure_update(RNaDConfig.model_validate(STRONG), TINY, 1, seed=0, compared_updates=UPDATES)


def test_commits_are_compared_by_our_figures_only():
    training = {"formats": {"gen1ou": {"nemesis_by_actors": {"0": 3.0, "1": 4.0}, "nemesis": 4.0, "poke_env": 1.0}}}
    learner = {"rows": [{"measure": "update, ppo, against plain torch", "ours": 5.0, "peer": 6.0, "ratio": 5 / 6}]}
    assert regression.training_figures(training) == {
        "training loop, gen1ou, actors: 0": 3.0,
        "training loop, gen1ou, actors: 1": 4.0,
    }
    assert regression.learner_figures(learner) == {"update, ppo": 5.0}


def test_a_ratio_is_the_median_of_the_ratios_of_the_turns():
    turns = [
        Turn(checkout={"speed": 10.0}, commit={"speed": 20.0}),  # 0.5
        Turn(checkout={"speed": 90.0}, commit={"speed": 100.0}),  # 0.9
        Turn(checkout={"speed": 60.0}, commit={"speed": 50.0}),  # 1.2
    ]
    (comparison,), unpaired = regression.compare(turns)
    assert (comparison.checkout, comparison.commit) == (60.0, 50.0)
    assert comparison.ratio == pytest.approx(0.9)
    assert not unpaired


def test_figures_that_only_one_commit_has_are_named_and_not_compared():
    comparisons, unpaired = regression.compare([Turn({"both": 1.0, "new": 1.0}, {"old": 1.0, "both": 1.0})])
    assert [comparison.figure for comparison in comparisons] == ["both"]
    assert unpaired == ["new", "old"]
    with pytest.raises(MeasurementError, match="no figure in common"):
        regression.compare([Turn({"new": 1.0}, {"old": 1.0})])


def test_the_verdict_names_the_figures_below_the_bar():
    faster, equal = {"a": 100.0, "b": 95.0}, {"a": 100.0, "b": 100.0}
    assert regression.verdict(regression.compare([Turn(faster, equal)])[0], "main") == ""
    sentence = regression.verdict(regression.compare([Turn(faster | {"b": 94.9}, equal)])[0], "main")
    assert sentence == "The checkout is slower than main; the ratio is below 0.95 for: b (0.949)."


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one commit, of which a file was changed since."""
    monkeypatch.setattr(regression, "CHECKOUT", tmp_path)
    file = tmp_path / "file.txt"
    file.write_text("committed")
    regression._git("init", "--quiet")
    regression._git("add", "file.txt")
    regression._git(
        "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "-m", "Add a file"
    )
    file.write_text("changed")
    return tmp_path


def test_the_worktree_holds_the_commit_and_is_removed(repository: Path):
    with regression.worktree("HEAD") as root:
        assert (root / "file.txt").read_text() == "committed"
        assert str(root) in regression._git("worktree", "list")
    assert not root.exists()
    assert regression._git("worktree", "list").split()[0] == str(repository)
    assert len(regression._git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("error", [MeasurementError, KeyboardInterrupt])
def test_the_worktree_is_removed_after_an_error(error: type[BaseException], repository: Path):  # noqa: ARG001
    with pytest.raises(error), regression.worktree("HEAD"):
        raise error
    assert len(regression._git("worktree", "list").splitlines()) == 1


def test_a_commit_that_does_not_exist_is_refused(repository: Path):  # noqa: ARG001
    with pytest.raises(MeasurementError, match="no-such-commit"), regression.worktree("no-such-commit"):
        pass
