"""Whole training loops of Rocket League that take turns: ours, the one on RLGym's environment, and rlgym-ppo.

All learn with the settings of the preset rocket_league_1v1. A loop that has no turn does not use the processor.
"""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol, Self

from benchmarks.report import MeasurementError
from nemesis.actors.parallel import ParallelSource
from nemesis.core.config import build_config
from nemesis.presets import load_preset
from nemesis.training.config import RunConfig
from nemesis.training.run import Run

PRESET = "rocket_league_1v1"
_QUIET = 0.5  # seconds without processor time after which processes are idle
_QUIET_LIMIT = 60.0  # seconds
_PPO_PROCESSES = 8
_PPO_ITERATIONS = 4
_PPO_LAYERS = (256, 256, 256)  # of its policy and of its critic: 0.4M parameters together
_PPO_SPEED = re.compile(r"Overall Steps per Second: *([\d.]+)")


@dataclass(frozen=True, slots=True)
class PeerSetting:
    """How the loop on RLGym's environment uses the machine."""

    workers: int
    environments: int  # of each worker
    threads: int  # of learning, during which the workers wait

    def __str__(self) -> str:
        return f"{self.workers} × {self.environments}, threads: {self.threads}"


class Loop(Protocol):
    """A training loop that can be paused."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def speed(self, warm_up: float, seconds: float) -> float:
        """Train for some time after a warm-up; returns agent-steps per second. Nothing runs afterwards."""
        ...


def loop_config(actors: int, seed: int) -> RunConfig:
    """Return the settings of all loops, which differ in the actors only."""
    settings = [f"collection.actors={actors}", f"seed={seed}", "collection.staleness=100", "device=cpu"]
    return build_config(RunConfig, load_preset(PRESET), settings)


class OurLoop:
    """A run of `nemesis train`, but in self-play only, as the others, and without evaluations or checkpoints."""

    def __init__(self, config: RunConfig) -> None:
        self._run = Run(config, Path("unused"))  # nothing is saved

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._run.close()

    def speed(self, warm_up: float, seconds: float) -> float:
        # The warm-up also uses up what actors had ready when the last turn ended.
        self._train(warm_up)
        decisions, started = self._run.source.decisions, time.monotonic()
        self._train(seconds)
        speed = (self._run.source.decisions - decisions) / (time.monotonic() - started)
        if isinstance(self._run.source, ParallelSource):
            _await_idle(self._run.source.pids)
        return speed

    def _train(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._run.step()


class PeerLoop:
    """The loop of rlgym_trainer.py, in a process of its own."""

    def __init__(self, config: RunConfig, setting: PeerSetting) -> None:
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / "config.json"
        file.write_text(config.model_dump_json(), encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.peers.rlgym_trainer", str(file)]
        command += ["--workers", str(setting.workers), "--environments", str(setting.environments)]
        command += ["--threads", str(setting.threads)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def speed(self, warm_up: float, seconds: float) -> float:
        self._train(warm_up)
        answer = self._train(seconds)
        return float(answer["learned"] / answer["seconds"])

    def _train(self, seconds: float) -> Any:
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        if not (answer := self._process.stdout.readline()):
            raise MeasurementError("The loop on RLGym exited before it was measured; its error is above.")
        return json.loads(answer)


def rlgym_ppo_speed(path: str, config: RunConfig, seconds: float) -> float:
    """Return the agent-steps per second of rlgym-ppo, of which a folder has the package, over about so long."""
    if not (Path(path) / "rlgym_ppo" / "__init__.py").is_file():
        raise MeasurementError(f"--peer {path} is not a folder with the package rlgym_ppo.")
    terminal, theirs = pty.openpty()  # it asks its terminal for keys
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(path).resolve()), *sys.path])}
    learner = config.model_dump()["learner"]
    settings = {
        "n_proc": _PPO_PROCESSES,
        "min_inference_size": _PPO_PROCESSES,
        "ts_per_iteration": config.collection.decisions,
        "exp_buffer_size": config.collection.decisions,
        "ppo_batch_size": config.collection.decisions,
        "ppo_minibatch_size": learner["minibatch"],
        "ppo_epochs": learner["epochs"],
        "policy_layer_sizes": _PPO_LAYERS,
        "critic_layer_sizes": _PPO_LAYERS,
        "standardize_obs": False,
        "timestep_limit": _PPO_ITERATIONS * config.collection.decisions,
        "log_to_wandb": False,
        "device": "cpu",
    }
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.peers.rlgym_ppo", json.dumps(settings)]
        try:
            outcome = subprocess.run(
                command,
                stdin=theirs,
                capture_output=True,
                text=True,
                cwd=folder,  # where it saves checkpoints
                env=environment,
                timeout=_PPO_ITERATIONS * 60 + seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise MeasurementError("rlgym-ppo did not complete its iterations in time.") from None
        finally:
            os.close(terminal)
            os.close(theirs)
    return reported_speed(outcome.stdout, outcome.stderr)


def reported_speed(output: str, errors: str = "") -> float:
    """Return the median speed that rlgym-ppo prints after its first iteration."""
    speeds = [float(number) for number in _PPO_SPEED.findall(output)][1:]
    if not speeds:
        last = (errors.strip() or output.strip() or "it printed nothing").splitlines()[-1]
        raise MeasurementError(f"rlgym-ppo could not be measured: {last}.")
    return median(speeds)


def _await_idle(pids: list[int]) -> None:
    """Wait until processes use no processor time."""
    deadline, used = time.monotonic() + _QUIET_LIMIT, -1
    while used != (now := _ticks(pids)):
        if time.monotonic() > deadline:
            raise MeasurementError("The actors of a run that has no turn do not stop playing.")
        used = now
        time.sleep(_QUIET)


def _ticks(pids: list[int]) -> int:
    fields = [Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split() for pid in pids]
    return sum(int(one[11]) + int(one[12]) for one in fields)
