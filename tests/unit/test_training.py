"""A whole run on a game of battles: rewards, opponents, end reasons, replays, and a pool that is closed at the end."""

import json
import re
import shutil
import signal
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from duel import Duel, register
from rich.console import Console
from test_assembler import PayingDuel

from nemesis.cli import main
from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.core.trajectory import Trajectories
from nemesis.evaluation import run_evaluation
from nemesis.evaluation.run_evaluation import RunEvaluator
from nemesis.play.matches import win_rate_interval
from nemesis.policies.policy import Policy
from nemesis.storage.policies import find_checkpoint, load_policy
from nemesis.training.config import RunConfig
from nemesis.training.loop import resume, train
from nemesis.training.run import Run
from nemesis.training.summary import summary

torch.set_num_threads(1)

SETTINGS = {
    "game": "duel:plain",
    "updates": 12,
    "collection": {"slots": 24, "decisions": 300},
    "policy": {"width": 16, "layers": 1},
    "learner": {"algorithm": "ppo", "learning_rate": 0.02, "entropy_weight": 0.01},
    "evaluation": {"interval": 4, "matches": 60},
    "checkpoints": {"interval": 4},
    "tracking": {"tensorboard": False},
}


@pytest.fixture
def duel(monkeypatch: pytest.MonkeyPatch) -> Duel:
    """The game of every run."""
    return register(monkeypatch, Duel(lost=range(0, 100_000, 9)))


@dataclass(frozen=True)
class Finished:
    """A run that was taken to its end; tests that change it copy it."""

    path: Path
    printed: str
    game: Duel

    def copy(self, path: Path) -> Path:
        return Path(shutil.copytree(self.path, path))


def finished(path: Path, *overrides: str) -> Finished:
    with pytest.MonkeyPatch.context() as patch:
        game = register(patch, Duel(lost=range(0, 100_000, 9)))
        return Finished(path, trained(path, *overrides), game)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finished(tmp_path_factory.mktemp("full"), "reward.kind=hybrid")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finished(tmp_path_factory.mktemp("short"), "updates=2")


def config(*overrides: str) -> RunConfig:
    return build_config(RunConfig, SETTINGS, overrides)


def trained(path: Path, *overrides: str) -> str:
    """Take a run to its end and return what it printed."""
    output = StringIO()
    train(config(*overrides), path, Console(file=output, width=200))
    return output.getvalue()


def lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def test_win_rates_against_every_opponent_climb_and_are_reported(full: Finished):
    recorded = [line for line in lines(full.path) if "evaluation/win_rate_against_bold" in line]
    assert [line["update"] for line in recorded] == [0, 4, 8, 12]
    for opponent in ("random", "timid", "bold"):
        names = [f"evaluation/{figure}_against_{opponent}" for figure in ("win_rate", "return")]
        assert {name + suffix for name in names for suffix in ("", "_average")} <= recorded[0].keys()
        before, after = recorded[0][names[0]], recorded[-1][names[0]]
        texts = []
        for line, rate in ((recorded[0], before), (recorded[-1], after)):
            matches = line[f"evaluation/matches_against_{opponent}"]
            low, high = win_rate_interval(rate, matches)
            texts.append(f"{rate:.1%} (95 % interval {low:.1%} to {high:.1%}, {matches:.0f} matches)")
        assert f"Win rate against {opponent}: {texts[0]} before → {texts[1]} after 12 updates" in full.printed
        assert f"Return against {opponent}" not in full.printed  # it says the same
    assert recorded[-1]["evaluation/win_rate_against_random"] > recorded[0]["evaluation/win_rate_against_random"]
    assert full.game.pools
    assert all(pool.closed for pool in full.game.pools)


def test_matches_are_counted_by_why_they_ended(full: Finished):
    counts = [line for line in lines(full.path) if "collection/matches" in line]
    first, last = counts[0], counts[-1]
    reasons = {name: value for name, value in last.items() if name.startswith("collection/ended/")}
    assert reasons["collection/ended/host_lost"] == last["collection/voided"] > first["collection/voided"] > 0
    assert sum(reasons.values()) == last["collection/matches"] + last["collection/voided"]


def test_a_resumed_run_ends_like_one_that_was_never_stopped(duel: Duel, tmp_path: Path):  # noqa: ARG001
    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    trained(straight, "reward.kind=dense")
    with pytest.raises(UserError, match="half way"):
        interrupted(config("reward.kind=dense"), resumed)
    resume(resumed, console=Console(file=StringIO()))
    checkpoint = Path("checkpoints", "update-00000012")
    for name in ("weights", "average", "optimiser", "learner", "source", "matchmaker"):
        one, other = ((run / checkpoint / f"{name}.safetensors").read_bytes() for run in (straight, resumed))
        assert one == other, name
    figures = [
        [{key: value for key, value in line.items() if key.startswith(("collection/", "evaluation/"))} for line in run]
        for run in (lines(straight), lines(resumed))
    ]
    assert figures[0] == figures[1]


