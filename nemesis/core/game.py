"""The game contract: what a simulator hands to learning, and what it takes back.

A *match* has two *sides*, which win or lose: returns, pairings and players are per side. It has at least two *seats*,
which decide: each seat has its own view, memory and episode. Seat s belongs to side s mod 2. In most games a side is
one seat. In a team game it has one seat per member, and a match may use fewer seats than the game has.

A *match pool* runs many matches of one game. Its two verbs are those of EnvPool: `recv` gives the decisions that wait
for an action, `send` answers exactly those. Simultaneous moves, alternating moves and chance all fit: a match waits
with one decision per seat that has to move. When a match ends, a new one takes its slot. The result comes with a later
`recv`, at the latest with the first decision of the new match.

A match is *terminated* by the rules, or *truncated* by a limit that is not part of them. Learners bootstrap from the
value of what the seats of a truncated match see last. A match that must not count is *voided*.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from nemesis.core.masks import PackedMask

SIDES = 2

FloatArray: TypeAlias = npt.NDArray[np.float32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


def side_of(seat: IntArray) -> IntArray:
    """Return the sides (n,) that seats (n,) belong to."""
    return seat % SIDES


class EndReason(IntEnum):
    """Why a match ended."""

    PLAYED = 0  # one side won, or the rules of the game include a draw
    SIMULATOR_FAILURE = 1
    TIE = 2  # a draw in a game that is usually won
    TURN_LIMIT = 3  # a draw by the rules, because it took too many turns
    FORFEIT = 4
    REFUSED = 5  # the simulator accepted no choice
    HOST_LOST = 6  # the process that ran it died, hung or answered garbage
    TIME_LIMIT = 7  # cut off by a limit that is not part of the rules


_TERMINATED = np.isin(range(len(EndReason)), (EndReason.PLAYED, EndReason.TIE, EndReason.TURN_LIMIT))  # (reason,)


def is_terminated(end_reason: IntArray) -> BoolArray:
    """Return which matches (n,) ended by the rules."""
    terminated: BoolArray = _TERMINATED[end_reason]
    return terminated


def is_truncated(end_reason: IntArray) -> BoolArray:
    """Return which matches (n,) were cut off by a limit."""
    truncated: BoolArray = end_reason == EndReason.TIME_LIMIT
    return truncated


def is_counted(end_reason: IntArray) -> BoolArray:
    """Return which matches (n,) count; the others are voided and reported."""
    return is_terminated(end_reason) | is_truncated(end_reason)


def count_reasons(end_reason: IntArray) -> Counter[str]:
    """Count matches (n,) by the names of their end reasons."""
    counts = np.bincount(end_reason, minlength=len(EndReason))
    return Counter({reason.name.lower(): int(counts[reason]) for reason in EndReason if counts[reason]})


@dataclass(frozen=True, slots=True)
class GameSpec:
    """The shape of a game, enough to build a policy for it."""

    name: str
    view_size: int
    actions: int
    utility_scale: float  # the largest |return| of a match; learners see returns divided by it
    view_bytes: int  # of one number of a view
    view_version: str  # of the view record: a policy reads the version that it was trained on, and no other
    seats: int = SIDES  # the most that a match uses
    world: str = ""  # where matches are simulated, if a game has several worlds; policies of another one play anyway
    policy_group: str | None = None
    """Games of one group play each other's policies, if their views have one version; None: only its own."""

    def plays_policies_of(self, game: str, policy_group: str | None) -> bool:
        """Return whether policies that were trained on another game can play this one."""
        return game == self.name or (policy_group is not None and policy_group == self.policy_group)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions that wait for an action, one row each; the arrays are the receiver's to keep."""

    match: IntArray  # (n,) the matches of a pool are numbered from 0 in the order in which they begin
    slot: IntArray  # (n,) the match's place in the pool, reused
    seat: IntArray  # (n,)
    view: npt.NDArray[Any]  # (n, view)
    mask: PackedMask  # (n, byte) the legal actions, packed
    reward: FloatArray | None = None
    """(n,) that the seat got since its last decision, in the unit of returns; (n, component) of a `RewardedGame`."""

    def __len__(self) -> int:
        return len(self.match)

    def at(self, rows: IntArray) -> "Decisions":
        """Return some of the decisions."""
        reward = None if self.reward is None else self.reward[rows]
        return Decisions(self.match[rows], self.slot[rows], self.seat[rows], self.view[rows], self.mask[rows], reward)


