"""A run that was killed, interrupted or damaged continues from its last valid checkpoint as if nothing had happened."""

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
import yaml
from background import Background
from rich.console import Console

import nemesis
from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.games import open_game
from nemesis.learners.optimiser import DivergedError
from nemesis.play.experience import Experience
from nemesis.play.pairings import MAIN
from nemesis.play.policy_players import as_step_policy
from nemesis.storage.checkpoints import load_checkpoint
from nemesis.storage.metrics import Metrics
from nemesis.storage.run_directory import RunDirectory
from nemesis.training.config import RunConfig
from nemesis.training.loop import run_to_end
from nemesis.training.run import Run

SMALL = ["collection.slots=32", "collection.decisions=128", "policy.size=nano", "tracking.tensorboard=false"]
MAGNET = ["learner.algorithm=rnad", "learner.form=magnet", "learner.minibatch=64", "reward.scale=running"]
UPDATES = 32
RECURRENT_PORTFOLIO = [
    "policy.memory=lstm",
    "learner.algorithm=portfolio",
    "learner.minibatch=64",
    "learner.sequence_length=1",  # the second decision of an episode starts from a stored memory
    "learner.add_interval=5",
    "learner.references=2",
    "learner.keep=best",
]


def checkpoint(run: Path, update: int) -> Path:
    return run / "checkpoints" / f"update-{update:08d}"


def newest(run: Path) -> int:
    return max(int(path.name.removeprefix("update-")) for path in (run / "checkpoints").glob("update-*"))


def signalled(number: signal.Signals, update: int, run: Path, *arguments: str) -> None:
    """Run a command that sends itself a signal when an update is recorded."""
    write = Metrics.write

    def write_and_signal(metrics: Metrics, at: int, values: Mapping[str, float]) -> None:
        write(metrics, at, values)
        if at == update:
            os.kill(os.getpid(), number)

    Metrics.write = write_and_signal  # type: ignore[method-assign]
    sys.exit(main([*arguments, "--run", str(run)]))


