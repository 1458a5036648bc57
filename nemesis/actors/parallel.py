"""Actors beside the learner: each plays in its own process, and the learner takes what they hand over.

An actor that dies or stands still is replaced within seconds; what it had in flight is lost, and nothing else: what it
had handed over before is still taken. The learner may use episodes only once they lie whole in a block, so a death in
the middle of a hand-over leaves no trace.
"""

import logging
import multiprocessing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from nemesis.actors.actor import (
    ActorTask,
    Handover,
    Release,
    block_size,
    run_actor,
)
from nemesis.actors.child_process import Failure, end
from nemesis.actors.inference import InferenceTask, Line, exchange, run_inference
from nemesis.actors.shared_memory import Block, SharedWeights, shared_zeros
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.interrupts import Stop, StoppedError, never
from nemesis.core.trajectory import Trajectories, concatenate
from nemesis.play import pairings as pairings
from nemesis.play.collector import Clock, Experience, PlayCounts
from nemesis.play.pairings import MAIN, Outcomes, Pairings, PlayerSource
from nemesis.policies.policy import Policy
from nemesis.training.config import RunConfig

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext  # which Windows has not

_log = logging.getLogger(__name__)

_START_LIMIT = 300.0  # seconds for an actor's first step, before which it may have to install the simulator
_STANDSTILL = 60.0  # seconds without a sign of life after which an actor is taken for hung
_MOST_LOSSES = 5  # times that each actor may be lost, with nothing handed over, before the run gives up
_LOOK = 1.0  # seconds between looks at the actors
_MATCH_BITS = 40  # more matches than an actor plays


@dataclass(slots=True)
class _Post:
    """An actor's place, and whoever fills it now."""

    number: int
    first_match: int  # added to the numbers of its matches, so that no two actors have the same
    process: BaseProcess
    connection: "Connection[Any, Any]"
    block: Block
    heartbeat: torch.Tensor
    beat: int  # the last that was seen,
    seen: float  # and when


