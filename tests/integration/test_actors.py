"""Actors beside the learner: they play what a run in one process would, and may die, hang or be orphaned."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from background import LIMIT, wait_until

from nemesis.actors import actor, parallel
from nemesis.actors.parallel import ParallelSource
from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.interrupts import StoppedError
from nemesis.core.masks import is_legal
from nemesis.learners.batch import to_batch
from nemesis.play.pairings import MAIN, Pairing, Pairings, PlayerSource
from nemesis.training.config import RunConfig
from nemesis.training.run import Run

torch.set_num_threads(1)

SETTINGS = [
    "game=openspiel:leduc_poker",
    "collection.slots=64",
    "collection.decisions=512",
    "collection.actors=2",
    "policy.size=nano",
    "learner.algorithm=ppo",
    "tracking.tensorboard=false",
]
SELF = PlayerSource("learning", MAIN)


def config(*overrides: str) -> RunConfig:
    changed = {override.partition("=")[0]: override for override in (*SETTINGS, *overrides)}
    return build_config(RunConfig, {}, list(changed.values()))


@contextmanager
def collecting(tmp_path: Path, *overrides: str) -> Iterator[tuple[Run, ParallelSource]]:
    with closing(Run(config(*overrides), tmp_path)) as run:
        assert isinstance(run.source, ParallelSource)
        yield run, run.source


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("inference", ["local", "central"])
def test_actors_hand_over_complete_episodes_of_the_published_weights(tmp_path: Path, inference: str):
    with collecting(tmp_path, f"collection.inference={inference}") as (run, collection):
        for version in (0, 1, 2):
            collection.publish(MAIN, run.policy, version)
            experience = collection.collect(512)
            episodes = experience.episodes[MAIN]
            assert episodes.decisions >= 512
            assert episodes.version.max() <= version
            assert set(np.unique(episodes.result)) <= set(np.linspace(-1, 1, 27).astype(np.float32))
            assert is_legal(episodes.mask, episodes.action).all()
            state = torch.zeros(episodes.decisions, 0)
            with torch.no_grad():
                view, mask = torch.from_numpy(episodes.view), torch.from_numpy(episodes.mask)
                log_probs = run.policy.step(view, mask, state).log_probs
            expected = log_probs.gather(1, torch.from_numpy(episodes.action)[:, None])[:, 0].numpy()
            np.testing.assert_allclose(episodes.log_prob, expected, atol=1e-5)
        assert collection.counts.matches > 100


def test_new_weights_and_pairings_reach_the_actors(tmp_path: Path):
    with collecting(tmp_path) as (run, collection):
        collection.collect(512)
        with torch.no_grad():
            for parameter in run.policy.parameters():
                parameter.add_(0.5)
        collection.publish(MAIN, run.policy, 5)
        collection.follow(Pairings((Pairing(SELF, PlayerSource("scripted", "random"), 1.0),)))

        def are_used() -> bool:
            experience = collection.collect(512)
            opponent = PlayerSource("scripted", "random")
            if set(experience.episodes[MAIN].version.tolist()) != {5} or opponent not in experience.outcomes.players:
                return False
            of_opponent = experience.outcomes.player == experience.outcomes.players.index(opponent)
            return bool(np.all(of_opponent.sum(axis=1) == 1))

        wait_until(lambda: all(are_used() for _ in range(3)))


def test_a_run_with_actors_learns_and_leaves_no_process_behind(tmp_path: Path):
    with collecting(tmp_path, "learner.learning_rate=0.003") as (run, collection):
        before = run.evaluate()["nash_conv"]
        for _ in range(60):
            metrics = run.step()
        assert run.evaluate()["nash_conv"] < 0.8 * before
        assert 0 < metrics["collection/staleness"] <= 3
        pids = collection.pids
        assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


def test_an_actor_that_dies_is_replaced(tmp_path: Path):
    with collecting(tmp_path) as (_, collection):
        collection.collect(512)
        target, other = collection.pids
        os.kill(target, signal.SIGKILL)
        while target in collection.pids:
            collection.collect(512)
        _by_all_actors(collection)
        assert collection.counts.restarts == 1
        assert collection.pids[1] == other
        assert all(alive(pid) for pid in collection.pids)


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_one_process_decides_for_all_actors_as_each_would_by_itself(tmp_path: Path, memory: str):
    settings = ("collection.inference=central", f"policy.memory={memory}", "learner.sequence_length=2")
    with collecting(tmp_path, *settings) as (run, collection):
        collection.follow(Pairings((Pairing(SELF, SELF, 1.0), Pairing(SELF, PlayerSource("scripted", "random"), 1.0))))
        for _ in range(3):
            episodes = collection.collect(512).episodes[MAIN]
        batch = to_batch(episodes, 2, run.policy, torch.device("cpu"))
        log_prob = batch.run_all(run.policy).log_probs.gather(1, batch.action[:, None])[:, 0]
        np.testing.assert_allclose(episodes.log_prob, log_prob.numpy(), atol=1e-5)
        target = collection.pids[0]
        os.kill(target, signal.SIGKILL)
        while target in collection.pids:
            collection.collect(512)
        for _ in range(3):
            episodes = collection.collect(512).episodes[MAIN]
        batch = to_batch(episodes, 2, run.policy, torch.device("cpu"))
        log_prob = batch.run_all(run.policy).log_probs.gather(1, batch.action[:, None])[:, 0]
        np.testing.assert_allclose(episodes.log_prob, log_prob.numpy(), atol=1e-5)


def test_when_central_inference_dies_everything_is_started_again(tmp_path: Path):
    with collecting(tmp_path, "collection.inference=central") as (_, collection):
        collection.collect(512)
        before = collection.pids
        assert collection.inference_pid is not None
        os.kill(collection.inference_pid, signal.SIGKILL)
        wait_until(lambda: not any(alive(pid) for pid in before))  # they have lost their connection
        while set(before) & set(collection.pids):
            collection.collect(512)
        after = collection.pids
        for _ in range(8):
            collection.collect(512)
        assert collection.pids == after  # none was replaced again
        assert collection.counts.restarts == 2


def test_a_sentence_of_central_inference_reaches_the_person(tmp_path: Path):
    with collecting(tmp_path, "collection.inference=central") as (_, collection):
        collection.follow(Pairings((Pairing(SELF, PlayerSource("frozen", "missing.safetensors"), 1.0),)))
        with pytest.raises(UserError, match=r"There is no policy at .*missing\.safetensors"):
            collection.collect(512)


def test_no_two_actors_play_matches_of_the_same_number_or_seed(tmp_path: Path):
    with collecting(tmp_path) as (_, collection):
        first = _by_all_actors(collection)
        snapshot = collection.snapshot()
    assert len(set(first)) == len(first)
    with collecting(tmp_path) as (_, resumed):
        resumed.restore(snapshot)
        later = _by_all_actors(resumed)
    assert not {match >> 40 for match, _ in first} & {match >> 40 for match, _ in later}


def _by_all_actors(collection: ParallelSource) -> list[tuple[int, int]]:
    """Collect until two actors have handed over episodes, one of which may be slow to start; returns match and seat."""
    played: list[tuple[int, int]] = []

    def have_played() -> bool:
        episodes = collection.collect(512).episodes[MAIN]
        played.extend(zip(episodes.match.tolist(), episodes.seat.tolist(), strict=True))
        return len({match >> 40 for match, _ in played}) == 2

    wait_until(have_played)
    return played


def test_an_actor_that_dies_while_the_learner_is_busy_is_replaced_by_supervision(tmp_path: Path):
    with collecting(tmp_path) as (_, collection):
        collection.collect(512)
        target = collection.pids[0]
        os.kill(target, signal.SIGKILL)
        wait_until(lambda: collection.supervise() or target not in collection.pids)
        assert all(alive(pid) for pid in collection.pids)


def test_what_an_actor_handed_over_before_it_died_is_not_lost(tmp_path: Path):
    with collecting(tmp_path, "collection.actors=1") as (_, collection):
        first = {match >> 40 for match in collection.collect(512).episodes[MAIN].match.tolist()}
        assert collection._actors[0].connection.poll(LIMIT)  # it has handed over the next ones, and waits
        played = collection.counts.matches
        (target,) = collection.pids
        os.kill(target, signal.SIGKILL)
        wait_until(lambda: collection.supervise() or target not in collection.pids)
        assert collection.counts.matches == played  # counted when they are collected, not before
        episodes = collection.collect(512).episodes[MAIN]
        assert {match >> 40 for match in episodes.match.tolist()} == first
        assert collection.counts.matches >= played + len(set(episodes.match.tolist()))


def test_matches_of_an_interrupted_batch_are_not_counted(tmp_path: Path):
    with collecting(tmp_path) as (_, collection):
        collection.collect(512)
        before = collection.counts.state()
        looks = iter([False] * 3)
        with pytest.raises(StoppedError):
            collection.collect(1_000_000, lambda: next(looks, True))
        assert collection.counts.state() == before


def test_supervision_raises_the_failure_of_an_actor_too(tmp_path: Path):
    with collecting(tmp_path, "collection.actors=1") as (_, collection):
        collection.collect(512)
        collection.follow(Pairings((Pairing(SELF, PlayerSource("frozen", "missing.safetensors"), 1.0),)))
        wait_until(lambda: not collection._actors[0].process.is_alive())
        with pytest.raises(UserError, match=r"There is no policy at .*missing\.safetensors"):
            collection.supervise()


def test_an_actor_that_hangs_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parallel, "_HANG_LIMIT", 2.0)
    with collecting(tmp_path, "collection.actors=1") as (_, collection):
        collection.collect(512)
        (target,) = collection.pids
        os.kill(target, signal.SIGSTOP)
        for _ in range(4):  # beyond what it has handed over
            collection.collect(512)
        assert target not in collection.pids
        assert not alive(target)


def test_an_actor_that_cannot_play_ends_the_run_with_its_sentence(tmp_path: Path):
    with collecting(tmp_path) as (_, collection):
        collection.follow(Pairings((Pairing(SELF, PlayerSource("frozen", "missing.safetensors"), 1.0),)))
        with pytest.raises(UserError, match=r"There is no policy at .*missing\.safetensors"):
            collection.collect(512)


def start(*arguments: str) -> "subprocess.Popen[str]":
    # A shell lets whatever it runs in the background ignore interrupts, as these tests perhaps are.
    program = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    program += "from nemesis.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def children(pid: int) -> list[int]:
    """Return all processes below one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(path.parent.name)
            found += [child, *children(child)]
    return found


