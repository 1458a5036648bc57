"""Experiments with one arena, in a process of their own, since RocketSim reads collision meshes once per process.

python rocket_league_physics.py MESHES FILE    # meshes as in rocket_league.meshes; writes NumPy arrays
"""

import itertools
import sys

import numpy as np

from nemesis.games.rocket_league import resets
from nemesis.games.rocket_league.actions import ACTIONS, NEUTRAL
from nemesis.games.rocket_league.arena.meshes import COMPUTED, find_meshes, use_meshes
from nemesis.games.rocket_league.arena.simulation import TICKS, Simulation
from nemesis.games.rocket_league.state import Start

CHAOS_TICKS = 100_000
HELD_FOR = 8  # decisions, on average
ANOTHER_START = 225  # decisions, after which all matches start again
SHOTS = {
    "drop": [0, 0, 1000, 0, 0, -1],  # a ball at rest waits, as at a kick-off
    "side_wall": [2500, 300, 900, 1800, 100, 300],
    "back_wall": [2000, 3500, 800, 100, 1800, 300],
    "corner": [2500, 3500, 800, 1400, 1400, 200],
    "ceiling": [300, 300, 1200, 100, 50, 1900],
    "rolling_up": [2500, 0, 95, 2500, 0, 0],
    "goal": [100, 4300, 150, 0, 1700, 200],
    "own_goal": [-200, -4000, 300, 0, -2300, 150],
}
RANDOM_SHOTS = 200


def shot(simulation: Simulation, ball, ticks: int):
    """Return position and velocity of the ball (tick, 6), the tick of a goal (−1: none) and which side scored."""
    car = resets.kickoff(2, np.random.default_rng(0)).car
    car[:, :3] = [[-3000, -4500, 17], [3000, 4500, 17]]  # out of the way
    simulation.begin({0: Start(np.array([*ball, 0, 0, 0], dtype=np.float32), car)})
    track = []
    for _ in range(ticks):
        simulation.step(np.array([0]), np.full((1, 2), NEUTRAL))
        state = simulation.state
        track.append(np.concatenate([state.ball_position[0], state.ball_velocity[0]]))
        if simulation.scored.any():
            return np.array(track), int(state.tick[0]), int(simulation.scored[0].argmax())
    return np.array(track), -1, -1


def drive(simulation: Simulation, ticks: int):
    """Return position, up and whether it has ground contact, of a car (tick, 7) that boosts towards the side wall."""
    forward, up = np.array([1.0, 0, 0]), np.array([0.0, 0, 1])
    pose = [0, 0, 0, 0, 0, 0, *forward, *up]
    car = np.array([[1500, 0, 17, *pose, 100, 1], [-3000, 0, 17, *pose, 0, 1]])
    simulation.begin({0: Start(np.array([0, 3000, 93, 0, 0, 0, 0, 0, 0], dtype=np.float32), car.astype(np.float32))})
    boosting = int(np.flatnonzero((ACTIONS == [1, 0, 0, 0, 0, 0, 1, 0]).all(axis=1))[0])
    track = []
    for _ in range(ticks):
        simulation.step(np.array([0]), np.array([[boosting, NEUTRAL]]))
        state = simulation.state
        track.append(np.concatenate([state.position[0, 0], state.up[0, 0], state.on_ground[0, :1]]))
    return np.array(track)


def chaos(ticks: int):
    """Return the largest |position| and the lowest height of balls and cars in 3v3, and the largest speed of a car.

    Actions are random and held for some decisions, so that cars become fast; starts are of all kinds.
    """
    slots = 8
    simulation, generator = Simulation(slots, 6, 8, 0), np.random.default_rng(1)
    kinds = itertools.cycle((resets.kickoff, resets.ground, resets.air, resets.wall))
    simulation.begin({slot: next(kinds)(6, generator) for slot in range(slots)})
    actions, fastest = np.zeros((slots, 6), dtype=np.int64), 0.0
    farthest, lowest = np.zeros(3), np.inf
    for decision in range(ticks // 8 // slots + 1):
        changes = generator.random((slots, 6)) < 1 / HELD_FOR
        actions = np.where(changes, generator.integers(0, len(ACTIONS), (slots, 6)), actions)
        simulation.step(np.arange(slots), actions)
        state = simulation.state
        fastest = max(fastest, float(np.linalg.norm(state.velocity, axis=-1).max()))
        bodies = np.concatenate([state.ball_position[:, None], state.position], axis=1)
        farthest = np.maximum(farthest, np.abs(bodies).max(axis=(0, 1)))
        lowest = min(lowest, bodies[..., 2].min())
        over = np.flatnonzero(simulation.scored.any(axis=1)).tolist()
        if decision % ANOTHER_START == 0:
            over = list(range(slots))
        if over:
            simulation.begin({slot: next(kinds)(6, generator) for slot in over})
    return np.array([*farthest, lowest, fastest])


def main(meshes: str, file: str) -> None:
    use_meshes(find_meshes(meshes))
    simulation = Simulation(1, 2, 1, 0)
    results = {}
    for name, ball in SHOTS.items():
        results[name], tick, side = shot(simulation, ball, 300)
        results[f"{name}_goal"] = np.array([tick, side])
    generator = np.random.default_rng(3)
    random = [resets.ground(2, generator).ball[:6] for _ in range(RANDOM_SHOTS)]
    second = Simulation(1, 2, TICKS, 0)
    results["random"] = np.array([shot(second, ball, 1)[0][-1, :3] for ball in random])
    results["drive"] = drive(simulation, 240)
    if meshes == COMPUTED:
        results["chaos"] = chaos(CHAOS_TICKS)
    np.savez(file, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