class ParallelCollection:
    """Plays in other processes."""

    def __init__(
        self,
        config: RunConfig,
        game: Game,
        learners: Mapping[str, Policy],
        pairings: Pairings,
        folder: Path,
        seed: int,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self.counts = PlayCounts()
        self._config = config
        self._game = game
        self._folder = folder
        self._pairings = pairings
        self._weights = {name: SharedWeights(policy) for name, policy in learners.items()}
        self._portion = -(-config.collection.decisions // config.collection.actors)
        state_size = max(policy.state_size for policy in learners.values())
        self._block_size = block_size(config, game, state_size, self._portion)
        self._seed = seed
        self._started = 0  # actors so far, over the whole run
        self._losses = 0
        self._taken: list[tuple[Handover, Trajectories]] = []  # that wait for `collect` to return them
        self._context = _context()
        for name, policy in learners.items():
            self.publish(name, policy, 0)
        self._posts: list[_Post] = []  # filled when there is something to play
        self._inference: _InferenceService | None = None

    @property
    def players(self) -> set[PlayerSource]:
        return self._pairings.players

    @property
    def pids(self) -> list[int]:
        """The processes of the actors."""
        return [post.process.pid for post in self._posts if post.process.pid is not None]

    @property
    def inference_pid(self) -> int | None:
        """The process that decides for all actors, if one does."""
        return self._inference.pid if self._inference else None

    @property
    def metrics(self) -> dict[str, float]:
        return {}

    def follow(self, pairings: Pairings) -> None:
        if pairings == self._pairings:
            return
        self._pairings = pairings
        for post in self._posts:
            self._tell(post, pairings)

    def publish(self, name: str, policy: Policy, version: int) -> None:
        self._weights[name].publish(policy, version)

    def collect(self, decisions: int, stop: Stop = never) -> Experience:
        if not self._posts:
            self._start()
        while sum(part.decisions for message, part in self._taken if message.learner == MAIN) < decisions:
            if stop():
                raise StoppedError
            for post in self._with_news():
                self._hear(post)
            self._replace_those_that_stand_still()
        taken, self._taken = self._taken, []
        episodes: dict[str, list[Trajectories]] = {}
        outcomes: list[Outcomes] = []
        for message, part in taken:
            episodes.setdefault(message.learner, []).append(part)
            if message.outcomes is not None:
                outcomes.append(message.outcomes)
            if message.counts is not None:  # counted only now, so that nothing counts that nobody learns from
                self.counts.add(message.counts)
        return Experience(
            {name: concatenate(parts) for name, parts in episodes.items()}, pairings.concatenate(outcomes)
        )

    def tend(self) -> None:
        """Replace actors that have died; what they had handed over waits for `collect`.

        One that could not go on ends the run with its sentence.
        """
        for post in [post for post in self._posts if not post.process.is_alive()]:
            if self._posts[post.number] is post:
                self._replace(post, "It has died.")

    def snapshot(self) -> dict[str, Any]:
        """Return the counts: matches in flight in other processes are not saved, and begin anew."""
        return {"counts": self.counts.state(), "started": self._started}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self.counts = PlayCounts.restored(snapshot["counts"])
        self._started = snapshot["started"]

    def close(self) -> None:
        for post in self._posts:
            post.connection.close()
            end(post.process)
        if self._inference:
            self._inference.close()

    def _start(self) -> None:
        """Start the processes."""
        actors = self._config.collection.actors
        if self._config.collection.inference == "central":
            exchanges = [exchange(self._game, self._config.collection.slots) for _ in range(actors)]
            task = InferenceTask(self._config, self._folder, self._new_seed(), self._weights, tuple(exchanges))
            self._inference = _InferenceService(self._context, task)
        self._posts = [self._fill(number) for number in range(actors)]

    def _new_seed(self) -> int:
        """Return a seed that no process of the run has had, before a resumption or after."""
        self._started += 1
        return int(np.random.SeedSequence([self._seed, self._started]).generate_state(1)[0])

    def _fill(self, number: int) -> _Post:
        """Start an actor."""
        ours, theirs = self._context.Pipe()
        block = Block(self._block_size)
        heartbeat = shared_zeros(1, dtype=torch.int64)
        task = ActorTask(
            config=self._config,
            folder=self._folder,
            seed=self._new_seed(),
            portion=self._portion,
            pairings=self._pairings,
            weights=self._weights,
            block=block,
            line=self._inference.lines[number] if self._inference else None,
            heartbeat=heartbeat,
        )
        process = self._context.Process(target=run_actor, args=(task, theirs), daemon=True)
        process.start()
        theirs.close()
        first_match = self._started << _MATCH_BITS
        return _Post(number, first_match, process, ours, block, heartbeat, 0, monotonic())

    def _with_news(self) -> Sequence[_Post]:
        by_connection = {post.connection: post for post in self._posts}
        started = perf_counter()
        try:
            return [by_connection[ready] for ready in connection.wait(list(by_connection), _LOOK)]  # type: ignore[index]
        finally:
            self._clock.wait += perf_counter() - started

    def _hear(self, post: _Post) -> None:
        """Take what an actor hands over; one that has died instead is replaced."""
        if self._posts[post.number] is not post:  # replaced since it was seen to have news
            return
        try:
            self._take(post)
        except (EOFError, OSError):
            self._replace(post, "It has died.")

    def _take(self, post: _Post) -> None:
        """Read an actor's next message: copy the episodes out of its block and let it go on, or raise its sentence."""
        message: Handover | Failure = post.connection.recv()
        if isinstance(message, Failure):
            raise UserError(message.sentence)
        part = Trajectories.from_arrays(post.block.read(message.columns), self._game.spec.actions)
        self._taken.append((message, replace(part, match=part.match + post.first_match)))
        self._losses = 0
        self._tell(post, Release())

    def _part_with(self, post: _Post) -> None:
        """End an actor, and take what it has said before."""
        end(post.process)
        with suppress(EOFError, OSError):
            while post.connection.poll():
                self._take(post)
        post.connection.close()

    def _tell(self, post: _Post, message: Release | Pairings) -> None:
        try:
            post.connection.send(message)
        except OSError:
            _log.debug("Actor %d is gone; it is replaced when its news are read.", post.number)

    def _replace_those_that_stand_still(self) -> None:
        now = monotonic()
        for post in self._posts:
            if self._posts[post.number] is not post:  # replaced with all others since
                continue
            beat = int(post.heartbeat[0])
            if beat != post.beat:
                post.beat, post.seen = beat, now
            elif now - post.seen > (limit := _STANDSTILL if beat else _START_LIMIT):
                self._replace(post, f"It has stood still for {limit:.0f} s.")

    def _replace(self, post: _Post, why: str) -> None:
        """Put a new actor in the place of one; if it was left by the inference process, everybody begins anew."""
        self._part_with(post)
        self._losses += 1
        if self._losses > _MOST_LOSSES * len(self._posts):
            raise UserError(f"{self._losses} actors in a row were lost; see run.log, or try collection.actors=0.")
        if self._inference and (not self._inference.alive or post.seen + _STANDSTILL < monotonic()):
            problem = self._inference.problem()
            _log.warning("Central inference (process %s) is replaced with all actors.%s", self.inference_pid, problem)
            self.counts.restarts += len(self._posts)
            for other in self._posts:
                if other is not post:
                    self._part_with(other)
            self._inference.close()
            self._start()
            return
        _log.warning("Actor %d (process %s) is replaced. %s", post.number, post.process.pid, why)
        self.counts.restarts += 1
        self._posts[post.number] = self._fill(post.number)


def _context() -> "SpawnContext | ForkServerContext":
    """Return how processes are started: from a server that has imported everything, where there are such."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["nemesis.actors.preload"])
    return context


class _InferenceService:
    """The process that decides for all actors."""

    def __init__(self, context: "SpawnContext | ForkServerContext", task: InferenceTask) -> None:
        pipes = [context.Pipe() for _ in task.exchanges]
        # Both ends of a line outlive an actor: whoever takes its place goes on with them.
        self.lines = [Line(at, theirs) for at, (_, theirs) in zip(task.exchanges, pipes, strict=True)]
        ours = [own for own, _ in pipes]
        self._words, theirs = context.Pipe(duplex=False)
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
        """Return why it ended, if it said so; raises if that is for a person to mend."""
        try:
            if self._words.poll():
                raise UserError(self._words.recv().sentence)
        except EOFError:
            return " It has died."
        return " It has stood still."

    def close(self) -> None:
        end(self._process)
        self._words.close()
        for line in self.lines:
            line.pipe.close()
