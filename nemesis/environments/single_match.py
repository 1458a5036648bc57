"""One match at a time with all its seats: what both PettingZoo environments are made of."""

import numpy as np
import numpy.typing as npt

from nemesis.core.game import (
    Decisions,
    EndReason,
    Game,
    IntArray,
    MatchPool,
    Results,
    default_weights,
    is_terminated,
    side_of,
)
from nemesis.core.masks import unpack_mask
from nemesis.environments.spaces import MASK_TYPE, final_rewards, paid, view_type

_NO_ACTIONS = np.zeros(0, dtype=np.int64)


class SingleMatch:
    """The current match of a pool with one slot."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._spec = spec = game.spec
        self._weights = default_weights(game)
        self._generator = np.random.default_rng()
        self._pool: MatchPool | None = None
        self._next: Decisions | None = None  # of the match after the current one, which has ended in the pool
        self.view = np.zeros((spec.seats, spec.view_size), dtype=view_type(spec))  # what each seat saw last
        self.mask = np.zeros((spec.seats, spec.actions), dtype=MASK_TYPE)  # zeros where a seat has nothing to decide
        self.acting = _NO_ACTIONS  # (n,) the seats that have to act
        self.reward = np.zeros(spec.seats)  # that the seats got with the last answers
        self.end_reason: EndReason | None = None
        self.terminated = False  # else truncated, once there is an end reason

    def reset(self, seed: int | None) -> None:
        """Begin a match: with a seed the first of a new pool, else the next one.

        A pool cannot give up a match, so a match that has not ended is left with its pool.
        """
        if seed is not None:
            self._generator = np.random.default_rng(seed)
        if self._pool is None or self._next is None or seed is not None:
            self.close()
            self._pool = self._game.pool(1, int(self._generator.integers(2**31)))
            decisions, _ = self._pool.recv()
        else:
            decisions = self._next
        while not len(decisions):
            self._pool.send(_NO_ACTIONS)
            decisions, _ = self._pool.recv()
        self._next = None
        self.end_reason, self.terminated = None, False
        self.view[:] = 0
        self._show(decisions)
        self.reward[:] = 0

    def answer(self, action: IntArray) -> None:
        """Let the acting seats take their actions (seat,), and go on until seats have to act or the match has ended."""
        pool = self._pool
        if pool is None:
            raise RuntimeError("The match has not begun; call reset first.")
        pool.send(action[self.acting])
        while True:
            decisions, results = pool.recv()
            if len(results):
                self._end(results)
                self._next = decisions
                return
            if len(decisions):
                self._show(decisions)
                return
            pool.send(_NO_ACTIONS)

    def forfeit(self, seat: int) -> None:
        """End the match with the largest loss for the side of a seat."""
        won = side_of(np.arange(self._spec.seats)) != side_of(np.array(seat))
        self.reward[:] = np.where(won, self._spec.utility_scale, -self._spec.utility_scale)
        self.end_reason, self.terminated = EndReason.FORFEIT, True
        self._rest()

    def random_action(self, seat: int) -> int:
        """Return a random legal action of a seat."""
        return int(self._generator.choice(np.flatnonzero(self.mask[seat])))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        self._pool = self._next = None

    def _show(self, decisions: Decisions) -> None:
        self._rest()
        self.acting = decisions.seat
        self.view[decisions.seat] = decisions.view
        self.mask[decisions.seat] = unpack_mask(decisions.mask, self._spec.actions)
        self.reward[:] = 0
        if decisions.reward is not None:
            self.reward[decisions.seat] = paid(decisions.reward, self._weights)

    def _end(self, results: Results) -> None:
        self._rest()
        first = results.at(np.zeros(1, dtype=np.int64))  # those after it are matches that were voided at once
        self.reward[:] = final_rewards(first, self._spec, self._weights)[0]
        self.end_reason = EndReason(int(first.end_reason[0]))
        self.terminated = bool(is_terminated(first.end_reason)[0])
        if first.final is not None:
            self.view[first.final.seat] = first.final.view

    def _rest(self) -> None:
        self.acting = _NO_ACTIONS
        self.mask[:] = 0


def agent_names(seats: int) -> list[str]:
    """Return the names of PettingZoo agents by seat."""
    return [f"seat_{seat}" for seat in range(seats)]


Observation = dict[str, npt.NDArray[np.generic]]
