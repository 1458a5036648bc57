"""View records of Rocket League: the own car first, the field turned for side 1, one layout for all sizes."""

from dataclasses import replace

import numpy as np
import pytest
from rocket_league_states import TURN, random_state

from nemesis.games.rocket_league.actions import ACTIONS, CONTROLS, NEUTRAL
from nemesis.games.rocket_league.state import PADS, ArenaState
from nemesis.games.rocket_league.views import (
    BALL_SIZE,
    BOOST,
    LAST_ACTION_AT,
    PADS_AT,
    PLACES,
    POSITION,
    TEAM,
    VIEW_SIZE,
    ball_columns,
    build_views,
    car_columns,
    cars_of,
)


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def views(state: ArenaState, generator: np.random.Generator | None = None):
    seats = state.present.shape
    action = np.full(seats, NEUTRAL) if generator is None else generator.integers(0, len(ACTIONS), seats)
    return build_views(state, ACTIONS[action])


def turned(state: ArenaState) -> ArenaState:
    """The same matches with the field turned by 180° and the sides swapped."""
    seats = np.arange(state.present.shape[1]) ^ 1
    cars = {name: getattr(state, name)[:, seats] * TURN for name in ("position", "velocity", "spin", "forward", "up")}
    others = ("boost", "on_ground", "demolished", "can_flip", "supersonic", "present")
    balls = {name: getattr(state, name) * TURN for name in ("ball_position", "ball_velocity", "ball_spin")}
    return replace(
        state, **cars, **balls, **{name: getattr(state, name)[:, seats] for name in others}, pads=state.pads[:, ::-1]
    )


def test_there_are_ninety_different_actions_within_the_range_of_the_controller():
    assert ACTIONS.shape == (90, len(CONTROLS))
    assert len(np.unique(ACTIONS, axis=0)) == 90
    assert set(np.unique(ACTIONS[:, :5])) == {-1, 0, 1}
    assert set(np.unique(ACTIONS[:, 5:])) == {0, 1}
    assert not ACTIONS[NEUTRAL].any()


def test_the_two_sides_see_the_same_of_a_turned_field(generator):
    state = random_state(generator, matches=5, seats=6, cars=6)
    seen, mirrored = views(state), views(turned(state))
    assert seen[:, [0, 2, 4, 1, 3, 5]] == pytest.approx(mirrored[:, [1, 3, 5, 0, 2, 4]])
    assert (seen[:, 0] != mirrored[:, 0]).any()


def test_side_0_sees_the_world_as_it_is(generator):
    state = random_state(generator, matches=3, seats=2, cars=2)
    seen = views(state)[:, 0]
    assert seen[:, ball_columns("position")] * POSITION == pytest.approx(state.ball_position, rel=1e-5)
    own, other = cars_of(seen)[:, 0], cars_of(seen)[:, TEAM]
    for car, seat in ((own, 0), (other, 1)):
        assert car[:, car_columns("position")] * POSITION == pytest.approx(state.position[:, seat], rel=1e-5)
        assert car[:, car_columns("up")] == pytest.approx(state.up[:, seat])
        assert car[:, car_columns("boost")][:, 0] * BOOST == pytest.approx(state.boost[:, seat], rel=1e-5)
        assert (car[:, car_columns("can_flip")][:, 0] == state.can_flip[:, seat]).all()
    assert (seen[:, PADS_AT : PADS_AT + PADS] == state.pads).all()


def test_the_own_car_comes_first_then_team_mates_then_opponents(generator):
    state = random_state(generator, matches=1, seats=6, cars=6)
    boost = np.round(cars_of(views(state))[0, :, :, car_columns("boost")][..., 0] * BOOST, 2)
    expected = np.round(state.boost[0], 2)
    assert boost[2].tolist() == pytest.approx(expected[[2, 0, 4, 1, 3, 5]].tolist())
    assert boost[5].tolist() == pytest.approx(expected[[5, 1, 3, 0, 2, 4]].tolist())


@pytest.mark.parametrize("cars", [2, 4])
def test_views_of_a_small_match_are_those_of_a_large_one_with_empty_places(generator, cars):
    large = random_state(generator, matches=4, seats=6, cars=cars)
    small = replace(
        large,
        **{
            name: getattr(large, name)[:, :cars]
            for name in ArenaState.__slots__
            if getattr(large, name).ndim > 1 and getattr(large, name).shape[1] == 6
        },
    )
    in_large, in_small = views(large)[:, :cars], views(small)
    assert in_small.shape == (4, cars, VIEW_SIZE)
    places = cars_of(in_small)
    taken = places[..., 0].any(axis=(0, 1))
    assert taken.sum() == cars
    assert not places[:, :, ~taken].any()
    assert (cars_of(in_large)[:, :, taken].sum() - places[:, :, taken].sum()) == pytest.approx(0, abs=1e-3)
    assert len(taken) == PLACES


def test_the_last_controls_are_in_the_view(generator):
    state = random_state(generator, matches=2, seats=2, cars=2)
    action = np.array([[3, 50], [80, NEUTRAL]])
    assert (build_views(state, ACTIONS[action])[..., LAST_ACTION_AT:] == ACTIONS[action]).all()


def test_numbers_of_views_are_small(generator):
    state = random_state(generator, matches=20, seats=6, cars=6)
    assert np.abs(views(state, generator)).max() < 3
    assert BALL_SIZE == 9
