"""Matches of a tabulated game: a match is an index into the tree, a step is a few array look-ups."""

import numpy as np

from nemesis.core.game import SIDES, Arrays, Decisions, EndReason, IntArray, Results
from nemesis.core.random import generator_state, restore_generator
from nemesis.games.openspiel.tree import GameTree

_BELOW_ONE = 1 - 2.0**-30  # so that the sum of a chance node's index and a draw never rounds up to the next index


class TabulatedPool:
    """A match pool over a game tree."""

    def __init__(self, tree: GameTree, slots: int, seed: int) -> None:
        self._tree = tree
        self._generator = np.random.default_rng(seed)
        self._match = np.arange(slots)
        self._next_match = slots
        self._node = self._sample_chance(np.full(slots, tree.root))
        self._ended = _no_results()

    @property
    def slots(self) -> int:
        return len(self._node)

    def recv(self) -> tuple[Decisions, Results]:
        """Return one decision of every match, by slot, and the matches that ended in the last `send`."""
        tree, ended = self._tree, self._ended
        self._ended = _no_results()
        information = tree.information[self._node]
        decisions = Decisions(
            match=self._match.copy(),
            slot=np.arange(self.slots),
            seat=tree.seat[self._node],
            view=tree.view[information],
            mask=tree.packed_mask[information],
        )
        return decisions, ended

    def send(self, actions: IntArray) -> None:
        """Apply one action (slot,) to every match; none is ever voided."""
        tree = self._tree
        inside = np.clip(actions, 0, tree.child.shape[1] - 1)
        node = tree.child[self._node, inside]
        if (illegal := np.flatnonzero((node < 0) | (actions != inside))).size:
            slot = illegal[0]
            raise ValueError(f"Action {actions[slot]} is not legal in match {self._match[slot]}.")
        node = self._sample_chance(node)
        slot = np.flatnonzero(node >= tree.first_end)
        if slot.size:
            self._ended = Results(
                match=self._match[slot],
                slot=slot,
                returns=tree.returns[node[slot] - tree.first_end],
                end_reason=np.full(slot.size, EndReason.PLAYED, dtype=np.int64),
            )
            self._match[slot] = self._next_match + np.arange(slot.size)
            self._next_match += slot.size
            node[slot] = self._sample_chance(np.full(slot.size, tree.root))
        self._node = node

    def snapshot(self) -> Arrays:
        ended = self._ended
        return {
            "generator": generator_state(self._generator),
            "match": self._match.copy(),
            "node": self._node.copy(),
            "next_match": np.array(self._next_match),
            "ended_match": ended.match,
            "ended_slot": ended.slot,
            "ended_returns": ended.returns,
            "ended_reason": ended.end_reason,
        }

    def restore(self, snapshot: Arrays) -> None:
        restore_generator(self._generator, snapshot["generator"])
        self._match = snapshot["match"].copy()
        self._node = snapshot["node"].copy()
        self._next_match = int(snapshot["next_match"])
        self._ended = Results(
            match=snapshot["ended_match"],
            slot=snapshot["ended_slot"],
            returns=snapshot["ended_returns"],
            end_reason=snapshot["ended_reason"],
        )

    def close(self) -> None:
        """Release nothing: arrays hold no resources."""

    def _sample_chance(self, node: IntArray) -> IntArray:
        """Sample chance nodes until every match is at a decision or an end."""
        tree = self._tree
        while (at_chance := np.flatnonzero((node >= tree.decisions) & (node < tree.first_end))).size:
            chance = node[at_chance] - tree.decisions
            draw = self._generator.random(at_chance.size) * _BELOW_ONE
            node[at_chance] = tree.chance_child[np.searchsorted(tree.chance_edge, chance + draw, side="right")]
        return node


def _no_results() -> Results:
    none = np.zeros(0, dtype=np.int64)
    return Results(match=none, slot=none, returns=np.zeros((0, SIDES), dtype=np.float32), end_reason=none)
