"""Scripted drivers of Rocket League on the real simulator."""

import json
from pathlib import Path

import numpy as np
import pytest

from nemesis.cli import main
from nemesis.games.rocket_league import resets
from nemesis.games.rocket_league.actions import ACTIONS
from nemesis.games.rocket_league.arena.meshes import find_meshes, use_meshes
from nemesis.games.rocket_league.arena.rocketsim import Arena
from nemesis.games.rocket_league.arena.simulation import TICKS
from nemesis.games.rocket_league.game import open_game
from nemesis.games.rocket_league.pool import Matches, RocketLeaguePool
from nemesis.games.rocket_league.resets import CAR_HEIGHT
from nemesis.games.rocket_league.scripted.drivers import driver, idle
from nemesis.games.rocket_league.scripted.interception import STEP, predict
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.state import BALL_RADIUS, BIG_PADS, PAD_POSITIONS, ArenaState, Start
from nemesis.play.matches import play
from nemesis.play.scripted import RANDOM, anchors_of, open_opponent

pytest.importorskip("RocketSim")

LEVEL, AWAY = (0, 0, 1), (3500, 4700, CAR_HEIGHT)


class Recording:
    """Keeps the states of a pool."""

    def __init__(self) -> None:
        self.states: list[ArenaState] = []

    def record(self, _, state: ArenaState) -> None:
        self.states.append(state)


def car(position, forward=(0, 1, 0), velocity=(0, 0, 0), up=LEVEL, boost=33.0, on_ground=True):
    return [*position, *velocity, 0, 0, 0, *forward, *up, boost, on_ground]


def run(ball, *cars, seconds: float, others=idle, drivers: int = 1) -> list[ArenaState]:
    """Play one match from a start; the first cars of side 0 are driven by rules. Ends with a goal at the latest."""
    use_meshes(find_meshes())
    ball = np.array([*ball, *[0] * (9 - len(ball))], dtype=np.float32)
    start = Start(ball, np.array(cars, dtype=np.float32))
    shares = np.eye(3)[len(cars) // 2 - 1]
    matches = Matches(shares, lambda *_: start, len(cars))
    pool, recording = RocketLeaguePool(matches, RocketLeagueSettings(), 1, 0), Recording()
    pool.recorder = recording
    mask, generator = np.ones((len(cars), len(ACTIONS)), np.bool_), np.random.default_rng(0)
    by_rules = (np.arange(len(cars)) % 2 == 0) & (np.arange(len(cars)) < 2 * drivers)
    for _ in range(round(seconds * TICKS / 8)):
        decisions, ended = pool.recv()
        if len(ended):
            break
        pool.send(np.where(by_rules, driver(decisions.view, mask, generator), others(decisions.view, mask, generator)))
    return recording.states


def score(size: str, opponent: str, matches: int):
    game = open_game(size)
    players = [open_opponent(game, name, seed) for seed, name in enumerate(("driver", opponent))]
    (result,) = play(game, players[0], players[1:], matches=matches, slots=matches, seed=3)
    return result


@pytest.mark.parametrize("opponent", ["idle", RANDOM])
def test_the_driver_beats_those_who_do_not_drive(opponent):
    result = score("1v1", opponent, 16)
    assert result.wins >= 15
    assert result.decisions < 40 * 15


@pytest.mark.parametrize("size", ["2v2", "3v3"])
def test_drivers_beat_random_play_as_a_team(size):
    assert score(size, RANDOM, 4).wins >= 3


def test_scripted_players_meet_in_a_tournament(tmp_path: Path):
    file = tmp_path / "figures.json"
    assert main(["evaluate", "driver", "idle", "random", "--game", "rocket_league:3v3", "--matches", "2",
                 "rocket_league.match_seconds=5", "--json", str(file)]) == 0  # fmt: skip
    pairs = json.loads(file.read_text())["pairs"]
    assert [(pair["first"], pair["second"], pair["matches"]) for pair in pairs] == [
        ("driver", "idle", 2),
        ("driver", "random", 2),
        ("idle", "random", 2),
    ]


def test_the_driver_is_the_anchor_of_ratings():
    game = open_game("2v2")
    anchors = anchors_of(game, {})
    assert anchors.keys() == {RANDOM, *game.scripted}
    assert anchors["driver"] == 1500
    assert max(anchors[RANDOM], anchors["idle"]) < 1000


def test_pads_are_where_the_simulator_has_them():
    use_meshes(find_meshes())
    arena = Arena.make(2)  # its pads are gone with it
    pads = arena.arena.get_boost_pads()
    assert np.array([pad.get_pos().as_tuple()[:2] for pad in pads]) == pytest.approx(PAD_POSITIONS, abs=3)
    assert [number for number, pad in enumerate(pads) if pad.is_big] == list(BIG_PADS)


def test_the_ball_is_where_it_was_predicted():
    generator = np.random.default_rng(1)
    errors = []
    for _ in range(20):
        ball = resets.ground(2, generator).ball
        # Two cars far away; the ball may still end a match.
        states = run(ball[:6], car((-3800, 4900, CAR_HEIGHT)), car((3800, 4900, CAR_HEIGHT)), seconds=1, drivers=0)
        if len(states) == 15:
            track = predict(ball[None, :3], ball[None, 3:6])[:, 0]
            errors.append(np.linalg.norm(track[round(1 / STEP) - 1] - states[-1].ball_position[0]))
    assert len(errors) > 10
    assert np.median(errors) < 100


def test_a_car_on_its_roof_gets_back_on_its_wheels():
    states = run((0, 4000, BALL_RADIUS), car((0, -2000, 60), up=(0, 0, -1), on_ground=False), car(AWAY), seconds=3)
    assert states[-1].on_ground[0, 0]
    assert states[-1].up[0, 0, 2] > 0.9


@pytest.mark.parametrize("up", [(0, 0, -1), (1, 0, 0), (-0.6, 0.0, 0.8)])
def test_a_falling_car_lands_on_its_wheels(up):
    fallen = car((0, -2000, 900), velocity=(0, 600, 0), up=up, on_ground=False)
    states = run((0, 4500, BALL_RADIUS), fallen, car(AWAY), seconds=2.2)
    landed = next(state for state in states if state.position[0, 0, 2] < 60)
    assert landed.up[0, 0, 2] > 0.7


def test_a_car_saves_a_ball_that_rolls_to_its_goal():
    ball = (600, -2500, BALL_RADIUS, -150, -900, 0)
    conceded = run(ball, car((0, -4800, CAR_HEIGHT)), car(AWAY), seconds=6, drivers=0)
    saved = run(ball, car((0, -4800, CAR_HEIGHT)), car(AWAY), seconds=6)
    assert conceded[-1].ball_position[0, 1] < -5120
    assert saved[-1].ball_position[0, 1] > -5120
    assert any(state.touched[0, 0] for state in saved)


def test_a_car_without_boost_picks_some_up():
    states = run((0, 4600, BALL_RADIUS), car((-3000, -3200, CAR_HEIGHT), boost=0.0), car(AWAY), seconds=6)
    assert max(state.boost[0, 0] for state in states) >= 12


def test_one_of_three_cars_takes_the_kickoff():
    start = resets.kickoff(6, np.random.default_rng(0))
    states = run(start.ball, *start.car.tolist(), seconds=2, drivers=3)
    distance = np.linalg.norm(states[-1].position[0, ::2] - start.ball[:3], axis=1)
    assert (distance < 1200).sum() == 1
