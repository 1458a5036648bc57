"""Runs that learn from datasets: with all that runs have, and resumed exactly."""

import json
from contextlib import closing
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import episodes, write
from duel import Duel, register
from episodes import KUHN, opened
from rich.console import Console
from test_assembler import PayingDuel
from test_dataset_recorder import record
from test_training import interrupted

from nemesis.cli import main
from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.evaluation.run_evaluation import BEST
from nemesis.evaluation.validation import SCORE
from nemesis.play.players import RandomPlayer, ScriptedPlayer
from nemesis.storage.metrics import read_metrics
from nemesis.storage.policies import find_policy
from nemesis.storage.policy_files import read_header
from nemesis.training.config import RunConfig
from nemesis.training.loop import resume, train
from nemesis.training.run import Run

torch.set_num_threads(1)

SETTINGS = {
    "game": "openspiel:kuhn_poker",
    "updates": 12,
    "collection": {"decisions": 100},
    "policy": {"width": 16, "layers": 1},
    "learner": {"algorithm": "ppo", "learning_rate": 0.01},
    "evaluation": {"interval": 6},
    "checkpoints": {"interval": 4},
    "tracking": {"tensorboard": False},
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random play of Kuhn poker."""
    path = tmp_path_factory.mktemp("datasets") / "kuhn"
    assert main(["collect", "random", "--game", "openspiel:kuhn_poker", "--matches", "200", "--out", str(path)]) == 0
    return path


def config(dataset: Path, *overrides: str) -> RunConfig:
    return build_config(RunConfig, SETTINGS, [f"data.sources={dataset}", *overrides])


def quiet() -> Console:
    return Console(file=StringIO())


def test_a_run_learns_evaluates_and_counts_epochs(dataset: Path, tmp_path: Path):
    train(config(dataset, "updates=20"), tmp_path, quiet())
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "collection/decisions" in line]
    epochs = [line[f"data/epochs/{dataset}"] for line in steps]
    assert epochs[0] == 0
    assert epochs[-1] >= 2
    assert epochs == sorted(epochs)
    assert steps[-1]["collection/decisions"] >= 2000
    played = {
        "collection/matches",
        "collection/voided",
        "collection/restarts",
        "collection/stale",
        "collection/staleness",
    }
    assert not any(played & line.keys() for line in steps)
    measured = [line["evaluation/nash_conv"] for line in lines if "evaluation/nash_conv" in line]
    assert len(measured) > 2
    assert measured[-1] != measured[0]


@pytest.mark.parametrize("changes", [("ppo",), ("bc", "learner.dropout=0.2"), ("offline",)], ids="-".join)
def test_a_resumed_run_ends_like_one_that_was_never_stopped(dataset: Path, tmp_path: Path, changes: tuple[str, ...]):
    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    algorithm, *others = changes
    common = ("policy.memory=lstm", "learner.sequence_length=2")
    settings = config(dataset, f"learner.algorithm={algorithm}", *common, *others)
    train(settings, straight, quiet())
    with pytest.raises(UserError, match="half way"):
        interrupted(settings, resumed)
    resume(resumed, console=quiet())
    last = Path("checkpoints", "update-00000012")
    for name in ("weights", "average", "optimiser", "learner"):
        one, other = ((run / last / f"{name}.safetensors").read_bytes() for run in (straight, resumed))
        assert one == other, name
    states = [json.loads((run / last / "state.json").read_text())["state"]["source"] for run in (straight, resumed)]
    assert states[0] == states[1]


def test_the_policy_with_the_best_accuracy_is_kept(dataset: Path, tmp_path: Path):
    settings = config(dataset, "learner.algorithm=bc", "learner.learning_rate=0.3", "data.validation=0.3", "updates=40")
    train(settings, tmp_path, quiet())
    scores = [
        (value, line["update"], name)
        for line in read_metrics(tmp_path / "metrics.jsonl")
        for name, value in line.items()
        if name.removeprefix("evaluation/").removesuffix("_average") == SCORE
    ]
    assert len(scores) > 10
    value = max(score for score, *_ in scores)
    update = min(update for score, update, _ in scores if score == value)
    assert min(scores)[0] < value
    header = read_header(tmp_path / BEST)
    assert header.about["update"] == update
    assert header.about[SCORE] == pytest.approx(value)
    assert main(["evaluate", str(tmp_path / BEST), "random", "--matches", "20"]) == 0


def test_without_labelled_decisions_no_policy_is_the_best(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    whole = episodes()
    write(tmp_path / "unlabelled", replace(whole, action=np.full_like(whole.action, -1)))
    overrides = ["game=openspiel:leduc_poker", "learner.algorithm=bc", "data.validation=0.5"]
    with closing(Run(config(tmp_path / "unlabelled", *overrides), tmp_path)) as run:
        values = run.evaluate()
        run.evaluator.keep_best(tmp_path, run.policy, run.average, 0, [(0, values)])
    assert SCORE not in values
    assert not (tmp_path / BEST).exists()
    assert [record.message for record in caplog.records] == [
        "The validation split has no labelled decisions, so no accuracy is measured and no best policy is kept."
    ]


def test_a_policy_of_data_starts_a_run_as_a_whole_or_in_parts(dataset: Path, tmp_path: Path):
    settings = config(dataset, "learner.algorithm=offline", "policy.action_values=true", "data.validation=0.3")
    train(settings, tmp_path / "first", quiet())
    best = tmp_path / "first" / BEST
    online = build_config(RunConfig, SETTINGS, [f"policy.init={best}"])
    with pytest.raises(UserError, match=r"only it has heads\.action_values.*policy\.init_parts"):
        Run(online, tmp_path / "second")
    parts = {"encoder": "encoder", "memory": "memory", "heads.action": "heads.action_values"}

    def taking(parts: dict[str, str]) -> RunConfig:
        policy = {"width": 16, "layers": 1, "init": str(best), "init_parts": parts}
        return build_config(RunConfig, SETTINGS | {"policy": policy})

    before = find_policy(best).load(opened(KUHN)).state_dict()
    with closing(Run(taking(parts), tmp_path / "second")) as run:
        after = run.policy.state_dict()
        for here, there in {**parts, "heads.norm": None}.items():
            for name in [name for name in after if name.startswith(here + ".")]:
                taken = there is not None and torch.equal(after[name], before[there + name.removeprefix(here)])
                assert taken == (there is not None), name
    with pytest.raises(UserError, match=r"has no part heads\.nothing; its parts are encoder"):
        Run(taking({"heads.action": "heads.nothing"}), tmp_path)


def test_a_learner_that_needs_probabilities_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    game = register(monkeypatch, Duel())
    record(game, tmp_path / "duels", RandomPlayer(0), ScriptedPlayer(game.scripted["bold"], game.spec.actions, 1))
    duels = build_config(RunConfig, SETTINGS | {"game": "duel:plain"}, [f"data.sources={tmp_path / 'duels'}"])
    with closing(Run(duels, tmp_path)) as run, pytest.raises(UserError, match="actions whose probabilities are known"):
        run.step()


@pytest.mark.parametrize("algorithm", ["ppo", "rnad", "bc", "offline"])
def test_truncated_matches_are_no_draws_for_learners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str):
    game = register(monkeypatch, PayingDuel())
    _, recorded = record(game, tmp_path / "duels", RandomPlayer(0), RandomPlayer(1))
    assert (recorded.ending == "truncated").any()
    settings = SETTINGS | {"game": "duel:plain", "learner": {"algorithm": algorithm}}
    duels = build_config(RunConfig, settings, [f"data.sources={tmp_path / 'duels'}"])
    with closing(Run(duels, tmp_path)) as run:
        if algorithm in ("bc", "offline"):
            run.step()
        else:
            with pytest.raises(UserError, match=r"datasets do not store, and data\.sources has truncated matches"):
                run.step()


@pytest.mark.parametrize("algorithm", ["bc", "offline"])
def test_learners_of_data_need_some(tmp_path: Path, algorithm: str):
    settings = SETTINGS | {"learner": {"algorithm": algorithm}}
    with pytest.raises(UserError, match=r"learns from datasets; name one by data\.sources=FOLDER"):
        Run(build_config(RunConfig, settings), tmp_path)


def test_runs_that_play_are_refused_by_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match=r"Only runs with data\.sources learn in several processes"):
        train(build_config(RunConfig, SETTINGS), tmp_path, quiet())


def test_a_dataset_of_another_game_is_refused(dataset: Path, tmp_path: Path):
    with pytest.raises(UserError, match="numbers in a view"):
        Run(config(dataset, "game=openspiel:leduc_poker"), tmp_path)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("opponents.shares.past=0.2", "so opponents and exploiters cannot be used"),
        ("collection.actors=2", "collection.actors=0"),
        ("collection.segment=4", "leave out collection.segment"),
        ('data.sources={"a":0}', "data.sources must be"),
        ("data.sources=a,b,a", "data.sources: a is given twice; give it once, with a larger weight"),
        ("data.validation=1", "data.validation must be"),
    ],
)
def test_settings_that_do_not_go_together_are_named(override: str, sentence: str):
    with pytest.raises(ConfigError, match=sentence):
        build_config(RunConfig, SETTINGS | {"data": {"sources": "a"}}, [override])


def test_sources_can_be_written_in_several_ways():
    for written in ({"a": 1, "b": 1}, ["a", "b"], "a, b", [{"path": "a"}, {"path": "b", "weight": 1}]):
        assert build_config(RunConfig, SETTINGS | {"data": {"sources": written}}).data.sources == {"a": 1.0, "b": 1.0}
