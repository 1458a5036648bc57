"""Collision meshes: which are chosen, and sentences about those that cannot be used."""

import sys

import numpy as np
import pytest

from nemesis.core.errors import UserError
from nemesis.games.rocket_league.arena import meshes, soccar
from nemesis.games.rocket_league.arena.meshes import COMPUTED, find_meshes
from nemesis.games.rocket_league.arena.rocketsim import rocketsim
from nemesis.games.rocket_league.game import open_game, pin
from nemesis.games.rocket_league.settings import RocketLeagueSettings


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    meshes._computed.cache_clear()
    yield
    meshes._computed.cache_clear()


def copied(folder):
    (folder / "soccar").mkdir(parents=True)
    for name, content in soccar.meshes().items():
        (folder / "soccar" / name).write_bytes(content)
    return folder


def triangles(content: bytes):
    count, _ = np.frombuffer(content, dtype="<i4", count=2)
    index = np.frombuffer(content, dtype="<i4", count=3 * count, offset=8)
    points = np.frombuffer(content, dtype="<f4", offset=8 + 12 * count).reshape(-1, 3) * 50
    return points[index].reshape(-1, 3, 3)


def test_the_computed_arena_has_the_dimensions_of_the_field():
    points = np.concatenate([triangles(content).reshape(-1, 3) for content in soccar.meshes().values()])
    assert np.abs(points).max(axis=0) == pytest.approx([4096, 6000, 2048], abs=0.1)
    inside = points[np.abs(points[:, 1]) < 5119]
    assert (np.abs(inside[:, 0]) + np.abs(inside[:, 1])).max() == pytest.approx(8064, abs=0.5)


def test_every_triangle_of_the_computed_arena_faces_the_field():
    for content in soccar.meshes().values():
        corners = triangles(content).astype(np.float64)
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        middle = corners.mean(axis=1)
        in_goal = np.abs(middle[:, 1:2]) > 5120
        of_goal = np.sign(middle) * np.array([0, 5560, 0])
        centre = np.where(in_goal, of_goal, [0, 0, 1024])
        posts = np.abs(np.abs(middle[:, 0]) - soccar.GOAL_SIDE) < 1  # they face the goal, at the side of the field
        assert ((normal * (centre - middle)).sum(axis=1)[~posts] > 0).all()


def test_a_given_folder_is_taken_whether_or_not_it_ends_with_the_game_mode(tmp_path):
    folder = copied(tmp_path / "given")
    expected = find_meshes(COMPUTED).hash
    assert find_meshes(str(folder)).hash == expected
    assert find_meshes(str(folder / "soccar")).hash == expected


def test_the_hash_depends_on_every_byte(tmp_path):
    folder = copied(tmp_path / "given")
    before = find_meshes(str(folder)).hash
    file = folder / "soccar" / "wall_3.cmf"
    content = bytearray(file.read_bytes())
    content[-4] ^= 1
    file.write_bytes(content)
    assert find_meshes(str(folder)).hash != before


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda content: content[:5], "too short"),
        (lambda content: content[:-4], "does not fit its number of triangles"),
        (lambda content: content[:8] + b"\xff\xff\x00\x00" + content[12:], "vertex that does not exist"),
        (lambda content: content[:-4] + b"\x00\x00\xc0\x7f", "not finite"),
    ],
)
def test_a_damaged_mesh_is_refused_by_name(tmp_path, damage, problem):
    folder = copied(tmp_path / "given")
    file = folder / "soccar" / "wall_0.cmf"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(UserError, match=rf"wall_0\.cmf is damaged: .*{problem}"):
        find_meshes(str(folder))


def test_a_cache_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(UserError, match=r"The computed arena cannot be written to .*arena-\w+: .*\. Free or repair"):
        find_meshes(COMPUTED)


def test_the_computed_arena_has_the_permissions_of_a_new_folder(tmp_path):
    (tmp_path / "new").mkdir()
    assert find_meshes(COMPUTED).folder.stat().st_mode == (tmp_path / "new").stat().st_mode


def test_a_wrong_path_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"rocket_league\.meshes=.*nowhere is not a folder"):
        find_meshes(str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="has no folder 'soccar'"):
        find_meshes(str(tmp_path))
    (tmp_path / "soccar").mkdir()
    with pytest.raises(UserError, match="has no collision meshes"):
        find_meshes(str(tmp_path))


def test_a_run_stores_the_arena_and_refuses_another():
    pinned = pin(RocketLeagueSettings(meshes=COMPUTED))
    assert pinned.arena == find_meshes(COMPUTED).hash
    assert open_game("1v1", pinned).spec.world == f"the arena computed ({pinned.arena})"
    with pytest.raises(UserError, match=r"the arena 0123, .* rocket_league\.meshes, or .* rocket_league\.arena=null"):
        _ = open_game("1v1", RocketLeagueSettings(meshes=COMPUTED, arena="0123")).spec


def test_a_missing_simulator_is_said_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "RocketSim", None)
    with pytest.raises(UserError, match=r"needs the package rocketsim; install it with .*nemesis-rl\[rocketleague\]"):
        rocketsim()


def test_an_unknown_game_is_refused():
    with pytest.raises(UserError, match="rocket_league:4v4 is no game; its games are 1v1, 2v2, 3v3, mixed"):
        open_game("4v4")
