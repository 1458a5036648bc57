"""The tree of a small game as arrays: every history is a node, every edge an index.

Decision nodes are numbered first, then chance nodes, then terminal nodes, so that comparisons give the kind of a node.
Decisions that a seat cannot distinguish share an *information state*, which holds the view and the legal mask.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import SIDES, BoolArray, FloatArray, IntArray
from nemesis.core.masks import PackedMask, pack_mask
from nemesis.core.progress import report

_REPORTED_NODES = 1000  # between two reports


@dataclass(frozen=True, slots=True)
class GameTree:
    """A game as arrays, and the information states that its decisions belong to."""

    decisions: int
    chances: int
    root: int

    seat: IntArray  # (decision,)
    information: IntArray  # (decision,) row of the information state
    child: IntArray  # (decision, action) next node, −1 where illegal

    chance_edge: npt.NDArray[np.float64]  # (edge,) chance index + cumulative probability, ascending over all edges
    chance_child: IntArray  # (edge,) next node
    chance_parent: IntArray  # (edge,) chance index
    chance_probability: npt.NDArray[np.float64]  # (edge,)

    returns: FloatArray  # (end, side)

    key: tuple[str, ...]  # (information,) OpenSpiel's information state string
    view: FloatArray  # (information, view)
    mask: BoolArray  # (information, action)
    packed_mask: PackedMask  # (information, byte)
    parent: IntArray  # (information,) the seat's previous information state, −1 at its first decision
    depth: IntArray  # (information,) number of earlier decisions of the seat

    @property
    def first_end(self) -> int:
        return self.decisions + self.chances

    def levels(self) -> Iterator[IntArray]:
        """Yield the information states by depth, so that a parent comes before its children."""
        for depth in range(int(self.depth.max()) + 1):
            yield np.flatnonzero(self.depth == depth)


def view_of(state: Any, seat: int, information: bool) -> list[float]:
    """Return a seat's information state tensor, or its observation tensor, at a state."""
    tensor: list[float] = state.information_state_tensor(seat) if information else state.observation_tensor(seat)
    return tensor


def count_nodes(game: Any, limit: int) -> int | None:
    """Return the number of nodes of a turn-based game, without storing them; None if it is above the limit."""
    activity = f"Counting the nodes of {game.get_type().short_name}, up to the limit of exact games"
    found = reported = 1
    pending = [iter([game.new_initial_state()])]  # only the current path, so that memory stays small
    while pending and found <= limit:
        if found - reported >= _REPORTED_NODES:
            reported = found
            report(activity, found, limit)
        state = next(pending[-1], None)
        if state is None:
            pending.pop()
            continue
        actions = state.legal_actions()  # chance outcomes at chance nodes, none at the end
        found += len(actions)
        pending.append(map(state.child, actions))
    return None if found > limit else found


def tabulate(game: Any, nodes: int) -> GameTree:
    """Expand a turn-based two-player game of so many nodes into arrays."""
    builder = _Builder(game)
    builder.walk(nodes)
    return builder.finish()


class _Builder:
    def __init__(self, game: Any) -> None:
        self.game = game
        self.by_information = game.get_type().provides_information_state_tensor
        self.actions: int = game.num_distinct_actions()
        self.rows: dict[str, int] = {}
        self.views: list[FloatArray] = []
        self.masks: list[list[int]] = []
        self.parents: list[int] = []
        # Per node, as (kind, index within the kind): 0 decision, 1 chance, 2 end.
        self.decision: list[tuple[int, int]] = []  # seat, information state
        self.decision_edges: list[tuple[int, int, int, int]] = []  # decision, action, kind, index
        self.chance: list[list[tuple[float, int, int]]] = []  # per chance node: probability, kind, index
        self.ends: list[list[float]] = []

    def walk(self, nodes: int) -> None:
        """Visit every history once; there are so many."""
        activity = f"Tabulating {self.game.get_type().short_name}"
        visited = 0
        root = self.game.new_initial_state()
        self.root = self._add(root, (-1,) * SIDES)
        pending = [(root, self.root, (-1,) * SIDES)]
        while pending:
            if visited % _REPORTED_NODES == 0:
                report(activity, visited, nodes)
            visited += 1
            state, (kind, index), last = pending.pop()
            if kind == 0:
                seat, row = self.decision[index]
                last = (row, last[1]) if seat == 0 else (last[0], row)
                edges = [(action, 0.0) for action in state.legal_actions()]
            elif kind == 1:
                edges = state.chance_outcomes()
            else:
                continue
            for action, probability in edges:
                child = state.child(action)
                place = self._add(child, last)
                if kind == 0:
                    self.decision_edges.append((index, action, *place))
                else:
                    self.chance[index].append((probability, *place))
                pending.append((child, place, last))

    def _add(self, state: Any, last: tuple[int, ...]) -> tuple[int, int]:
        if state.is_terminal():
            self.ends.append(state.returns())
            return 2, len(self.ends) - 1
        if state.is_chance_node():
            self.chance.append([])
            return 1, len(self.chance) - 1
        seat = state.current_player()
        key = state.information_state_string(seat)
        row = self.rows.setdefault(key, len(self.rows))
        if row == len(self.views):
            self.views.append(np.array(view_of(state, seat, self.by_information), dtype=np.float32))
            self.masks.append(state.legal_actions_mask())
            self.parents.append(last[seat])
        self.decision.append((seat, row))
        return 0, len(self.decision) - 1

    def finish(self) -> GameTree:
        """Number the nodes and turn the lists into arrays."""
        decisions, chances = len(self.decision), len(self.chance)
        first = np.array([0, decisions, decisions + chances])
        edges = np.array(self.decision_edges, dtype=np.int64)  # (edge, 4)
        child = np.full((decisions, self.actions), -1, dtype=np.int64)
        child[edges[:, 0], edges[:, 1]] = first[edges[:, 2]] + edges[:, 3]

        outcomes = [outcome for node in self.chance for outcome in node]
        chance_parent = np.repeat(np.arange(chances), [len(node) for node in self.chance])
        probability = np.array([outcome[0] for outcome in outcomes], dtype=np.float64)
        kinds, places = (np.array([outcome[part] for outcome in outcomes], dtype=np.int64) for part in (1, 2))
        cumulative = [np.cumsum([outcome[0] for outcome in node]) for node in self.chance]

        parent = np.array(self.parents, dtype=np.int64)
        depth = np.zeros(len(parent), dtype=np.int64)
        for row, above in enumerate(parent):  # a parent is always found before its children
            depth[row] = depth[above] + 1 if above >= 0 else 0
        seat, information = np.array(self.decision, dtype=np.int64).T
        mask = np.array(self.masks, dtype=np.bool_)
        return GameTree(
            decisions=decisions,
            chances=chances,
            root=int(first[self.root[0]]) + self.root[1],
            seat=seat,
            information=information,
            child=child,
            chance_edge=np.concatenate(
                [index + part / part[-1] for index, part in enumerate(cumulative)] or [probability]
            ),
            chance_child=first[kinds] + places,
            chance_parent=chance_parent,
            chance_probability=probability,
            returns=np.array(self.ends, dtype=np.float32),
            key=tuple(self.rows),
            view=np.stack(self.views),
            mask=mask,
            packed_mask=pack_mask(mask),
            parent=parent,
            depth=depth,
        )
