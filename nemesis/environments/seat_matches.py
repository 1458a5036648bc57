"""One seat in each match of a pool, the other seats played by an opponent: the core of the Gymnasium environments.

A pool wants answers to all decisions that it gave before it gives more. So while one match is at a decision of the
agent, another may be at a decision of the opponent alone, or about to begin. The agent has nothing to decide there: its
slot is not *acting*. A slot that is not acting shows the same as before, and nothing happens in it. The end of a match
is reported together with the agent's first decision in the next match of the slot. A match that ends before the agent
has decided anything is skipped.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import (
    SIDES,
    BoolArray,
    Decisions,
    EndReason,
    Game,
    IntArray,
    MatchPool,
    Results,
    default_weights,
    is_terminated,
)
from nemesis.core.masks import is_legal, pack_mask
from nemesis.environments.illegal_actions import IllegalAction, illegal_action_error
from nemesis.environments.opponents import OpenOpponent
from nemesis.environments.spaces import final_rewards, paid, view_type
from nemesis.play.players import Player, RandomPlayer

NOT_ENDED = -1


@dataclass(frozen=True, slots=True)
class SeatStep:
    """What the agent sees after its actions, one row per slot; the arrays are the receiver's to keep."""

    view: npt.NDArray[Any]  # (slot, view)
    mask: npt.NDArray[np.uint8]  # (slot, byte) packed; only action 0 is legal where the slot is not acting
    acting: BoolArray  # (slot,)
    reward: npt.NDArray[np.float64]  # (slot,)
    terminated: BoolArray  # (slot,)
    truncated: BoolArray  # (slot,)
    end_reason: IntArray  # (slot,) NOT_ENDED where no match ended
    final_view: npt.NDArray[Any]  # (slot, view) of the match that ended, where one did
    illegal: BoolArray  # (slot,) whether the action was illegal


class SeatMatches:
    """The agent's seat in all matches of one pool."""

    def __init__(
        self, game: Game, slots: int, seat: int | None, open_opponent: OpenOpponent, illegal_action: IllegalAction
    ) -> None:
        """Play a seat, or with None seats 0 and 1 in turn, match by match."""
        self._game = game
        self._spec = game.spec
        self._weights = default_weights(game)
        self._slots = slots
        self._seat = seat
        self._open_opponent = open_opponent
        self._illegal_action = illegal_action
        self._pool: MatchPool | None = None

    def reset(self, generator: np.random.Generator) -> SeatStep:
        """Begin all matches, with seeds that are drawn from the generator."""
        self.close()
        pool_seed, opponent_seed, random_seed = generator.integers(2**31, size=3).tolist()
        slots, spec = self._slots, self._spec
        self._pool = self._game.pool(slots, pool_seed)
        self._opponent = self._open_opponent(opponent_seed)
        self._opponent.forget(np.arange(slots))
        self._random: Player = RandomPlayer(random_seed)
        self._view = np.zeros((slots, spec.view_size), dtype=view_type(spec))  # zeros before the first decision
        self._match = np.full(slots, -1)  # (slot,) match of the agent's last decision
        self._forfeited = np.full(slots, -1)  # (slot,) match that is lost by an illegal action and played to its end
        self._end_reason = np.full(slots, NOT_ENDED)
        self._final_reward = np.zeros(slots)
        self._final_view = self._view.copy()
        return self._advance(np.zeros(slots, dtype=np.bool_))

    def step(self, action: IntArray) -> SeatStep:
        """Take the actions (slot,) of acting slots; those of the others are ignored."""
        if self._pool is None:
            raise RuntimeError("The matches have not begun; call reset first.")
        slot = self._decisions.slot[self._mine]
        own = self._decisions.at(self._mine)
        chosen = action[slot].astype(np.int64)
        illegal = ~(is_legal(own.mask, chosen) & (chosen < self._spec.actions))
        if illegal.any():
            rows = np.flatnonzero(illegal)
            if self._illegal_action == "raise":
                raise illegal_action_error(chosen[rows[0]], f"environment {slot[rows[0]]}")
            if self._illegal_action == "lose":
                self._forfeited[slot[rows]] = own.match[rows]
            chosen[rows] = self._random.act(own.at(rows)).action
        self._answers[self._mine] = chosen
        self._pool.send(self._answers)
        by_slot = np.zeros(self._slots, dtype=np.bool_)
        by_slot[slot] = illegal
        return self._advance(by_slot)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        self._pool = None

    def _advance(self, illegal: BoolArray) -> SeatStep:
        """Let the opponent play until the agent has something to decide in at least one slot."""
        assert self._pool is not None  # noqa: S101
        while True:
            decisions, results = self._pool.recv()
            self._opponent.forget(results.slot)
            self._note_ends(results)
            seat = decisions.match % SIDES if self._seat is None else self._seat
            agent = decisions.seat == seat
            lost = agent & (self._forfeited[decisions.slot] == decisions.match)
            self._answers = np.zeros(len(decisions), dtype=np.int64)
            for player, rows in ((self._opponent, np.flatnonzero(~agent)), (self._random, np.flatnonzero(lost))):
                if rows.size:
                    self._answers[rows] = player.act(decisions.at(rows)).action
            self._decisions, self._mine = decisions, np.flatnonzero(agent & ~lost)
            if self._mine.size:
                return self._show(decisions.at(self._mine), illegal)
            self._pool.send(self._answers)

    def _note_ends(self, results: Results) -> None:
        rows = np.flatnonzero(results.match == self._match[results.slot])  # in the others the agent decided nothing
        if not rows.size:
            return
        results = results.at(rows)
        slot = results.slot
        seat = results.match % SIDES if self._seat is None else np.full(len(results), self._seat)
        lost = self._forfeited[slot] == results.match
        earned = final_rewards(results, self._spec, self._weights)[np.arange(len(results)), seat]
        self._final_reward[slot] = np.where(lost, -self._spec.utility_scale, earned)
        self._end_reason[slot] = np.where(lost, EndReason.FORFEIT, results.end_reason)
        self._final_view[slot] = self._view[slot]
        if (final := results.final) is not None:
            seat_of_slot = np.full(self._slots, -1)
            seat_of_slot[slot] = seat
            own = np.flatnonzero(final.seat == seat_of_slot[final.slot])
            self._final_view[final.slot[own]] = final.view[own]

    def _show(self, own: Decisions, illegal: BoolArray) -> SeatStep:
        slot = own.slot
        acting = np.zeros(self._slots, dtype=np.bool_)
        acting[slot] = True
        ended = acting & (self._end_reason != NOT_ENDED)
        reward = np.zeros(self._slots)
        if own.reward is not None:
            reward[slot] = np.where(self._match[slot] == own.match, paid(own.reward, self._weights), 0)
        reward[ended] = self._final_reward[ended]
        end_reason = np.where(ended, self._end_reason, NOT_ENDED)
        self._end_reason[ended] = NOT_ENDED
        terminated = ended & (is_terminated(end_reason) | (self._forfeited >= 0))
        self._forfeited[ended] = -1
        self._match[slot] = own.match
        self._view[slot] = own.view
        mask = np.repeat(pack_mask(np.arange(self._spec.actions) == 0)[None], self._slots, axis=0)
        mask[slot] = own.mask
        return SeatStep(
            view=self._view.copy(),
            mask=mask,
            acting=acting,
            reward=reward,
            terminated=terminated,
            truncated=ended & ~terminated,
            end_reason=end_reason,
            final_view=self._final_view,
            illegal=illegal,
        )
