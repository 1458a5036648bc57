"""The soccar arena as collision meshes, computed from its dimensions.

The field is an octagon: two side walls, two back walls and four corner walls at 45°. Fillets join the walls to the
floor and to the ceiling. The back walls open into the goals. RocketSim itself adds the planes of the floor and of the
ceiling. Lengths are in unreal units (uu), as everywhere in Rocket League.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

SIDE, BACK, HEIGHT = 4096.0, 5120.0, 2048.0  # of the field: half width, half length, height
CORNER = 8064.0  # |x| + |y| on the corner walls
GOAL_SIDE, GOAL_HEIGHT, GOAL_BACK = 892.755, 642.775, 6000.0  # half width, height, |y| of the back
FLOOR_RADIUS, CEILING_RADIUS = 256.0, 512.0  # of the fillets
_SEGMENTS = 8  # of a fillet
_UNIT = 50.0  # uu per unit of a mesh file
_SMALLEST_AREA = 1e-3  # below it, a triangle has collapsed to a line

Points = npt.NDArray[np.float64]


def meshes() -> dict[str, bytes]:
    """Return the mesh files of the arena by name, one for each wall."""
    return {f"wall_{wall}.cmf": _file(np.concatenate(list(_wall(wall)))) for wall in range(len(_NORMALS))}


def _walls() -> tuple[Points, Points]:
    """Return the inward normals (wall, 2) and the distances (wall,) from the centre, counter-clockwise from +x."""
    diagonal = np.sqrt(0.5)
    angles = np.arange(8) * np.pi / 4
    normals = -np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return normals, np.tile([SIDE, CORNER * diagonal, BACK, CORNER * diagonal], 2)


_NORMALS, _DISTANCES = _walls()


def _profile() -> Points:
    """Return the cross-section of a wall (point, 2): distance from the wall and height, from floor to ceiling."""
    angle = np.linspace(0, np.pi / 2, _SEGMENTS + 1)
    floor = FLOOR_RADIUS * np.stack([1 - np.sin(angle), 1 - np.cos(angle)], axis=1)
    ceiling = CEILING_RADIUS * np.stack([1 - np.cos(angle), np.sin(angle) - 1], axis=1) + [0, HEIGHT]
    return np.concatenate([floor, ceiling])


def _edge(wall: int, profile: Points) -> Points:
    """Return the edge (point, 3) between a wall and the next one, at each point of the profile."""
    both = [wall % 8, (wall + 1) % 8]
    distance, height = profile.T
    corner = np.linalg.solve(_NORMALS[both], distance - _DISTANCES[both][:, None])  # (2, point)
    return np.column_stack([*corner, height])


def _wall(wall: int) -> Iterator[Points]:
    """Yield the triangles (n, 3, 3) of a wall; back walls include their goal."""
    profile = _profile()
    left, right = _edge(wall - 1, profile), _edge(wall, profile)
    inward = np.array([*_NORMALS[wall], 0.0])
    if wall % 4 != 2:  # not a back wall
        yield _strip(left, right, inward)
        return
    end = -np.sign(inward[1])
    yield from _back_wall(left, right, inward)
    yield from _goal(end, profile[: _SEGMENTS + 1])


def _back_wall(left: Points, right: Points, inward: Points) -> Iterator[Points]:
    """Yield the wall on both sides of a goal and above it."""
    for outer in (left, right):
        yield _strip(outer, _at(outer, np.sign(outer[0, 0]) * GOAL_SIDE), inward)
    above = left[left[:, 2] > FLOOR_RADIUS]
    above = np.concatenate([[[above[0, 0], above[0, 1], GOAL_HEIGHT]], above])
    yield _strip(_at(above, -GOAL_SIDE), _at(above, GOAL_SIDE), inward)


def _goal(end: float, fillet: Points) -> Iterator[Points]:
    """Yield the inside of a goal, and what closes the ends of the fillets at its posts."""
    line, back = end * BACK, end * GOAL_BACK
    for side in (-GOAL_SIDE, GOAL_SIDE):
        inward = np.array([-np.sign(side), 0.0, 0.0])
        ramp = np.column_stack([np.full(len(fillet), side), end * (BACK - fillet[:, 0]), fillet[:, 1]])
        foot = np.broadcast_to([side, line, 0.0], ramp[1:].shape)
        yield _facing(np.stack([foot, ramp[:-1], ramp[1:]], axis=1), inward)
        yield _quad((side, line, 0), (side, back, 0), (side, back, GOAL_HEIGHT), (side, line, GOAL_HEIGHT), inward)
    low = ((-GOAL_SIDE, back, 0), (GOAL_SIDE, back, 0))
    high = ((GOAL_SIDE, back, GOAL_HEIGHT), (-GOAL_SIDE, back, GOAL_HEIGHT))
    front = ((-GOAL_SIDE, line, GOAL_HEIGHT), (GOAL_SIDE, line, GOAL_HEIGHT))
    yield _quad(*low, *high, np.array([0.0, -end, 0.0]))
    yield _quad(*front, *high, np.array([0.0, 0.0, -1.0]))


def _at(line: Points, x: float) -> Points:
    moved = line.copy()
    moved[:, 0] = x
    return moved


def _quad(a: object, b: object, c: object, d: object, inward: Points) -> Points:
    first, second, third, fourth = (np.asarray(point, dtype=np.float64) for point in (a, b, c, d))
    return _facing(np.array([[first, second, third], [first, third, fourth]]), inward)


def _strip(left: Points, right: Points, inward: Points) -> Points:
    """Return the triangles between two lines (point, 3) that face the field."""
    lower = np.stack([left[:-1], right[:-1], right[1:]], axis=1)
    upper = np.stack([left[:-1], right[1:], left[1:]], axis=1)
    return _facing(np.concatenate([lower, upper]), inward)


def _facing(triangles: Points, inward: Points) -> Points:
    """Return triangles (n, 3, 3) whose normals point to the field, without those that have collapsed to a line."""
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    turned = np.where((normal @ inward < 0)[:, None, None], triangles[:, [0, 2, 1]], triangles)
    facing: Points = turned[np.linalg.norm(normal, axis=1) > _SMALLEST_AREA]
    return facing


def _file(triangles: Points) -> bytes:
    """Return a mesh file: counts of triangles and vertices, vertex numbers of the triangles, and the vertices."""
    points = (triangles.reshape(-1, 3) / _UNIT).astype("<f4").round(5)
    vertices, index = np.unique(points, axis=0, return_inverse=True)
    counts = np.array([len(triangles), len(vertices)], dtype="<i4")
    return counts.tobytes() + index.astype("<i4").tobytes() + vertices.astype("<f4").tobytes()
