"""Who plays whom: the players of a run, and the pairs that its matches are made of.

Lineups are plain data, so that whoever decides on them and whoever plays by them can be different processes. A player
that learns is known by name, and its weights are handed to it as they change; any other plays from a file or by a rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nemesis.core.game import BoolArray, FloatArray, IntArray, is_counted

MAIN = "main"
EXPLOITER = "exploiter"


@dataclass(frozen=True, slots=True)
class PlayerSource:
    """Where a player's actions come from."""

    kind: Literal["learning", "frozen", "scripted"]
    name: str  # of the learner, of the file with a policy, or of the game's scripted opponent


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two players, and how often they meet."""

    first: PlayerSource
    second: PlayerSource
    share: float  # of all matches in flight, in any unit


@dataclass(frozen=True, slots=True)
class Pairings:
    """All pairs that meet."""

    pairs: tuple[Pairing, ...]

    @property
    def players(self) -> set[PlayerSource]:
        return {player for pair in self.pairs for player in (pair.first, pair.second)}

    def draw(self, slot: IntArray, slots: int, generator: np.random.Generator) -> IntArray:
        """Return the pairs (n,) of matches that begin in some (n,) of so many slots.

        Every pair has its stretch of the slots. Decisions of neighbouring slots come together, so that few policies
        have to be asked for each batch; chance decides only where one stretch ends and the next begins.
        """
        ends = np.cumsum([pair.share for pair in self.pairs])
        place = (slot + generator.random(len(slot))) / slots * ends[-1]
        drawn: IntArray = np.minimum(np.searchsorted(ends, place, side="right"), len(self.pairs) - 1)
        return drawn


SELF_PLAY = Pairings((Pairing(PlayerSource("learning", MAIN), PlayerSource("learning", MAIN), 1.0),))


def files_of(players: Iterable[PlayerSource]) -> set[str]:
    """Return the files that players play from."""
    return {player.name for player in players if player.kind == "frozen"}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Matches that ended, and between whom."""

    players: tuple[PlayerSource, ...]
    player: IntArray  # (match, seat) numbers of players
    returns: FloatArray  # (match, seat)
    end_reason: IntArray  # (match,)

    def __len__(self) -> int:
        return len(self.end_reason)

    @property
    def played(self) -> BoolArray:
        """Which of them (match,) ended by play and therefore count."""
        return is_counted(self.end_reason)


def concatenate(parts: list[Outcomes]) -> Outcomes:
    """Return the matches of several parts, with one numbering of players."""
    numbers: dict[PlayerSource, int] = {}
    for part in parts:
        for source in part.players:
            numbers.setdefault(source, len(numbers))
    renumbered = [np.array([numbers[source] for source in part.players] or [0])[part.player] for part in parts]
    return Outcomes(
        players=tuple(numbers),
        player=np.concatenate(renumbered).reshape(-1, 2),
        returns=np.concatenate([part.returns for part in parts]).reshape(-1, 2),
        end_reason=np.concatenate([part.end_reason for part in parts]),
    )
