"""The game contract: what a simulator hands to learning, and what it takes back.

A *match pool* runs many matches of one game. Its two verbs are those of EnvPool: `recv` gives the decisions that wait
for an action, `send` answers exactly those. Simultaneous moves, alternating moves and chance all fit: a match waits
with one decision per seat that has to move. When a match ends, its result comes with the next `recv` and a new match
takes its slot.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

SEATS = 2

FloatArray: TypeAlias = npt.NDArray[np.float32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


class EndReason(IntEnum):
    """Why a match ended. Only a match that ended by play counts; any other is voided and reported."""

    PLAYED = 0
    SIMULATOR_FAILURE = 1


@dataclass(frozen=True, slots=True)
class GameSpec:
    """The shape of a game, enough to build a policy for it."""

    name: str
    view_size: int
    actions: int
    utility_scale: float  # the largest |return| of a match; learning sees returns divided by it


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions that wait for an action, one row each."""

    match: IntArray  # (n,) never reused within a pool
    slot: IntArray  # (n,) the match's place in the pool, reused
    seat: IntArray  # (n,)
    view: npt.NDArray[Any]  # (n, view)
    mask: BoolArray  # (n, action)

    def __len__(self) -> int:
        return len(self.match)

    def at(self, rows: IntArray) -> "Decisions":
        """Return some of the decisions."""
        return Decisions(self.match[rows], self.slot[rows], self.seat[rows], self.view[rows], self.mask[rows])


@dataclass(frozen=True, slots=True)
class Results:
    """Matches that ended since the last `recv`."""

    match: IntArray  # (m,)
    slot: IntArray  # (m,)
    returns: FloatArray  # (m, seat)
    end_reason: IntArray  # (m,) values of EndReason

    def __len__(self) -> int:
        return len(self.match)


class MatchPool(Protocol):
    """Many concurrent matches of one game in one process."""

    @property
    def slots(self) -> int: ...

    def recv(self) -> tuple[Decisions, Results]:
        """Return the decisions that wait and the matches that ended since the last call."""
        ...

    def send(self, actions: IntArray) -> None:
        """Answer the decisions of the last `recv`, row by row."""
        ...

    def snapshot(self) -> Arrays:
        """Return all that is needed to go on from here exactly, matches in flight included."""
        ...

    def restore(self, snapshot: Arrays) -> None:
        """Continue from a snapshot of a pool with the same game and number of slots."""
        ...


class Game(Protocol):
    """One game: its shape, its matches, and how a network reads its views."""

    @property
    def spec(self) -> GameSpec: ...

    def pool(self, slots: int, seed: int) -> MatchPool: ...

    def encoder(self, width: int) -> Any:
        """Return a torch module that maps views (…, view) to vectors (…, width)."""
        ...


@dataclass(frozen=True, slots=True)
class StepPolicy:
    """A policy as a function of arrays, one decision at a time: what evaluation and play need of a network."""

    state_size: int
    step: Callable[[npt.NDArray[Any], BoolArray, FloatArray], tuple[FloatArray, FloatArray]]
    """(view (n, view), mask (n, action), state (n, state)) → (probabilities (n, action), next state (n, state))."""


@runtime_checkable
class ExactGame(Protocol):
    """A game small enough to compute exactly how exploitable a policy is."""

    def nash_conv(self, policy: StepPolicy) -> float:
        """Return the sum over seats of what a best response gains against the policy; zero is a Nash equilibrium."""
        ...
