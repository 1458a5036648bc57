"""Policies as tables: the contract of games so small that everything about a policy can be computed.

A table holds the probability of every action in every information state, of all seats: (information, action). A mixture
of tables, sampled at the start of a match, is played by one table too: with perfect recall, in each information state
the weight of a member is multiplied by the probability of its own actions on the way there (Kuhn 1953, Extensive Games
and the Problem of Information).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from nemesis.core.game import StepPolicy

Table: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TabularPolicy:
    """A table, and how likely its own actions lead where."""

    table: Table  # (information, action)
    information: Table  # (information,) probability of the own actions before
    ends: Table  # (side, end) probability of the actions of one side on the way to each end


class GameTables(Protocol):
    """What can be computed of tables in one game."""

    def uniform(self) -> TabularPolicy:
        """Return uniformly random play."""
        ...

    def of(self, policy: StepPolicy) -> TabularPolicy:
        """Return the table of a policy: its probabilities in every information state, memory included."""
        ...

    def open(self, table: Table) -> TabularPolicy:
        """Return a table with its probabilities along the tree."""
        ...

    def mixture(self, policies: Sequence[TabularPolicy], sides: tuple[Table, Table]) -> TabularPolicy:
        """Return the table of a mixture, whose weights (policy,) may differ between the sides."""
        ...

    def best_response(self, policy: TabularPolicy) -> TabularPolicy:
        """Return best responses of both sides; where the opponent never leads them, they play like the policy."""
        ...

    def payoff(self, rows: Sequence[TabularPolicy], columns: Sequence[TabularPolicy]) -> Table:
        """Return what rows earn on side 0 against columns on side 1, on average: (row, column)."""
        ...

    def nash_conv(self, policy: TabularPolicy) -> float:
        """Return the sum over sides of what a best response gains."""
        ...


@runtime_checkable
class TabularGame(Protocol):
    """A game that is small enough for tables."""

    def tables(self) -> GameTables: ...
