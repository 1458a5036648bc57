"""Replicator dynamics: members that earn more than the mixture grow.

Taylor & Jonker 1978, Evolutionarily Stable Strategies and Game Dynamics:

    ṗ_i = p_i ((A q)_i − pᵀA q),   q̇_j = q_j (pᵀA q − (pᵀA)_j)

In a zero-sum game the mixtures circle around an equilibrium, and their average over time approaches it. Steps are
multiplicative, p_i ← p_i exp(η (A q)_i) / Σ, the exact solution for a constant payoff, so that no weight becomes
negative. The step shrinks as 1/√t, as in Hedge, whose average regret, and so NashConv of the average, is O(1/√t).
"""

import numpy as np

from nemesis.population.meta_game.solution import Floats, Solution, is_antisymmetric

STEPS = 20_000


def solve_replicator(payoff: Floats) -> Solution:
    """Return the mixtures of the dynamics from uniform, averaged over time."""
    rows, columns = payoff.shape
    same = is_antisymmetric(payoff)
    scale = float(np.abs(payoff).max()) or 1.0
    total_row, total_column = np.zeros(rows), np.zeros(columns)
    row, column = np.zeros(rows), np.zeros(columns)  # log weights
    weights = 0.0
    for step in range(1, STEPS + 1):
        rate = 1.0 / (scale * step**0.5)
        p, q = _softmax(row), _softmax(column)
        total_row, total_column, weights = total_row + rate * p, total_column + rate * q, weights + rate
        row = row + rate * (payoff @ q)
        column = row if same else column - rate * (p @ payoff)
    return Solution(total_row / weights, total_column / weights)


def _softmax(logit: Floats) -> Floats:
    weight = np.exp(logit - logit.max())
    chances: Floats = weight / weight.sum()
    return chances