def test_a_run_that_is_stopped_while_references_are_rated_resumes_exactly(
    duel: Duel,  # noqa: ARG001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(run_evaluation, "_RATING_MATCHES", 20)
    settings = [f"learner.{one}" for one in ("algorithm=portfolio", "keep=best", "references=2", "add_interval=1")]
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    trained(straight, "updates=6", *settings)
    rate, rated = RunEvaluator.rate, 0

    def interrupted_rate(evaluator: RunEvaluator, policies: Sequence[Policy]) -> list[float]:
        nonlocal rated
        rated += 1
        if rated == 3:  # one at each update from the third on
            signal.raise_signal(signal.SIGTERM)
        return rate(evaluator, policies)

    with monkeypatch.context() as patch:
        patch.setattr(RunEvaluator, "rate", interrupted_rate)
        with pytest.raises(KeyboardInterrupt):
            trained(stopped, "updates=6", *settings)
    assert find_checkpoint(stopped).update == 4  # the update was interrupted at once
    resume(stopped, console=Console(file=StringIO()))
    checkpoint = Path("checkpoints", "update-00000006")
    for name in ("weights", "average", "optimiser", "learner", "source", "matchmaker"):
        one, other = ((run / checkpoint / f"{name}.safetensors").read_bytes() for run in (straight, stopped))
        assert one == other, name
    assert find_checkpoint(stopped).state["learned"] == find_checkpoint(straight).state["learned"]


def test_a_restored_run_knows_how_much_it_has_learned_from(duel: Duel, short: Finished):  # noqa: ARG001
    with closing(Run(config(), short.path, new=False)) as run:
        run.restore(find_checkpoint(short.path))
        assert run.learned == sum(line.get("collection/batch", 0) for line in lines(short.path)) >= 600


def interrupted(settings: RunConfig, path: Path) -> None:
    """Begin a run that fails in its sixth update."""
    step = Run.step

    def failing(run: Run) -> dict[str, float]:
        if run.update == 6:
            raise UserError("Something broke half way.")
        return step(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "step", failing)
        train(settings, path, Console(file=StringIO()))


def test_the_pool_is_closed_when_a_run_fails(duel: Duel, tmp_path: Path):
    with pytest.raises(UserError, match="half way"):
        interrupted(config(), tmp_path)
    assert duel.pools
    assert all(pool.closed for pool in duel.pools)


def test_a_run_ends_with_a_battle_to_watch(full: Finished):
    (path,) = re.findall(r"Watch one of its matches: (.*)\n", full.printed)
    assert Path(path).parent == full.path / "replays" / "update-00000012"
    assert set(re.findall(r"\w+", Path(path).read_text())) > {"Nemesis", "bold"}


def test_evaluate_measures_chosen_opponents_and_saves_replays(
    duel: Duel, short: Finished, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    run, file = short.copy(tmp_path / "run"), tmp_path / "figures.json"
    options = ["--matches", "40", "--opponent", "random", "--opponent", "timid", "--replays", "3", "--json", str(file)]
    assert main(["evaluate", str(run), *options]) == 0
    text = capfd.readouterr().out
    for row in ("against random, last weights", "against timid, averaged weights"):
        assert row in text
    assert "bold" not in text
    assert re.search(r"35 matches, 5 voided; ended: \d+ played, .*5 host_lost", text)
    figures = json.loads(file.read_text())
    assert figures["against_average"]["timid"]["matches"] == 36
    assert figures["against_average"]["timid"]["ended"]["host_lost"] == 4
    assert len(figures["replays"]) == 2  # one of the three matches was voided
    assert all("timid" in Path(path).read_text() for path in figures["replays"])
    assert {Path(path).parent.name for path in figures["replays"]} == {"update-00000002-2"}
    assert all("bold" in path.read_text() for path in (run / "replays" / "update-00000002").iterdir())  # of training
    pairs = tmp_path / "pairs"
    for _ in range(2):
        assert main(["evaluate", str(run), "bold", "--matches", "2", "--replays", "1", "--folder", str(pairs)]) == 0
    assert len(list(pairs.iterdir())) == 2
    assert all(pool.closed for pool in duel.pools)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("evaluation.opponents=bald", "duel:plain has no opponent called 'bald'. It has random, timid, bold."),
        (
            "reward.weights.mp=1",
            "reward.weights.mp is not a reward of duel:plain; it has hp, round",
        ),
    ],
)
def test_what_the_game_does_not_have_is_refused_before_a_run_begins(duel: Duel, tmp_path: Path, override, sentence):
    path = tmp_path / "run"
    with pytest.raises(UserError, match=re.escape(sentence)):
        train(config("reward.kind=dense", override), path)
    assert not path.exists()
    assert duel.pools == []


@pytest.mark.parametrize(
    ("weights", "endings"), [("last", ("",)), ("average", ("_average",)), ("both", ("", "_average"))]
)
def test_either_weights_are_measured_or_both(duel: Duel, weights: str, endings: tuple[str, ...]):  # noqa: ARG001
    run = Run(config("evaluation.opponents=bold,timid", f"evaluation.weights={weights}"), Path("unused"))
    figures = [f"{figure}_against_{name}" for figure in ("win_rate", "return", "matches") for name in ("timid", "bold")]
    assert run.evaluate().keys() == {figure + ending for figure in figures for ending in endings}
    run.close()


