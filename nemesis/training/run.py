"""One run, from a configuration to checkpoints: play, learn, evaluate, save.

In one process, everything comes in a fixed order, and all that the next step depends on, matches in flight included, is
in the checkpoint, so that a run that was killed and resumed ends in the same weights as one that was not. With actors
beside the learner, matches in flight begin anew, and everything else goes on.
"""

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import TypeAlias, cast

import numpy as np
import torch
from rich.console import Console

from nemesis.actors.parallel import ParallelCollection
from nemesis.core.allocator import keep_freed_memory
from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.interrupts import Interrupts, StoppedError
from nemesis.core.trajectory import Trajectories
from nemesis.evaluation.run_evaluation import BEST, RunEvaluator
from nemesis.learners.behaviour_cloning import BehaviourCloningConfig
from nemesis.learners.data_parallel import add_up, any_of
from nemesis.learners.shaping import RewardShaping
from nemesis.play.collector import Clock, Experience
from nemesis.play.matchmaking import Matchmaker, SelfPlay
from nemesis.play.pairings import MAIN, files_of
from nemesis.play.serial import Collection, SerialCollection
from nemesis.policies.policy import Policy
from nemesis.storage.checkpoints import Checkpoint, files_named, newest_valid, prune, save_checkpoint
from nemesis.storage.metrics import Metrics, check_tracking
from nemesis.storage.policy_files import policy_path
from nemesis.storage.random_states import capture_random_states, restore_random_states
from nemesis.storage.run_directory import RunDirectory, environment
from nemesis.storage.state_tree import flatten_state, unflatten_state
from nemesis.training.assembly import build_learner, build_policy, choose_device, open_game_of, take_weights
from nemesis.training.config import RunConfig
from nemesis.training.dataset_source import DataCollection
from nemesis.training.display import Display, open_display
from nemesis.training.process_group import is_secondary_process, process_group
from nemesis.training.reporter import Reporter
from nemesis.training.summary import outcome

_log = logging.getLogger(__name__)

_MAY_CHANGE = ("updates", "device", "threads", "evaluation", "checkpoints", "tracking", "pokemon.node")
_MUCH_STALE = 0.1  # share of a batch


OpenMatchmaker: TypeAlias = Callable[[RunConfig, Game, Path], Matchmaker]
"""From a configuration, its game and the run's folder to whoever decides whom the policy meets."""


def self_play(*_: object) -> Matchmaker:
    return SelfPlay()


def train(
    config: RunConfig, path: Path, console: Console | None = None, open_matchmaker: OpenMatchmaker = self_play
) -> None:
    """Start a run in a new directory and take it to its end."""
    check_tracking(config.tracking)
    with process_group(config), closing(Run(config, path, open_matchmaker)) as run:
        if is_secondary_process():
            run.run_secondary()
            return
        with RunDirectory.create(path, config.model_dump(mode="json")) as directory:
            run.go(directory, console or Console(), resumed=False)


def resume(
    path: Path,
    overrides: Sequence[str] = (),
    console: Console | None = None,
    open_matchmaker: OpenMatchmaker = self_play,
) -> None:
    """Continue a run from its newest valid checkpoint; settings that keep it the same run may be changed."""
    console = console or Console()
    with nullcontext() if is_secondary_process() else RunDirectory.open(path) as directory:
        checkpoint, skipped = newest_valid(RunDirectory.checkpoints_of(path))
        config = _changed(build_config(RunConfig, checkpoint.config), overrides)
        check_tracking(config.tracking)
        if checkpoint.update >= config.updates:
            raise UserError(
                f"{path} has finished its {config.updates} updates; "
                f"add some with `nemesis resume {path} updates={2 * config.updates}`."
            )
        with process_group(config), closing(Run(config, path, open_matchmaker, new=False)) as run:
            run.restore(checkpoint)
            if directory is None:
                run.run_secondary()
                return
            for sentence in skipped:
                _say(console, f"Warning: {sentence}", style="bold red")
            directory.change_config(config.model_dump(mode="json"))
            _log.info("Resuming with %s", environment())
            run.go(directory, console, resumed=True)


