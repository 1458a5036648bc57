"""One run: its policy, learner, source of experience and matchmaker, and how they are saved and restored.

With a source in the run's own process, everything comes in a fixed order, and all that the next step depends on is in
the checkpoint, matches in flight included: a run that was killed and resumed ends in the same weights as one that was
not. With actors beside the learner, matches in flight start again, and everything else continues.
"""

import logging
import random
from collections.abc import Callable
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, TypeAlias

import numpy as np
import torch

from nemesis.actors.parallel import ParallelSource
from nemesis.core.allocator import keep_freed_memory
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.interrupts import Interrupts, StoppedError
from nemesis.core.plugins import ImportPermission
from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories
from nemesis.evaluation.run_evaluation import RunEvaluator
from nemesis.learners.data_parallel import add_up
from nemesis.learners.shaping import RewardShaping
from nemesis.play.experience import Clock, Experience, ExperienceSource, MatchSource, PlayCounts
from nemesis.play.matchmaking import Matchmaker, SelfPlay
from nemesis.play.pairings import MAIN, files_of
from nemesis.play.serial import SerialSource
from nemesis.policies.build import build_policy, choose_device
from nemesis.policies.policy import Policy
from nemesis.storage.checkpoints import Checkpoint, files_named, prune, save_checkpoint
from nemesis.storage.policies import check_shapes, from_checkpoint, take_weights
from nemesis.storage.random_states import capture_random_states, restore_random_states
from nemesis.storage.state_tree import flatten_state, unflatten_state
from nemesis.training.assembly import build_learner, evaluator_settings, play_settings, seeds_of
from nemesis.training.checks import check_sources, check_stages
from nemesis.training.config import RunConfig, stage_config
from nemesis.training.curriculum import Curriculum, Transition
from nemesis.training.dataset_source import DatasetSource

_log = logging.getLogger(__name__)

_MUCH_STALE = 0.1  # share of a batch

OpenMatchmaker: TypeAlias = Callable[[RunConfig, Game, Path, ImportPermission], Matchmaker]
"""From a config, its game, the run's folder and the permitted imports to the matchmaker of the run."""


def self_play(*_: object) -> Matchmaker:
    return SelfPlay()


