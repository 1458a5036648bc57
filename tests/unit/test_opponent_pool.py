"""The opponent pool: results counted fairly, shares that follow losses, sampling rules, and an exact restart."""

import json

import numpy as np
import pytest

from nemesis.core.config import build_config
from nemesis.core.game import EndReason
from nemesis.play.pairings import MAIN, Outcomes, PlayerSource
from nemesis.population.members import Category, Member
from nemesis.population.opponent_pool import FIRST_RATING, OpponentPool, at_least, elo_points
from nemesis.population.sampling import chances
from nemesis.training.config import OpponentsConfig

SELF = PlayerSource("learning", MAIN)


def opponents(*overrides: str) -> OpponentsConfig:
    return build_config(OpponentsConfig, {}, overrides)


def member(name: str, category: Category = "past", rating: float = FIRST_RATING, joined_at: int = 0) -> Member:
    return Member(name, category, PlayerSource("frozen", f"{name}.safetensors"), rating, joined_at)


def pool_of(*members: Member, settings: OpponentsConfig | None = None) -> OpponentPool:
    pool = OpponentPool(settings or opponents("shares.past=0.5", "shares.self=0.5"), seed=0)
    for one in members:
        pool.add(one)
    pool.draw()
    return pool


def outcomes(opponent: Member, scores: list[float], side: int = 0, reason: EndReason = EndReason.PLAYED) -> Outcomes:
    """Matches of the policy, from one side, against a member."""
    returns = np.array(scores, dtype=np.float32)
    both = np.stack([returns, -returns] if side == 0 else [-returns, returns], axis=1)
    player = np.tile([0, 1] if side == 0 else [1, 0], (len(scores), 1))
    reasons = np.full(len(scores), reason, dtype=np.int64)
    return Outcomes((SELF, opponent.source), player, both, reasons)


def test_results_are_kept_by_side_and_move_the_ratings_against_each_other():
    opponent = member("one")
    pool = pool_of(opponent)
    pool.add_outcomes(outcomes(opponent, [1, 1, 0], side=0))
    pool.add_outcomes(outcomes(opponent, [-1], side=1))
    assert opponent.record.tolist() == [[2, 1, 0], [0, 0, 1]]
    assert pool.rating > FIRST_RATING > opponent.rating
    assert pool.rating + opponent.rating == pytest.approx(2 * FIRST_RATING)
    assert 0.5 < opponent.against.rate < 1
    assert opponent.against.rate == pool.win_rates["past"].rate


@pytest.mark.parametrize("reason", [EndReason.HOST_LOST, EndReason.FORFEIT, EndReason.REFUSED])
def test_a_voided_match_is_credited_to_no_member(reason: EndReason):
    opponent = member("one")
    pool = pool_of(opponent)
    pool.add_outcomes(outcomes(opponent, [1, 1, 1], reason=reason))
    assert opponent.record.sum() == 0
    assert (pool.rating, opponent.rating) == (FIRST_RATING, FIRST_RATING)


@pytest.mark.parametrize("matches", [1, 10, 120, 4000])
def test_ratings_settle_where_results_say_however_many_come_at_once(matches: int):
    lead, leads = 0.0, []
    for _ in range(2000):
        lead += 2 * elo_points(lead, 0.7 * matches, matches)
        leads.append(lead)
    gap = 400 * np.log10(0.7 / 0.3)
    assert lead == pytest.approx(gap, abs=1)
    assert max(leads) <= gap + 1  # never past it


def test_recent_matches_count_more_in_a_win_rate():
    opponent = member("one")
    pool = pool_of(opponent, settings=opponents("shares.past=0.5", "memory=20"))
    pool.add_outcomes(outcomes(opponent, [1.0] * 100))
    pool.add_outcomes(outcomes(opponent, [-1.0] * 100))
    assert opponent.against.rate < 0.05
    assert opponent.record.sum() == 200


