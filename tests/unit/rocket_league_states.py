"""Random states of arenas, for tests that need no simulator."""

import numpy as np

from nemesis.games.rocket_league.state import PADS, ArenaState

TURN = np.array([-1, -1, 1], dtype=np.float32)  # by 180° around the middle of the field


def random_state(generator: np.random.Generator, matches: int, seats: int, cars: int) -> ArenaState:
    """Return matches with so many of the seats taken."""
    present = np.broadcast_to(np.arange(seats) < cars, (matches, seats)).copy()

    def vectors(most: float):
        return generator.uniform(-most, most, (matches, seats, 3)).astype(np.float32) * present[..., None]

    def flags():
        return (generator.random((matches, seats)) < 0.5) & present

    def counts():
        return flags().astype(np.float32)

    def ball(most: float):
        return generator.uniform(-most, most, (matches, 3)).astype(np.float32)

    forward = vectors(1)
    forward /= np.maximum(np.linalg.norm(forward, axis=-1, keepdims=True), 1e-6)
    up = np.cross(forward, vectors(1))
    up /= np.maximum(np.linalg.norm(up, axis=-1, keepdims=True), 1e-6)
    return ArenaState(
        ball_position=ball(4000),
        ball_velocity=ball(3000),
        ball_spin=ball(6),
        position=vectors(4000),
        velocity=vectors(2300),
        spin=vectors(5),
        forward=forward,
        up=up.astype(np.float32),
        boost=generator.uniform(0, 100, (matches, seats)).astype(np.float32) * present,
        on_ground=flags(),
        demolished=flags(),
        can_flip=flags(),
        supersonic=flags(),
        touched=flags(),
        goals=counts(),
        saves=counts(),
        shots=counts(),
        demolitions=counts(),
        pads=(generator.random((matches, PADS)) < 0.5).astype(np.float32),
        present=present,
        tick=np.arange(matches),
    )
