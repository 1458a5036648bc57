"""Bradley–Terry ratings: they say what the results say, and how surely."""

import numpy as np
import pytest

from nemesis.evaluation.ratings import MEAN, rate


def elo(names: str, points: list[list[float]]) -> dict[str, float]:
    return {rating.name: rating.elo for rating in rate(list(names), np.array(points, dtype=float))}


def test_two_players_differ_by_the_odds():
    ratings = elo("ab", [[0, 75_000], [25_000, 0]])
    assert ratings["a"] - ratings["b"] == pytest.approx(400 * np.log10(3), abs=0.1)
    assert (ratings["a"] + ratings["b"]) / 2 == pytest.approx(MEAN)


def test_ratings_that_made_the_results_are_found_again():
    made = {"a": 1900.0, "b": 1500.0, "c": 1100.0, "d": 1500.0}
    values = np.array(list(made.values()))
    points = 1e6 / (1 + 10 ** ((values[None, :] - values[:, None]) / 400))
    np.fill_diagonal(points, 0)
    points[0, 2] = points[2, 0] = 0  # these two never met
    found = elo("abcd", points.tolist())
    assert found == pytest.approx(made, abs=0.5)


def test_the_best_stands_first_and_has_its_matches():
    ratings = rate(["weak", "strong"], np.array([[0, 3], [7, 0]]))
    assert [(rating.name, rating.matches) for rating in ratings] == [("strong", 10), ("weak", 10)]


def test_who_won_everything_has_a_rating_and_a_wide_interval():
    sure, unsure = rate(["a", "b"], np.array([[0, 60], [40, 0]])), rate(["a", "b"], np.array([[0, 100], [0, 0]]))
    assert sure[0].elo < unsure[0].elo < 3000
    assert unsure[0].margin > 2 * sure[0].margin


def test_the_margin_is_that_of_the_binomial_distribution():
    matches, chance = 400, 0.64
    points = np.array([[0, matches * chance], [matches * (1 - chance), 0]])
    (best, _) = rate(["a", "b"], points)
    deviation = 400 / np.log(10) / np.sqrt(matches * chance * (1 - chance))  # of the difference
    assert best.margin == pytest.approx(1.96 * deviation / 2, rel=0.01)  # each is half of it away from the mean


def test_players_who_cannot_be_compared_are_an_error():
    points = np.zeros((4, 4))
    points[0, 1] = points[2, 3] = 5
    with pytest.raises(ValueError, match="no results that connect"):
        rate(list("abcd"), points)
