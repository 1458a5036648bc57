"""A training loop on RLGym's environment as its users write it: the peer of our whole loop.

Worker processes step environments; this process decides for all that wait in one forward pass, and learns with PPO from
the last decisions of all cars while the workers wait.

    python -m benchmarks.peers.rlgym_trainer CONFIG --workers 2 --environments 16 --threads 2

Every line on standard input, a number of seconds, is answered after that time with the decisions that were learned from
and the seconds that it took, as one line of JSON. The network and the learner are those of CONFIG, the config of a run
as JSON, and so the same as on our side.
"""

import argparse
import json
import sys
import time
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.peers.rlgym_environment import as_views, check_installed, make_environment
from nemesis.core.allocator import keep_freed_memory
from nemesis.core.config import build_config
from nemesis.core.masks import pack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.games.rocket_league.actions import ACTIONS
from nemesis.policies.build import build_policy
from nemesis.training.assembly import build_learner
from nemesis.training.config import RunConfig


def work(pipe: "Connection[Any, Any]", environments: int, size: int) -> None:
    """Step environments with the actions that come through the pipe, until it is closed."""
    torch.set_num_threads(1)
    playing = [make_environment(size) for _ in range(environments)]
    observation = np.concatenate([list(environment.reset().values()) for environment in playing])
    pipe.send((observation, None, None, None, None))
    while True:
        try:
            actions = pipe.recv()
        except EOFError:
            return
        pipe.send(_stepped(playing, actions))


def _stepped(playing: list[Any], actions: Any) -> tuple[Any, ...]:
    """Step all environments; returns observations, rewards, endings, and the last observations of truncated ones."""
    observations, rewards, terminated, truncated, final = [], [], [], [], []
    row = 0
    for environment in playing:
        agents = environment.agents
        chosen = {agent: actions[row + at : row + at + 1] for at, agent in enumerate(agents)}
        seen, reward, ended, cut = environment.step(chosen)
        rewards += [reward[agent] for agent in agents]
        terminated += [bool(ended[agent]) for agent in agents]
        truncated += [bool(cut[agent]) and not ended[agent] for agent in agents]
        if truncated[-1]:
            final += [seen[agent] for agent in agents]
        if terminated[-1] or truncated[-1]:
            seen = environment.reset()
        observations += list(seen.values())
        row += len(agents)
    return (
        np.array(observations),
        np.array(rewards, dtype=np.float32),
        np.array(terminated),
        np.array(truncated),
        np.array(final) if final else None,
    )


class Worker:
    """A worker and the decisions of its cars, one row per step."""

    def __init__(self, environments: int, size: int) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, environments, size), daemon=True)
        self._process.start()
        theirs.close()
        self.size = size
        self.view = as_views(self.pipe.recv()[0], size)  # what its cars see now
        self.clear()

    def clear(self) -> None:
        self.columns: dict[str, list[Any]] = {
            name: [] for name in ("view", "action", "log_prob", "value", "reward", "terminated", "truncated", "final")
        }

    def receive(self) -> None:
        """Take the answer of the worker to the last actions."""
        observation, reward, terminated, truncated, final = self.pipe.recv()
        self.view = as_views(observation, self.size)
        for name, column in (("reward", reward), ("terminated", terminated), ("truncated", truncated)):
            self.columns[name].append(column)
        self.columns["final"].append(None if final is None else as_views(final, self.size))


