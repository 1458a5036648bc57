"""Reward components of Rocket League on states made by hand, and how rewards are shared between cars."""

from dataclasses import replace

import numpy as np
import pytest

from nemesis.games.rocket_league.rewards import COMPONENTS, rewards, shared
from nemesis.games.rocket_league.state import ArenaState

SEATS = 6
BLUE, ORANGE = 0, 1
TURN = np.array([-1, -1, 1], dtype=np.float32)  # by 180° around the middle of the field


def parked(matches: int = 1, cars: int = 2) -> ArenaState:
    """The first cars of a match at rest in front of their goals, facing the ball, which flies across the middle."""
    seat = np.arange(SEATS)
    present = np.broadcast_to(seat < cars, (matches, SEATS))
    attack = np.where(seat % 2 == 0, 1, -1)
    forward = np.stack([0 * seat, attack, 0 * seat], axis=1)
    vectors = {"position": -4000 * forward, "forward": forward, "up": np.tile([0, 0, 1], (SEATS, 1))}
    of_cars = {name: np.tile(one, (matches, 1, 1)) * present[..., None] for name, one in vectors.items()}
    still = np.zeros((matches, SEATS, 3))
    none, never = np.zeros((matches, SEATS), dtype=np.float32), np.zeros((matches, SEATS), dtype=np.bool_)
    return ArenaState(
        ball_position=np.tile(np.float32([0, 0, 93]), (matches, 1)),
        ball_velocity=np.tile(np.float32([600, 0, 0]), (matches, 1)),
        ball_spin=np.zeros((matches, 3), dtype=np.float32),
        **{name: one.astype(np.float32) for name, one in (of_cars | {"velocity": still, "spin": still}).items()},
        boost=none,
        on_ground=present.copy(),
        demolished=never,
        can_flip=present.copy(),
        supersonic=never,
        touched=never,
        goals=none,
        saves=none,
        shots=none,
        demolitions=none,
        pads=np.ones((matches, 34), dtype=np.float32),
        present=present.copy(),
        tick=np.zeros(matches, dtype=np.int64),
    )


def at(values: object, place: tuple[int, ...], array: np.ndarray) -> np.ndarray:
    """Return a copy of an array with other values at a place."""
    changed = array.copy()
    changed[place] = values
    return changed


def paid(name: str, after: ArenaState, before: ArenaState | None = None) -> np.ndarray:
    """Return one component (seat,) of the first match."""
    return rewards(before or parked(), after)[0, :, list(COMPONENTS).index(name)]


def blue(**fields: object) -> ArenaState:
    """Return `parked` with other values of the blue car."""
    state = parked()
    return replace(state, **{name: at(value, (0, BLUE), getattr(state, name)) for name, value in fields.items()})


def ball(**fields: object) -> ArenaState:
    """Return `parked` with other values of the ball."""
    state = parked()
    changed = {f"ball_{name}": value for name, value in fields.items()}
    return replace(state, **{name: at(value, (0,), getattr(state, name)) for name, value in changed.items()})


def test_every_component_has_a_weight_below_that_of_a_goal_and_only_saves_are_sparse():
    paid = {name: component.weight for name, component in COMPONENTS.items() if name != "touched"}
    assert all(0 < weight <= 0.3 for weight in paid.values())
    assert COMPONENTS["touched"].weight == 0
    assert [name for name, component in COMPONENTS.items() if component.sparse] == ["save"]
    assert rewards(parked(3), parked(3)).shape == (3, SEATS, len(COMPONENTS))
    assert rewards(parked(), parked()).dtype == np.float32


@pytest.mark.parametrize(("event", "component"), [("saves", "save"), ("shots", "shot"), ("demolitions", "demolition")])
def test_events_pay_one_each(event: str, component: str):
    assert paid(component, blue(**{event: 1})).tolist() == [1, 0, 0, 0, 0, 0]
    assert paid(component, blue(**{event: 2}))[BLUE] == 2
    assert not paid(component, parked()).any()


