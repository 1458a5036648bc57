"""The game contract: what a simulator hands to learning, and what it takes back.

A *match pool* runs many matches of one game. Its two verbs are those of EnvPool: `recv` gives the decisions that wait
for an action, `send` answers exactly those. Simultaneous moves, alternating moves and chance all fit: a match waits
with one decision per seat that has to move. When a match ends, a new one takes its slot; the result comes with a later
`recv`, at the latest with the first decision of the new match.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
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

    PLAYED = 0  # somebody won, or the rules of the game know a draw
    SIMULATOR_FAILURE = 1
    TIE = 2  # a draw in a game that is usually won
    TURN_LIMIT = 3  # drawn because it went on for too long
    FORFEIT = 4
    REFUSED = 5  # the simulator would not take any choice
    HOST_LOST = 6  # the process that ran it died, hung or answered garbage


_BY_PLAY = (EndReason.PLAYED, EndReason.TIE, EndReason.TURN_LIMIT)


def by_play(end_reason: IntArray) -> BoolArray:
    """Return which matches (n,) ended by play and therefore count."""
    return np.isin(end_reason, _BY_PLAY)


def tally(end_reason: IntArray) -> Counter[str]:
    """Count matches (n,) by the names of the reasons that they ended for."""
    counts = np.bincount(end_reason, minlength=len(EndReason))
    return Counter({reason.name.lower(): int(counts[reason]) for reason in EndReason if counts[reason]})


@dataclass(frozen=True, slots=True)
class GameSpec:
    """The shape of a game, enough to build a policy for it."""

    name: str
    view_size: int
    actions: int
    utility_scale: float  # the largest |return| of a match; learning sees returns divided by it
    view_bytes: int  # of one number of a view
    view_version: str  # the version of the view record: a policy reads the one that it was trained on, and no other


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions that wait for an action, one row each; the arrays are the receiver's to keep."""

    match: IntArray  # (n,) the matches of a pool are numbered from 0 in the order in which they begin
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

    def at(self, rows: IntArray) -> "Results":
        """Return some of the results."""
        return Results(self.match[rows], self.slot[rows], self.returns[rows], self.end_reason[rows])


class MatchPool(Protocol):
    """Many concurrent matches of one game in one process."""

    @property
    def slots(self) -> int: ...

    def recv(self) -> tuple[Decisions, Results]:
        """Return decisions that wait and the matches that ended since the last call.

        These may be the decisions of only some matches, and none at all; at most one of each seat.
        """
        ...

    def send(self, actions: IntArray) -> None:
        """Answer the decisions of the last `recv`, row by row, even if there were none."""
        ...

    def snapshot(self) -> Arrays:
        """Return all that is needed to go on from here exactly, matches in flight included."""
        ...

    def restore(self, snapshot: Arrays) -> None:
        """Continue from a snapshot of a pool with the same game and number of slots."""
        ...

    def close(self) -> None:
        """End all matches and give back what they held; the pool is of no use afterwards."""
        ...


@runtime_checkable
class RecordingPool(Protocol):
    """A pool that can show a match again."""

    def save_replay(self, match: int, folder: Path, names: tuple[str, str]) -> Path:
        """Write a recent match as a file that a person can watch, with the names of seats 0 and 1."""
        ...


@runtime_checkable
class PairedGame(Protocol):
    """A game whose matches can come in pairs that begin alike, so that swapping seats evens out the luck."""

    def paired_pool(self, slots: int, seed: int) -> MatchPool:
        """Return a pool whose matches 2k and 2k + 1 give each seat the same to begin with."""
        ...


@runtime_checkable
class TurnGame(Protocol):
    """A game that goes in numbered turns, which views tell."""

    def turn(self, view: npt.NDArray[Any]) -> IntArray:
        """Return the number of the turn in each view: (n,)."""
        ...


Scripted: TypeAlias = Callable[[npt.NDArray[Any], BoolArray, np.random.Generator], IntArray]
"""A fixed player: (view (n, view), mask (n, action), generator) → action (n,)."""


