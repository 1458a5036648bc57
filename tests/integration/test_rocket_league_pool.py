"""The match pool of Rocket League on the real simulator."""

import hashlib
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from nemesis.core.game import EndReason, is_truncated
from nemesis.core.masks import unpack_mask
from nemesis.games.rocket_league import resets
from nemesis.games.rocket_league.actions import ACTIONS, NEUTRAL
from nemesis.games.rocket_league.arena.meshes import find_meshes, use_meshes
from nemesis.games.rocket_league.game import open_game
from nemesis.games.rocket_league.pool import Matches, RocketLeaguePool
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.state import ArenaState, Start
from nemesis.games.rocket_league.views import LAST_ACTION_AT, VIEW_SIZE, ball_columns, car_columns, cars_of

pytest.importorskip("RocketSim")

TWO_CARS, SIX_CARS = np.array([1.0, 0, 0]), np.array([0, 0, 1.0])
DRIVE = int(np.flatnonzero((ACTIONS == [1, 0, 0, 0, 0, 0, 0, 0]).all(axis=1))[0])


class Recording:
    """Keeps the states of a pool."""

    def __init__(self) -> None:
        self.match: list = []
        self.state: list[ArenaState] = []

    def record(self, match, state: ArenaState) -> None:
        self.match.append(match.copy())
        self.state.append(state)


def pool_of(start, shares=TWO_CARS, slots: int = 2, seed: int = 0, **settings) -> RocketLeaguePool:
    """A pool whose matches all start in one way."""
    use_meshes(find_meshes())
    seats = 2 * int(1 + np.flatnonzero(shares)[-1])
    pool = RocketLeaguePool(Matches(shares, start, seats), RocketLeagueSettings(**settings), slots, seed)
    pool.recorder = Recording()
    return pool


def pool_for(game: str, slots: int, seed: int, **settings):
    return open_game(game, RocketLeagueSettings(**settings)).pool(slots, seed)


def play(pool, decisions: int, generator: np.random.Generator | None = None):
    """Play with random actions, or with neutral ones; returns what each `recv` gave."""
    seen = []
    for _ in range(decisions):
        waiting, ended = pool.recv()
        seen.append((waiting, ended))
        neutral = np.full(len(waiting), NEUTRAL)
        pool.send(neutral if generator is None else generator.integers(0, len(ACTIONS), len(waiting)))
    return seen


def results(seen):
    return [ended for _, ended in seen if len(ended)]


def fingerprint(seen) -> str:
    digest = hashlib.sha256()
    for waiting, ended in seen:
        decisions = (waiting.match, waiting.seat, waiting.view, waiting.reward)
        for array in (*decisions, ended.match, ended.returns, ended.reward):
            digest.update(np.ascontiguousarray(array).tobytes())
        if ended.final is not None:
            digest.update(ended.final.view.tobytes())
    return digest.hexdigest()


def shot(cars: int, generator: np.random.Generator) -> Start:
    """A ball that flies into the goal of one side, half a second later."""
    start = resets.kickoff(cars, generator)
    end = generator.choice([-1, 1])
    start.ball[:6] = [0, end * 4200, 300, 0, end * 2200, 100]
    return start


def rolling(cars: int, generator: np.random.Generator) -> Start:
    """A ball that rolls along, away from all cars."""
    start = resets.kickoff(cars, generator)
    start.ball[:6] = [3000, 0, 93, 0, 300, 0]
    return start


def test_all_cars_decide_at_once_with_every_action_legal():
    waiting, ended = pool_for("3v3", slots=3, seed=0).recv()
    assert waiting.slot.tolist() == [0] * 6 + [1] * 6 + [2] * 6
    assert waiting.seat.tolist() == [0, 1, 2, 3, 4, 5] * 3
    assert waiting.view.shape == (18, VIEW_SIZE)
    assert waiting.view.dtype == np.float32
    assert unpack_mask(waiting.mask, len(ACTIONS)).all()
    assert waiting.reward.shape == (18, len(open_game("3v3").reward_components))
    assert not waiting.reward.any()
    assert len(ended) == 0