def test_being_demolished_costs_once():
    demolished = blue(demolished=True)
    assert paid("demolished", demolished).tolist() == [-1, 0, 0, 0, 0, 0]
    assert not paid("demolished", demolished, before=demolished).any()
    assert not paid("demolished", parked(), before=demolished).any()


def test_velocity_to_the_ball_is_positive_towards_it_and_negative_away_from_it():
    level = {"position": [0, -4000, 93]}  # as high as the ball, so that it lies straight ahead
    assert paid("velocity_to_ball", blue(velocity=[0, 2300, 0], **level))[BLUE] == pytest.approx(1)
    assert paid("velocity_to_ball", blue(velocity=[0, -1150, 0], **level))[BLUE] == pytest.approx(-0.5)
    assert paid("velocity_to_ball", blue(velocity=[2300, 0, 0], **level))[BLUE] == pytest.approx(0)
    assert not paid("velocity_to_ball", blue(velocity=[0, 2300, 0]))[ORANGE]


def test_the_ball_flying_to_a_goal_pays_those_who_attack_it_and_costs_the_others():
    values = paid("ball_to_goal", ball(position=[0, 0, 321], velocity=[0, 3000, 0]))
    np.testing.assert_allclose(values, [0.5, -0.5, 0, 0, 0, 0], atol=1e-6)
    assert paid("ball_to_goal", ball(position=[0, 0, 321], velocity=[0, -6000, 0]))[BLUE] == pytest.approx(-1)


def test_facing_the_ball_is_a_cosine():
    level = {"position": [0, -4000, 93]}
    assert paid("facing_ball", blue(**level))[BLUE] == pytest.approx(1)
    assert paid("facing_ball", blue(forward=[0, -1, 0], **level))[BLUE] == pytest.approx(-1)
    assert paid("facing_ball", blue(forward=[0, 0.5, 0.5 * np.sqrt(3)], **level))[BLUE] == pytest.approx(0.5)


def test_alignment_is_best_between_the_own_goal_and_a_ball_in_front_of_the_other_goal():
    between = replace(blue(position=[0, -1000, 321]), ball_position=np.float32([[0, 3000, 321]]))
    assert paid("alignment", between)[BLUE] == pytest.approx(1)
    ahead = replace(blue(position=[0, 3000, 321]), ball_position=np.float32([[0, -1000, 321]]))
    assert paid("alignment", ahead)[BLUE] == pytest.approx(-1)


def test_a_touch_pays_by_the_change_of_the_balls_velocity():
    hit = replace(blue(touched=True), ball_velocity=np.float32([[600, 2300, 0]]))
    assert paid("touch", hit).tolist() == [0.5, 0, 0, 0, 0, 0]
    hard = replace(blue(touched=True), ball_velocity=np.float32([[-5400, 0, 0]]))
    assert paid("touch", hard)[BLUE] == 1  # no more than that
    assert not paid("touch", blue(touched=True)).any()  # which changed nothing
    assert not paid("touch", ball(velocity=[-5400, 0, 0])).any()  # a bounce that nobody touched


def test_a_touch_in_the_air_pays_by_height_when_it_begins():
    high = np.float32([[0, 0, 91.25 + (2044 - 2 * 91.25) / 2]])
    flying = replace(blue(touched=True, on_ground=False), ball_position=high)
    np.testing.assert_allclose(paid("aerial_touch", flying), [0.5, 0, 0, 0, 0, 0], atol=1e-6)
    assert not paid("aerial_touch", flying, before=flying).any()  # carrying the ball
    assert not paid("aerial_touch", replace(blue(touched=True), ball_position=high)).any()  # from the ground
    assert not paid("aerial_touch", replace(blue(on_ground=False), ball_position=high)).any()


def test_boost_pays_when_it_rises_and_while_it_is_there_by_its_root():
    assert paid("boost_gained", blue(boost=25)).tolist() == [0.5, 0, 0, 0, 0, 0]
    assert paid("boost_gained", blue(boost=100), before=blue(boost=25))[BLUE] == 0.5
    assert not paid("boost_gained", blue(boost=25), before=blue(boost=100)).any()
    assert not paid("boost_gained", blue(boost=33), before=blue(demolished=True)).any()  # it comes back with some
    assert paid("boost_kept", blue(boost=25), before=blue(boost=100)).tolist() == [0.5, 0, 0, 0, 0, 0]


