"""A source of experience in other processes: actors play in parallel with the learner and send it episodes.

An actor that dies or hangs is replaced. Only its matches in flight are lost: episodes that it had sent before are still
used. The learner reads episodes only once they are complete in a block, so an actor that dies while writing does no
harm.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np
import torch

from nemesis.actors.actor import ActorTask, Handover, Release, block_size, capacity, run_actor
from nemesis.actors.child_process import Failure, end
from nemesis.actors.fork_server import ProcessContext, process_context, start_fork_server
from nemesis.actors.inference import InferenceClient, InferenceTask, exchange, run_inference
from nemesis.actors.shared_memory import Block, SharedWeights, shared_zeros
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.interrupts import Stop, StoppedError, never
from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories, concatenate
from nemesis.play.config import PlaySettings
from nemesis.play.experience import Clock, Experience, PlayCounts
from nemesis.play.pairings import MAIN, Outcomes, Pairings, PlayerSource
from nemesis.policies.policy import Policy
from nemesis.storage.run_directory import log_level

_log = logging.getLogger(__name__)

_START_LIMIT = 300.0  # seconds for an actor's first step, which may install the simulator
_HANG_LIMIT = 60.0  # seconds without a heartbeat after which an actor is considered hung
_MAX_LOSSES = 5  # losses per actor in a row, without any episodes, before the run fails
_POLL = 1.0  # seconds between checks of the actors
_MATCH_BITS = 40  # more matches than an actor plays


@dataclass(slots=True)
class _ActorHandle:
    """An actor, on the learner's side."""

    number: int
    first_match: int  # added to the numbers of its matches, so that no two actors have the same
    process: BaseProcess
    connection: "Connection[Any, Any]"
    block: Block
    heartbeat: torch.Tensor
    beat: int  # last value of the heartbeat
    seen: float  # time of its last change