def test_a_touch_of_the_ball_counts_for_the_car_itself_though_its_reward_is_shared():
    def beside_the_ball(cars: int, generator: np.random.Generator) -> Start:
        start = resets.kickoff(cars, generator)
        start.ball[:6] = [0, 0, 93, 0, 0, 0]
        start.car[0, :6] = [0, -300, 17, 0, 1200, 0]
        start.car[0, 9:12] = [0, 1, 0]
        return start

    pool = pool_of(beside_the_ball, np.array([0, 1.0, 0]), slots=1, team_spirit=0.5, zero_sum=True)
    columns = list(open_game("2v2").reward_components)
    paid = np.array([waiting.reward for waiting, _ in play(pool, 6)])  # (decision, seat, component)
    touch, touched = (paid[..., columns.index(name)] for name in ("touch", "touched"))
    assert touch.any(axis=0).all()
    assert touched.any(axis=0).tolist() == [True, False, False, False]
    assert set(touched.ravel().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("game", ["1v1", "2v2", "3v3", "mixed"])
def test_a_seed_determines_all_matches(game):
    one, same, other = (
        fingerprint(play(pool_for(game, 4, seed, match_seconds=4), 60, np.random.default_rng(1))) for seed in (7, 7, 8)
    )
    assert one == same
    assert one != other


def test_a_seed_determines_all_matches_in_any_process():
    here = fingerprint(play(pool_for("3v3", 3, 5, match_seconds=5), 90, np.random.default_rng(2)))
    code = (
        "import sys; sys.path.insert(0, 'tests/integration'); import numpy as np; import test_rocket_league_pool as t; "
        "kept = t.pool_for('2v2', 5, 1); "
        "print(t.fingerprint(t.play(t.pool_for('3v3', 3, 5, match_seconds=5), 90, np.random.default_rng(2))))"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here


@pytest.mark.parametrize(
    ("game", "settings"),
    [("1v1", {}), ("3v3", {"zero_sum": True, "team_spirit": 0.3}), ("mixed", {"action_delay": 11})],
)
def test_a_snapshot_restores_bit_by_bit(game, settings):
    pool, generator = pool_for(game, 6, 3, match_seconds=6, touch_seconds=3, **settings), np.random.default_rng(0)
    play(pool, 70, generator)
    snapshot = {name: array.copy() for name, array in pool.snapshot().items()}
    actions = generator.bit_generator.state
    expected = play(pool, 80, generator)
    assert results(expected)
    other = pool_for(game, 6, 4, match_seconds=6, touch_seconds=3, **settings)
    play(other, 20, np.random.default_rng(9))
    other.restore(snapshot)
    generator.bit_generator.state = actions
    assert fingerprint(play(other, 80, generator)) == fingerprint(expected)


def test_a_snapshot_has_the_results_that_wait():
    pool = pool_of(shot, match_seconds=5)
    play(pool, 6)
    while not len(pool._ended):
        play(pool, 1)
    snapshot = pool.snapshot()
    other = pool_of(shot, match_seconds=5, seed=1)
    other.restore(snapshot)
    assert fingerprint(play(other, 10)) == fingerprint(play(pool, 10))


def test_a_goal_ends_a_match_and_the_side_that_scored_wins():
    pool = pool_of(shot, slots=4)
    ends = results(play(pool, 40))
    assert sum(len(ended) for ended in ends) > 8
    recording = pool.recorder
    for ended in ends:
        assert (ended.end_reason == EndReason.PLAYED).all()
        assert ended.final is None
        for match, slot, returns in zip(ended.match, ended.slot, ended.returns, strict=True):
            step = max(step for step, matches in enumerate(recording.match) if matches[slot] == match)
            winner = 0 if recording.state[step].ball_position[slot, 1] > 0 else 1
            assert returns.tolist() == [1 - 2 * winner, 2 * winner - 1]
            assert abs(recording.state[step].ball_position[slot, 1]) == pytest.approx(5216, abs=20)
    matches = np.concatenate([ended.match for ended in ends])
    assert sorted(matches.tolist()) == matches.tolist() == list(range(len(matches)))


def test_the_clock_truncates_a_match():
    seen = play(pool_of(rolling, match_seconds=2), 35)
    first = results(seen)[0]
    assert is_truncated(first.end_reason).all()
    assert first.returns.tolist() == [[0, 0], [0, 0]]
    assert first.final is not None
    assert first.final.match.tolist() == [0, 0, 1, 1]
    assert first.final.seat.tolist() == [0, 1, 0, 1]
    rolled = first.final.view[:, ball_columns("position")][:, 1]
    assert rolled[0] > 0.1  # what they see at the end, and not the start of the next match
    assert rolled[1] == -rolled[0]
    assert len([waiting for waiting, _ in seen if waiting.match[0] == 0]) == 30


def test_a_long_time_without_a_touch_truncates_a_match_and_a_touch_starts_it_anew():
    untouched = results(play(pool_of(rolling, touch_seconds=1), 20))[0]
    assert is_truncated(untouched.end_reason).all()

    def close(cars, generator):
        start = resets.kickoff(cars, generator)
        start.car[0, :3] = [0, -400, 17]
        start.car[0, 9:12] = [0, 1, 0]
        start.car[0, 3:6] = [0, 1400, 0]
        return start

    pool = pool_of(close, touch_seconds=1, slots=1)
    seen = play(pool, 40)
    touched = [step for step, state in enumerate(pool.recorder.state) if state.touched[0, 0]]
    length = len([waiting for waiting, _ in seen if waiting.match[0] == 0])
    assert 0 < touched[0] < 5
    assert length == touched[0] + 1 + 15 or length == max(step for step in touched if step < length) + 1 + 15


def test_a_match_that_loses_a_body_is_voided_and_the_next_one_is_not():
    def lost_at_first(cars, generator):
        start = resets.kickoff(cars, generator)
        if generator.bit_generator.seed_seq.entropy[1] == 0:  # the number of the match
            start.ball[0] = 9000
        return start

    pool = pool_of(lost_at_first, slots=2, match_seconds=2)
    ends = results(play(pool, 70))
    assert ends[0].match.tolist() == [0]
    assert ends[0].end_reason.tolist() == [EndReason.SIMULATOR_FAILURE]
    assert np.isfinite(ends[0].reward).all()
    later = np.concatenate([ended.end_reason for ended in ends[1:]])
    assert len(later) > 2
    assert (later == EndReason.TIME_LIMIT).all()


def test_actions_that_do_not_exist_are_refused():
    pool = pool_for("1v1", 2, 0)
    pool.recv()
    with pytest.raises(ValueError, match="Action 90 is not legal in match 1"):
        pool.send(np.array([0, 1, 2, 90]))
    with pytest.raises(ValueError, match="4 decisions wait, not 3"):
        pool.send(np.zeros(3, dtype=np.int64))


def driven(delay: int, actions, tick_skip: int = 8):
    """Positions of the cars after each decision with given actions (decision, seat)."""
    pool = pool_of(resets.kickoff, slots=1, action_delay=delay, tick_skip=tick_skip)
    for row in actions:
        pool.recv()
        pool.send(row)
    return np.array([state.position[0] for state in pool.recorder.state])


def test_a_delayed_action_acts_later():
    actions = np.random.default_rng(0).integers(0, len(ACTIONS), (30, 2))
    shifted = np.concatenate([np.full((2, 2), NEUTRAL), actions[:-2]])
    assert (driven(16, actions) == driven(0, shifted)).all()
    in_ticks = np.concatenate([np.full((3, 2), NEUTRAL), np.repeat(actions, 8, axis=0)])[: 8 * 30]
    assert (driven(3, actions) == driven(0, in_ticks, tick_skip=1)[7::8]).all()


def test_the_last_action_is_in_the_view():
    pool = pool_for("1v1", 1, 0, match_seconds=1)
    waiting, _ = pool.recv()
    assert not waiting.view[:, LAST_ACTION_AT:].any()
    pool.send(np.array([3, 50]))
    assert (pool.recv()[0].view[:, LAST_ACTION_AT:] == ACTIONS[[3, 50]]).all()
    pool.send(np.array([3, 50]))
    seen = play(pool, 14)
    assert not next(waiting for waiting, _ in seen if waiting.match[0] == 1).view[:, LAST_ACTION_AT:].any()


def test_both_sides_see_the_same_of_a_kickoff_if_they_act_alike():
    pool, generator = open_game("1v1").paired_pool(4, 0), np.random.default_rng(0)
    for _ in range(25):
        waiting, _ = pool.recv()
        assert waiting.view[0::2] == pytest.approx(waiting.view[1::2], abs=1e-3)
        pool.send(np.repeat(generator.integers(0, len(ACTIONS), 4), 2))


def test_paired_matches_start_with_the_same_kickoff():
    game = open_game("2v2", RocketLeagueSettings(match_seconds=1))
    first = {}
    for waiting, _ in play(game.paired_pool(4, 0), 60):
        for match in np.unique(waiting.match).tolist():
            first.setdefault(match, waiting.view[waiting.match == match])
    assert len(first) >= 12
    assert all((first[match] == first[match + 1]).all() for match in range(0, 12, 2))
    assert len({first[match].tobytes() for match in range(0, 12, 2)}) > 1
    assert all((view[:, ball_columns("position")][:, :2] == 0).all() for view in first.values())


def test_mixed_matches_have_one_to_three_cars_a_side_as_often_as_configured():
    seen = play(pool_for("mixed", 12, 0, match_seconds=1, sizes=[2, 1, 1]), 120)
    cars = {}
    for waiting, _ in seen:
        for match, count in zip(*np.unique(waiting.match, return_counts=True), strict=True):
            assert cars.setdefault(int(match), int(count)) == count
    counts = np.bincount(list(cars.values()), minlength=7)
    assert counts[[1, 3, 5]].sum() == 0
    assert counts[2] == pytest.approx(sum(counts) / 2, rel=0.35)
    assert (counts[[4, 6]] > 0).all()


def test_a_demolished_car_returns_after_three_seconds():
    def ram(cars, generator):
        start = resets.kickoff(cars, generator)
        start.ball[:6] = [3500, 0, 93, 0, 1, 0]
        start.car[0] = [0, -1500, 17, 0, 2290, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 100, 1]
        start.car[1] = [0, 0, 17, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 100, 1]
        return start

    pool = pool_of(ram, slots=1)
    boosting = int(np.flatnonzero((ACTIONS == [1, 0, 0, 0, 0, 0, 1, 0]).all(axis=1))[0])
    for _ in range(75):
        pool.recv()
        pool.send(np.array([boosting, NEUTRAL]))
    down = np.array([state.demolished[0, 1] for state in pool.recorder.state])
    events = np.array([state.demolitions[0, 0] for state in pool.recorder.state])
    assert events.sum() == 1
    assert events[down.argmax()] == 1
    assert down.sum() * 8 == pytest.approx(360, abs=16)
    assert not down[-1]
    back = pool.recorder.state[-1]
    assert back.position[0, 1, 1] > 4000  # in front of its own goal


def test_every_number_of_a_match_is_finite_and_later_steps_do_not_change_it():
    pool = pool_of(resets.Starts(RocketLeagueSettings()), SIX_CARS, slots=3)
    generator = np.random.default_rng(4)
    play(pool, 5, generator)
    state = pool.recorder.state[-1]
    before = {field.name: getattr(state, field.name).copy() for field in fields(state)}
    seen = play(pool, 60, generator)
    for name, array in before.items():
        assert (getattr(state, name) == array).all(), name
        assert np.isfinite(array).all(), name
    assert all(np.isfinite(waiting.view).all() and np.isfinite(waiting.reward).all() for waiting, _ in seen)
    assert 0 < np.mean([state.can_flip.mean() for state in pool.recorder.state]) < 1


def test_cars_see_themselves_where_they_are():
    pool = pool_of(resets.kickoff, SIX_CARS, slots=2)
    play(pool, 3, np.random.default_rng(0))
    view = pool.recv()[0].view.reshape(2, 6, -1)
    position = cars_of(view)[:, :, 0, car_columns("position")] * 4096
    turn = np.where(np.arange(6)[:, None] % 2 == 0, [1, 1, 1], [-1, -1, 1])
    assert position == pytest.approx(pool.recorder.state[-1].position * turn, abs=0.01)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's own figure")
def test_a_process_with_64_arenas_of_3v3_needs_less_than_400_megabytes():
    code = (
        "import numpy as np; from nemesis.games.rocket_league.game import open_game; "
        "pool = open_game('3v3').pool(64, 0); pool.recv(); pool.send(np.zeros(384, dtype=np.int64)); "
        "print(open('/proc/self/status').read())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # Not ru_maxrss, which starts with that of the process that forked.
    peak = next(line for line in done.stdout.splitlines() if line.startswith("VmHWM:"))
    assert int(peak.split()[1]) * 1024 < 400e6