def test_speed_pays_in_all_directions():
    assert paid("speed", blue(velocity=[0, -1380, 1840])).tolist() == pytest.approx([1, 0, 0, 0, 0, 0])


def test_height_pays_in_the_air_up_to_the_height_of_the_ball():
    low = blue(position=[0, 0, 511], on_ground=False)
    assert not paid("aerial", blue(position=[0, 0, 511])).any()  # on a wall
    high = replace(low, ball_position=np.float32([[0, 0, 1022]]))
    assert paid("aerial", high)[BLUE] == pytest.approx(0.25)
    assert paid("aerial", low)[BLUE] == pytest.approx(93 / 2044)


def test_a_kickoff_pays_the_closest_car_of_each_side_on_its_way():
    waiting = replace(parked(cars=4), ball_velocity=np.zeros((1, 3), dtype=np.float32))
    position = np.float32([[[0, -2000, 93], [0, 2000, 93], [0, -4000, 93], [0, 4000, 93], [0, 0, 0], [0, 0, 0]]])
    velocity = at([0, 1150, 0], (0, slice(0, None, 2)), waiting.velocity)  # orange drives away from the ball
    velocity[0, 1::2] = velocity[0, ::2]
    driving = replace(waiting, position=position, velocity=velocity * waiting.present[..., None])
    assert paid("kickoff", driving, before=waiting).tolist() == pytest.approx([0.5, 0, 0, 0, 0, 0])
    back = replace(driving, velocity=-driving.velocity)
    assert paid("kickoff", back, before=waiting).tolist() == pytest.approx([0, 0.5, 0, 0, 0, 0])
    assert not paid("kickoff", driving, before=parked(cars=4)).any()  # the ball is in play
    elsewhere = replace(waiting, ball_position=waiting.ball_position + np.float32([1000, 0, 0]))
    assert not paid("kickoff", driving, before=elsewhere).any()


def test_a_demolished_car_gets_nothing_for_where_it_is():
    fast = {"position": [0, -4000, 500], "velocity": [0, 2300, 0], "boost": 100, "on_ground": False}
    for name in ("velocity_to_ball", "facing_ball", "boost_kept", "speed", "aerial"):
        assert paid(name, blue(**fast))[BLUE] > 0
        assert paid(name, blue(**fast, demolished=True))[BLUE] == 0


def played(matches: int, cars: int, seed: int) -> tuple[ArenaState, ArenaState]:
    """Two random states of the same matches, every fourth of them at a kick-off."""
    generator = np.random.default_rng(seed)
    present = np.broadcast_to(np.arange(SEATS) < cars, (matches, SEATS))

    def state() -> ArenaState:
        def vectors(*shape: int, scale: float) -> np.ndarray:
            return generator.uniform(-scale, scale, (*shape, 3)).astype(np.float32)

        def of_cars(scale: float) -> np.ndarray:
            return vectors(matches, SEATS, scale=scale) * present[..., None]

        def some() -> np.ndarray:
            return (generator.random((matches, SEATS)) < 0.4) & present

        waits = (np.arange(matches) % 4 == 0)[:, None]
        forward = of_cars(1.0)
        forward /= np.maximum(np.linalg.norm(forward, axis=-1, keepdims=True), 1e-6)
        still = np.zeros((matches, 3), dtype=np.float32)
        events = {name: some().astype(np.float32) for name in ("goals", "saves", "shots", "demolitions")}
        return replace(
            parked(matches, cars),
            ball_position=np.where(waits, still, np.abs(vectors(matches, scale=2000.0))),
            ball_velocity=np.where(waits, still, vectors(matches, scale=2500.0)),
            position=np.abs(of_cars(2000.0)) * np.sign(of_cars(1.0) * [1, 1, 0] + [0, 0, 1]).astype(np.float32),
            velocity=of_cars(1300.0),
            forward=forward,
            boost=(generator.uniform(0, 100, (matches, SEATS)) * present).astype(np.float32),
            on_ground=some(),
            demolished=some(),
            touched=some(),
            **events,
        )

    return state(), state()


