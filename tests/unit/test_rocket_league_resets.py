"""How matches of Rocket League start."""

import numpy as np
import pytest
from rocket_league_states import random_state

from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.games.rocket_league import resets
from nemesis.games.rocket_league.resets import KICKOFFS, Starts, StateFile, save_states
from nemesis.games.rocket_league.settings import RocketLeagueSettings

POSITION, FORWARD, UP, BOOST, ON_GROUND = slice(0, 3), slice(9, 12), slice(12, 15), 15, 16
NONE = dict.fromkeys(("kickoff", "ground", "air", "wall", "replayed"), 0.0)


def only(kind: str, **settings) -> Starts:
    return Starts(RocketLeagueSettings(starts=NONE | {kind: 1.0}, **settings))


@pytest.mark.parametrize("cars", [2, 4, 6])
def test_kickoffs_use_the_five_places_of_the_game_with_cars_opposite_each_other(cars):
    seen = set()
    for seed in range(40):
        start = only("kickoff")(cars, np.random.default_rng(seed))
        blue, orange = start.car[0::2], start.car[1::2]
        assert orange[:, POSITION] == pytest.approx(blue[:, POSITION] * [-1, -1, 1])
        assert orange[:, FORWARD] == pytest.approx(blue[:, FORWARD] * [-1, -1, 1], abs=1e-6)
        assert (start.car[:, BOOST] == np.float32(100 / 3)).all()
        assert start.ball[:2].tolist() == [0, 0]
        assert not start.ball[3:].any()
        places = [tuple(row[:2].tolist()) for row in blue]
        assert len(set(places)) == len(places)
        seen |= set(places)
    assert seen == {(x, y) for x, y, _ in KICKOFFS}


@pytest.mark.parametrize("cars", [2, 6])
@pytest.mark.parametrize("kind", ["kickoff", "ground", "air", "wall"])
def test_starts_are_within_the_arena_and_apart(kind, cars):
    for seed in range(50):
        start = only(kind)(cars, np.random.default_rng(seed))
        bodies = np.concatenate([start.ball[None, POSITION], start.car[:, POSITION]])
        assert (np.abs(bodies) <= [4096 - 16, 5120 - 16, 1800]).all()
        assert (np.abs(bodies[:, 0]) + np.abs(bodies[:, 1]) < 8064).all()
        assert (bodies[:, 2] > 16).all()
        distance = np.linalg.norm(bodies[:, None] - bodies, axis=-1) + 1e6 * np.eye(len(bodies))
        assert distance.min() > 250
        forward, up = start.car[:, FORWARD], start.car[:, UP]
        assert np.linalg.norm(forward, axis=1) == pytest.approx(1, abs=1e-5)
        assert np.linalg.norm(up, axis=1) == pytest.approx(1, abs=1e-5)
        assert (forward * up).sum(axis=1) == pytest.approx(0, abs=1e-5)


def test_air_starts_are_in_the_air_and_wall_starts_on_a_wall():
    for seed in range(20):
        start = only("air")(2, np.random.default_rng(seed))
        assert start.ball[2] > 500
        assert not start.car[:, ON_GROUND].any()
        start = only("wall")(2, np.random.default_rng(seed))
        assert np.abs(start.car[:, POSITION] / [4096 - 17, 5120 - 17, 1e9]).max(axis=1) == pytest.approx(1, abs=1e-4)
        assert (start.car[:, UP][:, 2] == 0).all()
        assert start.car[:, ON_GROUND].all()


def test_kinds_of_starts_come_as_often_as_their_weights_say():
    starts = Starts(RocketLeagueSettings(starts=NONE | {"kickoff": 3, "air": 1}))
    drawn = [starts(2, np.random.default_rng(seed)).ball[2] < 100 for seed in range(400)]
    assert np.mean(drawn) == pytest.approx(0.75, abs=0.07)


def test_a_seed_determines_a_start():
    one, same, other = (Starts(RocketLeagueSettings())(6, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert (one.car == same.car).all()
    assert (one.ball == same.ball).all()
    assert (one.car != other.car).any()


def test_matches_start_from_saved_states(tmp_path):
    state = random_state(np.random.default_rng(0), matches=5, seats=4, cars=4)
    state.ball_position[:, 2], state.position[..., 2] = 300, 400
    save_states(tmp_path / "states.npz", [state, state])
    starts = only("replayed", states=str(tmp_path / "states.npz"))
    found = {tuple(starts(2, np.random.default_rng(seed)).ball[:3].tolist()) for seed in range(60)}
    assert found == {tuple(row) for row in state.ball_position.tolist()}
    start = starts(4, np.random.default_rng(0))
    match = int(np.flatnonzero((state.ball_position == start.ball[:3]).all(axis=1))[0])
    assert (start.car[:, FORWARD] == state.forward[match]).all()
    assert (start.car[:, BOOST] == state.boost[match]).all()
    with pytest.raises(UserError, match="has states of 4 cars, too few for 6"):
        starts(6, np.random.default_rng(0))


def test_files_without_usable_states_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"rocket_league\.states=.*none\.npz is not a file of states"):
        StateFile(str(tmp_path / "none.npz"))
    np.savez(tmp_path / "other.npz", ball=np.zeros((1, 9)))
    with pytest.raises(UserError, match="is not a file of states"):
        StateFile(str(tmp_path / "other.npz"))
    np.savez(tmp_path / "shapes.npz", ball=np.zeros((2, 9)), car=np.zeros((2, 2, 3)))
    with pytest.raises(UserError, match="arrays of wrong shapes"):
        StateFile(str(tmp_path / "shapes.npz"))
    start = resets.kickoff(2, np.random.default_rng(0))
    ball = np.array([start.ball, start.ball])
    ball[1, 0] = 9000
    np.savez(tmp_path / "outside.npz", ball=ball, car=np.array([start.car, start.car]))
    with pytest.raises(UserError, match="body outside of the arena in state 1"):
        StateFile(str(tmp_path / "outside.npz"))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"starts": NONE}, "starts are all 0"),
        ({"starts": {"replayed": 1}}, "needs states to name a file"),
        ({"states": "states.npz"}, "no effect without starts.replayed"),
        ({"sizes": [0, 0, 0]}, "sizes are all 0"),
    ],
)
def test_settings_that_no_match_can_start_with_are_refused(settings, problem):
    with pytest.raises(ConfigError, match=problem):
        build_config(RocketLeagueSettings, settings)