def test_shares_move_toward_those_that_the_policy_loses_to_and_keep_the_floors():
    settings = opponents(
        "shares.self=0.6", "shares.past=0.2", "shares.scripted=0.2", "adaptation=0.1", "floor=0.05", "least_self=0.35"
    )
    strong, weak = member("strong", "past"), member("weak", "scripted")
    pool = pool_of(strong, weak, settings=settings)
    for update in range(1, 200):
        pool.add_outcomes(outcomes(strong, [-1.0] * 5))
        pool.add_outcomes(outcomes(weak, [1.0] * 5))
        pool.advance(update)
    assert pool.shares["past"] > 0.5
    assert pool.shares["scripted"] == pytest.approx(0.05, abs=0.02)
    assert pool.shares["scripted"] >= 0.05
    assert pool.shares["self"] >= 0.35
    assert sum(pool.shares[category] for category in ("self", "past", "scripted")) == pytest.approx(1)


def test_self_play_keeps_its_least_share_when_a_category_gets_its_first_member():
    settings = opponents("shares.self=0.6", "shares.past=0.2", "shares.scripted=0.2", "adaptation=0.1", "floor=0.05")
    strong = member("strong", "scripted")
    pool = pool_of(strong, settings=settings)
    for update in range(1, 200):
        pool.add_outcomes(outcomes(strong, [-1.0] * 5))
        pool.advance(update)
    assert pool.shares["self"] < 0.4
    pool.add(member("first"))
    pool.draw()
    assert (pool.pairings()[0].first, pool.pairings()[0].second) == (SELF, SELF)
    assert pool.pairings()[0].share >= 0.35 - 1e-9
    assert pool.met["first"] >= 0.05
    assert sum(pair.share for pair in pool.pairings()) == pytest.approx(1)


def test_shares_stay_as_they_are_without_adaptation():
    strong = member("strong")
    pool = pool_of(strong)
    for update in range(1, 20):
        pool.add_outcomes(outcomes(strong, [-1.0] * 50))
        pool.advance(update)
    assert pool.metrics()["opponents/share/past"] == 0.5


def test_what_an_empty_category_would_get_goes_to_those_that_are_there():
    pool = OpponentPool(opponents("shares.self=0.4", "shares.past=0.4", "shares.scripted=0.2"), seed=0)
    pool.draw()
    (alone,) = pool.pairings()
    assert (alone.first, alone.second, alone.share) == (SELF, SELF, 1.0)
    pool.add(member("one"))
    pool.draw()
    assert [round(pair.share, 6) for pair in pool.pairings()] == [0.5, 0.5]


def test_at_least_keeps_floors_and_proportions():
    shares = at_least(np.array([0.9, 0.1, 0.0]), np.array([0.35, 0.05, 0.05]))
    assert shares.sum() == pytest.approx(1)
    assert np.all(shares >= [0.35, 0.05, 0.05])
    assert shares[0] > shares[1] > shares[2]


def weights(sampling: str, members: list[Member], *overrides: str, rating: float = FIRST_RATING) -> list[float]:
    return chances(members, rating, opponents(f"sampling={sampling}", *overrides)).round(3).tolist()


def test_uniform_meets_all_alike():
    assert weights("uniform", [member("a"), member("b")]) == [0.5, 0.5]


def test_elo_weighted_meets_those_near_in_rating_and_none_outside_the_window():
    near, far, out = member("near", rating=1010), member("far", rating=1200), member("out", rating=2000)
    chance = weights("elo_weighted", [near, far, out])
    assert chance[0] > 5 * chance[1] > 0
    assert chance[2] == 0
    assert weights("elo_weighted", [out, member("further", rating=3000)]) == [1.0, 0.0]


def test_recent_weighted_meets_the_newest_most():
    old, middle, new = (
        member(name, joined_at=joined_at) for name, joined_at in (("old", 0), ("middle", 50), ("new", 100))
    )
    chance = weights("recent_weighted", [middle, old, new], "recent_decay=0.5")
    assert chance == [pytest.approx(2 / 7, abs=1e-3), pytest.approx(1 / 7, abs=1e-3), pytest.approx(4 / 7, abs=1e-3)]


def with_win_rate(name: str, rate: float) -> Member:
    one = member(name)
    one.against.score, one.against.weight = 1000 * rate, 1000
    return one


def test_difficulty_adjusted_meets_those_that_are_beaten_as_often_as_wanted():
    members = [with_win_rate("hard", 0.1), with_win_rate("even", 0.5), with_win_rate("easy", 0.9)]
    even = weights("difficulty_adjusted", members)
    assert even[1] > 0.9
    easy = weights("difficulty_adjusted", members, "target_win_rate=0.9")
    assert easy[2] > 0.9