def turned(state: ArenaState) -> ArenaState:
    """The same matches with the field turned by 180° and the sides swapped."""
    swapped = {
        name: getattr(state, name)[:, np.arange(SEATS) ^ 1]
        for name in ArenaState.__slots__
        if name not in ("ball_position", "ball_velocity", "ball_spin", "pads", "tick")
    }
    vectors = ("position", "velocity", "spin", "forward", "up")
    swapped |= {name: swapped[name] * TURN for name in vectors}
    return replace(
        state,
        **swapped,
        ball_position=state.ball_position * TURN,
        ball_velocity=state.ball_velocity * TURN,
        ball_spin=state.ball_spin * TURN,
    )


@pytest.mark.parametrize("cars", [2, 4, 6])
def test_both_sides_are_rewarded_alike(cars: int):
    before, after = played(64, cars, seed=cars)
    expected = rewards(before, after)
    assert all(expected[..., column].any() for column in range(len(COMPONENTS)))
    np.testing.assert_allclose(rewards(turned(before), turned(after))[:, np.arange(SEATS) ^ 1], expected, atol=1e-5)


@pytest.mark.parametrize("cars", [2, 4, 6])
def test_rewards_are_between_minus_one_and_one_and_zero_for_cars_that_do_not_take_part(cars: int):
    reward = rewards(*played(256, cars, seed=0))
    assert np.isfinite(reward).all()
    assert np.abs(reward).max() <= 1 + 1e-5
    assert not reward[:, cars:].any()


def test_states_are_left_as_they_are():
    before, after = played(8, 6, seed=0)
    copies = [{name: getattr(state, name).copy() for name in ArenaState.__slots__} for state in (before, after)]
    rewards(before, after)
    for state, copy in zip((before, after), copies, strict=True):
        assert all(np.array_equal(getattr(state, name), array) for name, array in copy.items())


REWARD = np.float32([[[1.0, 0.5], [-2.0, 0.0], [3.0, 0.5], [0.0, 4.0], [9.0, 9.0], [9.0, 9.0]]])  # the last two absent
PRESENT = np.array([[True] * 4 + [False] * 2])


def test_team_spirit_goes_from_own_rewards_to_the_mean_of_the_side():
    expected = REWARD * PRESENT[..., None]
    np.testing.assert_allclose(shared(REWARD, PRESENT, 0.0, zero_sum=False), expected)
    mean = np.float32([[[2, 0.5], [-1, 2], [2, 0.5], [-1, 2], [0, 0], [0, 0]]])
    np.testing.assert_allclose(shared(REWARD, PRESENT, 1.0, zero_sum=False), mean)
    np.testing.assert_allclose(shared(REWARD, PRESENT, 0.25, zero_sum=False), 0.75 * expected + 0.25 * mean)
    assert shared(REWARD, PRESENT, 0.25, zero_sum=True).dtype == np.float32


@pytest.mark.parametrize("team_spirit", [0.0, 0.3, 1.0])
def test_zero_sum_takes_the_mean_of_the_other_side(team_spirit: float):
    kept = shared(REWARD, PRESENT, team_spirit, zero_sum=False)
    other = np.float32([[[-1, 2], [2, 0.5], [-1, 2], [2, 0.5], [0, 0], [0, 0]]])
    np.testing.assert_allclose(shared(REWARD, PRESENT, team_spirit, zero_sum=True), kept - other, atol=1e-6)


@pytest.mark.parametrize("cars", [2, 4, 6])
def test_zero_sum_rewards_of_a_match_sum_to_zero(cars: int):
    before, after = played(64, cars, seed=1)
    reward = rewards(before, after)
    assert np.abs(reward.sum(axis=1)).max() > 0.5
    total = shared(reward, after.present, 0.3, zero_sum=True)
    np.testing.assert_allclose(total.sum(axis=1), 0, atol=1e-5)
    assert not total[:, cars:].any()
