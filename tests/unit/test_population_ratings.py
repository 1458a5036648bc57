"""Ratings of a population whose strengths are known."""

import pytest

from benchmarks.population_ratings import CASES, COVERAGE, LEAST_CORRELATION, PLAYERS, Case, measure


@pytest.mark.parametrize("case", [CASES[0], CASES[3]], ids=lambda case: case.name)
def test_ratings_and_intervals_of_two_hundred_players_are_right(case: Case):
    figures = measure(case, 1, seed=0)
    assert PLAYERS == 200
    assert float(figures["spearman_at_least"]) >= LEAST_CORRELATION
    assert COVERAGE[0] <= float(figures["cells_covered"]) <= COVERAGE[1]
    assert 0.90 <= float(figures["ratings_covered"]) <= 0.99  # of 200 ratings, which share their noise
    assert (float(figures["cyclic_share"]) > 0.2) == (case.cyclic > 0)
