"""One seat against an opponent as a Gymnasium environment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from nemesis.core.game import EndReason, Game
from nemesis.core.masks import unpack_mask
from nemesis.environments.illegal_actions import IllegalAction, check_option
from nemesis.environments.opponents import opponent_for
from nemesis.environments.seat_matches import SeatMatches, SeatStep
from nemesis.environments.spaces import MASK_TYPE, action_space, as_game, check_seat, view_space
from nemesis.play.players import Player


class MatchEnv(gymnasium.Env[npt.NDArray[Any], np.int64]):
    """One seat of a match; an opponent plays all other seats.

    The observation is the seat's view, and `info["action_mask"]` has a 1 for each legal action. After the end of a
    match the observation is the seat's last view, since most games show nothing new; where a match is truncated, it is
    what the seat sees at the end. `info["end_reason"]` says why it ended. A voided match is truncated, with reward 0.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(
        self,
        game: str | Game,
        opponent: str | Path | Player = "random",
        *,
        seat: int | None = 0,
        illegal_action: IllegalAction = "raise",
        settings: Mapping[str, Any] | None = None,
        allow_imports: bool = False,
    ) -> None:
        check_option(illegal_action)
        opened = as_game(game, settings)
        check_seat(seat, opened.spec)
        self.observation_space = view_space(opened.spec)
        self.action_space = action_space(opened.spec)
        self._actions = opened.spec.actions
        open_opponent = opponent_for(opened, opponent, 1, allow_imports=allow_imports)
        self._matches = SeatMatches(opened, 1, seat, open_opponent, illegal_action)
        self._first: SeatStep | None = None  # of the next match, which begins in the pool as soon as one ends
        self._playing = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Begin a match: with a seed one that can be repeated, else the next one."""
        super().reset(seed=seed, options=options)
        first = self._first
        if first is None or seed is not None:
            first = self._matches.reset(self.np_random)
        self._first, self._playing = None, True
        return first.view[0], self._info(first)

    def step(self, action: int | np.int64) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        if not self._playing:
            raise ResetNeeded("There is no match to act in; call reset first.")
        step = self._matches.step(np.array([action]))
        terminated, truncated = bool(step.terminated[0]), bool(step.truncated[0])
        info = self._info(step)
        view = step.view[0]
        if terminated or truncated:
            view = step.final_view[0].copy()
            info["action_mask"] = np.zeros(self._actions, dtype=MASK_TYPE)
            info["end_reason"] = EndReason(int(step.end_reason[0])).name.lower()
            self._first, self._playing = step, False
        if step.illegal[0]:
            info["illegal_action"] = True
        return view, float(step.reward[0]), terminated, truncated, info

    def close(self) -> None:
        self._matches.close()
        self._first, self._playing = None, False

    def _info(self, step: SeatStep) -> dict[str, Any]:
        return {"action_mask": unpack_mask(step.mask[0], self._actions).astype(MASK_TYPE)}
