"""Payoffs: counts, their intervals, and the matches that are played next."""

import numpy as np
import pytest
from duel import Duel

from nemesis.core.game import EndReason, IntArray
from nemesis.evaluation.payoffs.counts import PayoffCounts
from nemesis.evaluation.payoffs.play import Budget, play_schedule
from nemesis.evaluation.payoffs.playing import OnePool
from nemesis.evaluation.payoffs.schedule import Order, Schedule, Wanted
from nemesis.play.match_stream import FinishedMatches, MatchStream
from nemesis.play.named_players import open_player
from nemesis.play.play_options import PlayOptions

NAMES = ["timid", "bold", "random"]


def schedule_of(points: np.ndarray, matches: IntArray, wanted: int, order: Order = "uncertainty") -> Schedule:
    return Schedule(Wanted(np.ones(matches.shape, dtype=np.bool_), wanted, order), points, matches)


def finished(result: list[float], reason: EndReason = EndReason.PLAYED) -> FinishedMatches:
    number = np.arange(len(result))
    zeros = np.zeros(len(result), dtype=np.int64)
    returns = np.array(result, dtype=np.float32)
    return FinishedMatches(number, zeros, zeros + 1, number % 2, returns, zeros + reason, zeros, zeros - 1)


def test_a_match_counts_for_both_players_by_side():
    counts = PayoffCounts(2)
    counts.add(finished([1.0, 1.0, -1.0, 0.0]))
    counts.add(finished([np.nan], EndReason.HOST_LOST))
    assert counts.results[0, 1].tolist() == [[1, 0, 1], [1, 1, 0]]
    assert counts.results[1, 0].tolist() == [[0, 1, 1], [1, 0, 1]]
    assert counts.points.tolist() == [[0, 2.5], [1.5, 0]]
    assert counts.matches.tolist() == [[0, 4], [4, 0]]
    assert counts.voided.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("drawn", [0.0, 0.5])
def test_intervals_cover_the_truth_as_often_as_they_say(drawn: float):
    generator = np.random.default_rng(0)
    truth = generator.uniform(0.3, 0.7, 20_000)
    draw = generator.random((20, 20_000)) < drawn
    won = generator.random((20, 20_000)) < (truth - drawn / 2) / (1 - drawn)
    counts = PayoffCounts(2)
    points, draws = (np.where(draw, 0.5, won)).sum(axis=0), draw.sum(axis=0)
    results = np.stack([points - draws / 2, draws, 20 - points - draws / 2], axis=-1).astype(np.int64)
    counts.results = np.zeros((1, 20_000, 2, 3), dtype=np.int64)
    counts.results[0, :, 0] = results
    low, high = counts.intervals
    assert 0.93 < np.mean((low[0] <= truth) & (truth <= high[0])) < 0.97


def test_matches_go_where_the_win_rate_is_least_certain():
    matches = np.array([[0, 10, 10], [10, 0, 40], [10, 40, 0]])
    points = np.array([[0, 10, 5], [0, 0, 20], [5, 20, 0]], dtype=float)
    schedule = schedule_of(points, matches, 100)
    assert set(schedule.next(4)) == {(0, 2)}  # 5 of 10 is less certain than 10 of 10, and than 20 of 40
    pairs = schedule.next(200)
    assert {(0, 1), (0, 2), (1, 2)} == set(pairs)
    assert schedule.left == 3 * 100 - 60 - 204


def test_a_round_robin_gives_every_pair_as_many():
    schedule = schedule_of(np.zeros((4, 4)), np.zeros((4, 4), dtype=np.int64), 6, "round_robin")
    pairs = schedule.next(100)
    assert {pairs.count(pair) for pair in set(pairs)} == {3}
    assert len(set(pairs)) == 6
    assert schedule.left == 0
    assert schedule.next(100) == []


def test_what_is_played_at_once_is_among_few_players():
    size = 100
    schedule = schedule_of(np.zeros((size, size)), np.zeros((size, size), dtype=np.int64), 20)
    pairs = schedule.next(128)
    assert len(pairs) == 64
    assert len({player for pair in pairs for player in pair}) <= 8


@pytest.mark.parametrize("order", ["uncertainty", "round_robin"])
def test_everything_wanted_is_played_and_a_budget_ends_it_earlier(order: Order):
    def play(budget: Budget) -> PayoffCounts:
        game, slots = Duel(), 8
        stream = MatchStream(game, lambda one: open_player(game, NAMES[one], slots, one, PlayOptions()), slots, 0)
        schedule = schedule_of(np.zeros((3, 3)), np.zeros((3, 3), dtype=np.int64), 30, order)
        counts = PayoffCounts(3)
        with stream:
            done = play_schedule(
                OnePool(stream), schedule, lambda _, played: counts.add(played), slots=slots, budget=budget
            )
        assert done == counts.matches.sum() // 2
        return counts

    assert play(Budget()).matches.tolist() == [[0, 30, 30], [30, 0, 30], [30, 30, 0]]
    assert play(Budget(matches=24)).matches.sum() // 2 == 24
    assert play(Budget(seconds=0.0)).matches.sum() == 0
