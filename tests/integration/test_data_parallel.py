"""Two processes learn what one does."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from background import LIMIT, command, wait_until

from nemesis.cli import main
from nemesis.storage.metrics import read_metrics
from nemesis.storage.policies import find_checkpoint

SETTINGS = (
    "game=openspiel:leduc_poker",
    "updates=6",
    "threads=1",
    "collection.decisions=300",
    "policy.width=16",
    "learner.learning_rate=0.01",
    "data.validation=0.2",
    "evaluation.interval=3",
    "checkpoints.interval=2",
    "tracking.tensorboard=false",
    "device=cpu",
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("datasets") / "leduc"
    assert main(["collect", "random", "--game", "openspiel:leduc_poker", "--matches", "400", "--out", str(path)]) == 0
    return path


def torchrun(*arguments: str) -> None:
    """Run a command in two processes."""
    launcher = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--", "nemesis")
    ended = subprocess.run(
        [sys.executable, "-m", *launcher, *arguments], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert ended.returncode == 0, ended.stderr


def in_two_processes(folder: Path, *arguments: str) -> None:
    """Run a command in two processes with the environment that torchrun gives them, which starts them sooner."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    processes = [
        command(folder / f"{rank}.txt", *arguments, RANK=str(rank), LOCAL_RANK=str(rank), **common) for rank in range(2)
    ]
    for process in processes:
        assert process.finish() == 0, process.printed


def losses(path: Path) -> list[float]:
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    return [line["learner/loss"] for line in lines if "learner/loss" in line]


def test_two_processes_learn_what_one_does(dataset: Path, tmp_path: Path):
    preset = tmp_path / "preset.yaml"
    preset.write_text("learner: {algorithm: offline}\nreward: {scale: running}\n")
    settings = (*SETTINGS, f"data.sources={dataset}")
    folder = {name: tmp_path / name for name in ("one", "two")}
    assert main(["train", str(preset), *settings, "--run", str(folder["one"])]) == 0
    torchrun("train", str(preset), *settings, "--run", str(folder["two"]))
    assert len(losses(folder["one"])) == 6
    assert losses(folder["two"]) == pytest.approx(losses(folder["one"]), rel=1e-4)
    last = Path("checkpoints", "update-00000006")
    one, two = (safetensors.torch.load_file(path / last / "weights.safetensors") for path in folder.values())
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-2, atol=1e-4)
    shutil.rmtree(folder["two"] / last)
    in_two_processes(tmp_path, "resume", str(folder["two"]))
    again = safetensors.torch.load_file(folder["two"] / last / "weights.safetensors")
    assert all(torch.equal(again[name], tensor) for name, tensor in two.items())


def test_a_signal_to_one_process_saves_and_ends_all(dataset: Path, tmp_path: Path):
    preset, path = tmp_path / "preset.yaml", tmp_path / "run"
    preset.write_text("learner: {algorithm: offline}\n")
    kept = [setting for setting in SETTINGS if not setting.startswith(("updates=", "checkpoints.interval="))]
    settings = (*kept, f"data.sources={dataset}", "updates=1000000", "checkpoints.interval=1000000")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    group = {"OMP_NUM_THREADS": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    first, second = (
        command(tmp_path / f"{rank}.txt", "train", str(preset), *settings, "--run", str(path), RANK=str(rank), **group)
        for rank in range(2)
    )
    metrics = path / "metrics.jsonl"
    wait_until(lambda: len(read_metrics(metrics)) >= 3 or not (first.alive and second.alive))
    assert second.alive, second.printed
    os.kill(second.pid, signal.SIGHUP)
    assert (first.finish(), second.finish()) == (143, 0)
    assert find_checkpoint(path).update == read_metrics(metrics)[-1]["update"] >= 2
    assert "Ended by a signal to another process of the run." in (path / "run.log").read_text()