@dataclass(frozen=True, slots=True)
class Results:
    """Matches that ended since the last `recv`."""

    match: IntArray  # (m,)
    slot: IntArray  # (m,)
    returns: FloatArray  # (m, side) who won, by how much; rewards are not part of it
    end_reason: IntArray  # (m,) values of EndReason
    reward: FloatArray | None = None  # (m, seat) or (m, seat, component) that seats got after their last decision
    final: Decisions | None = None  # what the seats of truncated matches see at the end; they need no answer

    def __len__(self) -> int:
        return len(self.match)

    def at(self, rows: IntArray) -> "Results":
        """Return some of the results."""
        final = self.final
        if final is not None:
            final = final.at(np.flatnonzero(np.isin(final.match, self.match[rows])))
        reward = None if self.reward is None else self.reward[rows]
        return Results(self.match[rows], self.slot[rows], self.returns[rows], self.end_reason[rows], reward, final)


class MatchPool(Protocol):
    """Many concurrent matches of one game in one process."""

    @property
    def slots(self) -> int: ...

    def recv(self) -> tuple[Decisions, Results]:
        """Return the decisions that wait for an action, n rows, and the matches that ended since the last call, m rows.

        The decisions are of some matches or of all, at most one of each seat, in an order that the pool chooses; n may
        be 0, and so may m. A row is one seat of one match: its number, its slot, its seat, its view (n, view) and its
        packed mask (n, byte), which allows at least one action. Seats that decide at the same time are separate rows
        of the same match. The arrays are the caller's to keep.

        A match that ended is reported once, at the latest with the first decision of the match that took its slot, so
        memory that belongs to a slot is cleared by `results.slot` before the decisions are answered. Results have the
        returns (m, side) and a reason. A voided match is reported too, but must not count (`is_counted`).

        All rows are answered by one `send` before the next `recv`.
        """
        ...

    def send(self, actions: IntArray) -> None:
        """Answer all decisions of the last `recv` with one action per row (n,), in the same order.

        Every `recv` is followed by one `send`, with an empty array if it returned no decisions. An action that the mask
        of its row does not allow is a ValueError, and nothing is played. Matches continue, and those that end are
        replaced by new ones, whose results come with a later `recv`; so do the results of matches that are voided
        because their simulator failed, whose answers are dropped. The array stays the caller's.
        """
        ...

    def snapshot(self) -> Arrays:
        """Return everything that an exact continuation needs: matches in flight, and results that wait for `recv`."""
        ...

    def restore(self, snapshot: Arrays) -> None:
        """Continue from a snapshot of a pool with the same game and number of slots."""
        ...

    def close(self) -> None:
        """End all matches and release their resources; the pool cannot be used afterwards."""
        ...


@runtime_checkable
class ReplayPool(Protocol):
    """A pool that can write a match as a replay."""

    def save_replay(self, match: int, folder: Path, names: tuple[str, str]) -> Path:
        """Write a recent match as a file that a person can watch, with the names of sides 0 and 1."""
        ...


@dataclass(frozen=True, slots=True)
class CheckCounts:
    """Matches that were replayed on another simulator of the same game, and how many of them differ there."""

    checked: int = 0
    different: int = 0


@runtime_checkable
class CheckedPool(Protocol):
    """A pool that checks its simulator against another one while it plays."""

    def take_checks(self) -> CheckCounts:
        """Return what was checked since the last call."""
        ...


@runtime_checkable
class RecordingPool(Protocol):
    """A pool that can write only those matches as replays that it recorded while they were played."""

    def record_matches(self) -> None:
        """Record all matches from now on, within bounded memory."""
        ...


@runtime_checkable
class PairedGame(Protocol):
    """A game whose matches can come in pairs with equal starts, so that swapping sides reduces variance."""

    def paired_pool(self, slots: int, seed: int) -> MatchPool:
        """Return a pool whose matches 2k and 2k + 1 start alike for each side, for example with the same teams."""
        ...


@runtime_checkable
class TurnGame(Protocol):
    """A game with numbered turns, which its views contain."""

    def turn(self, view: npt.NDArray[Any]) -> IntArray:
        """Return the number of the turn in each view: (n,)."""
        ...


Scripted: TypeAlias = Callable[[npt.NDArray[Any], BoolArray, np.random.Generator], IntArray]
"""A scripted player: (view (n, view), mask (n, action), generator) → action (n,). The mask is not packed."""


