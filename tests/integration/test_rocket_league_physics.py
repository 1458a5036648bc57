"""The physics of arenas: of the computed one, and of the game's own meshes where a package that has them is installed.

Both play the same experiments, each in its own process (`rocket_league_physics.py`).
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nemesis.games.rocket_league.arena.meshes import COMPUTED, find_meshes
from nemesis.games.rocket_league.arena.soccar import BACK, CORNER, GOAL_BACK, HEIGHT, SIDE

pytest.importorskip("RocketSim")

EXPERIMENTS = Path(__file__).with_name("rocket_league_physics.py")
RADIUS = 91.25
RESTITUTION = 0.6  # of the ball
GOAL_LINE = 5124.25 + RADIUS  # that the ball's centre passes when it scores


@pytest.fixture(scope="module")
def experiments(tmp_path_factory):
    done = {}

    def of(meshes: str):
        if meshes not in done:
            file = tmp_path_factory.mktemp("physics") / "results.npz"
            subprocess.run([sys.executable, EXPERIMENTS, meshes, file], check=True, cwd=EXPERIMENTS.parents[2])
            done[meshes] = dict(np.load(file))
        return done[meshes]

    return of


@pytest.fixture(scope="module")
def installed() -> str:
    """The meshes of an installed package."""
    meshes = find_meshes()
    if meshes.source == COMPUTED:
        pytest.skip("rlgym-rocket-league is not installed")
    return str(meshes.folder)


@pytest.fixture(params=["computed", "installed"], scope="module")
def arena(request, experiments):
    """The experiments in an arena."""
    return experiments(COMPUTED if request.param == "computed" else request.getfixturevalue("installed"))


def bounce(track, axis: int) -> int:
    """Return the first tick after which the ball moves in the other direction of an axis."""
    return int(np.flatnonzero(np.sign(track[1:, 3 + axis]) == -np.sign(track[0, 3 + axis]))[0]) + 1


def test_a_ball_drops_and_bounces(arena):
    track = arena["drop"]
    landing = int(np.flatnonzero(track[:, 5] > 0)[0])
    assert landing / 120 == pytest.approx(np.sqrt(2 * (1000 - RADIUS) / 650), abs=0.03)
    assert track[landing, 5] == pytest.approx(-RESTITUTION * track[landing - 1, 5], rel=0.02)
    assert track[:, 2].min() > RADIUS - 10  # it is at most a tick deep
    assert np.abs(track[:, :2]).max() < 1


@pytest.mark.parametrize(("shot", "axis", "wall"), [("side_wall", 0, SIDE), ("back_wall", 1, BACK)])
def test_a_ball_bounces_off_a_wall(arena, shot, axis, wall):
    track = arena[shot]
    tick = bounce(track, axis)
    assert track[tick, 3 + axis] == pytest.approx(-RESTITUTION * track[tick - 1, 3 + axis], rel=0.02)
    assert wall - RADIUS - 30 < track[:, axis].max() < wall - RADIUS + 15


def test_a_ball_bounces_off_a_corner(arena):
    track = arena["corner"]
    tick = bounce(track, 0)
    assert bounce(track, 1) == tick
    assert track[tick, 3:5] == pytest.approx(-RESTITUTION * track[tick - 1, 3:5], rel=0.02)
    assert (track[:, 0] + track[:, 1]).max() == pytest.approx(CORNER - RADIUS * np.sqrt(2), abs=30)


def test_a_ball_bounces_off_the_ceiling(arena):
    track = arena["ceiling"]
    tick = bounce(track, 2)
    assert track[tick, 5] == pytest.approx(-RESTITUTION * track[tick - 1, 5], rel=0.03)
    assert track[:, 2].max() == pytest.approx(HEIGHT - RADIUS, abs=15)


def test_a_ball_rolls_up_a_wall(arena):
    track = arena["rolling_up"]
    assert track[:, 2].max() > 1000
    assert track[:, 0].max() < SIDE - RADIUS + 15


@pytest.mark.parametrize(("shot", "side", "end"), [("goal", 0, 1), ("own_goal", 1, -1)])
def test_a_goal_counts_on_the_tick_on_which_the_ball_is_past_the_line(arena, shot, side, end):
    tick, scorer = arena[f"{shot}_goal"]
    depth = end * arena[shot][:, 1]
    assert scorer == side
    assert tick == len(depth)
    assert depth[-2] < GOAL_LINE < depth[-1] + 17  # RocketSim looks before it moves the ball


def test_a_car_drives_up_a_wall(arena):
    track = arena["drive"]
    position, up, on_ground = track[:, :3], track[:, 3:6], track[:, 6]
    high = position[:, 2] > 400
    assert high.any()
    assert (up[high, 0] < -0.99).all()
    assert on_ground.all()
    assert position[:, 0].max() < SIDE


def test_nothing_escapes_from_the_computed_arena_in_chaos(experiments):
    x, y, z, lowest, fastest = experiments(COMPUTED)["chaos"]
    assert fastest > 2200  # cars are fast enough to be supersonic
    assert x < SIDE
    assert y < GOAL_BACK
    assert z < HEIGHT
    assert lowest > 0


def test_the_computed_arena_agrees_with_the_meshes_of_the_game(experiments, installed):
    ours, theirs = experiments(COMPUTED), experiments(installed)
    for name in ("drop", "side_wall", "back_wall", "corner", "ceiling", "goal", "own_goal"):
        assert ours[name][:, :3] == pytest.approx(theirs[name][:, :3], abs=1.0), name
    for name in ("goal", "own_goal"):
        assert (ours[f"{name}_goal"] == theirs[f"{name}_goal"]).all()
    apart = np.linalg.norm(ours["random"] - theirs["random"], axis=1)
    assert (apart < 10).mean() > 0.95  # after a second; the others have met a fillet
