"""Exact best responses in a tabulated game, and NashConv: what they gain, summed over the sides.

Against the policy π of the other side, a best response maximises in each of its information states I

    a*(I) = argmax_a Σ_{h ∈ I} reach(h) · value(h a),

where reach(h) is the probability that chance and π lead to the history h (Johanson et al. 2011, Accelerating Best
Response Calculation in Large Extensive Games). The values of π itself sum to zero, so that NashConv (Lanctot et al.
2017) is the sum of the values of both best responses.

The tree is processed level by level, as arrays: forward for the reach, backward for the values.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, BoolArray, IntArray
from nemesis.games.openspiel.tree import GameTree

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Stage:
    """The edges below all nodes before which a side has made the same number of decisions."""

    own: IntArray  # those of its own decisions, whose next nodes belong to the stage before
    others: tuple[IntArray, ...]  # those of chance and of the other side, lowest level first


class BestResponses:
    """Computes the values of best responses to any policy of one game."""

    def __init__(self, tree: GameTree) -> None:
        self._tree = tree
        decision, action = np.nonzero(tree.child >= 0)
        self._decision_edges = len(decision)
        self._parent = np.concatenate([decision, tree.decisions + tree.chance_parent])
        self._child = np.concatenate([tree.child[decision, action], tree.chance_child])
        self._information = tree.information[decision]
        self._action = action
        self._levels = self._sort_into_levels()
        self._stages = tuple(self._sort_into_stages(side) for side in range(SIDES))

    def nash_conv(self, probabilities: Floats) -> float:
        """Return NashConv of a policy, given by its probabilities (information, action)."""
        return sum(self.value(side, probabilities) for side in range(SIDES))

    def value(self, side: int, probabilities: Floats) -> float:
        """Return what a best response of a side earns against a policy (information, action) of the other one."""
        value, _, _ = self.respond(side, probabilities)
        return value

    def respond(self, side: int, probabilities: Floats) -> tuple[float, IntArray, BoolArray]:
        """Return a best response of a side against a policy (information, action) of the other one.

        It is given by its value, its actions (information,), and which information states (information,) of the side
        the other one and chance can lead to; elsewhere its action does not matter.
        """
        tree = self._tree
        reach = self._reach(side, probabilities)
        worth = np.zeros(len(reach))  # (node,) reach · value
        worth[tree.first_end :] = reach[tree.first_end :] * tree.returns[:, side]
        gain = np.where(tree.mask, 0.0, -np.inf)  # (information, action)
        for stage in self._stages[side]:
            information, action = self._information[stage.own], self._action[stage.own]
            np.add.at(gain, (information, action), worth[self._child[stage.own]])
            best = stage.own[action == gain.argmax(axis=1)[information]]
            worth[self._parent[best]] = worth[self._child[best]]
            for edges in stage.others:
                np.add.at(worth, self._parent[edges], worth[self._child[edges]])
        reached = np.zeros(len(tree.key), dtype=np.bool_)
        own = tree.seat == side
        reached[tree.information[own & (reach[: tree.decisions] > 0)]] = True
        return float(worth[tree.root]), gain.argmax(axis=1), reached

    def own_reach(self, side: int, probabilities: Floats) -> Floats:
        """Return the probability (node,) of a side's own actions on the way to each node."""
        own = np.where(self._is_own(side), probabilities[self._information, self._action], 1.0)
        return self._along(np.concatenate([own, np.ones(len(self._tree.chance_probability))]))

    def chance_reach(self) -> Floats:
        """Return the probability (node,) of the chance outcomes on the way to each node."""
        return self._along(np.concatenate([np.ones(self._decision_edges), self._tree.chance_probability]))

    def _reach(self, side: int, probabilities: Floats) -> Floats:
        """Return the probability (node,) of each node under chance and the other side."""
        others = np.where(self._is_own(side), 1.0, probabilities[self._information, self._action])
        return self._along(np.concatenate([others, self._tree.chance_probability]))

    def _along(self, weight: Floats) -> Floats:
        """Return the product of the weights (edge,) on the way to each node: (node,)."""
        reach = np.zeros(self._nodes)
        reach[self._tree.root] = 1.0
        for edges in self._levels:
            reach[self._child[edges]] = reach[self._parent[edges]] * weight[edges]
        return reach

    @property
    def _nodes(self) -> int:
        return self._tree.first_end + len(self._tree.returns)

    def _is_own(self, side: int) -> BoolArray:
        """Return which edges of decisions (edge,) are of a side."""
        own: BoolArray = self._tree.seat[self._parent[: self._decision_edges]] == side
        return own

    def _sort_into_levels(self) -> list[IntArray]:
        """Return the edges by the depth of the node that they start from."""
        order = np.argsort(self._parent, kind="stable")
        first = np.searchsorted(self._parent[order], np.arange(self._nodes + 1))
        levels = []
        nodes = np.array([self._tree.root])
        while len(nodes):
            count = first[nodes + 1] - first[nodes]
            within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            levels.append(order[np.repeat(first[nodes], count) + within])
            nodes = self._child[levels[-1]]
        return levels

    def _sort_into_stages(self, side: int) -> list[_Stage]:
        """Return the edges in the order in which a best response is computed: after the side's last decisions first."""
        own = np.zeros(len(self._parent), dtype=np.bool_)
        own[: self._decision_edges] = self._is_own(side)
        before = np.zeros(self._nodes, dtype=np.int64)  # (node,) decisions of the side so far
        for edges in self._levels:
            before[self._child[edges]] = before[self._parent[edges]] + own[edges]
        number = before[self._parent]  # (edge,)
        if not np.array_equal(number[own], self._tree.depth[self._information[own[: self._decision_edges]]]):
            raise UserError("A seat forgets how often it has decided, so that best responses cannot be computed.")
        stages = []
        for stage in range(int(before.max()), -1, -1):
            others = (edges[~own[edges] & (number[edges] == stage)] for edges in reversed(self._levels))
            stages.append(_Stage(np.flatnonzero(own & (number == stage)), tuple(part for part in others if len(part))))
        return stages
