"""One run, from a configuration to checkpoints: play, learn, evaluate, save, in one process and in a fixed order.

Everything that the next step depends on, matches in flight included, is in the checkpoint, so that a run that was
killed and resumed ends in the same weights as one that was not.
"""

import logging
import math
import random
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import cast

import numpy as np
import torch
from rich.console import Console

from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.core.game import RecordingPool
from nemesis.learners.interface import PolicyModule
from nemesis.policies.policy import Policy
from nemesis.runtime.actor import Actor
from nemesis.runtime.assembly import build_learner, build_policy, choose_device, open_game_of
from nemesis.runtime.checkpoints import Checkpoint, newest_valid, prune, save_checkpoint
from nemesis.runtime.collector import Clock, Collector
from nemesis.runtime.config import RunConfig
from nemesis.runtime.display import Display, Progress, open_display
from nemesis.runtime.evaluation import Strength, measure
from nemesis.runtime.interrupts import Interrupts
from nemesis.runtime.matches import play
from nemesis.runtime.metrics import Metrics, check_tracking, read_metrics
from nemesis.runtime.opponents import opponent_names
from nemesis.runtime.outcome import outcome
from nemesis.runtime.random_states import capture_random_states, restore_random_states
from nemesis.runtime.replays import record
from nemesis.runtime.rewards import Rewards
from nemesis.runtime.run_directory import RunDirectory, environment
from nemesis.runtime.state_tree import flatten_state, unflatten_state

_log = logging.getLogger(__name__)

_RATING_MATCHES = 512  # per pair of references
_REPLAYS = 4  # saved at the end of a run
_MAY_CHANGE = ("updates", "device", "threads", "evaluation", "checkpoints", "tracking", "pokemon.node")
_SPEED_WINDOW = 50  # updates over which rates are averaged


def train(config: RunConfig, path: Path, console: Console | None = None) -> None:
    """Start a run in a new directory and take it to its end."""
    check_tracking(config.tracking)
    with (
        closing(Run(config)) as run,
        RunDirectory.create(path, config.model_dump(mode="json")) as directory,
    ):
        run.go(directory, console or Console(), resumed=False)


def resume(path: Path, overrides: Sequence[str] = (), console: Console | None = None) -> None:
    """Continue a run from its newest valid checkpoint; settings that keep it the same run may be changed."""
    console = console or Console()
    with RunDirectory.open(path) as directory:
        checkpoint, skipped = newest_valid(directory.checkpoints_path)
        for sentence in skipped:
            _say(console, f"Warning: {sentence}", style="bold red")
        config = _changed(build_config(RunConfig, checkpoint.config), overrides)
        check_tracking(config.tracking)
        if checkpoint.update >= config.updates:
            raise UserError(
                f"{path} has finished its {config.updates} updates; "
                f"add some with `nemesis resume {path} updates={2 * config.updates}`."
            )
        with closing(Run(config)) as run:
            run.restore(checkpoint)
            directory.change_config(config.model_dump(mode="json"))
            _log.info("Resuming with %s", environment())
            run.go(directory, console, resumed=True)


