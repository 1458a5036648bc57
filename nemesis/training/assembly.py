"""From the config of a run to its parts."""

from dataclasses import dataclass

import numpy as np
import torch

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.plugins import ImportPermission, import_attribute
from nemesis.evaluation.run_evaluation import EvaluatorSettings
from nemesis.games.config import game_config_of
from nemesis.learners.behaviour_cloning import BehaviourCloning
from nemesis.learners.config import BehaviourCloningConfig, OfflineConfig, PortfolioConfig, RNaDConfig
from nemesis.learners.learner import Learner
from nemesis.learners.offline import Offline
from nemesis.learners.portfolio import Portfolio, Rate
from nemesis.learners.ppo import PPO
from nemesis.learners.rnad import RNaD
from nemesis.play.config import PlaySettings
from nemesis.policies.policy import Policy
from nemesis.training.config import ImportedLearnerConfig, RunConfig


@dataclass(frozen=True, slots=True)
class RunSeeds:
    """The seeds of a run's parts."""

    weights: int
    matches: int
    minibatches: int
    ratings: int

    def of_matches(self, stages: int) -> int:
        """Return the seed of the matches after so many stages of the curriculum."""
        return self.matches if not stages else _drawn(np.random.SeedSequence([self.matches, stages]))


def seeds_of(seed: int) -> RunSeeds:
    """Return the seeds that come from the one seed of a run."""
    children = (np.random.SeedSequence(seed, spawn_key=(child,)) for child in (0, 1, 3, 4))
    return RunSeeds(*map(_drawn, children))


def _drawn(sequence: np.random.SeedSequence) -> int:
    return int(sequence.generate_state(1)[0])


def play_settings(config: RunConfig, imports: ImportPermission = False) -> PlaySettings:
    """Return what the processes that play the run's matches need."""
    return PlaySettings(
        game=game_config_of(config.model_dump(mode="json")),
        policy=config.policy,
        collection=config.collection,
        sequence_length=config.learner.sequence_length,
        device=config.device,
        threads=config.threads,
        imports=imports,
    )


def evaluator_settings(config: RunConfig, rating_seed: int) -> EvaluatorSettings:
    """Return what the evaluation of the run needs."""
    return EvaluatorSettings(
        evaluation=config.evaluation,
        data=config.data,
        policy=config.policy,
        slots=config.collection.slots,
        sequence_length=config.learner.sequence_length,
        seed=config.seed,
        rating_seed=rating_seed,
        config=config.model_dump(mode="json"),
    )


def build_learner(policy: Policy, config: RunConfig, device: torch.device, seed: int, rate: Rate) -> Learner:
    """Return the configured learner; `rate` rates policies against each other for those that need it."""
    learner = config.learner
    if learner.precision == "float16" and device.type != "cuda":
        raise UserError("learner.precision=float16 needs CUDA; use bfloat16 or float32 on a CPU.")
    if isinstance(learner, RNaDConfig):
        return RNaD(policy, learner, device, seed)
    if isinstance(learner, PortfolioConfig):
        return Portfolio(policy, learner, device, seed, rate)
    if isinstance(learner, OfflineConfig):
        return Offline(policy, learner, device, seed)
    if isinstance(learner, BehaviourCloningConfig):
        return BehaviourCloning(policy, learner, device, seed)
    if isinstance(learner, ImportedLearnerConfig):
        return _imported(policy, learner, device, seed)
    return PPO(policy, learner, device, seed)


def _imported(policy: Policy, config: ImportedLearnerConfig, device: torch.device, seed: int) -> Learner:
    """Return a learner outside the package; a class with a `settings_model` gets its settings checked by it."""
    maker = import_attribute(config.name)
    model = getattr(maker, "settings_model", None)
    if model is not None:
        config = config.model_copy(update={"settings": build_config(model, config.settings).model_dump(mode="json")})
    elif config.settings:
        raise UserError(f"{config.name} takes no settings of its own; leave out {', '.join(config.settings)}.")
    if not callable(maker):
        raise UserError(f"{config.name} is not a class of learners: (policy, config, device, seed) → Learner.")
    learner: Learner = maker(policy, config, device, seed)
    return learner