def started_run(path: Path) -> "subprocess.Popen[str]":
    process = start("train", "leduc", *SETTINGS, "checkpoints.interval=1", "updates=100000", "--run", str(path))
    wait_until(lambda: (path / "checkpoints" / "update-00000002").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()[0]
    return process


def test_when_the_learner_is_killed_no_process_outlives_it_and_the_run_can_be_resumed(tmp_path: Path):
    path = tmp_path / "run"
    process = started_run(path)
    family = children(process.pid)
    assert len(family) >= 3  # two actors and the process that starts them
    process.kill()
    process.wait()
    wait_until(lambda: not any(alive(pid) for pid in family))
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    newest = max(int(one.name.removeprefix("update-")) for one in (path / "checkpoints").glob("update-*"))
    decisions = next(line["collection/decisions"] for line in lines if line["update"] == newest)
    assert main(["resume", str(path), f"updates={newest + 5}"]) == 0
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["update"] == newest + 5
    assert lines[-1]["collection/decisions"] >= decisions + 5 * 512


def test_ctrl_c_which_reaches_all_processes_saves_and_ends_them(tmp_path: Path):
    process = started_run(tmp_path / "run")
    family = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert "Stopped and saved" in output
    assert "Traceback" not in output
    wait_until(lambda: not any(alive(pid) for pid in family))


BROKEN = """
from multiprocessing import parent_process
from torch import nn

class Broken:
    def __init__(self, game):
        self.game, self.action_head = game, game.action_head

    def encoder(self, width):
        return Encoder(self.game.encoder(width))

class Encoder(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, view):
        if parent_process() is not None:
            raise ArithmeticError("out of range")
        return self.encoder(view)
"""


@pytest.mark.parametrize(("inference", "name"), [("local", "An actor"), ("central", "Central inference")])
def test_an_unexpected_exception_in_a_process_is_in_the_log_of_the_run(
    tmp_path: Path, inference: str, name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "broken.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(parallel, "_MAX_LOSSES", 1)
    settings = ("collection.actors=1", "policy.encoder=broken:Broken", f"collection.inference={inference}")
    with (
        collecting(tmp_path, *settings) as (_, collection),
        pytest.raises(UserError, match="actors in a row were lost"),
    ):
        collection.collect(512)
    log = (tmp_path / "run.log").read_text()
    assert f"{name} (process " in log
    assert "ArithmeticError: out of range" in log
    assert "ArithmeticError" not in capfd.readouterr().err


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_an_episode_longer_than_the_shared_memory_of_an_actor_is_learned_from_in_segments(
    tmp_path: Path, memory: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(actor, "_MIN_CAPACITY", 24)
    settings = ("game=openspiel:go(board_size=13)", "collection.actors=1", "collection.slots=2")
    settings += ("collection.decisions=16", f"policy.memory={memory}", "learner.sequence_length=64")
    with collecting(tmp_path, *settings) as (_, collection):
        episodes = collection.collect(400).episodes[MAIN]
    assert episodes.lengths.max() == (64 if memory == "gru" else 24)
    assert episodes.terminated is not None
    assert 0 < episodes.terminated.sum() < episodes.episodes
