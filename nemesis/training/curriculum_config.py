"""The settings of a curriculum: its stages, and what it takes to go from one to the next."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from nemesis.core.settings import Settings


class AdvanceConfig(Settings):
    """What the policy must reach against the opponents of a stage, in evaluations, to pass it."""

    win_rate: float = Field(0.6, gt=0, le=1, description="win rate over all matches of an evaluation")
    rating: float | None = Field(
        1400.0, description="Elo rating against the anchors among the opponents; null asks for none"
    )


class StageConfig(Settings):
    """A stage of a curriculum."""

    settings: dict[str, Any] = Field(
        description="settings in which the stage differs from the rest of the config: those of the game, of reward, "
        "opponents, evaluation, collection and learner"
    )
    advance: AdvanceConfig | None = Field(
        AdvanceConfig.model_construct(), description="what it takes to pass the stage; null in the last one"
    )
    fall_back: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="win rate below which the run goes back to the stage before; below advance.win_rate, null: never",
    )
    evaluations: int = Field(
        2, ge=1, description="number of consecutive evaluations that it takes to pass the stage, or to fall back"
    )

    @model_validator(mode="after")
    def _has_hysteresis(self) -> Self:
        goal = self.advance.win_rate if self.advance else 1.0
        if self.fall_back is not None and self.fall_back >= goal:
            raise ValueError(f"fall_back={self.fall_back:g} must be less than advance.win_rate={goal:g}")
        return self


class CurriculumConfig(Settings):
    """Stages that a run goes through, by the performance of its policy and never by time."""

    stages: dict[str, StageConfig] = Field(
        {}, description="stages by NAME, in their order; none: the config stays the same throughout the run"
    )

    @model_validator(mode="before")
    @classmethod
    def _without_last_advance(cls, value: Any) -> Any:
        """Let the last stage have no advance, unless it is given."""
        stages = value.get("stages") if isinstance(value, Mapping) else None
        if not isinstance(stages, Mapping) or not stages:
            return value
        last, settings = list(stages.items())[-1]
        if not isinstance(settings, Mapping) or "advance" in settings:
            return value
        return {**value, "stages": {**stages, last: {**settings, "advance": None}}}

    @model_validator(mode="after")
    def _stages_follow_each_other(self) -> Self:
        if not self.stages:
            return self
        names = list(self.stages)
        first, last = names[0], names[-1]
        for name in names:
            if not name or "." in name:
                raise ValueError(f"the stage '{name}' needs a name without dots")
            if name != last and self.stages[name].advance is None:
                raise ValueError(f"stages.{name}.advance is null, so no later stage is ever reached")
        if self.stages[first].fall_back is not None:
            raise ValueError(f"stages.{first} is the first, so it has none to go back to; leave out its fall_back")
        if self.stages[last].advance is not None:
            raise ValueError(f"stages.{last} is the last, so it is never passed; leave out its advance")
        return self