class Run:
    """The parts of a run, in memory, until it is closed."""

    def __init__(self, config: RunConfig) -> None:
        torch.set_num_threads(config.threads)
        self.config = config
        self.device = choose_device(config)
        self.game = open_game_of(config)
        self.opponents = opponent_names(self.game, config.evaluation.opponents)
        self.rewards = Rewards(config.reward, self.game)
        weights, matches, actions, minibatches, self._rating_seed = (
            int(seed.generate_state(1)[0]) for seed in np.random.SeedSequence(config.seed).spawn(5)
        )
        random.seed(weights)
        np.random.seed(weights)  # noqa: NPY002  libraries may draw from the global generator
        torch.manual_seed(weights)
        self.policy = build_policy(config, self.game).to(self.device)
        self.learner = build_learner(self.policy, config, self.device, minibatches, self._rate)
        self.clock = Clock()
        slots = config.collection.slots
        self._pool = self.game.pool(slots, matches)
        self.collector = Collector(
            self.game,
            self._pool,
            Actor(self.policy, slots, self.device, actions),
            config.learner.sequence_length if self.policy.state_size else None,
            self.clock,
        )
        self.update = 0

    def close(self) -> None:
        """End the matches in flight; what was saved stays."""
        self._pool.close()

    def step(self) -> dict[str, float]:
        """Play one batch and learn from it."""
        config = self.config
        started = perf_counter()
        busy = self.clock.simulate + self.clock.infer
        trajectories = self.collector.collect(config.collection.decisions, self.update)
        progress = self.update / config.updates
        trajectories = self.rewards.judge(trajectories, progress)
        collected = perf_counter()
        metrics = self.learner.update(trajectories, progress)
        learned = perf_counter()
        self.clock.learn += learned - collected
        self.clock.other += collected - started - (self.clock.simulate + self.clock.infer - busy)
        self.update += 1
        staleness = self.update - 1 - trajectories.version
        return {f"learner/{name}": value for name, value in metrics.items()} | {
            "collection/decisions": float(self.collector.decisions),
            "collection/matches": float(self.collector.matches),
            "collection/voided": float(self.collector.voided),
            **{f"collection/ended/{reason}": float(count) for reason, count in self.collector.ended.items()},
            "collection/batch": float(trajectories.decisions),
            "collection/episode_length": trajectories.decisions / trajectories.episodes,
            "collection/staleness": float(staleness.mean()),
        }

    def evaluate(self) -> dict[str, float]:
        """Measure the last weights, the averaged ones, or both."""
        started = perf_counter()
        wanted = self.config.evaluation.weights
        values: dict[str, float] = {}
        if wanted != "average":
            values |= self._measure(self.policy).metrics()
        if wanted != "last":
            averaged = self._measure(self._average).metrics()
            values |= {f"{name}_average": value for name, value in averaged.items()}
        self.clock.other += perf_counter() - started
        return values

    def record(self, folder: Path) -> Path | None:
        """Save some matches against the strongest opponent, and return the one that went best; None if none can be."""
        if not isinstance(self._pool, RecordingPool):
            return None
        opponent = opponent_names(self.game)[-1]
        policy = self.policy if self.config.evaluation.weights == "last" else self._average
        seed = self.config.seed
        folder = folder / f"update-{self.update:08d}"
        saved = record(self.game, policy, self.device, opponent=opponent, matches=_REPLAYS, seed=seed, folder=folder)
        return max(saved, key=lambda replay: replay.earned).path if saved else None

    def save(self, root: Path) -> Path:
        """Write a checkpoint and drop those that need not be kept."""
        learner = self.learner.state()
        optimiser, optimiser_tree = flatten_state(learner.pop("optimiser"))
        average = learner["average"].pop("weights")
        rest, rest_tree = flatten_state(learner)
        collector, collector_tree = flatten_state(self.collector.snapshot())
        generators, generators_rest = capture_random_states()
        progress = self.update / self.config.updates
        path = save_checkpoint(
            root,
            self.update,
            {
                "weights": self.policy.state_dict(),
                "average": average,
                "optimiser": optimiser,
                "learner": rest,
                "collector": collector,
                "random": generators,
            },
            {
                "learning_rate": self.config.learner.learning_rate.at(progress),
                "decisions": self.collector.decisions,
                "matches": self.collector.matches,
                "optimiser": optimiser_tree,
                "learner": rest_tree,
                "collector": collector_tree,
                "random": generators_rest,
            },
            self.config.model_dump(mode="json"),
        )
        prune(root, self.config.checkpoints.keep_last, self.config.checkpoints.keep_every)
        return path

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take everything from a checkpoint of the same configuration."""
        trees = checkpoint.state
        self.update = checkpoint.update
        self.policy.load_state_dict(checkpoint.tensors("weights"))
        learner = unflatten_state(checkpoint.tensors("learner"), trees["learner"])
        learner["optimiser"] = unflatten_state(checkpoint.tensors("optimiser"), trees["optimiser"])
        learner["average"]["weights"] = checkpoint.tensors("average")
        self.learner.restore(learner)
        self.collector.restore(unflatten_state(checkpoint.tensors("collector"), trees["collector"]))
        restore_random_states(checkpoint.tensors("random"), trees["random"])

    def go(self, directory: RunDirectory, console: Console, resumed: bool) -> None:
        """Run to the end, reporting to the directory and the console."""
        config = self.config
        root = directory.checkpoints_path
        title = f"{config.game} · {config.learner.algorithm} · {directory.path}"
        with (
            Metrics(directory, config.tracking, self.update if resumed else None) as metrics,
            open_display(title, config.updates, console) as display,
            _warnings_shown(display),
            Interrupts() as interrupts,
        ):
            _log.info("%s at update %d of %d", "Resumed" if resumed else "Started", self.update, config.updates)
            reporter = _Reporter(self, display, _past_evaluations(directory.metrics_path))
            if not resumed:
                metrics.write(0, reporter.evaluated(self.evaluate()))
                self.save(root)
            while self.update < config.updates and not interrupts.waiting:
                values = self.step()
                last = self.update == config.updates
                if last or self.update % config.evaluation.interval == 0:
                    values |= reporter.evaluated(self.evaluate())
                metrics.write(self.update, values | reporter.report(values))
                if last or interrupts.waiting or self.update % config.checkpoints.interval == 0:
                    metrics.flush()
                    self.save(root)
            _log.info("Ended at update %d", self.update)
        if self.update < config.updates:
            _say(console, f"Stopped and saved at update {self.update}; go on with `nemesis resume {directory.path}`.")
            raise KeyboardInterrupt
        for sentence in outcome(reporter.history):
            _say(console, sentence)
        if replay := self.record(directory.replays_path):
            _say(console, f"Watch one of its battles: {replay}")
        _say(console, f"The run is in {directory.path}; measure it with `nemesis evaluate {directory.path}`.")

    @property
    def _average(self) -> Policy:
        return cast("Policy", self.learner.average)

    def _measure(self, policy: Policy) -> Strength:
        evaluation, slots = self.config.evaluation, self.config.collection.slots
        return measure(
            self.game,
            policy,
            self.device,
            opponents=self.opponents,
            matches=evaluation.matches,
            slots=slots,
            seed=self.config.seed,
        )

    def _rate(self, policies: Sequence[PolicyModule]) -> list[float]:
        """Rate policies by their mean return against each other."""
        rating = np.zeros(len(policies))
        slots = min(self.config.collection.slots, _RATING_MATCHES)
        for first in range(len(policies)):
            for second in range(first):
                one, other = (
                    Actor(cast("Policy", policies[number]), slots, self.device, self._rating_seed + number)
                    for number in (first, second)
                )
                (score,) = play(self.game, one, [other], matches=_RATING_MATCHES, slots=slots, seed=self._rating_seed)
                rating[first] += score.mean
                rating[second] -= score.mean
        return rating.tolist()


class _Reporter:
    """Keeps what the display shows: rates over the last updates, and the evaluations so far."""

    def __init__(self, run: Run, display: Display, history: list[tuple[int, dict[str, float]]]) -> None:
        self._run = run
        self._display = display
        self.history = history
        self._marks = deque([(perf_counter(), run.update, run.collector.decisions)], maxlen=_SPEED_WINDOW)

    def evaluated(self, values: dict[str, float]) -> dict[str, float]:
        self.history.append((self._run.update, values))
        return {f"evaluation/{name}": value for name, value in values.items()}

    def report(self, values: dict[str, float]) -> dict[str, float]:
        """Show the latest update; returns its rates as metrics."""
        run = self._run
        now, (then, update, decisions) = perf_counter(), self._marks[0]
        self._marks.append((now, run.update, run.collector.decisions))
        speed = (run.collector.decisions - decisions) / (now - then)
        clock = run.clock
        parts = {"simulate": clock.simulate, "infer": clock.infer, "learn": clock.learn, "other": clock.other}
        split = {name: seconds / sum(parts.values()) for name, seconds in parts.items()}
        self._display.update(
            Progress(
                update=run.update,
                total=run.config.updates,
                decisions=run.collector.decisions,
                decisions_per_second=speed,
                updates_per_second=(run.update - update) / (now - then),
                time_split=split,
                losses={
                    name.removeprefix("learner/"): value
                    for name, value in values.items()
                    if name.startswith("learner/") and name != "learner/skipped_steps"
                },
                evaluation=self.history,
                skipped_steps=int(values["learner/skipped_steps"]),
            )
        )
        return {"speed/decisions_per_second": speed} | {f"time/{name}": share for name, share in split.items()}


def _changed(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """Apply overrides to a run's own configuration, refusing those that would make it another run."""
    for override in overrides:
        name = override.partition("=")[0].strip()
        known = name.partition(".")[0] in RunConfig.model_fields
        if known and not any(f"{name}.".startswith(f"{free}.") for free in _MAY_CHANGE):
            raise ConfigError(
                f"{name} cannot change when a run is resumed; start a new run instead.\n"
                f"What can change: {', '.join(_MAY_CHANGE)}."
            )
    return build_config(RunConfig, config.model_dump(mode="json"), overrides)


def _past_evaluations(path: Path) -> list[tuple[int, dict[str, float]]]:
    """Read the evaluations that a run has made before."""
    history = []
    for line in read_metrics(path):
        found = {
            name.removeprefix("evaluation/"): math.nan if value is None else value
            for name, value in line.items()
            if name.startswith("evaluation/")
        }
        if found:
            history.append((line["update"], found))
    return history


def _say(console: Console, sentence: str, style: str | None = None) -> None:
    """Print a sentence as it is, whatever brackets a path in it may have."""
    console.print(sentence, style=style, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def _warnings_shown(display: Display) -> Iterator[None]:
    """Show the first line of what the package warns of on the display; the log has it all."""

    def show(record: logging.LogRecord) -> None:
        line, _, _ = record.getMessage().partition("\n")
        display.note(f"Warning: {line}")

    handler = logging.Handler(logging.WARNING)
    handler.emit = show  # type: ignore[method-assign]
    logger = logging.getLogger("nemesis")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