class Game(Protocol):
    """One game: its shape, its matches, and how a network reads its views."""

    @property
    def spec(self) -> GameSpec: ...

    @property
    def scripted(self) -> Mapping[str, Scripted]:
        """Fixed opponents by name, from weak to strong, beside random play, which every game has."""
        ...

    def pool(self, slots: int, seed: int) -> MatchPool: ...

    def encoder(self, width: int) -> Any:
        """Return a torch module: views (…, view) → (vector (…, width), whatever its action head points at)."""
        ...

    def action_head(self, width: int) -> Any:
        """Return a torch module: (features (…, width), what the encoder pointed out) → logits (…, action)."""
        ...


@dataclass(frozen=True, slots=True)
class StepPolicy:
    """A policy as a function of arrays, one decision at a time: what evaluation and play need of a network."""

    state_size: int
    step: Callable[[npt.NDArray[Any], BoolArray, FloatArray], tuple[FloatArray, FloatArray]]
    """(view (n, view), mask (n, action), state (n, state)) → (probabilities (n, action), next state (n, state))."""


@runtime_checkable
class ShapedGame(Protocol):
    """A game in which a position can be judged before it ends."""

    @property
    def potentials(self) -> Mapping[str, float]:
        """What is judged, by name, with the weight that it has unless a run gives another."""
        ...

    def potential(self, view: npt.NDArray[Any]) -> FloatArray:
        """Return how far the seat is ahead in each of them, in their order, from −1 to 1: (n, potential)."""
        ...


@runtime_checkable
class OpponentModelGame(Protocol):
    """A game in which both seats decide at once, and what one does can be named as the other sees it.

    A seat does one thing or several at a time, its *deeds*; each is one of a fixed number of classes.
    """

    def action_classes(self, view: npt.NDArray[Any], action: IntArray) -> npt.NDArray[np.int16]:
        """Return the classes of what seats with these views (n, view) do by actions (n,), −1 for none: (n, deed)."""
        ...

    def opponent_model_head(self, width: int) -> Any:
        """Return a torch module that foresees the deeds of the other seat.

        (features (…, width), what the encoder pointed out) → thoughts (…, deed, thought), and its method `logits`:
        thoughts (n, thought) → (n, class).
        """
        ...


@runtime_checkable
class PhasedGame(Protocol):
    """A game with decisions of different kinds, which some players foresee better than others."""

    def phases(self, view: npt.NDArray[Any], action: IntArray) -> Mapping[str, BoolArray]:
        """Return, by kind, which of the actions (n,) with these views (n, view) are of it; one may be of several."""
        ...


@runtime_checkable
class AugmentedGame(Protocol):
    """A game whose episodes can be retold in other ways that mean the same, as with a team in another order."""

    @property
    def augmentations(self) -> tuple[str, ...]:
        """What can be told in another way, by name."""
        ...

    def augment(
        self,
        names: Collection[str],
        view: npt.NDArray[Any],
        mask: BoolArray,
        action: IntArray,
        episode: IntArray,
        generator: np.random.Generator,
    ) -> tuple[npt.NDArray[Any], BoolArray, IntArray]:
        """Return decisions retold: views (n, view), masks (n, …, action) and actions (n,), −1 staying −1.

        All decisions of an episode (n,), numbered from 0, are retold in one way. The arrays given may be written to.
        """
        ...


@runtime_checkable
class GuessedGame(Protocol):
    """A game of whose views something may be guessed, and of a guess a part is known."""

    def without_guesses(self, view: npt.NDArray[Any], guessed: BoolArray) -> npt.NDArray[Any]:
        """Return views (n, view) in which nothing is left of what was guessed (n, view) but what is known."""
        ...


@runtime_checkable
class ExactGame(Protocol):
    """A game small enough to compute exactly how exploitable a policy is."""

    def nash_conv(self, policy: StepPolicy) -> float:
        """Return the sum over seats of what a best response gains against the policy; zero is a Nash equilibrium."""
        ...