class Trainer:
    """Decides for all environments and learns from them."""

    def __init__(self, config: RunConfig, workers: int, environments: int, threads: int) -> None:
        torch.set_num_threads(1)
        self._threads = threads  # of learning, during which the workers wait
        keep_freed_memory()
        size = int(config.game.rpartition(":")[2][0])
        self._policy = build_policy(config.open_game(), config.policy)
        self._learner = build_learner(self._policy, config, torch.device("cpu"), 0, lambda _: [])
        self._workers = [Worker(environments, size) for _ in range(workers)]
        self._steps = max(1, config.collection.decisions // (workers * environments * 2 * size))
        self._mask = torch.ones(1, len(ACTIONS), dtype=torch.bool)

    def train(self, seconds: float) -> dict[str, float]:
        """Train for about so long; whole updates only."""
        started, learned = time.monotonic(), 0
        while time.monotonic() - started < seconds:
            self._collect()
            torch.set_num_threads(self._threads)
            trajectories = _trajectories(self._workers, [self._values(worker) for worker in self._workers])
            self._learner.update(trajectories, 0.0)
            torch.set_num_threads(1)
            learned += trajectories.decisions
        return {"learned": learned, "seconds": time.monotonic() - started}

    def _collect(self) -> None:
        """Play so many steps with each worker; whichever is ready is answered first."""
        by_pipe = {worker.pipe: worker for worker in self._workers}
        for worker in self._workers:
            worker.clear()
            self._decide(worker)
        while by_pipe:
            for pipe in connection.wait(list(by_pipe)):
                worker = by_pipe[pipe]  # type: ignore[index]
                worker.receive()
                if len(worker.columns["action"]) == self._steps:
                    del by_pipe[pipe]  # type: ignore[arg-type]
                else:
                    self._decide(worker)

    @torch.inference_mode()
    def _decide(self, worker: Worker) -> None:
        view = torch.from_numpy(worker.view)
        output = self._policy.step(
            view, self._mask.expand(len(view), -1), torch.zeros(len(view), self._policy.state_size)
        )
        action = torch.multinomial(output.log_probs.exp(), 1)
        worker.pipe.send(action[:, 0].numpy())
        columns = worker.columns
        columns["view"].append(worker.view)
        columns["action"].append(action[:, 0].numpy())
        columns["log_prob"].append(output.log_probs.gather(1, action)[:, 0].numpy())
        columns["value"].append(output.value.numpy())

    @torch.inference_mode()
    def _values(self, worker: Worker) -> list[Any]:
        """Return the values of what cars saw last before their match was truncated, by step, and of what they see now.

        The last of the list is of now.
        """
        values: list[Any] = []
        for view in [*worker.columns["final"], worker.view]:
            if view is None:
                values.append(None)
                continue
            mask = self._mask.expand(len(view), -1)
            output = self._policy.step(torch.from_numpy(view), mask, torch.zeros(len(view), self._policy.state_size))
            values.append(output.value.numpy())
        return values


def _trajectories(workers: list[Worker], values: list[list[Any]]) -> Trajectories:
    """Return the decisions of all cars as episodes, cut where a match ended and where the collection ended."""
    joined = {
        name: np.concatenate([np.stack(worker.columns[name], axis=1) for worker in workers])
        for name in ("view", "action", "log_prob", "value", "reward", "terminated", "truncated")
    }  # (car, step, …)
    cars, steps = joined["action"].shape
    following = np.zeros((cars, steps), dtype=np.float32)  # value after the step, where an episode is cut there
    first = 0
    for worker, known in zip(workers, values, strict=True):
        own = slice(first, first + len(worker.view))
        for step, value in enumerate(known[:-1]):
            if value is not None:
                following[own, step][worker.columns["truncated"][step]] = value
        last = ~(joined["terminated"][own, -1] | joined["truncated"][own, -1])
        following[own, -1][last] = known[-1][last]
        first = own.stop
    ends = joined["terminated"] | joined["truncated"]
    ends[:, -1] = True
    rows = np.flatnonzero(ends.reshape(-1))
    terminated = joined["terminated"].reshape(-1)[rows]
    total, episodes = cars * steps, len(rows)
    return Trajectories(
        view=joined["view"].reshape(total, -1),
        mask=np.repeat(pack_mask(np.ones((1, len(ACTIONS)), dtype=np.bool_)), total, axis=0),
        action=joined["action"].reshape(-1),
        log_prob=joined["log_prob"].reshape(-1),
        value=joined["value"].reshape(-1),
        version=np.zeros(total, dtype=np.int64),
        tick=np.zeros(total, dtype=np.int64),
        offsets=np.append(0, rows + 1),
        match=np.arange(episodes),
        seat=np.zeros(episodes, dtype=np.int64),
        result=np.zeros(episodes, dtype=np.float32),  # goals are among the rewards
        memory_row=np.zeros(0, dtype=np.int64),
        memory=np.zeros((0, 0), dtype=np.float32),
        reward=joined["reward"].reshape(-1),
        terminated=terminated,
        bootstrap=np.where(terminated, 0, following.reshape(-1)[rows]).astype(np.float32),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="config of a run, as JSON")
    parser.add_argument("--workers", type=int, required=True, help="processes that step environments")
    parser.add_argument("--environments", type=int, required=True, help="of each worker")
    parser.add_argument("--threads", type=int, required=True, help="of learning")
    options = parser.parse_args()
    check_installed()
    config = build_config(RunConfig, json.loads(options.config.read_text(encoding="utf-8")))
    trainer = Trainer(config, options.workers, options.environments, options.threads)
    for line in sys.stdin:
        print(json.dumps(trainer.train(float(line))), flush=True)


if __name__ == "__main__":
    main()