def recorded_updates(run: Path) -> list[int]:
    return [json.loads(line)["update"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def assert_same_checkpoint(one: Path, other: Path) -> None:
    names = sorted(file.name for file in one.iterdir())
    assert names == sorted(file.name for file in other.iterdir())
    assert {
        f"{name}.safetensors"
        for name in ("weights", "average", "optimiser", "learner", "source", "matchmaker", "random")
    } < {*names}
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), f"{name} differs"


@dataclass(frozen=True)
class RunPair:
    """One configuration run twice: straight through, and killed halfway and resumed."""

    straight: Path
    resumed: Path
    killed_at: int  # the last update that was recorded before the kill


def run_twice(folder: Path, settings: list[str]) -> RunPair:
    straight, resumed = folder / "straight", folder / "resumed"
    train = ["train", "kuhn", *SMALL, *settings, f"updates={UPDATES}", f"checkpoints.interval={UPDATES // 4}"]
    killed = Background(folder / "printed.txt", signalled, signal.SIGKILL, UPDATES // 2 + 1, resumed, *train)
    assert killed.finish() == -signal.SIGKILL, killed.printed
    killed_at = recorded_updates(resumed)[-1]
    assert main(["resume", str(resumed)]) == 0
    assert main([*train, "--run", str(straight)]) == 0
    return RunPair(straight, resumed, killed_at)


@pytest.fixture(scope="module")
def portfolio_pair(tmp_path_factory: pytest.TempPathFactory) -> RunPair:
    """The portfolio with a recurrent policy: all that a checkpoint can have to hold."""
    return run_twice(tmp_path_factory.mktemp("portfolio"), RECURRENT_PORTFOLIO)


@pytest.fixture(scope="module", params=["rnad", "portfolio"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunPair:
    if request.param == "portfolio":
        return request.getfixturevalue("portfolio_pair")
    return run_twice(tmp_path_factory.mktemp("rnad"), MAGNET)


@pytest.fixture
def finished(portfolio_pair: RunPair, tmp_path: Path) -> Path:
    """A copy of a finished run."""
    return Path(shutil.copytree(portfolio_pair.straight, tmp_path / "run"))


def test_a_run_that_was_killed_ends_in_the_same_bytes_as_one_that_was_not(pair: RunPair):
    assert UPDATES // 2 < pair.killed_at < UPDATES
    assert_same_checkpoint(checkpoint(pair.resumed, UPDATES), checkpoint(pair.straight, UPDATES))


def test_the_comparison_would_see_a_difference(pair: RunPair):
    end, before = checkpoint(pair.straight, UPDATES), checkpoint(pair.straight, 3 * UPDATES // 4)
    for name in ("weights", "average", "optimiser", "source"):
        assert (end / f"{name}.safetensors").read_bytes() != (before / f"{name}.safetensors").read_bytes()


def test_every_update_is_recorded_once_with_the_same_figures(pair: RunPair):
    records = []
    for run in (pair.straight, pair.resumed):
        assert recorded_updates(run) == list(range(UPDATES + 1))
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        figures = ("learner/", "collection/", "evaluation/")  # speed and time are the machine's
        records.append([{name: value for name, value in line.items() if name.startswith(figures)} for line in lines])
    assert records[0] == records[1]


def test_a_damaged_checkpoint_is_skipped_loudly_and_the_run_continues_from_the_one_before(
    portfolio_pair: RunPair, finished: Path, capfd: pytest.CaptureFixture[str]
):
    damaged = checkpoint(finished, UPDATES)
    weights = damaged / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert main(["resume", str(finished)]) == 0
    sentence = f"Skipped a checkpoint: {damaged} is damaged: weights.safetensors does not match its sha256."
    assert f"Warning: {sentence}" in capfd.readouterr().out
    log = (finished / "run.log").read_text()
    assert sentence in log
    assert f"Resumed at update {3 * UPDATES // 4} of {UPDATES}" in log
    assert_same_checkpoint(damaged, checkpoint(portfolio_pair.straight, UPDATES))


@pytest.mark.parametrize("override", ["learner.learning_rate=1", "seed=4", "policy.size=micro", "collection.slots=8"])
def test_a_setting_that_would_make_it_another_run_cannot_change(
    finished: Path, override: str, capfd: pytest.CaptureFixture[str]
):
    before = (finished / "metrics.jsonl").read_bytes()
    assert main(["resume", str(finished), "updates=500", override]) == 2
    errors = capfd.readouterr().err
    assert f"\n{override.partition('=')[0]} cannot change when a run is resumed; start a new run" in errors
    assert "updates" in errors
    assert len(errors.splitlines()) == 3  # with the status before
    assert (finished / "metrics.jsonl").read_bytes() == before


def test_a_finished_run_says_how_to_add_updates(finished: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["resume", str(finished)]) == 2
    errors = capfd.readouterr().err
    assert f"has finished its {UPDATES} updates" in errors
    longer = UPDATES + 3
    assert main(["resume", str(finished), f"updates={longer}"]) == 0
    assert yaml.safe_load((finished / "config.yaml").read_text())["updates"] == longer
    assert newest(finished) == longer
    assert recorded_updates(finished) == list(range(longer + 1))


def test_a_copied_checkpoint_is_all_that_is_needed_to_load_and_measure_a_policy(
    portfolio_pair: RunPair, tmp_path: Path
):
    elsewhere = Path(shutil.copytree(checkpoint(portfolio_pair.resumed, UPDATES), tmp_path / "elsewhere"))
    figures = tmp_path / "figures.json"
    assert main(["evaluate", str(portfolio_pair.resumed), "--json", str(figures)]) == 0
    measured = json.loads(figures.read_text())
    game = open_game("openspiel:kuhn_poker")
    for name in ("last", "average"):
        policy = nemesis.load_policy(elsewhere, name)
        assert game.nash_conv(as_step_policy(policy, torch.device("cpu"))) == measured[f"nash_conv_{name}"]
    assert measured["nash_conv_last"] != measured["nash_conv_average"]
    recorded = json.loads((portfolio_pair.resumed / "metrics.jsonl").read_text().splitlines()[-1])
    assert recorded["evaluation/nash_conv"] == pytest.approx(measured["nash_conv_last"])


def test_an_interrupt_saves_a_checkpoint_from_which_the_run_resumes_exactly(portfolio_pair: RunPair, tmp_path: Path):
    run = tmp_path / "run"
    train = ["train", "kuhn", *SMALL, *RECURRENT_PORTFOLIO, f"updates={UPDATES}", "checkpoints.interval=1000"]
    process = Background(tmp_path / "printed.txt", signalled, signal.SIGTERM, 9, run, *train)
    assert process.finish() == 143
    assert "Traceback" not in process.printed
    update = newest(run)
    assert 9 <= update < UPDATES
    assert f"Stopped and saved at update {update}; continue with `nemesis resume {run}`." in process.printed
    assert recorded_updates(run) == list(range(update + 1))
    assert main(["resume", str(run)]) == 0
    ours, theirs = checkpoint(run, UPDATES), checkpoint(portfolio_pair.straight, UPDATES)
    for name in ("weights", "average", "optimiser", "learner", "source", "matchmaker", "random"):
        assert (ours / f"{name}.safetensors").read_bytes() == (theirs / f"{name}.safetensors").read_bytes(), name


def test_the_global_generators_continue_where_they_were(tmp_path: Path):
    """Nothing draws from them while a run trains today, so that the runs above cannot tell."""
    config = build_config(RunConfig, {"game": "openspiel:kuhn_poker"}, SMALL)

    def draw() -> list[float]:
        return [random.random(), float(np.random.random()), float(torch.rand(()))]  # noqa: NPY002

    run = Run(config, tmp_path)
    draw()
    saved = run.save(tmp_path)
    expected = draw()
    Run(config, tmp_path).restore(load_checkpoint(saved))
    assert draw() == expected


def test_weights_that_grow_beyond_all_bounds_end_the_run_with_a_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    run = tmp_path / "run"
    settings = ["game=openspiel:leduc_poker", "learner.learning_rate=1e30", "updates=10", "checkpoints.interval=1000"]
    assert main(["train", "kuhn", *SMALL, *settings, "--run", str(run)]) == 2
    assert "learning_rate" in capfd.readouterr().err
    assert main(["evaluate", str(run)]) == 0  # the checkpoint that is left is a good one
    for tensor in safetensors.torch.load_file(checkpoint(run, newest(run)) / "weights.safetensors").values():
        assert torch.isfinite(tensor).all()


def test_a_run_that_diverges_keeps_its_last_checkpoint_as_it_was(tmp_path: Path):
    """An infinite gradient in every step: returns beyond what float32 can square."""
    run = Run(build_config(RunConfig, {"game": "openspiel:kuhn_poker"}, [*SMALL, "learner.skip_limit=2"]), tmp_path)
    collect = run.source.collect

    def broken(decisions: int) -> Experience:
        experience = collect(decisions)
        played = experience.episodes[MAIN]
        return Experience({MAIN: replace(played, result=np.full_like(played.result, 1e30))}, experience.outcomes)

    run.source.collect = broken  # type: ignore[method-assign]
    with (
        RunDirectory.create(tmp_path / "run", run.config.model_dump(mode="json")) as directory,
        pytest.raises(DivergedError, match=r"2 steps in a row .* not finite"),
    ):
        run_to_end(run, directory, Console(file=StringIO()), resumed=False)
    assert newest(tmp_path / "run") == 0
    weights = safetensors.torch.load_file(checkpoint(tmp_path / "run", 0) / "weights.safetensors")
    assert all(torch.equal(weights[name], value) for name, value in run.policy.state_dict().items())
