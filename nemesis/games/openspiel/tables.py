"""Policies of a tabulated game as tables, computed along its tree as arrays."""

from collections.abc import Callable, Sequence

import numpy as np

from nemesis.core.game import SIDES, StepPolicy
from nemesis.core.tables import Table, TabularPolicy
from nemesis.games.openspiel.best_response import BestResponses
from nemesis.games.openspiel.tree import GameTree


class TreeTables:
    """What can be computed of tables in one tabulated game."""

    def __init__(self, tree: GameTree, responses: BestResponses, table: Callable[[StepPolicy], Table]) -> None:
        self._tree = tree
        self._responses = responses
        self._table = table
        self._node = np.zeros(len(tree.key), dtype=np.int64)  # (information,) any node of it
        self._node[tree.information] = np.arange(tree.decisions)
        self._seat = tree.seat[self._node]  # (information,)
        self._worth = (
            responses.chance_reach()[tree.first_end :] * tree.returns[:, 0]
        )  # (end,) chance · return of side 0

    def uniform(self) -> TabularPolicy:
        """Return uniformly random play."""
        mask = self._tree.mask.astype(np.float64)
        return self.open(mask / mask.sum(axis=1, keepdims=True))

    def of(self, policy: StepPolicy) -> TabularPolicy:
        """Return the table of a policy."""
        return self.open(self._table(policy))

    def open(self, table: Table) -> TabularPolicy:
        """Return a table with its probabilities along the tree."""
        reach = np.stack([self._responses.own_reach(side, table) for side in range(SIDES)])  # (side, node)
        return TabularPolicy(table, reach[self._seat, self._node], reach[:, self._tree.first_end :])

    def mixture(self, policies: Sequence[TabularPolicy], sides: tuple[Table, Table]) -> TabularPolicy:
        """Return the table of a mixture; where no member of it comes, all of its members count alike."""
        weight = np.stack(sides)[self._seat].T  # (policy, information)
        reach = weight * np.stack([policy.information for policy in policies])
        total = reach.sum(axis=0)
        share = np.where(total > 0, reach, weight) / np.where(total > 0, total, weight.sum(axis=0))
        return self.open(np.einsum("pi,pia->ia", share, np.stack([policy.table for policy in policies])))

    def best_response(self, policy: TabularPolicy) -> TabularPolicy:
        """Return best responses of both sides; where the opponent never leads them, they play like the policy."""
        table = policy.table.copy()
        for side in range(SIDES):
            _, action, reached = self._responses.respond(side, policy.table)
            chosen = np.flatnonzero(reached)
            table[chosen] = 0.0
            table[chosen, action[chosen]] = 1.0
        return self.open(table)

    def payoff(self, rows: Sequence[TabularPolicy], columns: Sequence[TabularPolicy]) -> Table:
        """Return what rows earn on side 0 against columns on side 1, on average: (row, column)."""
        first = np.stack([policy.ends[0] for policy in rows])
        second = np.stack([policy.ends[1] for policy in columns])
        payoff: Table = (first * self._worth) @ second.T
        return payoff

    def nash_conv(self, policy: TabularPolicy) -> float:
        """Return the sum over sides of what a best response gains."""
        return self._responses.nash_conv(policy.table)
