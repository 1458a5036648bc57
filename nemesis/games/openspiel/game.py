"""OpenSpiel games as a `Game`, with exact exploitability for small ones.

A game is *tabulated*, that is, expanded into arrays and measured exactly, if OpenSpiel provides information state
strings, its tree has at most `NODE_LIMIT` nodes, and nodes times view size are at most `NUMBER_LIMIT`. Any other game
is stepped, and measured by matches. Liar's dice with six sides is tabulated (294,883 nodes, some seconds to expand);
tic-tac-toe with its 549,946 nodes is stepped.
"""

# ruff: noqa: PLC0415 (torch is slow to import, and only networks need it)

import difflib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyspiel

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, FloatArray, GameSpec, MatchPool, Scripted, StepPolicy
from nemesis.core.progress import report
from nemesis.core.tables import Table
from nemesis.games.openspiel.best_response import BestResponses
from nemesis.games.openspiel.stepping_pool import SteppingPool
from nemesis.games.openspiel.tables import TreeTables
from nemesis.games.openspiel.tabulated_pool import TabulatedPool
from nemesis.games.openspiel.tree import GameTree, count_nodes, tabulate

if TYPE_CHECKING:
    from torch import nn

NODE_LIMIT = 300_000
NUMBER_LIMIT = 20_000_000  # 80 megabytes of views at most
_BATCH = 4096  # information states that a policy gets at once


def open_game(name: str, settings: None = None, *, node_limit: int = NODE_LIMIT) -> "OpenSpielGame":  # noqa: ARG001
    """Open a game by OpenSpiel's own notation: `leduc_poker`, `liars_dice(dice_sides=4)`."""
    known = pyspiel.registered_names()
    if (short := name.partition("(")[0]) not in known:
        nearest = difflib.get_close_matches(short, known, n=1)
        hint = f" Did you mean {nearest[0]}?" if nearest else ""
        raise UserError(f"OpenSpiel has no game called '{short}'.{hint}")
    try:
        game = pyspiel.load_game(name)
    except (IndexError, RuntimeError, ValueError) as error:  # how C++ exceptions appear in Python
        reason = (str(error).strip() or "it gives no reason").splitlines()[0].rstrip(".")
        raise UserError(f"OpenSpiel cannot open '{name}': {reason}.") from None
    kind = game.get_type()
    if game.num_players() != SIDES or kind.utility != pyspiel.GameType.Utility.ZERO_SUM:
        raise UserError(f"'{name}' is not a two-player zero-sum game; Nemesis supports no others.")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
        kind = game.get_type()
    if not (kind.provides_information_state_tensor or kind.provides_observation_tensor):
        raise UserError(f"'{name}' has no observation tensor, so a network cannot play it.")
    stepped = OpenSpielGame(name, game)
    limit = min(node_limit, NUMBER_LIMIT // stepped.spec.view_size)
    nodes = count_nodes(game, limit) if kind.provides_information_state_string else None
    return stepped if nodes is None else TabulatedGame(name, game, nodes)


class OpenSpielGame:
    """A game of any size, stepped state by state."""

    def __init__(self, name: str, game: Any) -> None:
        self._name = name
        self._game = game

    @cached_property
    def spec(self) -> GameSpec:
        game = self._game
        by_information = game.get_type().provides_information_state_tensor
        shape = game.information_state_tensor_shape() if by_information else game.observation_tensor_shape()
        return GameSpec(
            name=f"openspiel:{self._name}",
            view_size=int(np.prod(shape)),
            actions=game.num_distinct_actions(),
            utility_scale=max(abs(game.max_utility()), abs(game.min_utility())),
            view_bytes=4,
            view_version="information state" if by_information else "observation",
        )

    @property
    def scripted(self) -> dict[str, Scripted]:
        return {}

    def pool(self, slots: int, seed: int) -> MatchPool:
        return SteppingPool(self._game, slots, seed)

    def encoder(self, width: int) -> "nn.Module":
        from nemesis.games.openspiel.encoder import VectorEncoder

        return VectorEncoder(self.spec.view_size, width)

    def action_head(self, width: int) -> "nn.Module":
        from nemesis.games.openspiel.encoder import LinearActionHead

        return LinearActionHead(width, self.spec.actions)


class TabulatedGame(OpenSpielGame):
    """A game small enough to expand its whole tree: faster matches, and exact exploitability."""

    def __init__(self, name: str, game: Any, nodes: int) -> None:
        super().__init__(name, game)
        self._nodes = nodes

    @cached_property
    def _tree(self) -> GameTree:  # lazy: the spec and the encoder do not need it
        return tabulate(self._game, self._nodes)

    @cached_property
    def _best_responses(self) -> BestResponses:
        return BestResponses(self._tree)

    def pool(self, slots: int, seed: int) -> MatchPool:
        return TabulatedPool(self._tree, slots, seed)

    def nash_conv(self, policy: StepPolicy) -> float:
        """Return NashConv: the sum over seats of what an exact best response gains."""
        return self._best_responses.nash_conv(self._table(policy))

    def tables(self) -> TreeTables:
        """Return what can be computed of policies as tables."""
        return TreeTables(self._tree, self._best_responses, self._table)

    def _table(self, policy: StepPolicy) -> Table:
        """Return the probabilities of a policy in every information state, none of an illegal action."""
        probabilities = self._probabilities(policy) * self._tree.mask.astype(np.float64)
        table: Table = probabilities / probabilities.sum(axis=1, keepdims=True)
        return table

    def _probabilities(self, policy: StepPolicy) -> FloatArray:
        """Run the policy, memory included, through every information state: (information, action)."""
        tree = self._tree
        probabilities = np.zeros(tree.mask.shape, dtype=np.float32)
        # The last row stays zero: it is the memory before a seat's first decision, where the parent is −1.
        state = np.zeros((len(tree.key) + 1, policy.state_size), dtype=np.float32)
        done = 0
        for level in tree.levels():
            for first in range(0, len(level), _BATCH):
                report("Computing the exact NashConv, by information states", done, len(tree.key))
                rows = level[first : first + _BATCH]
                chosen = policy.step(tree.view[rows], tree.mask[rows], state[tree.parent[rows]])
                probabilities[rows], state[rows] = chosen
                done += len(rows)
        return probabilities
