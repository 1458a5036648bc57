"""α-rank: the long-run share of each member in an evolving population with rare mutations.

Omidshafiei et al. 2019, α-Rank: Multi-Agent Evaluation by Evolution. The stationary distribution of a Markov chain over
pure profiles, in which a mutant replaces the resident with a probability that grows with its advantage. Computed by
OpenSpiel, with one population if both sides have the same members, else with two, whose joint distribution is reduced
to a mixture for each side. With two populations the chain has as many states as there are pairs, so it is for some
dozens of members.
"""

# ruff: noqa: PLC0415 (this part of OpenSpiel is slow to import)

import numpy as np

from nemesis.population.meta_game.solution import Floats, Solution, is_antisymmetric, normalised

_POPULATION = 50  # size of the evolving population
_INTENSITY = 100.0  # of selection, for payoffs of at most 1


def solve_alpha_rank(payoff: Floats) -> Solution:
    """Return the stationary mixtures."""
    from open_spiel.python.egt import alpharank

    rows, columns = payoff.shape
    if payoff.size == 1:
        return Solution(np.ones(1), np.ones(1))
    scale = float(np.abs(payoff).max()) or 1.0
    scaled = payoff / scale
    same = is_antisymmetric(payoff)
    tables = [scaled] if same else [scaled, -scaled]
    with np.errstate(over="ignore"):  # the chance that a hopeless mutant takes over, which is then zero
        stationary = alpharank.compute(tables, m=_POPULATION, alpha=_INTENSITY)[2]
    share = np.maximum(np.asarray(stationary, dtype=np.float64), 0.0)
    if same:
        mixture = normalised(share)
        return Solution(mixture, mixture)
    joint = share.reshape(rows, columns)
    return Solution(normalised(joint.sum(axis=1)), normalised(joint.sum(axis=0)))