def test_prioritised_meets_those_it_loses_to_or_the_uncertain():
    members = [with_win_rate("hard", 0.1), with_win_rate("even", 0.5), with_win_rate("easy", 0.95)]
    hard = weights("prioritised", members)
    assert hard[0] > hard[1] > hard[2] > 0
    variance = weights("prioritised", members, "prioritise=variance")
    assert variance[1] > variance[0] > variance[2]


def test_a_member_far_behind_is_dropped_but_never_the_last_of_its_kind():
    pool = pool_of(member("weak", rating=100), member("weaker", rating=50), member("scripted", "scripted", rating=0))
    pool.advance(1)
    assert set(pool.members) == {"weaker", "scripted"} or set(pool.members) == {"weak", "scripted"}
    pool.advance(2)
    assert len(pool.of("past")) == 1
    assert all(name in pool.members for name in pool.met)


def test_a_full_pool_drops_the_weakest():
    settings = opponents("shares.past=0.5", "members=3")
    pool = pool_of(
        *(member(name, rating=rating) for name, rating in (("a", 900), ("b", 700), ("c", 800))), settings=settings
    )
    pool.add(member("new", rating=600))
    assert set(pool.members) == {"a", "c", "new"}


def test_the_last_exploiter_stays_however_weak():
    settings = opponents("shares.past=0.5", "members=2")
    pool = pool_of(member("a"), member("exploiter", "exploiter", rating=10), settings=settings)
    pool.add(member("b", rating=500))
    assert set(pool.members) == {"exploiter", "b"}


def test_a_pool_with_room_for_fewer_than_there_are_kinds_loses_no_kind():
    pool = pool_of(member("a"), settings=opponents("shares.past=0.5", "members=1"))
    pool.add(member("exploiter", "exploiter", rating=10))
    assert set(pool.members) == {"a", "exploiter"}
    pool.add(member("b", rating=5))
    assert set(pool.members) == {"exploiter", "b"}


def test_members_are_met_as_often_as_their_chances_say():
    settings = opponents("shares.self=0.5", "shares.past=0.5", "at_once=3", "sampling=prioritised")
    members = [with_win_rate(f"past-{number}", rate) for number, rate in enumerate((0.1, 0.4, 0.6, 0.8))]
    pool = pool_of(*members, settings=settings)
    met = np.zeros(4)
    for _ in range(4000):
        pool.draw()
        met += [pool.met.get(one.name, 0.0) for one in members]
    np.testing.assert_allclose(met / 2000, chances(members, FIRST_RATING, settings), atol=0.02)


def test_no_more_are_met_at_once_than_asked_and_each_kind_is():
    settings = opponents("shares.self=0.4", "shares.past=0.4", "shares.scripted=0.2", "at_once=3")
    members = [member(f"past-{number}") for number in range(10)]
    pool = pool_of(*members, member("greedy", "scripted"), settings=settings)
    assert len(pool.met) <= 3
    assert "greedy" in pool.met
    assert sum(pair.share for pair in pool.pairings()) == pytest.approx(1)


def test_a_wanted_member_is_met_at_once():
    settings = opponents("shares.past=0.5", "at_once=1", "sampling=elo_weighted")
    pool = pool_of(*(member(f"past-{number}") for number in range(20)), settings=settings)
    newcomer = member("newcomer", rating=5000)
    pool.add(newcomer)
    pool.draw(wanted=newcomer)
    assert "newcomer" in pool.met
    assert pool.met["newcomer"] > 0


def test_a_restored_pool_continues_as_if_nothing_had_happened():
    def play(pool: OpponentPool, first: int, last: int) -> None:
        for update in range(first, last):
            for one in list(pool.members.values()):
                pool.add_outcomes(outcomes(one, [1.0, -1.0, 1.0]))
            pool.add(member(f"past-{update}", rating=pool.rating, joined_at=update))
            pool.advance(update)

    settings = opponents("shares.past=0.5", "adaptation=0.1", "sampling=prioritised", "rotation=1", "at_once=2")
    pool = pool_of(member("first"), settings=settings)
    play(pool, 1, 10)
    saved = json.loads(json.dumps(pool.state()))
    other = OpponentPool(settings, seed=99)
    other.restore(saved)
    play(pool, 10, 20)
    play(other, 10, 20)
    assert other.state() == pool.state()
