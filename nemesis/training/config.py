"""The config of a run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from nemesis.core.config import ConfigError, build_config, merged, override_paths, paths, setting_names
from nemesis.core.config.fields import ENTRY
from nemesis.core.plugins import IMPORT_PATTERN, IMPORTED, is_import
from nemesis.core.settings import Names, Settings
from nemesis.data.config import DataConfig
from nemesis.evaluation.config import EvaluationConfig
from nemesis.games.config import GameConfig, family_settings
from nemesis.learners.config import (
    BehaviourCloningConfig,
    LearnerConfig,
    OfflineConfig,
    PortfolioConfig,
    PPOConfig,
    RewardConfig,
    RNaDConfig,
)
from nemesis.play.config import CollectionConfig
from nemesis.policies.config import PolicyConfig
from nemesis.storage.config import TrackingConfig
from nemesis.training.curriculum_config import CurriculumConfig


class ImportedLearnerConfig(LearnerConfig):
    """Settings of a learner outside the package, selected by learner.algorithm=module:attribute."""

    algorithm: Literal["imported"] = Field("imported", description="which learner")
    name: str = Field(
        pattern=IMPORT_PATTERN, description="module:attribute of the class: (policy, config, device, seed) → Learner"
    )
    settings: dict[str, Any] = Field({}, description="its own settings")


AnyLearnerConfig = Annotated[
    PPOConfig | RNaDConfig | PortfolioConfig | BehaviourCloningConfig | OfflineConfig | ImportedLearnerConfig,
    Field(discriminator="algorithm"),
]


def _imported_learner(value: Any) -> Any:
    """Accept learner.algorithm=module:attribute; settings that not all learners share go to the class."""
    if not isinstance(value, dict) or not is_import(str(value.get("algorithm", ""))):
        return value
    shared = {name: one for name, one in value.items() if name in LearnerConfig.model_fields}
    own = {name: one for name, one in value.items() if name not in (*shared, "algorithm")}
    return {"algorithm": IMPORTED, "name": value["algorithm"], "settings": own, **shared}


Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]


class SharesConfig(Settings):
    """The share of each category of opponents among the matches that the policy learns from."""

    self: Share = Field(1.0, description="the current policy")
    cloned: Share = Field(0.0, description="policies from files, such as those of behaviour cloning")
    past: Share = Field(0.0, description="frozen copies of the policy from earlier in the run")
    exploiter: Share = Field(0.0, description="exploiters that beat it")
    scripted: Share = Field(0.0, description="scripted players")


class OpponentsConfig(Settings):
    """The opponents of the policy during training."""

    shares: SharesConfig = SharesConfig.model_construct()
    adaptation: float = Field(
        0.0,
        ge=0,
        le=1,
        description="step size per update with which shares move toward opponents that the policy loses to; 0: fixed",
    )
    floor: Share = Field(0.03, description="adaptation: minimum share of every category whose initial share is above 0")
    least_self: Share = Field(0.35, description="adaptation: minimum share of self-play")
    sampling: Literal["uniform", "elo_weighted", "recent_weighted", "difficulty_adjusted", "prioritised"] = Field(
        "uniform", description="how opponents of a category are sampled"
    )
    elo_window: float = Field(400.0, gt=0, description="elo_weighted: maximum rating difference of opponents")
    elo_temperature: float = Field(
        100.0, gt=0, description="elo_weighted: temperature of the weights, in rating points"
    )
    recent_decay: float = Field(
        0.8, gt=0, le=1, description="recent_weighted: weight of an opponent relative to the next newer one"
    )
    target_win_rate: float = Field(0.5, ge=0, le=1, description="difficulty_adjusted: preferred win rate")
    prioritise: Literal["hard", "variance"] = Field(
        "hard", description="prioritised: those that the policy loses to, or those that it beats half of the time"
    )
    at_once: int = Field(
        6, ge=1, le=1000, description="opponents in use at the same time; more opponents mean smaller batches"
    )
    rotation: int = Field(10, ge=1, description="updates between draws of new opponents")
    memory: int = Field(200, ge=1, description="matches over which win rates are averaged")
    past_interval: int = Field(50, ge=1, description="updates between frozen copies of the policy")
    members: int = Field(
        40, ge=1, description="maximum number of frozen policies; the weakest is dropped when a new one is added"
    )
    rating_gap: float = Field(
        600.0,
        gt=0,
        description="Elo points behind the policy at which a past copy or an exploiter is dropped, except the last of "
        "its category; cloned and scripted members are never dropped",
    )
    cloned: Names = Field(
        (), description="policy files, checkpoints or runs that are used as opponents of the category cloned"
    )
    target: str | None = Field(
        None, description="target policy: a policy file, checkpoint or run to exploit; it is then the only opponent"
    )
    mixture: dict[str, PositiveShare] = Field(
        {}, description="policies and scripted players with their shares of the matches; they are the only opponents"
    )
    scripted: Names | None = Field(
        None, description="scripted players, by name or as module:attribute; null uses all of the game"
    )

    @property
    def only_self(self) -> bool:
        """Whether the policy plays only against itself."""
        others = self.shares.model_dump(exclude={"self"})
        return not any(others.values()) and not self.target and not self.mixture


class ExploiterConfig(Settings):
    """Exploiters: policies that learn to beat a frozen copy of the policy, in the background of a run."""

    interval: int = Field(
        0,
        ge=0,
        description="updates between exploiters; 0 trains none. With opponents.shares.exploiter=0 they only measure",
    )
    start: Literal["scratch", "cloned", "target"] = Field(
        "target", description="first weights of an exploiter: new, the first of opponents.cloned, or its target policy"
    )
    weights: Literal["average", "last"] = Field(
        "average", description="which of the policy's weights are exploited: the averaged ones, or the last"
    )
    share: float = Field(0.25, gt=0, lt=1, description="share of all matches that an exploiter gets while it learns")
    updates: int = Field(40, ge=1, description="updates of an exploiter before it is evaluated")
    decisions: int = Field(4096, ge=1, description="decisions played for each of its updates")
    matches: int = Field(400, ge=10, description="new matches against its target policy for its evaluation")
    threshold: float = Field(
        0.55, ge=0, lt=1, description="an exploiter becomes an opponent if its win rate interval lies above this"
    )
    learner: PPOConfig = Field(
        PPOConfig.model_construct(), description="its learner; sequence_length is taken from the run"
    )


class CheckpointsConfig(Settings):
    """When the run is saved, and what is kept."""

    interval: int = Field(200, ge=1, description="updates between checkpoints")
    minutes: float | None = Field(
        10.0, gt=0, description="time after which a checkpoint is saved in between, until the next one; null: never"
    )
    keep_last: int = Field(
        3, ge=1, description="number of newest checkpoints of the interval to keep; the newest of all is kept besides"
    )
    keep_every: int = Field(0, ge=0, description="interval of updates whose checkpoints are never removed; 0: none")


class RunConfig(GameConfig):
    """All settings of a run."""

    seed: int = Field(0, ge=0, lt=2**63, description="one seed for weights, matches, actions and minibatches")
    updates: int = Field(1000, ge=1, description="number of updates of the run")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="device of the networks; auto uses CUDA if available"
    )
    threads: int = Field(1, ge=1, le=1024, description="threads per tensor operation on the CPU")
    collection: CollectionConfig = CollectionConfig.model_construct()
    data: DataConfig = DataConfig.model_construct()
    policy: PolicyConfig = PolicyConfig.model_construct()
    learner: Annotated[AnyLearnerConfig, BeforeValidator(_imported_learner)] = RNaDConfig.model_construct()
    reward: RewardConfig = RewardConfig.model_construct()
    opponents: OpponentsConfig = OpponentsConfig.model_construct()
    exploiter: ExploiterConfig = ExploiterConfig.model_construct()
    evaluation: EvaluationConfig = EvaluationConfig.model_construct()
    curriculum: CurriculumConfig = CurriculumConfig.model_construct()
    checkpoints: CheckpointsConfig = CheckpointsConfig.model_construct()
    tracking: TrackingConfig = TrackingConfig.model_construct()

    def imports(self) -> list[str]:
        """Return the names of code that this config imports."""
        learner = [self.learner.name] if isinstance(self.learner, ImportedLearnerConfig) else []
        opponents = [*(self.opponents.scripted or ()), *self.opponents.mixture, *(self.evaluation.opponents or ())]
        encoder = [self.policy.encoder] if self.policy.encoder else []
        own = [*super().imports(), *learner, *encoder, *filter(is_import, [*opponents, *self.reward.weights])]
        return own + [name for stage in self.curriculum.stages for name in _staged(self, stage).imports()]

    @model_validator(mode="after")
    def _opponents_fit(self) -> "RunConfig":
        opponents = self.opponents
        if opponents.shares.cloned and not opponents.cloned:
            raise ValueError("opponents.shares.cloned needs opponents.cloned to name a policy")
        if self.exploiter.interval and self.exploiter.start == "cloned" and not opponents.cloned:
            raise ValueError("exploiter.start=cloned needs opponents.cloned to name a policy")
        if not any(opponents.shares.model_dump().values()):
            raise ValueError("opponents.shares are all 0, so there is no opponent; set at least one")
        if opponents.target and opponents.mixture:
            raise ValueError("opponents.target is the only opponent, and so is opponents.mixture; leave one out")
        whole_matches = not self.collection.actors and self.collection.segment is None and not self.data.sources
        both_seats = opponents.only_self and whole_matches
        if isinstance(self.learner, RNaDConfig) and self.learner.form == "reward" and not both_seats:
            raise ValueError(
                "learner.form=reward computes rewards from the actions of both seats, so it needs self-play only, "
                "collection.actors=0, no collection.segment and no data.sources; use another learner.form"
            )
        return self

    @model_validator(mode="after")
    def _data_fit(self) -> "RunConfig":
        if self.data.sources:
            if not self.opponents.only_self or self.exploiter.interval:
                raise ValueError("with data.sources no matches are played, so opponents and exploiters cannot be used")
            if self.collection.actors:
                raise ValueError("with data.sources no matches are played, so set collection.actors=0")
            if self.collection.segment:
                raise ValueError("with data.sources no matches are played, so leave out collection.segment")
            if self.policy.opponent_model:
                raise ValueError("policy.opponent_model needs opponent actions, which datasets do not contain")
        return self

    @model_validator(mode="after")
    def _actors_fit(self) -> "RunConfig":
        if self.collection.inference == "central" and not self.collection.actors:
            raise ValueError(
                "collection.inference=central is for actors; set collection.actors to the number of processes that play"
            )
        return self

    @model_validator(mode="after")
    def _values_fit(self) -> "RunConfig":
        if self.policy.value == "categorical":
            reason = "returns outside the range of a categorical value; use policy.value=scalar"
            if isinstance(self.learner, RNaDConfig) and self.learner.form == "reward":
                raise ValueError(f"learner.form=reward leads to {reason}")
            if self.reward.kind != "sparse":
                raise ValueError(f"reward.kind={self.reward.kind} leads to {reason}")
            if self.reward.scale != "none":
                raise ValueError(f"reward.scale={self.reward.scale} leads to {reason}")
        return self

    @model_validator(mode="after")
    def _stages_fit(self) -> "RunConfig":
        if self.curriculum.stages and self.data.sources:
            raise ValueError("with data.sources no matches are played, so leave out the curriculum")
        for name in self.curriculum.stages:
            if not _staged(self, name).evaluation.matches:
                raise ValueError(f"evaluation.matches=0, so the stage {name} of the curriculum could not be passed")
        return self


_STAGED = (*GameConfig.model_fields, "collection", "learner", "reward", "opponents", "evaluation")
_NOT_STAGED = (
    "opponents.cloned",
    "opponents.target",
    "opponents.mixture",
    *(f"learner.{name}" for name in ("algorithm", "momentum", "weight_decay", "opponent_model_weight")),
)


def stage_config(config: RunConfig, stage: str | None) -> RunConfig:
    """Return the config in a stage of the curriculum, with the curriculum itself; None for a run without stages."""
    if stage is None:
        return config
    return _staged(config, stage).model_copy(update={"curriculum": config.curriculum})


def _staged(config: RunConfig, stage: str) -> RunConfig:
    """Return the config in a stage, without the curriculum; raises `ConfigError` if it is not valid."""
    settings, where = config.curriculum.stages[stage].settings, f"curriculum.stages.{stage}.settings"
    for path in paths(settings):
        known = path.partition(".")[0] in RunConfig.model_fields
        if known and (not _is_below(path, _STAGED) or _is_below(path, _NOT_STAGED)):
            raise ConfigError(
                f"{where}.{path} cannot differ between stages. What can: {', '.join(_STAGED)}, "
                f"except {', '.join(_NOT_STAGED)}."
            )
    own = config.model_dump(mode="json", exclude={"curriculum"})
    try:
        return build_config(RunConfig, merged(own, settings))
    except ConfigError as error:
        raise ConfigError("\n".join(f"{where}: {line}" for line in str(error).splitlines())) from error


def _is_below(path: str, others: Iterable[str]) -> bool:
    """Return whether a setting is one of the others, or in one of them; NAME stands for any name of the user's."""
    names = path.split(".")
    for other in others:
        above = other.split(".")
        if len(above) <= len(names) and all(ours in (name, ENTRY) for name, ours in zip(names, above, strict=False)):
            return True
    return False


_MAY_CHANGE = (
    "updates",
    "device",
    "threads",
    "evaluation",
    *(f"curriculum.stages.{ENTRY}.{name}" for name in ("advance", "fall_back", "evaluations")),
    "checkpoints",
    "tracking",
)


def resumed_config(config: Mapping[str, Any], overrides: Sequence[str]) -> RunConfig:
    """Apply overrides to the config of a run, refusing those that would make it another run."""
    may_change = list(_MAY_CHANGE)
    for family, settings in family_settings().items():
        may_change += [f"{family}.{name}" for name in getattr(settings, "may_change", ())]
    known = setting_names(RunConfig)
    for name in override_paths(overrides):
        if _is_below(name, known) and not _is_below(name, may_change):
            raise ConfigError(
                f"{name} cannot change when a run is resumed; start a new run instead.\n"
                f"What can change: {', '.join(may_change)}."
            )
    return build_config(RunConfig, config, overrides)
