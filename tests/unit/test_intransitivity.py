"""What no ranking explains: cycles are found by name, and noise is not taken for them."""

import numpy as np

from nemesis.evaluation.intransitivity import cyclic_share, strongest_cycles
from nemesis.evaluation.payoffs.counts import PayoffCounts


def counts_of(chances: np.ndarray, matches: int, seed: int | None = 0) -> PayoffCounts:
    """Return results of players with these chances (player, opponent); without a seed, exactly those expected."""
    counts = PayoffCounts(len(chances))
    first, second = np.triu_indices(len(chances), 1)
    chance = chances[first, second]
    won = (
        np.rint(matches * chance).astype(int) if seed is None else np.random.default_rng(seed).binomial(matches, chance)
    )
    counts.results[first, second, 0, 0] = counts.results[second, first, 1, 2] = won
    counts.results[first, second, 0, 2] = counts.results[second, first, 1, 0] = matches - won
    return counts


def by_strength(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(log_odds[None, :] - log_odds[:, None]))


def test_rock_paper_and_scissors_are_a_cycle_and_nothing_else():
    chances = np.array([[0.5, 0.2, 0.9], [0.8, 0.5, 0.1], [0.1, 0.9, 0.5]])
    counts = counts_of(chances, 100, seed=None)
    assert cyclic_share(counts) > 0.9
    (cycle,) = strongest_cycles(counts, 5)
    assert cycle.players == (0, 2, 1)
    assert np.allclose(cycle.win_rates, (0.9, 0.9, 0.8))
    assert cycle.certain


def test_a_ranking_explains_everything_however_few_the_matches():
    chances = by_strength(np.random.default_rng(1).normal(0, 1, 60))
    for matches in (4, 20, 1000):
        counts = counts_of(chances, matches)
        assert cyclic_share(counts) < 0.01
        assert not any(cycle.certain for cycle in strongest_cycles(counts, 5))


def test_the_share_of_a_cycle_is_that_of_its_log_odds():
    strength = np.array([1.0, 0.0, -1.0])
    cyclic = 0.5 * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    flow = strength[:, None] - strength[None, :] + cyclic
    share = 3 * 0.5**2 / (flow[np.triu_indices(3, 1)] ** 2).sum()
    found = cyclic_share(counts_of(1 / (1 + np.exp(-flow)), 1_000_000, seed=None))
    assert abs(found - share) < 0.05  # the odds of 4 to 1 weigh less than even ones


def test_too_few_pairs_say_nothing():
    assert np.isnan(cyclic_share(PayoffCounts(3)))
    assert np.isnan(cyclic_share(counts_of(by_strength(np.array([1.0, 0.0])), 100)))
    assert strongest_cycles(PayoffCounts(3), 5) == []
