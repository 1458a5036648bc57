"""Scripted drivers of Rocket League: always legal, the same mirrored, and right in clear situations."""

import numpy as np
import pytest
from rocket_league_states import random_state

from nemesis.games.rocket_league.actions import ACTIONS, CONTROLS, NEUTRAL
from nemesis.games.rocket_league.resets import CAR_HEIGHT, kickoff
from nemesis.games.rocket_league.scripted.drivers import driver, idle
from nemesis.games.rocket_league.state import BALL_RADIUS, PAD_POSITIONS, PADS
from nemesis.games.rocket_league.views import (
    BALL_SPEED,
    BOOST,
    LAST_ACTION_AT,
    PADS_AT,
    POSITION,
    SPEED,
    TEAM,
    VIEW_SIZE,
    ball_columns,
    build_views,
    car_columns,
    cars_of,
)

LEVEL = (0.0, 0.0, 1.0)
FIELDS = {"position": POSITION, "velocity": SPEED, "boost": BOOST}
MIRROR_VECTOR, MIRROR_SPIN = np.array([-1, 1, 1], np.float32), np.array([1, -1, -1], np.float32)
MIRROR_CONTROLS = np.array([1, -1, 1, -1, -1, 1, 1, 1], np.float32)


class Scene:
    """One view, written from places and velocities."""

    def __init__(self, ball=(0, 0, BALL_RADIUS), ball_velocity=(0, 0, 0)):
        self.view = np.zeros((1, VIEW_SIZE), np.float32)
        self.view[0, ball_columns("position")] = np.array(ball) / POSITION
        self.view[0, ball_columns("velocity")] = np.array(ball_velocity) / BALL_SPEED
        self.car(TEAM, position=(0, 4600, CAR_HEIGHT), forward=(0, -1, 0))

    def car(self, place=0, **fields):
        values = {"present": 1, "forward": (0, 1, 0), "up": LEVEL, "boost": 33, "on_ground": 1, "can_flip": 1} | fields
        for name, value in values.items():
            cars_of(self.view)[0, place, car_columns(name)] = np.array(value) / FIELDS.get(name, 1)
        return self

    def pads(self):
        self.view[:, PADS_AT:LAST_ACTION_AT] = 1
        return self

    def held(self, **controls):
        for name, value in controls.items():
            self.view[:, LAST_ACTION_AT + CONTROLS.index(name)] = value
        return self

    def inputs(self):
        """Return the inputs that the driver chooses, by name."""
        return dict(zip(CONTROLS, ACTIONS[choose(driver, self.view)[0]].tolist(), strict=True))


def choose(player, view):
    return player(view, np.ones((len(view), len(ACTIONS)), np.bool_), np.random.default_rng(0))


def random_views(seed: int, cars: int, matches: int = 500):
    generator = np.random.default_rng(seed)
    state = random_state(generator, matches, seats=6, cars=cars)
    view = build_views(state, ACTIONS[generator.integers(0, len(ACTIONS), state.present.shape)])
    return view[:, :cars].reshape(-1, VIEW_SIZE)


def mirrored(view):
    """Return views with left and right swapped."""
    view = view.copy()
    for name, factor in (("position", MIRROR_VECTOR), ("velocity", MIRROR_VECTOR), ("spin", MIRROR_SPIN)):
        view[:, ball_columns(name)] *= factor
        cars_of(view)[..., car_columns(name)] *= factor
    for name in ("forward", "up"):
        cars_of(view)[..., car_columns(name)] *= MIRROR_VECTOR
    opposite = [int(np.flatnonzero((place * [-1, 1] == PAD_POSITIONS).all(axis=1))[0]) for place in PAD_POSITIONS]
    view[:, PADS_AT:LAST_ACTION_AT] = view[:, PADS_AT:LAST_ACTION_AT][:, opposite]
    view[:, LAST_ACTION_AT:] *= MIRROR_CONTROLS
    return view


def test_idle_touches_nothing():
    assert (choose(idle, random_views(0, cars=4)) == NEUTRAL).all()


@pytest.mark.parametrize("player", [idle, driver])
def test_a_driver_takes_legal_actions_only(player):
    view = random_views(1, cars=6)
    mask = np.random.default_rng(2).random((len(view), len(ACTIONS))) < 0.1
    mask[:, 5] = True
    action = player(view, mask, np.random.default_rng(0))
    assert mask[np.arange(len(view)), action].all()
    assert len(np.unique(action)) > 5


def test_a_driver_decides_for_each_car_alone():
    view = random_views(3, cars=6, matches=20)
    alone = [choose(driver, row[None])[0] for row in view]
    assert np.mean(choose(driver, view) == alone) > 0.99  # but for rounding


@pytest.mark.parametrize("cars", [2, 4, 6])
def test_a_mirrored_situation_gets_the_mirrored_action(cars):
    view = random_views(4, cars)
    expected = ACTIONS[choose(driver, view)] * MIRROR_CONTROLS
    same = (ACTIONS[choose(driver, mirrored(view))] == expected).all(axis=1)
    assert same.mean() > 0.99  # but for rounding
    assert (expected[:, CONTROLS.index("steer")] != 0).mean() > 0.2