class Run:
    """The parts of a run, in memory, until it is closed."""

    def __init__(
        self, config: RunConfig, folder: Path, open_matchmaker: OpenMatchmaker = self_play, *, new: bool = True
    ) -> None:
        """Build everything; a run that is not new will be restored, and needs no first weights."""
        torch.set_num_threads(config.threads)
        keep_freed_memory()
        self.config = config
        self.device = choose_device(config)
        self.game = open_game_of(config)
        self.rewards = RewardShaping(config.reward, self.game)
        weights, matches, _, minibatches, ratings = (
            int(seed.generate_state(1)[0]) for seed in np.random.SeedSequence(config.seed).spawn(5)
        )
        random.seed(weights)
        np.random.seed(weights)  # noqa: NPY002  libraries may draw from the global generator
        torch.manual_seed(weights)
        self.policy = build_policy(config, self.game).to(self.device)
        if config.policy.init and new:
            take_weights(self.policy, policy_path(config.policy.init), self.game, config.policy.init_parts)
        self.evaluator = RunEvaluator(config, self.game, self.device, ratings, self.stop)
        self.learner = build_learner(self.policy, config, self.device, minibatches, self.evaluator.rate)
        self.clock = Clock()
        self.matchmaker = open_matchmaker(config, self.game, folder)
        self.collection = self._open_collection(folder, matches)
        self.update = 0
        self.learned = 0  # decisions that the policy has learned from, its opponents' and stale ones left out
        self._pending: Experience | None = None  # what was played for an update that was left off
        self._interrupts: Interrupts | None = None
        self._told_of_stale = False

    def close(self) -> None:
        """End the matches in flight; what was saved stays."""
        self.collection.close()

    def step(self) -> dict[str, float]:
        """Play one batch and learn from it; if this is left off, the next step learns from the same batch."""
        config = self.config
        started = perf_counter()
        busy = self.clock.wait + self.clock.simulate + self.clock.infer
        experience = self._pending or self.collection.collect(config.collection.decisions, self.stop)
        self._pending = experience
        progress = self.update / config.updates
        played = experience.episodes[MAIN]
        trajectories = self.rewards.judge(self._fresh(played), progress)
        judged = perf_counter()
        metrics = self.learner.update(trajectories, progress)
        learned = perf_counter()
        self.clock.learn += learned - judged
        self.learned += int(add_up(torch.tensor(trajectories.decisions, device=self.device)))
        self._pending = None
        staleness = self.update - trajectories.version
        self.update += 1
        metrics |= self.matchmaker.note(experience, self.policy, self._average, self.update, self.stop)
        self._publish()
        self.clock.other += perf_counter() - started - (learned - judged)
        self.clock.other -= self.clock.wait + self.clock.simulate + self.clock.infer - busy
        counts = self.collection.counts
        return {name if "/" in name else f"learner/{name}": value for name, value in metrics.items()} | {
            "collection/decisions": float(counts.decisions),
            "collection/learned": float(self.learned),
            "collection/matches": float(counts.matches),
            "collection/voided": float(counts.voided),
            "collection/restarts": float(counts.restarts),
            **{f"collection/ended/{reason}": float(count) for reason, count in counts.ended.items()},
            "collection/batch": float(trajectories.decisions),
            "collection/stale": float(played.decisions - trajectories.decisions),
            "collection/episode_length": trajectories.decisions / trajectories.episodes,
            "collection/staleness": float(staleness.mean()),
            **self.collection.metrics,
        }

    def stop(self) -> bool:
        """Tell whether somebody asked the run to stop; asked often by whatever takes long."""
        self.collection.tend()
        return self._interrupts is not None and self._interrupts.waiting

    def evaluate(self) -> dict[str, float]:
        """Measure the last weights, the averaged ones, or both; nothing if the run is stopped meanwhile."""
        started = perf_counter()
        try:
            values = self.evaluator.evaluate(self.policy, self._average)
        except StoppedError:
            return {}
        self.clock.other += perf_counter() - started
        return values

    def save(self, root: Path) -> Path:
        """Write a checkpoint, and drop what need not be kept."""
        files = files_of(self.matchmaker.members | self.collection.players)
        named = files_named(root)  # by the last checkpoint too, so that nobody opens what is removed
        if named is not None:
            self.matchmaker.tidy(named | files)
        learner = self.learner.state()
        optimiser, optimiser_tree = flatten_state(learner.pop("optimiser"))
        average = learner["average"].pop("weights")
        rest, rest_tree = flatten_state(learner)
        collection, collection_tree = flatten_state(self.collection.snapshot())
        matchmaker, opposition_tree = flatten_state(self.matchmaker.state())
        unlearned, unlearned_tree = flatten_state(self._pending and self._pending.state())
        counts = self.collection.counts
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
                "collection": collection,
                "opposition": matchmaker,
                "unlearned": unlearned,
                "random": generators,
            },
            {
                "learning_rate": self.config.learner.learning_rate.at(progress),
                "decisions": counts.decisions,
                "learned": self.learned,
                "files": sorted(files),
                "matches": counts.matches,
                "optimiser": optimiser_tree,
                "learner": rest_tree,
                "collection": collection_tree,
                "opposition": opposition_tree,
                "unlearned": unlearned_tree,
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
        self.learned = trees.get("learned", 0)  # which the first checkpoints did not have
        self.policy.load_state_dict(checkpoint.tensors("weights"))
        learner = unflatten_state(checkpoint.tensors("learner"), trees["learner"])
        learner["optimiser"] = unflatten_state(checkpoint.tensors("optimiser"), trees["optimiser"])
        learner["average"]["weights"] = checkpoint.tensors("average")
        self.learner.restore(learner)
        self.matchmaker.restore(unflatten_state(checkpoint.tensors("opposition"), trees["opposition"]))
        self.collection.restore(unflatten_state(checkpoint.tensors("collection"), trees["collection"]))
        if trees.get("unlearned"):
            unlearned = unflatten_state(checkpoint.tensors("unlearned"), trees["unlearned"])
            self._pending = Experience.restored(unlearned, self.game.spec.actions)
        self._publish()
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
            self._interrupts = interrupts
            _log.info("%s at update %d of %d", "Resumed" if resumed else "Started", self.update, config.updates)
            reporter = Reporter(
                display, self.clock, config.updates, self.update, self._decisions, directory.metrics_path
            )
            if not resumed:
                self.matchmaker.begin()
                metrics.write(0, reporter.evaluated(self.update, self.evaluate()))
                self._keep_best(directory.path, reporter)
                self.save(root)
            while self.update < config.updates and not any_of(interrupts.waiting, self.device):
                try:
                    values = self.step()
                except StoppedError:
                    break
                last = self.update == config.updates
                if last or self.update % config.evaluation.interval == 0:
                    values |= reporter.evaluated(self.update, self.evaluate())
                    self._keep_best(directory.path, reporter)
                metrics.write(self.update, values | reporter.report(self.update, self._decisions, values))
                if last or self.update % config.checkpoints.interval == 0:
                    metrics.flush()
                    self.save(root)
            if self.update < config.updates:
                metrics.flush()
                self.save(root)
            _log.info("Ended at update %d", self.update)
        if self.update < config.updates:
            _say(console, f"Stopped and saved at update {self.update}; go on with `nemesis resume {directory.path}`.")
            raise KeyboardInterrupt
        for sentence in outcome(reporter.history) if reporter.history else ():
            _say(console, sentence)
        if (directory.path / BEST).exists():
            _say(console, f"The policy that foretold held-out battles best is {directory.path / BEST}.")
        replays = directory.replays_path / f"update-{self.update:08d}"
        if replay := self.evaluator.record(self.policy, self._average, replays):
            _say(console, f"Watch one of its battles: {replay}")
        _say(console, f"The run is in {directory.path}; measure it with `nemesis evaluate {directory.path}`.")

    def _keep_best(self, folder: Path, reporter: Reporter) -> None:
        self.evaluator.keep_best(folder, self.policy, self._average, self.update, reporter.history)

    def run_secondary(self) -> None:
        """Run to the end beside the process that has the run."""
        with Interrupts() as interrupts:
            while self.update < self.config.updates and not any_of(interrupts.waiting, self.device):
                self.step()

    def _open_collection(self, folder: Path, seed: int) -> Collection:
        learners = {MAIN: self.policy} | {name: policy for name, (policy, _) in self.matchmaker.learners.items()}
        pairings = self.matchmaker.pairings
        if isinstance(self.config.learner, BehaviourCloningConfig) and not self.config.data.sources:
            raise UserError(
                f"learner.algorithm={self.config.learner.algorithm} learns from datasets; name one by "
                "data.sources=FOLDER."
            )
        if self.config.data.sources:
            return DataCollection(self.config, self.game, seed, self.clock)
        if self.config.collection.actors:
            return ParallelCollection(self.config, self.game, learners, pairings, folder, seed, self.clock)
        return SerialCollection(self.config, self.game, learners, self.device, pairings, folder, seed, self.clock)

    def _fresh(self, played: Trajectories) -> Trajectories:
        """Return what is not too old to learn from."""
        staleness = self.config.collection.staleness
        fresh = played.without_stale(self.update - staleness, remembers=self.policy.state_size > 0)
        if not fresh.decisions:
            raise UserError(
                "Every decision of a batch was older than collection.staleness allows; set it higher, or play with "
                "fewer collection.slots."
            )
        if not self._told_of_stale and played.decisions - fresh.decisions > _MUCH_STALE * played.decisions:
            self._told_of_stale = True
            _log.warning(
                "%.0f %% of the decisions are older than collection.staleness=%d allows and are left out, the openings "
                "of long matches among them; set it higher, or play with fewer collection.slots.",
                100 * (1 - fresh.decisions / played.decisions),
                staleness,
            )
        return fresh

    def _publish(self) -> None:
        """Let whoever plays do so with the newest weights, and against whom the opposition says."""
        self.collection.follow(self.matchmaker.pairings)  # first: no match of old lineups is to begin with new weights
        self.collection.publish(MAIN, self.policy, self.update)
        for name, (policy, version) in self.matchmaker.learners.items():
            self.collection.publish(name, policy, version)

    @property
    def _decisions(self) -> int:
        return self.collection.counts.decisions

    @property
    def _average(self) -> Policy:
        return cast("Policy", self.learner.average)


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
