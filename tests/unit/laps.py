"""A game of teams that act at once, matches that are truncated, and helpers for tests of environments."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
from duel import Duel

from nemesis.core.game import Decisions, EndReason, Game, GameSpec, IntArray, Results, Scripted
from nemesis.core.masks import pack_mask
from nemesis.games import open_game

GAMES = [
    "openspiel:leduc_poker",
    "openspiel:kuhn_poker",
    "openspiel:tic_tac_toe",
    "openspiel:goofspiel(num_cards=3,points_order=descending)",  # simultaneous
]
KUHN = "openspiel:kuhn_poker"
LAPS = 3


class Laps:
    """Two sides of two seats, which all act at once, for a reward of 1 each time.

    Even matches are truncated after the last lap, and odd ones are won by side 0.
    """

    spec = GameSpec("laps", view_size=2, actions=3, utility_scale=2.0, view_bytes=4, view_version="1", seats=4)
    scripted: Mapping[str, Scripted] = MappingProxyType({})

    def pool(self, slots: int, seed: int) -> "LapsPool":  # noqa: ARG002
        return LapsPool(slots)


class LapsPool:
    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._match = np.arange(slots)
        self._lap = np.zeros(slots, dtype=np.int64)

    def recv(self) -> tuple[Decisions, Results]:
        slot = np.flatnonzero(self._lap == LAPS)
        truncated = slot[self._match[slot] % 2 == 0]
        results = Results(
            match=self._match[slot],
            slot=slot,
            returns=np.tile(np.array([2.0, -2.0], dtype=np.float32), (len(slot), 1)),
            end_reason=np.where(self._match[slot] % 2 == 0, EndReason.TIME_LIMIT, EndReason.PLAYED),
            reward=np.full((len(slot), 4), 1.0, dtype=np.float32),
            final=self._decisions(truncated),
        )
        self._match[slot] += self.slots
        self._lap[slot] = 0
        return self._decisions(np.arange(self.slots)), results

    def send(self, actions: IntArray) -> None:
        assert len(actions) == 4 * self.slots
        self._lap += 1

    def close(self) -> None:
        pass

    def _decisions(self, slot: IntArray) -> Decisions:
        slot, seat = np.repeat(slot, 4), np.tile(np.arange(4), len(slot))
        view = np.stack([seat, self._lap[slot]], axis=1).astype(np.float32)
        mask = pack_mask(np.tile(np.array([True, True, False]), (len(slot), 1)))
        reward = np.where(self._lap[slot] > 0, 1.0, 0).astype(np.float32)
        return Decisions(self._match[slot].copy(), slot, seat, view, mask, reward)


@cache
def opened(game: str | Duel) -> Game:
    """Return a game, opened once: large games of OpenSpiel take seconds to open."""
    return open_game(game) if isinstance(game, str) else game


def sample(mask: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return random legal actions under masks (…, action)."""
    return (mask * generator.uniform(0.1, 1, mask.shape)).argmax(axis=-1)
