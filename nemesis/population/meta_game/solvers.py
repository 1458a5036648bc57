"""The meta-game solvers by name."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from nemesis.population.meta_game.alpha_rank import solve_alpha_rank
from nemesis.population.meta_game.nash import solve_nash
from nemesis.population.meta_game.rectified_nash import solve_rectified_nash
from nemesis.population.meta_game.regret_matching import solve_regret_matching
from nemesis.population.meta_game.replicator import solve_replicator
from nemesis.population.meta_game.solution import Solver
from nemesis.population.meta_game.uniform import solve_uniform

SolverName: TypeAlias = Literal["nash", "replicator", "regret_matching", "uniform", "rectified_nash", "alpha_rank"]

SOLVERS: Mapping[SolverName, Solver] = {
    "nash": solve_nash,
    "replicator": solve_replicator,
    "regret_matching": solve_regret_matching,
    "uniform": solve_uniform,
    "rectified_nash": solve_rectified_nash,
    "alpha_rank": solve_alpha_rank,
}