class Run:
    """The parts of a run, in memory, until it is closed."""

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        open_matchmaker: OpenMatchmaker = self_play,
        *,
        new: bool = True,
        allow_imports: bool = False,
    ) -> None:
        """Build everything; a run that is not new will be restored, and needs no first weights.

        The policies that it meets may use the code that its own config names, and any other with `allow_imports`.
        """
        torch.set_num_threads(config.threads)
        keep_freed_memory()
        check_stages(config)
        self.base = config
        self.curriculum = Curriculum(config.curriculum)
        self._folder = folder
        self._open_matchmaker = open_matchmaker
        self._imports: ImportPermission = allow_imports or frozenset(config.imports())
        self.device = choose_device(config.device)
        self._seeds = seeds_of(config.seed)
        random.seed(self._seeds.weights)
        np.random.seed(self._seeds.weights)  # noqa: NPY002  libraries may draw from the global generator
        torch.manual_seed(self._seeds.weights)
        self.clock = Clock()
        self._open(new=new)
        self._earlier = PlayCounts()  # of stages before this one
        self.update = 0
        self.learned = 0  # decisions that the policy has learned from, without its opponents' and stale ones
        self._pending: Experience | None = None  # of an update that was interrupted
        self.intact = True  # whether everything is as after the last update, so that it can be saved
        self._saved_at = monotonic()
        self.saves = 0  # checkpoints, in this process
        self.interrupts: Interrupts | None = None
        self._warned_of_stale = False

    def _open(self, *, new: bool) -> None:
        """Build everything that depends on the stage of the curriculum."""
        config = self.config = stage_config(self.base, self.curriculum.stage)
        self.game = config.open_game()
        discount: float = getattr(config.learner, "discount", 1.0)
        self.shaping = RewardShaping(config.reward, self.game, discount, self.device)
        self.policy = build_policy(self.game, config.policy).to(self.device)
        if config.policy.init and new:
            parts = config.policy.init_parts
            take_weights(self.policy, config.policy.init, self.game, parts, allow_imports=self._imports)
        settings = evaluator_settings(config, self._seeds.ratings)
        self.evaluator = RunEvaluator(settings, self.game, self.device, self.stop)
        self.learner = build_learner(self.policy, config, self.device, self._seeds.minibatches, self.evaluator.rate)
        self.matchmaker = self._open_matchmaker(config, self.game, self._folder, self._imports)
        self._matches: MatchSource | None = None  # the source, if it plays
        self.source = self._open_source(self._folder, self._seeds.of_matches(len(self.curriculum.transitions)))

    def close(self) -> None:
        """End the matches in flight; what was saved stays."""
        self.source.close()

    def change_stage(self) -> Transition | None:
        """Go on in the stage that the curriculum calls for, with the same weights and opponents.

        Matches in flight end. Returns None, and changes nothing, if this stage goes on.
        """
        transition = self.curriculum.move(self.update)
        if transition is None:
            return None
        self.intact = False
        weights, learner, matchmaker = self.policy.state_dict(), self.learner.state(), self.matchmaker.state()
        rewards = self.shaping.state()
        self._earlier, self._pending = self.counts, None
        self._reopen()
        self.policy.load_state_dict(weights)
        self.learner.restore(learner)
        self.shaping.restore(rewards)
        self.matchmaker.continue_from(matchmaker)
        self._publish()
        self.intact = True
        return transition

    def step(self) -> dict[str, float]:
        """Get one batch and learn from it; if this is interrupted, the next step learns from the same batch."""
        config = self.config
        started = perf_counter()
        busy = self.clock.wait + self.clock.simulate + self.clock.infer
        self.intact = not isinstance(self.source, SerialSource)  # matches that broke off in a step cannot be saved
        experience = self._pending or self.source.batch(self.stop)
        self._pending = experience
        self.intact = True
        progress = self.update / config.updates
        played = experience.episodes[MAIN]
        rewarded = self.shaping.shape(self._fresh(played), progress)
        trajectories = rewarded.trajectories
        if trajectories.reward is not None and config.policy.value == "categorical":
            raise UserError(
                f"{self.game.spec.name} pays rewards per decision, and a categorical value covers returns from −1 to 1 "
                "only; use policy.value=scalar."
            )
        shaped = perf_counter()
        report("Learning")
        self.intact = False
        metrics = self.learner.update(trajectories, progress) | rewarded.metrics
        self.shaping.scale = rewarded.scale
        learned = perf_counter()
        self.clock.learn += learned - shaped
        self.learned += int(add_up(torch.tensor(trajectories.decisions, device=self.device)))
        self._pending = None
        collected = self._collected(played, trajectories)
        self.update += 1
        metrics |= self.matchmaker.update(experience, self.policy, self.average, self.update, self.stop)
        matched = perf_counter()
        self.clock.opponents += matched - learned
        self._publish()
        self.intact = True
        self.clock.other += perf_counter() - started - (matched - shaped)
        self.clock.other -= self.clock.wait + self.clock.simulate + self.clock.infer - busy
        named = {name if "/" in name else f"learner/{name}": value for name, value in metrics.items()}
        return named | collected | self.source.metrics

    def _collected(self, played: Trajectories, learned: Trajectories) -> dict[str, float]:
        """Return the metrics of what was played, or read, and of the part of it that was learned from."""
        metrics = {
            "collection/decisions": float(self.decisions),
            "collection/learned": float(self.learned),
            "collection/batch": float(learned.decisions),
            "collection/episode_length": learned.decisions / learned.episodes,
        }
        if self._matches is None:
            return metrics
        counts = self.counts
        return metrics | {
            "collection/matches": float(counts.matches),
            "collection/voided": float(counts.voided),
            "collection/restarts": float(counts.restarts),
            **{f"collection/ended/{reason}": float(count) for reason, count in counts.ended.items()},
            **({"collection/checked": float(counts.checked)} if counts.checked else {}),
            **({"collection/different": float(counts.different)} if counts.different else {}),
            "collection/stale": float(played.decisions - learned.decisions),
            "collection/staleness": float((self.update - learned.version).mean()),
        }

    def stop(self) -> bool:
        """Return whether the run was asked to stop; long work calls it often."""
        if self.interrupts is not None and self.interrupts.requested:
            return True
        if self._matches:
            self._matches.supervise()
        return False

    def evaluate(self) -> dict[str, float]:
        """Measure the last weights, the averaged ones, or both; nothing if the run is stopped meanwhile."""
        started = perf_counter()
        try:
            values = self.evaluator.evaluate(self.policy, self.average)
        except StoppedError:
            return {}
        self.clock.evaluate += perf_counter() - started
        if self.curriculum.stage is None:
            return values
        standing = self.evaluator.standing(values)
        self.curriculum.count(self.update, standing)
        return values | (standing.metrics() if standing else {})

    @property
    def evaluation_is_due(self) -> bool:
        """Whether the policy is measured after this update."""
        return self.update == self.config.updates or self.update % self.config.evaluation.interval == 0

    @property
    def evaluation_is_missing(self) -> bool:
        """Whether the curriculum needs an evaluation after this update that was interrupted."""
        in_stage = self.curriculum.stage is not None
        return in_stage and self.evaluation_is_due and self.curriculum.evaluated_at != self.update

    @property
    def save_is_due(self) -> bool:
        """Whether the number of updates or the time since the last checkpoint asks for one."""
        settings = self.config.checkpoints
        late = settings.minutes is not None and monotonic() - self._saved_at >= 60 * settings.minutes
        return late or self.update % settings.interval == 0 or self.update == self.config.updates

    def save(self, root: Path) -> Path:
        """Write a checkpoint, and remove what need not be kept."""
        started = perf_counter()
        report("Saving a checkpoint")
        files = files_of(self.matchmaker.members | (self._matches.players if self._matches else set()))
        named = files_named(root)  # by the last checkpoint too, so that nothing that is needed is removed
        if named is not None:
            self.matchmaker.remove_unused(named | files)
        learner = self.learner.state()
        trees = {
            "optimiser": learner.pop("optimiser"),
            "source": self.source.snapshot(),
            "matchmaker": self.matchmaker.state(),
            "pending": self._pending and self._pending.state(),
        }
        average = learner["average"].pop("weights")
        trees["learner"] = learner
        flat = {name: flatten_state(tree) for name, tree in trees.items()}
        generators, generators_rest = capture_random_states()
        progress = self.update / self.config.updates
        path = save_checkpoint(
            root,
            self.update,
            {
                "weights": self.policy.state_dict(),
                "average": average,
                "random": generators,
                **{name: tensors for name, (tensors, _) in flat.items()},
            },
            {
                "stage": self.curriculum.stage,
                "curriculum": self.curriculum.state(),
                "policy_group": self.game.spec.policy_group,
                "view_version": self.game.spec.view_version,
                "world": self.game.spec.world,
                "learning_rate": self.config.learner.learning_rate.at(progress),
                "decisions": self.decisions,
                "learned": self.learned,
                "files": sorted(files),
                "matches": self.counts.matches,
                "reward": self.shaping.state(),
                "earlier": self._earlier.state(),
                "random": generators_rest,
                **{name: tree for name, (_, tree) in flat.items()},
            },
            self.base.model_dump(mode="json"),
        )
        kept = self.config.checkpoints
        prune(root, kept.keep_last, kept.keep_every, kept.interval)
        self._saved_at = monotonic()
        self.saves += 1
        self.clock.save += perf_counter() - started
        return path

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore everything from a checkpoint of the same config."""
        state = checkpoint.state
        if state.get("stage") is not None:
            self.curriculum.restore(state["stage"], state["curriculum"])
        if self.curriculum.transitions:
            self._reopen()
        from_checkpoint(checkpoint, allow_imports=self._imports).check(self.game)

        def tree(name: str) -> Any:
            return unflatten_state(checkpoint.tensors(name), state[name])

        self.update = checkpoint.update
        self.learned = state["learned"]
        if "earlier" in state:
            self._earlier = PlayCounts.restored(state["earlier"])
        weights = checkpoint.tensors("weights")
        check_shapes(str(checkpoint.path), self.policy.state_dict(), weights)
        self.policy.load_state_dict(weights)
        learner = tree("learner")
        learner["optimiser"] = tree("optimiser")
        learner["average"]["weights"] = checkpoint.tensors("average")
        self.learner.restore(learner)
        self.shaping.restore(state.get("reward"))
        self.matchmaker.restore(tree("matchmaker"))
        self.source.restore(tree("source"))
        if state["pending"]:
            self._pending = Experience.restored(tree("pending"))
        self._publish()
        restore_random_states(checkpoint.tensors("random"), state["random"])

    @property
    def average(self) -> Policy:
        """The policy with averaged weights."""
        return self.learner.average

    @property
    def counts(self) -> PlayCounts:
        """What was played so far, in all stages."""
        counts = PlayCounts()
        counts.add(self._earlier)
        if self._matches:
            counts.add(self._matches.counts)
        return counts

    @property
    def decisions(self) -> int:
        """Decisions played, or read, so far."""
        return self._earlier.decisions + self.source.decisions

    def _reopen(self) -> None:
        """Build everything again, for the stage that the curriculum is in now."""
        before = self.source
        self._open(new=False)
        before.close()

    def _open_source(self, folder: Path, seed: int) -> ExperienceSource:
        check_sources(self.config)
        if self.config.data.sources:
            return DatasetSource(self.config, self.game, seed, self.clock)
        settings, pairings = play_settings(self.config, self._imports), self.matchmaker.pairings
        learners = {MAIN: self.policy} | {name: policy for name, (policy, _) in self.matchmaker.learners.items()}
        if self.config.collection.actors:
            self._matches = ParallelSource(settings, self.game, learners, pairings, folder, seed, self.clock)
        else:
            self._matches = SerialSource(settings, self.game, learners, self.device, pairings, folder, seed, self.clock)
        return self._matches

    def _fresh(self, played: Trajectories) -> Trajectories:
        """Return what is not too old to learn from."""
        if self._matches is None:
            return played
        staleness = self.config.collection.staleness
        fresh = played.without_stale(self.update - staleness, recurrent=self.policy.state_size > 0)
        if not fresh.decisions:
            raise UserError(
                "Every decision of a batch was older than collection.staleness allows; set it higher, or play with "
                "fewer collection.slots."
            )
        if not self._warned_of_stale and played.decisions - fresh.decisions > _MUCH_STALE * played.decisions:
            self._warned_of_stale = True
            _log.warning(
                "%.0f %% of the decisions are older than collection.staleness=%d allows and are left out, the openings "
                "of long matches among them; set it higher, or play with fewer collection.slots.",
                100 * (1 - fresh.decisions / played.decisions),
                staleness,
            )
        return fresh

    def _publish(self) -> None:
        """Let the players use the newest weights and the pairings of the matchmaker."""
        if self._matches is None:
            return
        self._matches.follow(self.matchmaker.pairings)  # first: no match of old pairings starts with new weights
        self._matches.publish(MAIN, self.policy, self.update)
        for name, (policy, version) in self.matchmaker.learners.items():
            self._matches.publish(name, policy, version)
