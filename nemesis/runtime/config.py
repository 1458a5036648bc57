"""The whole configuration of a run."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from nemesis.core.settings import Settings
from nemesis.games.pokemon.settings import PokemonSettings
from nemesis.learners.portfolio import PortfolioConfig
from nemesis.learners.ppo import PPOConfig
from nemesis.learners.rnad import RNaDConfig
from nemesis.policies.config import PolicyConfig
from nemesis.runtime.metrics import TrackingConfig
from nemesis.runtime.rewards import RewardConfig

LearnerConfig = Annotated[PPOConfig | RNaDConfig | PortfolioConfig, Field(discriminator="algorithm")]


class CollectionConfig(Settings):
    """How matches are played for learning."""

    slots: int = Field(1024, ge=1, le=1_000_000, description="matches in flight")
    decisions: int = Field(8192, ge=1, description="decisions played for each update")


class EvaluationConfig(Settings):
    """How strength is measured during a run."""

    interval: int = Field(100, ge=1, description="updates between evaluations")
    matches: int = Field(2000, ge=2, description="matches against each opponent, where no exact measure exists")
    opponents: tuple[str, ...] | None = Field(
        None, min_length=1, description="whom it is measured against, such as random; null takes all that the game has"
    )
    weights: Literal["both", "last", "average"] = Field(
        "both", description="which weights are measured: those of the last update, their average, or both"
    )

    @field_validator("opponents", mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value


class CheckpointsConfig(Settings):
    """When the run is saved, and what is kept."""

    interval: int = Field(200, ge=1, description="updates between checkpoints")
    keep_last: int = Field(3, ge=1, description="newest checkpoints that are kept")
    keep_every: int = Field(0, ge=0, description="keep those of every so many updates for good; 0 keeps none")


class RunConfig(Settings):
    """Everything that decides what a run does."""

    game: str = Field(
        description="family:game, for example pokemon:gen1randombattle or openspiel:liars_dice(dice_sides=4)"
    )
    seed: int = Field(0, ge=0, lt=2**63, description="one seed for weights, matches, actions and minibatches")
    updates: int = Field(1000, ge=1, description="length of the run")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where the networks run; auto takes CUDA if there"
    )
    threads: int = Field(1, ge=1, le=1024, description="threads of one tensor operation on the CPU")
    collection: CollectionConfig = CollectionConfig()
    policy: PolicyConfig = PolicyConfig()
    learner: LearnerConfig = RNaDConfig()
    reward: RewardConfig = RewardConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoints: CheckpointsConfig = CheckpointsConfig()
    tracking: TrackingConfig = TrackingConfig()
    pokemon: PokemonSettings = PokemonSettings()

    @model_validator(mode="after")
    def _values_fit(self) -> "RunConfig":
        if self.policy.value == "categorical":
            paid = "more than a categorical value can stand for; use policy.value=scalar"
            if isinstance(self.learner, RNaDConfig) and self.learner.form == "reward":
                raise ValueError(f"learner.form=reward pays {paid}")
            if self.reward.kind != "sparse":
                raise ValueError(f"reward.kind={self.reward.kind} pays {paid}")
        return self
