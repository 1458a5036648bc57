"""The settings of PSRO, and of the runs that train its best responses."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from nemesis.core.config import build_config, override_paths
from nemesis.core.errors import UserError
from nemesis.core.settings import Names, Settings
from nemesis.population.meta_game.solvers import SolverName
from nemesis.training.config import RunConfig

SCRATCH, NEWEST = "scratch", "newest"

# settings of `training` that PSRO decides on, and what to set instead
_DECIDED = {
    "training.seed": "set seed",
    "training.updates": "set updates",
    "training.opponents": "name the first members with population",
    "training.policy.init": "set start",
    "training.curriculum": "leave it out",
    "training.exploiter": "set training.learner",
    "training.data": "leave it out",
}
_MAY_CHANGE = ("iterations", "patience", "nash_conv", "anytime", "matches")


class PSROConfig(Settings):
    """All settings of PSRO."""

    seed: int = Field(0, ge=0, lt=2**62, description="one seed for best responses, matches and intervals")
    iterations: int = Field(5, ge=1, description="number of iterations, each of which adds a best response")
    population: Names | None = Field(
        None, min_length=1, description="the first members: policies and scripted players; null takes all scripted ones"
    )
    solver: SolverName = Field("nash", description="what solves the meta-game for the mixture")
    best_response: Literal["learned", "exact"] = Field(
        "learned", description="trained against the mixture, or computed, in a game that is small enough"
    )
    updates: int = Field(100, ge=1, description="learned: updates of each best response")
    start: str = Field(
        SCRATCH, description="learned: first weights of a best response: scratch, newest (the one before), or a policy"
    )
    weights: Literal["average", "last"] = Field(
        "last", description="learned: which weights of a best response join the population"
    )
    alpha: float = Field(
        0.0, ge=0, le=1, description="learned: share of the matches that is uniform over the mixture's members"
    )
    matches: int = Field(200, ge=2, description="matches of each pair of members, where payoffs are not computed")
    patience: int = Field(
        0, ge=0, description="iterations in a row whose best response gains nothing, by its interval, to end; 0: never"
    )
    nash_conv: float = Field(0.0, ge=0, description="in a game that is computed: NashConv of the mixture to end at")
    anytime: bool = Field(
        False, description="choose the mixture with the least estimated NashConv so far as the result, not the last one"
    )
    training: RunConfig = Field(description="how best responses are trained: the preset with the exploiters' learner")

    def imports(self) -> list[str]:
        """Return the names of code that this config imports."""
        return self.training.imports()


def psro_config(preset: Mapping[str, Any], overrides: Sequence[str]) -> PSROConfig:
    """Return the settings of PSRO on a preset; its best responses learn by the PPO of the preset's exploiters."""
    _check_effect(overrides)
    run = build_config(RunConfig, preset)
    training = run.model_dump(mode="json")
    training |= {
        "updates": 1,
        "learner": run.exploiter.learner.model_dump(mode="json"),
        "opponents": {},
        "exploiter": {},
        "curriculum": {},
        "data": {},
        "policy": training["policy"] | {"init": None},
        "evaluation": {"matches": 0, "weights": "last", "interval": 1_000_000},
    }
    return build_config(PSROConfig, {"training": training}, overrides)


def continued_config(saved: Mapping[str, Any], overrides: Sequence[str]) -> PSROConfig:
    """Return the settings that PSRO goes on with, refusing those that would make it another one."""
    for path in override_paths(overrides):
        if (path not in _MAY_CHANGE and path in PSROConfig.model_fields) or path.startswith("training."):
            raise UserError(
                f"{path} cannot change when PSRO goes on; start another with a new --run. "
                f"What can change: {', '.join(_MAY_CHANGE)}."
            )
    return build_config(PSROConfig, saved, overrides)


def response_config(config: PSROConfig, iteration: int, opponents: Mapping[str, float], init: str | None) -> RunConfig:
    """Return the config of the run that trains the best response of an iteration."""
    training = config.training.model_dump(mode="json")
    training |= {
        "seed": config.seed + iteration,
        "updates": config.updates,
        "opponents": {"mixture": dict(opponents)},
        "policy": training["policy"] | {"init": init},
    }
    return build_config(RunConfig, training)


def _check_effect(overrides: Sequence[str]) -> None:
    """Raise if an override would change nothing, because PSRO decides on it."""
    for path in override_paths(overrides):
        for decided, remedy in _DECIDED.items():
            if path == decided or path.startswith(decided + "."):
                raise UserError(f"{path} has no effect on `nemesis psro`; {remedy}.")
        if path in RunConfig.model_fields and path not in PSROConfig.model_fields:
            raise UserError(f"{path} is a setting of the best responses' runs; write training.{path}.")
        if (group := path.partition(".")[0]) in RunConfig.model_fields and group not in PSROConfig.model_fields:
            raise UserError(f"{path} is a setting of the best responses' runs; write training.{path}.")
