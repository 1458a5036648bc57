"""How matches start: with the game's kick-offs, anywhere on the ground, in the air, on the walls, or from given states.

All starts but kick-offs give both sides the same chances, not the same positions. Lengths are in uu.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.files import replacement
from nemesis.core.game import SIDES
from nemesis.games.rocket_league.arena.soccar import BACK, CORNER, GOAL_BACK, HEIGHT, SIDE
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.state import BALL_RADIUS, BALL_START, CAR_START, ArenaState, Start

Generator: TypeAlias = np.random.Generator
Vector: TypeAlias = npt.NDArray[np.float64]

CAR_HEIGHT = 17.0  # of its centre above the ground, at rest
KICKOFF_BOOST = 100 / 3
KICKOFFS = (  # of a car of side 0: x, y and direction
    (-2048.0, -2560.0, 0.25 * np.pi),
    (2048.0, -2560.0, 0.75 * np.pi),
    (-256.0, -3840.0, 0.5 * np.pi),
    (256.0, -3840.0, 0.5 * np.pi),
    (0.0, -4608.0, 0.5 * np.pi),
)
_UP = np.array([0.0, 0.0, 1.0])
_APART = 300.0  # least distance between the bodies of a start
_MARGIN = 350.0  # from the walls, beyond their fillets
_WALLS = np.array([[-1.0, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]])  # their normals


class DrawStart(Protocol):
    """Draws a start of a match with so many cars."""

    def __call__(self, cars: int, generator: Generator) -> Start: ...


class Starts:
    """Draws starts as configured."""

    def __init__(self, settings: RocketLeagueSettings) -> None:
        kinds: dict[str, DrawStart] = {"kickoff": kickoff, "ground": ground, "air": air, "wall": wall}
        if settings.states is not None:
            kinds["replayed"] = StateFile(settings.states)
        weights = {name: weight for name, weight in settings.starts.model_dump().items() if weight}
        self._kinds = [kinds[name] for name in weights]
        self._shares = np.array(list(weights.values())) / sum(weights.values())

    def __call__(self, cars: int, generator: Generator) -> Start:
        return self._kinds[generator.choice(len(self._kinds), p=self._shares)](cars, generator)


def kickoff(cars: int, generator: Generator) -> Start:
    """Return one of the game's kick-offs; cars of the two sides stand opposite each other."""
    places = generator.permutation(len(KICKOFFS))[: cars // SIDES]
    rows = []
    for seat in range(cars):
        x, y, angle = KICKOFFS[places[seat // SIDES]]
        sign = 1 if seat % SIDES == 0 else -1
        forward = sign * np.array([np.cos(angle), np.sin(angle), 0])
        rows.append(_car(np.array([sign * x, sign * y, CAR_HEIGHT]), forward, _UP, boost=KICKOFF_BOOST))
    return _start(np.array([0, 0, BALL_RADIUS + 1.9]), np.zeros(3), rows)


def ground(cars: int, generator: Generator) -> Start:
    """Return a start with all cars on the ground, moving forward, and the ball low above it."""
    ball = _anywhere(generator, BALL_RADIUS, 500)
    rows: list[Vector] = []
    for _ in range(cars):
        forward = _direction(generator)
        position = _free(generator, ball, rows, CAR_HEIGHT, CAR_HEIGHT)
        rows.append(_car(position, forward, _UP, speed=generator.uniform(0, 1800), boost=generator.uniform(0, 100)))
    return _start(ball, _velocity(generator, 1500, up=500), rows)


def air(cars: int, generator: Generator) -> Start:
    """Return a start with the ball in the air and all cars below or beside it, flying towards it."""
    ball = _anywhere(generator, 600, 1700)
    rows: list[Vector] = []
    for _ in range(cars):
        position = _free(generator, ball, rows, 200, 1200)
        forward = ball - position
        forward /= np.linalg.norm(forward)
        up = np.cross(np.cross(forward, _UP), forward)
        up /= np.linalg.norm(up)
        speed = generator.uniform(300, 1500)
        rows.append(_car(position, forward, up, speed=speed, boost=generator.uniform(30, 100), on_ground=False))
    return _start(ball, _velocity(generator, 1000, up=600), rows)


def wall(cars: int, generator: Generator) -> Start:
    """Return a start with all cars driving up walls, and the ball close to a wall."""
    ball = _on_wall(generator, generator.uniform(BALL_RADIUS + 10, 400), 300, 1400)[0]
    rows: list[Vector] = []
    for _ in range(cars):
        position, normal = _free_on_wall(generator, ball, rows)
        forward = _UP + generator.uniform(-1, 1) * np.cross(_UP, normal)
        forward /= np.linalg.norm(forward)
        speed = generator.uniform(500, 1500)
        rows.append(_car(position, forward, normal, speed=speed, boost=generator.uniform(0, 100)))
    return _start(ball, _velocity(generator, 800, up=500), rows)


class StateFile:
    """Starts from the states of a file: NumPy arrays `ball` (state, 9) and `car` (state, seat, 17), as in `Start`."""

    def __init__(self, path: str) -> None:
        try:
            with np.load(path, allow_pickle=False) as arrays:
                self._ball, self._car = (np.asarray(arrays[name], dtype=np.float32) for name in ("ball", "car"))
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise UserError(
                f"rocket_league.states={path} is not a file of states: NumPy arrays (.npz) `ball` (state, "
                f"{BALL_START}) and `car` (state, seat, {CAR_START}) ({error})."
            ) from error
        if problem := self._problem():
            raise UserError(f"rocket_league.states={path} {problem}.")
        self._path = path

    def __call__(self, cars: int, generator: Generator) -> Start:
        if self._car.shape[1] < cars:
            raise UserError(
                f"rocket_league.states={self._path} has states of {self._car.shape[1]} cars, too few for {cars}."
            )
        row = generator.integers(len(self._ball))
        return Start(self._ball[row], self._car[row, :cars])

    def _problem(self) -> str | None:
        ball, car = self._ball, self._car
        if not len(ball) or ball.shape[1:] != (BALL_START,) or car.shape[2:] != (CAR_START,) or len(car) != len(ball):
            return f"has arrays of wrong shapes: ball {ball.shape}, car {car.shape}"
        bodies = np.concatenate([ball[:, None, :3], car[..., :3]], axis=1)
        wrong = ~((np.abs(bodies) < [SIDE, GOAL_BACK, HEIGHT]).all(axis=2) & (bodies[..., 2] > 0)).all(axis=1)
        wrong |= ~(np.isfinite(ball).all(axis=1) & np.isfinite(car).all(axis=(1, 2)))
        return f"has a body outside of the arena in state {np.flatnonzero(wrong)[0]}" if wrong.any() else None


def save_states(path: Path, states: Sequence[ArenaState]) -> None:
    """Write a file of states that matches can start from; cars that were demolished stand where they were."""
    ball, car = [], []
    for one in states:
        on_ground = (one.on_ground & ~one.demolished)[..., None]
        ball.append(np.concatenate([one.ball_position, one.ball_velocity, one.ball_spin], axis=-1))
        vectors = (one.position, one.velocity, one.spin, one.forward, one.up, one.boost[..., None], on_ground)
        car.append(np.concatenate(vectors, axis=-1, dtype=np.float32))
    with replacement(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, ball=np.concatenate(ball), car=np.concatenate(car))


def _start(ball: Vector, velocity: Vector, cars: Sequence[Vector]) -> Start:
    return Start(np.concatenate([ball, velocity, np.zeros(3)]).astype(np.float32), np.array(cars, dtype=np.float32))


def _car(
    position: Vector, forward: Vector, up: Vector, *, boost: float, speed: float = 0.0, on_ground: bool = True
) -> Vector:
    return np.concatenate([position, speed * forward, np.zeros(3), forward, up, [boost, on_ground]])


def _anywhere(generator: Generator, low: float, high: float) -> Vector:
    """Return a position away from the walls, between two heights."""
    farthest = np.array([SIDE, BACK]) - _MARGIN
    while True:
        x, y = generator.uniform(-farthest, farthest)
        if abs(x) + abs(y) < CORNER - 2 * _MARGIN:
            return np.array([x, y, generator.uniform(low, high)])


def _on_wall(generator: Generator, distance: float, low: float, high: float) -> tuple[Vector, Vector]:
    """Return a position at a distance from the flat part of a side or back wall, and the normal of that wall."""
    normal = _WALLS[generator.integers(len(_WALLS))]
    along = generator.uniform(-3400, 3400) if normal[0] else generator.choice([-1, 1]) * generator.uniform(1200, 2600)
    point = np.where(normal == 0, along, -normal * [SIDE, BACK, 0])
    point[2] = generator.uniform(low, high)
    return point + distance * normal, normal


def _free(generator: Generator, ball: Vector, cars: Sequence[Vector], low: float, high: float) -> Vector:
    """Return a position as `_anywhere` does, apart from the ball and the cars."""
    while True:
        position = _anywhere(generator, low, high)
        if _is_apart(position, ball, cars):
            return position


def _free_on_wall(generator: Generator, ball: Vector, cars: Sequence[Vector]) -> tuple[Vector, Vector]:
    """Return a position of a car that drives on a wall, apart from the ball and the cars, and the wall's normal."""
    while True:
        position, normal = _on_wall(generator, CAR_HEIGHT, 350, 1200)
        if _is_apart(position, ball, cars):
            return position, normal


def _is_apart(position: Vector, ball: Vector, cars: Sequence[Vector]) -> bool:
    others = np.array([ball, *(car[:3] for car in cars)])
    return bool((np.linalg.norm(others - position, axis=1) > _APART).all())


def _direction(generator: Generator) -> Vector:
    angle = generator.uniform(-np.pi, np.pi)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _velocity(generator: Generator, most: float, up: float) -> Vector:
    """Return a velocity of at most so much along the ground, and so much up or down."""
    return generator.uniform(0, most) * _direction(generator) + [0, 0, generator.uniform(-up, up)]
