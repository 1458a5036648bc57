"""Bradley–Terry ratings: they say what the results say, and how surely."""

import numpy as np
import pytest

from nemesis.evaluation.ratings import MEAN, rate, rate_against


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


def test_anchors_keep_their_ratings_and_fix_the_scale_of_the_others():
    ratings = {
        one.name: one for one in rate(["a", "b", "c"], np.array([[0, 75, 0], [25, 0, 5], [0, 5, 0]]), {"b": 900})
    }
    assert (ratings["b"].elo, ratings["b"].margin) == (900, 0)
    assert ratings["a"].elo == pytest.approx(900 + 400 * np.log10(75.5 / 25.5), abs=1e-3)
    assert ratings["c"].elo == pytest.approx(900)


def test_a_rating_against_several_anchors_is_the_most_likely_one():
    anchors, true, matches = {"weak": 800.0, "middle": 1400.0, "strong": 1700.0}, 1500.0, 1_000_000
    results = {name: (matches / (1 + 10 ** ((elo - true) / 400)), matches) for name, elo in anchors.items()}
    rating = rate_against("policy", results | {"unknown": (0.0, 500)}, anchors)
    assert rating is not None
    assert rating.elo == pytest.approx(true, abs=0.1)
    assert rating.matches == 3 * matches


def test_the_interval_of_a_rating_against_an_anchor_is_that_of_the_win_rate():
    rating = rate_against("policy", {"anchor": (64.0, 100)}, {"anchor": 1000.0})
    assert rating is not None
    odds = np.log(64.5 / 36.5)
    assert rating.elo == pytest.approx(1000 + 400 / np.log(10) * odds)
    deviation = 400 / np.log(10) / np.sqrt(101 * 64.5 / 101 * 36.5 / 101)
    assert rating.high - rating.elo == pytest.approx(1.96 * deviation, rel=0.01)


def test_there_is_no_rating_without_a_match_against_an_anchor():
    assert rate_against("policy", {"anchor": (0.0, 0), "other": (5.0, 9)}, {"anchor": 1000.0}) is None


def test_players_are_connected_by_anchors():
    points = np.zeros((4, 4))
    points[0, 1] = points[2, 3] = 5
    ratings = {one.name: one.elo for one in rate(list("abcd"), points, {"b": 1000, "d": 2000})}
    assert ratings["c"] - ratings["a"] == pytest.approx(1000)