def test_opponents_and_the_node_may_change_on_resumption_but_not_the_hosts(
    duel: Duel,  # noqa: ARG001
    short: Finished,
    tmp_path: Path,
):
    path = short.copy(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"^pokemon.hosts cannot change when a run is resumed"):
        resume(path, ["updates=4", "pokemon.hosts=3"])
    with pytest.raises(ConfigError, match=r"^seed cannot change"):
        resume(path, ["updates=4", "seed =3"])
    with pytest.raises(ConfigError, match=r"^pokemon.node has no effect on duel:plain"):  # or else it could change
        resume(path, ["updates=4", "pokemon.node=system"])
    output = StringIO()
    resume(path, ["updates=4", "evaluation.opponents=random"], Console(file=output, width=200))
    assert "Win rate against random: " in output.getvalue()
    assert "Win rate against bold" not in output.getvalue()


def test_rewards_are_shaped_before_the_learner_sees_them(duel: Duel):  # noqa: ARG001
    run = Run(config("reward.kind=hybrid", "collection.staleness=100"), Path("unused"))
    seen: list[Trajectories] = []
    learn = run.learner.update
    run.learner.update = lambda trajectories, progress: seen.append(trajectories) or learn(trajectories, progress)  # type: ignore[func-returns-value,method-assign]
    run.step()
    run.update = 11
    run.step()
    for trajectories, weight in zip(seen, (1.0, 1 / 12), strict=True):
        expected = 0.5 * weight * (trajectories.view[:, 0] - trajectories.view[:, 1]) / 8
        np.testing.assert_allclose(trajectories.potential, expected, atol=1e-6)
    run.close()


def test_the_summary_has_a_sentence_for_everything_that_was_measured():
    exact = [(0, {"nash_conv": 0.9, "nash_conv_average": 0.9}), (400, {"nash_conv": 0.02, "nash_conv_average": 0.01})]
    (sentence,) = summary(exact)
    assert sentence.startswith(
        "Exact NashConv: 0.9000 before → 0.0200 after 400 updates, 0.0100 with averaged weights."
    )
    played = [
        (0, {"win_rate_against_random_average": 0.5, "return_against_random_average": 0.1}),
        (
            9,
            {
                "win_rate_against_random_average": 0.75,
                "return_against_random_average": 1.5,
                "matches_against_random_average": 100.0,
            },
        ),
    ]
    assert summary(played) == [
        "Win rate against random: 50.0% before → 75.0% (95 % interval 65.7% to 82.5%, 100 matches) after 9 updates, "
        "with averaged weights.",
        "Return against random: 0.1000 before → 1.5000 after 9 updates, with averaged weights.",
    ]


def test_a_staleness_that_leaves_nothing_to_learn_from_is_said(duel: Duel, tmp_path: Path):  # noqa: ARG001
    run = Run(config("collection.staleness=0"), tmp_path)
    run.update = 5  # as if updates had been made since
    with pytest.raises(UserError, match=r"older than collection\.staleness allows; set it higher"):
        run.step()
    run.close()


def test_a_run_can_start_from_the_weights_of_another(duel: Duel, short: Finished, tmp_path: Path):  # noqa: ARG001
    run = Run(config(f"policy.init={short.path}"), tmp_path)
    expected = load_policy(short.path).state_dict()
    for copy in (run.policy, run.learner.average):
        for name, weights in copy.state_dict().items():
            assert torch.equal(weights, expected[name]), name
    run.close()


@pytest.mark.parametrize("change", ["policy.width=24", "policy.layers=2"])
def test_weights_of_another_shape_are_refused_by_name(
    duel: Duel,  # noqa: ARG001
    short: Finished,
    tmp_path: Path,
    change: str,
):
    with pytest.raises(UserError, match=r"has another shape: .* Set policy"):
        Run(config(f"policy.init={short.path}", change), tmp_path)


def test_a_checkpoint_of_another_shape_is_not_restored(duel: Duel, short: Finished, tmp_path: Path):  # noqa: ARG001
    with (
        closing(Run(config("policy.width=24"), tmp_path, new=False)) as run,
        pytest.raises(UserError, match=r"update-00000002 has another shape: .* Set policy"),
    ):
        run.restore(find_checkpoint(short.path))


def test_a_categorical_value_is_refused_in_a_game_that_pays_rewards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    register(monkeypatch, PayingDuel())
    with (
        closing(Run(config("policy.value=categorical"), tmp_path)) as run,
        pytest.raises(UserError, match=r"^duel:plain pays rewards per decision, .* use policy\.value=scalar\.$"),
    ):
        run.step()


def test_a_run_that_started_from_another_resumes_without_it(duel: Duel, short: Finished, tmp_path: Path):  # noqa: ARG001
    first = short.copy(tmp_path / "first")
    trained(tmp_path / "second", f"policy.init={first}", "updates=2")
    first.rename(tmp_path / "gone")
    resume(tmp_path / "second", ["updates=3"], Console(file=StringIO()))
    assert lines(tmp_path / "second")[-1]["update"] == 3