def test_the_order_of_other_cars_does_not_matter():
    view = random_views(5, cars=6)
    other = view.copy()
    cars_of(other)[:] = cars_of(view)[:, [0, 2, 1, 5, 3, 4]]
    assert (choose(driver, view) == choose(driver, other)).all()


@pytest.mark.parametrize("angle", np.linspace(0, 2 * np.pi, 8, endpoint=False))
@pytest.mark.parametrize("side", [1, -1])
def test_a_car_steers_to_the_ball(angle, side):
    """Right of a car is up × forward, since coordinates are left-handed."""
    forward = np.array([np.cos(angle), np.sin(angle), 0])
    right = np.cross(LEVEL, forward)
    # The ball is close to the goal, so that it may be hit from almost anywhere behind.
    position = -0.8 * 1000 * forward - side * 0.6 * 1000 * right + (0, 4000, 0)
    scene = Scene(ball=(0, 4000, BALL_RADIUS)).car(position=(*position[:2], CAR_HEIGHT), forward=forward)
    goes_around = position[1] > 3900
    if not goes_around:
        assert scene.inputs()["steer"] == side


def test_a_car_turns_sharply_with_the_handbrake():
    scene = Scene(ball=(300, -4000, BALL_RADIUS), ball_velocity=(0, -500, 0))
    inputs = scene.car(position=(0, 0, CAR_HEIGHT), velocity=(0, 1200, 0)).inputs()
    assert inputs["handbrake"] == 1
    assert inputs["steer"] != 0


@pytest.mark.parametrize("seed", range(5))
def test_the_kickoff_is_taken_at_full_speed(seed):
    car = kickoff(2, np.random.default_rng(seed)).car[0]
    inputs = Scene().pads().car(position=car[:3], forward=car[9:12]).inputs()
    assert (inputs["throttle"], inputs["boost"], inputs["jump"]) == (1, 1, 0)


def test_a_car_jumps_lets_go_and_dodges_into_the_ball():
    scene = Scene(ball=(0, 3000, BALL_RADIUS)).car(position=(0, 2550, CAR_HEIGHT), velocity=(0, 1400, 0))
    assert scene.inputs()["jump"] == 1
    rising = {"on_ground": 0, "velocity": (0, 1400, 300)}
    scene.car(position=(0, 2640, 40), **rising).held(jump=1)
    assert scene.inputs()["jump"] == 0
    scene.car(position=(0, 2730, 60), **rising).held(jump=0)
    inputs = scene.inputs()
    assert (inputs["jump"], inputs["pitch"], inputs["roll"]) == (1, -1, 0)
    scene.car(position=(0, 2730, 60), can_flip=0, **rising)
    assert scene.inputs()["jump"] == 0


@pytest.mark.parametrize("side", [1, -1])
def test_a_car_in_the_air_turns_its_wheels_down(side):
    """The right side of the car hangs down, or the left one; it rolls to the other."""
    up = np.array([-side * 0.8, 0, 0.6])  # facing +y, right is −x
    scene = Scene(ball=(0, 4000, BALL_RADIUS)).car(position=(0, 0, 800), up=up, on_ground=0, can_flip=0)
    assert scene.inputs()["roll"] == -side


def test_a_car_on_the_wrong_side_does_not_hit_the_ball_to_its_own_goal():
    scene = Scene(ball=(0, -2000, BALL_RADIUS)).car(position=(0, -1300, CAR_HEIGHT), forward=(0, -1, 0))
    assert scene.inputs()["steer"] != 0


def test_boost_is_picked_up_on_the_way_if_the_car_needs_it():
    scene = Scene(ball=(2028, 3800, BALL_RADIUS)).car(position=(3000, -1500, CAR_HEIGHT), forward=(0, 1, 0), boost=0)
    straight = scene.inputs()
    assert scene.pads().inputs()["steer"] == -1  # to the pad at the side, x = 3584, which is left
    assert straight["steer"] == 0
    assert scene.car(position=(3000, -1500, CAR_HEIGHT), boost=100).inputs()["steer"] == 0


def test_one_car_of_a_side_attacks_and_the_other_stays_back():
    for own, mate, throttle in ((-900, -2500, 1), (-2500, -900, None)):
        scene = Scene(ball=(0, 0, BALL_RADIUS), ball_velocity=(0, 5, 0))
        scene.car(position=(0, own, CAR_HEIGHT), velocity=(0, 900, 0), boost=100)
        scene.car(1, position=(0, mate, CAR_HEIGHT))
        inputs = scene.inputs()
        assert (inputs["throttle"] == 1) == (throttle == 1)


def test_the_left_of_two_equal_cars_takes_the_kickoff():
    left, right = np.array([2048.0, -2560, CAR_HEIGHT]), np.array([-2048.0, -2560, CAR_HEIGHT])
    takes = []
    for own, mate in ((left, right), (right, left)):
        scene = Scene().car(position=own, forward=-own / np.linalg.norm(own) * [1, 1, 0])
        takes.append(scene.car(1, position=mate).inputs()["boost"])
    assert takes == [1, 0]


def test_there_are_six_big_pads_among_all():
    assert PADS == 34
    assert (-PAD_POSITIONS[::-1] == PAD_POSITIONS).all()
