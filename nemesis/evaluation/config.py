"""How the strength of a policy is measured during a run."""

from typing import Literal

from pydantic import Field

from nemesis.core.settings import Names, Settings


class EvaluationConfig(Settings):
    """How strength is measured during a run."""

    interval: int = Field(100, ge=1, description="updates between evaluations")
    matches: int = Field(
        2000, ge=0, description="matches against each opponent, where no exact measure exists; 0 plays none"
    )
    opponents: Names | None = Field(
        None,
        min_length=1,
        description="scripted players, such as random, or module:attribute; null takes all that the game has",
    )
    anchors: dict[str, float] = Field(
        {},
        description="fixed Elo ratings of opponents by name, besides those of the game; the policy is rated by its "
        "matches against them",
    )
    weights: Literal["both", "last", "average"] = Field(
        "both", description="which weights are measured: those of the last update, their average (EMA), or both"
    )
