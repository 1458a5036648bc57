"""The players of a run, and the pairings that its matches are drawn from.

Pairings are plain data, so that they can be sent to other processes. A learning player is identified by its name and
gets new weights as they change. Other players use a policy file or a script.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nemesis.core.game import SIDES, BoolArray, FloatArray, IntArray, is_counted

MAIN = "main"
EXPLOITER = "exploiter"


@dataclass(frozen=True, slots=True)
class PlayerSource:
    """Where a player's actions come from."""

    kind: Literal["learning", "frozen", "scripted"]
    name: str  # of the learner, of the policy file, or of the scripted player


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two players, and their share of the matches."""

    first: PlayerSource
    second: PlayerSource
    share: float  # of all matches in flight, in any unit


@dataclass(frozen=True, slots=True)
class Pairings:
    """All pairings of a pool."""

    pairings: tuple[Pairing, ...]

    @property
    def players(self) -> set[PlayerSource]:
        return {player for pairing in self.pairings for player in (pairing.first, pairing.second)}

    def draw(self, slot: IntArray, slots: int, generator: np.random.Generator) -> IntArray:
        """Return the pairings (n,) of matches that start in some (n,) of `slots` slots.

        Each pairing has a range of slots. Decisions of neighbouring slots arrive together, so that each batch needs few
        policies. Only the boundaries between ranges are random.
        """
        ends = np.cumsum([pairing.share for pairing in self.pairings])
        place = (slot + generator.random(len(slot))) / slots * ends[-1]
        drawn: IntArray = np.minimum(np.searchsorted(ends, place, side="right"), len(self.pairings) - 1)
        return drawn


SELF_PLAY = Pairings((Pairing(PlayerSource("learning", MAIN), PlayerSource("learning", MAIN), 1.0),))


def files_of(players: Iterable[PlayerSource]) -> set[str]:
    """Return the policy files that players play from."""
    return {player.name for player in players if player.kind == "frozen"}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Matches that ended, and their players."""

    players: tuple[PlayerSource, ...]
    player: IntArray  # (match, side) numbers of players
    returns: FloatArray  # (match, side)
    end_reason: IntArray  # (match,)

    def __len__(self) -> int:
        return len(self.end_reason)

    @property
    def counted(self) -> BoolArray:
        """Which matches (match,) count."""
        return is_counted(self.end_reason)

    @staticmethod
    def concatenate(parts: "Sequence[Outcomes]") -> "Outcomes":
        """Return the matches of several parts, with one numbering of players."""
        numbers: dict[PlayerSource, int] = {}
        for part in parts:
            for source in part.players:
                numbers.setdefault(source, len(numbers))
        renumbered = [np.array([numbers[source] for source in part.players] or [0])[part.player] for part in parts]
        none: IntArray = np.zeros(0, dtype=np.int64)
        no_returns: FloatArray = np.zeros((0, SIDES), dtype=np.float32)
        return Outcomes(
            players=tuple(numbers),
            player=np.concatenate([none, *(player.ravel() for player in renumbered)]).reshape(-1, SIDES),
            returns=np.concatenate([no_returns, *(part.returns for part in parts)]),
            end_reason=np.concatenate([none, *(part.end_reason for part in parts)]),
        )