class Game(Protocol):
    """One game: its shape, its matches, and how a network reads its views."""

    @property
    def spec(self) -> GameSpec: ...

    @property
    def scripted(self) -> Mapping[str, Scripted]:
        """Scripted players by name, from weak to strong, besides random play, which every game has."""
        ...

    def pool(self, slots: int, seed: int) -> MatchPool: ...

    def encoder(self, width: int) -> Any:
        """Return a torch module: views (…, view) → (vector (…, width), context for the action head)."""
        ...

    def action_head(self, width: int) -> Any:
        """Return a torch module: (features (…, width), context of the encoder) → logits (…, action)."""
        ...


@runtime_checkable
class AnchoredGame(Protocol):
    """A game whose opponents have known strengths, so that a policy gets a rating on their scale."""

    @property
    def anchors(self) -> Mapping[str, float]:
        """The fixed Elo ratings of scripted players by name, random play included."""
        ...


@dataclass(frozen=True, slots=True)
class StepPolicy:
    """A policy as a function of arrays, one decision at a time: what evaluation and play need of a network."""

    state_size: int
    step: Callable[[npt.NDArray[Any], BoolArray, FloatArray], tuple[FloatArray, FloatArray]]
    """(view (n, view), mask (n, action), state (n, state)) → (probabilities (n, action), next state (n, state))."""


@dataclass(frozen=True, slots=True)
class RewardComponent:
    """A part of the reward of a decision, which runs weight by name."""

    weight: float  # by default
    sparse: bool = False  # whether it is paid with reward.kind=sparse too


@runtime_checkable
class RewardedGame(Protocol):
    """A game whose rewards have components, in the last axis of `Decisions.reward` and `Results.reward`.

    They are paid besides the returns, without their weights.
    """

    @property
    def reward_components(self) -> Mapping[str, RewardComponent]:
        """The components by name, in the order of the axis."""
        ...


def default_weights(game: Game) -> FloatArray | None:
    """Return the default weights (component,) of a game's reward components; None if its rewards have none."""
    if not isinstance(game, RewardedGame):
        return None
    return np.array([component.weight for component in game.reward_components.values()], dtype=np.float32)


@runtime_checkable
class ShapedGame(Protocol):
    """A game with potentials for reward shaping: how far a seat is ahead before the match ends."""

    @property
    def potentials(self) -> Mapping[str, float]:
        """The potentials by name, each with its default weight."""
        ...

    def potential(self, view: npt.NDArray[Any]) -> FloatArray:
        """Return each potential of the seat, in their order, from −1 to 1: (n, potential)."""
        ...


@runtime_checkable
class OpponentModelGame(Protocol):
    """A game whose two seats decide at the same time, and in which a policy can predict the opponent's action.

    An action has one part or several, for example one per slot. Each part is one of a fixed number of classes, named
    so that the opponent sees them too.
    """

    def action_classes(self, view: npt.NDArray[Any], action: IntArray) -> npt.NDArray[np.int16]:
        """Return the classes of actions (n,) of seats with these views (n, view), −1 for none: (n, part)."""
        ...

    def opponent_model_head(self, width: int) -> Any:
        """Return a torch module that predicts the opponent's action.

        (features (…, width), context of the encoder) → opponent features (…, part, feature), and its method `logits`:
        opponent features (n, feature) → (n, class).
        """
        ...


@runtime_checkable
class PhasedGame(Protocol):
    """A game with decisions of different kinds, whose accuracy is measured apart."""

    def phases(self, view: npt.NDArray[Any], action: IntArray) -> Mapping[str, BoolArray]:
        """Return, by kind, which of the actions (n,) with these views (n, view) are of it; kinds may overlap."""
        ...


@runtime_checkable
class AugmentedGame(Protocol):
    """A game whose episodes can be augmented: changed in ways that keep their meaning, such as another team order."""

    @property
    def augmentations(self) -> tuple[str, ...]:
        """The augmentations by name."""
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
        """Return augmented decisions: views (n, view), masks (n, …, action) and actions (n,), −1 staying −1.

        All decisions of an episode (n,), numbered from 0, are augmented alike. The arrays given may be written to.
        """
        ...


@runtime_checkable
class GuessedGame(Protocol):
    """A game whose stored views may contain guesses (imputed numbers), each of which may be known in part."""

    def without_guesses(self, view: npt.NDArray[Any], guessed: BoolArray) -> npt.NDArray[Any]:
        """Return views (n, view) in which guessed numbers (n, view) are reduced to what is known."""
        ...


@runtime_checkable
class ExactGame(Protocol):
    """A game small enough to compute exactly how exploitable a policy is."""

    def nash_conv(self, policy: StepPolicy) -> float:
        """Return the sum over sides of what a best response gains against the policy; zero is a Nash equilibrium."""
        ...
