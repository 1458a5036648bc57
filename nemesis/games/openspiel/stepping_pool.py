"""Matches of a game too large to tabulate: OpenSpiel states, stepped one by one."""

import logging
from typing import Any

import numpy as np

from nemesis.core.game import SIDES, Arrays, Decisions, EndReason, IntArray, Results
from nemesis.core.masks import PackedMask, is_legal, pack_mask
from nemesis.core.random import generator_state, restore_generator
from nemesis.games.openspiel.tree import view_of

_log = logging.getLogger(__name__)


class SteppingPool:
    """A match pool over OpenSpiel states."""

    def __init__(self, game: Any, slots: int, seed: int) -> None:
        self._game = game
        self._by_information = game.get_type().provides_information_state_tensor
        self._generator = np.random.default_rng(seed)
        self._match = np.arange(slots)
        self._next_match = slots
        self._state = [self._new_match() for _ in range(slots)]
        self._mask = self._legal()
        self._ended: list[tuple[int, int, list[float], EndReason]] = []

    @property
    def slots(self) -> int:
        return len(self._state)

    def recv(self) -> tuple[Decisions, Results]:
        """Return one decision of every match, by slot, and the matches that ended in the last `send`."""
        seat = [state.current_player() for state in self._state]
        views = [view_of(state, who, self._by_information) for state, who in zip(self._state, seat, strict=True)]
        decisions = Decisions(
            match=self._match.copy(),
            slot=np.arange(self.slots),
            seat=np.array(seat),
            view=np.array(views, dtype=np.float32),
            mask=self._mask.copy(),
        )
        ended, self._ended = self._ended, []
        results = Results(
            match=np.array([match for match, _, _, _ in ended], dtype=np.int64),
            slot=np.array([slot for _, slot, _, _ in ended], dtype=np.int64),
            returns=np.array([returns for _, _, returns, _ in ended], dtype=np.float32).reshape(-1, SIDES),
            end_reason=np.array([reason for _, _, _, reason in ended], dtype=np.int64),
        )
        return decisions, results

    def send(self, actions: IntArray) -> None:
        """Apply one action (slot,) to every match; a match in which OpenSpiel fails is voided."""
        if (illegal := np.flatnonzero(~is_legal(self._mask, actions))).size:
            slot = illegal[0]
            raise ValueError(f"Action {actions[slot]} is not legal in match {self._match[slot]}.")
        for slot, (state, action) in enumerate(zip(self._state, actions.tolist(), strict=True)):
            try:
                state.apply_action(action)
                self._sample_chance(state)
            except RuntimeError as error:  # how fatal errors of OpenSpiel appear in Python
                _log.warning("OpenSpiel failed in match %d, which is voided: %s", self._match[slot], error)
                self._end(slot, [0.0] * SIDES, EndReason.SIMULATOR_FAILURE)
                continue
            if state.is_terminal():
                self._end(slot, state.returns(), EndReason.PLAYED)
        self._mask = self._legal()

    def snapshot(self) -> Arrays:
        histories = [state.history() for state in self._state]
        return {
            "generator": generator_state(self._generator),
            "match": self._match.copy(),
            "next_match": np.array(self._next_match),
            "history": np.array([action for history in histories for action in history], dtype=np.int64),
            "history_length": np.array([len(history) for history in histories]),
            "ended": np.array([(match, slot, reason) for match, slot, _, reason in self._ended]).reshape(-1, 3),
            "ended_returns": np.array([returns for _, _, returns, _ in self._ended]).reshape(-1, SIDES),
        }

    def restore(self, snapshot: Arrays) -> None:
        restore_generator(self._generator, snapshot["generator"])
        self._match = snapshot["match"].copy()
        self._next_match = int(snapshot["next_match"])
        histories = np.split(snapshot["history"], np.cumsum(snapshot["history_length"])[:-1])
        self._state = [self._state_after(history.tolist()) for history in histories]
        self._mask = self._legal()
        self._ended = [
            (int(match), int(slot), returns, EndReason(int(reason)))
            for (match, slot, reason), returns in zip(
                snapshot["ended"], snapshot["ended_returns"].tolist(), strict=True
            )
        ]

    def close(self) -> None:
        """Release nothing: OpenSpiel states hold no resources."""

    def _end(self, slot: int, returns: list[float], reason: EndReason) -> None:
        self._ended.append((int(self._match[slot]), slot, returns, reason))
        self._match[slot] = self._next_match
        self._next_match += 1
        self._state[slot] = self._new_match()

    def _new_match(self) -> Any:
        state = self._game.new_initial_state()
        self._sample_chance(state)
        return state

    def _legal(self) -> PackedMask:
        """Return the packed legal masks of the waiting decisions: (slot, byte)."""
        return pack_mask(np.array([state.legal_actions_mask() for state in self._state], dtype=np.bool_))

    def _sample_chance(self, state: Any) -> None:
        while state.is_chance_node():
            outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
            cumulative = np.cumsum(probabilities)
            pick = np.searchsorted(cumulative, self._generator.random() * cumulative[-1], side="right")
            state.apply_action(outcomes[pick])

    def _state_after(self, history: list[int]) -> Any:
        state = self._game.new_initial_state()
        for action in history:
            state.apply_action(action)
        return state
