"""What PSRO has found: the mixtures over iterations, and what each of them loses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nemesis.population.meta_game.payoffs import Estimate
from nemesis.population.meta_game.solution import Floats
from nemesis.population.psro.config import PSROConfig
from nemesis.population.psro.meta import MetaGame
from nemesis.population.psro.state import PSROState


@dataclass(frozen=True, slots=True)
class IterationResult:
    """A mixture over the final members, and its NashConv: bounds from below, and the exact one where it is known."""

    row: Floats  # (member,)
    column: Floats
    to_response: Estimate | None  # what its own best response wins; None if it has none
    to_population: Estimate  # what the best of all final members wins
    exact: float | None


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that the report shows."""

    game: str
    solver: str
    ended: str
    names: Sequence[str]
    payoff: Floats  # (member, member)
    low: Floats  # of its 95 % interval; as the payoff where it is computed
    high: Floats
    iterations: Sequence[IterationResult]
    chosen: int  # the iteration whose mixture is the result

    @property
    def mixture(self) -> dict[str, float]:
        """The resulting mixture by name; the mean over the sides where they differ."""
        chosen = self.iterations[self.chosen]
        weight = (chosen.row + chosen.column) / 2
        return {name: float(one) for name, one in zip(self.names, weight, strict=True) if one > 0}

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "solver": self.solver,
            "ended": self.ended,
            "members": list(self.names),
            "payoff": self.payoff.tolist(),
            "payoff_low": self.low.tolist(),
            "payoff_high": self.high.tolist(),
            "iterations": [
                {
                    "row": one.row.tolist(),
                    "column": one.column.tolist(),
                    "nash_conv_to_response": one.to_response and one.to_response.as_json(),
                    "nash_conv_to_population": one.to_population.as_json(),
                    "nash_conv": one.exact,
                }
                for one in self.iterations
            ],
            "chosen": self.chosen,
            "mixture": self.mixture,
        }


def results_of(config: PSROConfig, state: PSROState, meta: MetaGame) -> Results:
    """Measure every mixture against the final population."""
    names = [member.name for member in state.members]
    iterations = []
    for iteration in state.iterations:
        solution = iteration.solution(len(names))
        response = iteration.response and meta.gain(names.index(iteration.response), solution)
        exact = meta.exact(solution)
        iterations.append(IterationResult(solution.row, solution.column, response or None, meta.loss(solution), exact))
    low, high = meta.intervals()
    return Results(
        game=config.training.game,
        solver=config.solver,
        ended=state.ended or "",
        names=names,
        payoff=meta.payoff,
        low=low,
        high=high,
        iterations=iterations,
        chosen=_chosen(iterations, anytime=config.anytime),
    )


def _chosen(iterations: Sequence[IterationResult], *, anytime: bool) -> int:
    """Return the iteration whose mixture is the result: the last one, or the one with the least NashConv known.

    Without an exact value, a mixture that has met no best response is not compared: it would lose nothing.
    """
    if not anytime:
        return len(iterations) - 1
    bounds = [np.inf if one.to_response is None else one.to_population.value for one in iterations]
    known = [bound if one.exact is None else one.exact for one, bound in zip(iterations, bounds, strict=True)]
    return int(np.argmin(known)) if np.isfinite(known).any() else len(iterations) - 1