class ParallelSource:
    """Plays in other processes."""

    def __init__(
        self,
        settings: PlaySettings,
        game: Game,
        learners: Mapping[str, Policy],
        pairings: Pairings,
        folder: Path,
        seed: int,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self.counts = PlayCounts()
        self._settings = settings
        self._game = game
        self._folder = folder
        self._pairings = pairings
        self._weights = {name: SharedWeights(policy) for name, policy in learners.items()}
        self._portion = -(-settings.collection.decisions // settings.collection.actors)
        state_size = max(policy.state_size for policy in learners.values())
        self._capacity = capacity(settings, self._portion)
        self._block_size = block_size(settings, game, state_size, self._capacity)
        self._seed = seed
        self._started = 0  # actors so far, over the whole run
        self._losses = 0
        self._received: list[tuple[Handover, Trajectories]] = []  # not returned by `collect` yet
        self._context = process_context()
        for name, policy in learners.items():
            self.publish(name, policy, 0)
        self._actors: list[_ActorHandle] = []  # started by the first `collect`
        self._inference: _InferenceService | None = None

    @property
    def players(self) -> set[PlayerSource]:
        return self._pairings.players

    @property
    def pids(self) -> list[int]:
        """The processes of the actors."""
        return [actor.process.pid for actor in self._actors if actor.process.pid is not None]

    @property
    def inference_pid(self) -> int | None:
        """The process of central inference, if there is one."""
        return self._inference.pid if self._inference else None

    @property
    def decisions(self) -> int:
        return self.counts.decisions

    @property
    def metrics(self) -> dict[str, float]:
        return {}

    def follow(self, pairings: Pairings) -> None:
        if pairings == self._pairings:
            return
        self._pairings = pairings
        for actor in self._actors:
            self._send(actor, pairings)

    def publish(self, name: str, policy: Policy, version: int) -> None:
        self._weights[name].publish(policy, version)

    def batch(self, stop: Stop = never) -> Experience:
        return self.collect(self._settings.collection.decisions, stop)

    def collect(self, decisions: int, stop: Stop = never) -> Experience:
        """Return at least so many decisions of the main learner."""
        if not self._actors:
            report("Starting the actors", 0, self._settings.collection.actors)
            self._start()
        while (ready := self._ready) < decisions:
            steps = [int(actor.heartbeat[0]) for actor in self._actors]
            if ready or all(steps):
                report("Waiting for the actors", ready, decisions, f"{sum(steps):,} steps of their pools")
            else:
                report("Starting the actors", sum(map(bool, steps)), len(steps))
            if stop():
                raise StoppedError
            for actor in self._with_messages():
                self._read(actor)
            self._replace_hung()
        received, self._received = self._received, []
        episodes: dict[str, list[Trajectories]] = {}
        outcomes: list[Outcomes] = []
        for message, part in received:
            episodes.setdefault(message.learner, []).append(part)
            if message.outcomes is not None:
                outcomes.append(message.outcomes)
            if message.counts is not None:  # counted here, so that only experience that is learned from counts
                self.counts.add(message.counts)
        return Experience(
            {name: concatenate(parts) for name, parts in episodes.items()}, Outcomes.concatenate(outcomes)
        )

    @property
    def _ready(self) -> int:
        """The number of received decisions of the main learner."""
        return sum(part.decisions for message, part in self._received if message.learner == MAIN)

    def supervise(self) -> None:
        """Replace actors that have died; episodes that they had sent are kept for `collect`.

        If an actor reported a failure, this raises it.
        """
        for actor in [actor for actor in self._actors if not actor.process.is_alive()]:
            if self._actors[actor.number] is actor:
                self._replace(actor)

    def snapshot(self) -> dict[str, Any]:
        """Return the counts. Matches in flight are not saved; they are restarted."""
        return {"counts": self.counts.state(), "started": self._started}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self.counts = PlayCounts.restored(snapshot["counts"])
        self._started = snapshot["started"]

    def close(self) -> None:
        for actor in self._actors:
            end(actor.process)
            actor.connection.close()
        if self._inference:
            self._inference.close()

    def _start(self) -> None:
        """Start the processes."""
        start_fork_server(self._context)
        count = self._settings.collection.actors
        if self._settings.collection.inference == "central":
            exchanges = [exchange(self._game, self._settings.collection.slots) for _ in range(count)]
            task = InferenceTask(
                self._settings, self._folder, log_level(), self._new_seed(), self._weights, tuple(exchanges)
            )
            self._inference = _InferenceService(self._context, task)
        self._actors = []
        for number in range(count):
            self._actors.append(self._start_actor(number))

    def _new_seed(self) -> int:
        """Return a seed that no process of the run has used, including before a resume."""
        self._started += 1
        return int(np.random.SeedSequence([self._seed, self._started]).generate_state(1)[0])

    def _start_actor(self, number: int) -> _ActorHandle:
        """Start an actor."""
        ours, theirs = self._context.Pipe()
        block = Block(self._block_size)
        heartbeat = shared_zeros(1, dtype=torch.int64)
        task = ActorTask(
            settings=self._settings,
            folder=self._folder,
            log_level=log_level(),
            seed=self._new_seed(),
            portion=self._portion,
            capacity=self._capacity,
            pairings=self._pairings,
            weights=self._weights,
            block=block,
            inference=self._inference.clients[number] if self._inference else None,
            heartbeat=heartbeat,
        )
        process = self._context.Process(target=run_actor, args=(task, theirs), daemon=True)
        process.start()
        theirs.close()
        _log.debug("Actor %d is process %s", number, process.pid)
        first_match = self._started << _MATCH_BITS
        return _ActorHandle(number, first_match, process, ours, block, heartbeat, 0, monotonic())

    def _with_messages(self) -> Sequence[_ActorHandle]:
        by_connection = {actor.connection: actor for actor in self._actors}
        started = perf_counter()
        try:
            return [by_connection[ready] for ready in connection.wait(list(by_connection), _POLL)]  # type: ignore[index]
        finally:
            self._clock.wait += perf_counter() - started

    def _read(self, actor: _ActorHandle) -> None:
        """Read a message of an actor; replace it if it has died."""
        if self._actors[actor.number] is not actor:  # replaced in the meantime
            return
        try:
            self._take(actor)
        except (EOFError, OSError):
            self._replace(actor)

    def _take(self, actor: _ActorHandle) -> None:
        """Read an actor's next message: copy the episodes out of its block and release it, or raise its failure."""
        message: Handover | Failure = actor.connection.recv()
        if isinstance(message, Failure):
            raise UserError(message.message)
        part = Trajectories.from_arrays(actor.block.read(message.columns))
        self._received.append((message, replace(part, match=part.match + actor.first_match)))
        self._losses = 0
        self._send(actor, Release())

    def _end(self, actor: _ActorHandle) -> None:
        """Kill an actor, and read the messages that it had sent."""
        end(actor.process)
        with suppress(EOFError, OSError):
            while actor.connection.poll():
                self._take(actor)
        actor.connection.close()

    def _send(self, actor: _ActorHandle, message: Release | Pairings) -> None:
        try:
            actor.connection.send(message)
        except OSError:
            _log.debug("Actor %d has died; it is replaced when its connection is read.", actor.number)

    def _replace_hung(self) -> None:
        now = monotonic()
        for actor in self._actors:
            if self._actors[actor.number] is not actor:  # replaced in the meantime
                continue
            beat = int(actor.heartbeat[0])
            if beat != actor.beat:
                actor.beat, actor.seen = beat, now
            elif now - actor.seen > (limit := _HANG_LIMIT if beat else _START_LIMIT):
                self._replace(actor, f"It did not respond for {limit:.0f} s.")

    def _replace(self, actor: _ActorHandle, why: str = "") -> None:
        """Replace an actor, or the inference process with all actors if that is the cause."""
        if not why:
            actor.process.join(_POLL)
            why = f"It has died with exit code {actor.process.exitcode}."
        self._end(actor)
        self._losses += 1
        if self._losses > _MAX_LOSSES * len(self._actors):
            raise UserError(f"{self._losses} actors in a row were lost; see run.log, or try collection.actors=0.")
        if self._inference and (not self._inference.alive or actor.seen + _HANG_LIMIT < monotonic()):
            problem = self._inference.problem()
            _log.warning("Central inference (process %s) is replaced with all actors.%s", self.inference_pid, problem)
            self.counts.restarts += len(self._actors)
            for other in self._actors:
                if other is not actor:
                    self._end(other)
            self._inference.close()
            self._start()
            return
        _log.warning("Actor %d (process %s) is replaced. %s", actor.number, actor.process.pid, why)
        self.counts.restarts += 1
        self._actors[actor.number] = self._start_actor(actor.number)


class _InferenceService:
    """The process that runs the networks for all actors."""

    def __init__(self, context: ProcessContext, task: InferenceTask) -> None:
        pipes = [context.Pipe() for _ in task.exchanges]
        # Pipes stay open when an actor dies: its replacement reuses them.
        self.clients = [InferenceClient(at, theirs) for at, (_, theirs) in zip(task.exchanges, pipes, strict=True)]
        ours = [own for own, _ in pipes]
        self._failures, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=run_inference, args=(task, ours, theirs), daemon=True)
        self._process.start()
        for own in (*ours, theirs):
            own.close()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def problem(self) -> str:
        """Return why it has to be replaced; raises the failure that it reported, if any."""
        try:
            if self._failures.poll():
                raise UserError(self._failures.recv().message)
        except EOFError:
            return " It has died."
        return " It did not respond."

    def close(self) -> None:
        end(self._process)
        self._failures.close()
        for client in self.clients:
            client.pipe.close()
