"""Many matches of one pool as a Gymnasium vector environment.

Environments reset in the step in which their match ends (`AutoresetMode.SAME_STEP`): the observation is then the first
one of the next match, and `info["final_obs"]` and `info["final_info"]` belong to the match that ended.

A pool wants all decisions that it gave answered at once. An environment whose match waits for the opponent alone, or
that is about to begin the next match, has nothing to decide: `info["acting"]` is False there. Its observation stays as
it is, its reward is 0, it has action 0 as its only legal action, and its action is ignored. A masked policy has a
log-probability of 0 there, so the step has no policy gradient. Without these steps, an environment runs like a
`MatchEnv` with the same autoreset mode.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from nemesis.core.errors import UserError
from nemesis.core.game import EndReason, Game
from nemesis.core.masks import unpack_mask
from nemesis.environments.illegal_actions import IllegalAction, check_option
from nemesis.environments.opponents import opponent_for
from nemesis.environments.seat_matches import SeatMatches, SeatStep
from nemesis.environments.spaces import MASK_TYPE, action_space, as_game, check_seat, view_space
from nemesis.play.players import Player

_REASON_NAMES = np.array([reason.name.lower() for reason in EndReason], dtype=object)


class MatchVectorEnv(VectorEnv[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]):
    """One seat in each of many matches; an opponent plays all other seats."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(
        self,
        game: str | Game,
        num_envs: int,
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
        if num_envs < 1:
            raise UserError(f"A vector environment has at least one environment, not {num_envs}.")
        self.num_envs = num_envs
        self.single_observation_space = view_space(opened.spec)
        self.single_action_space = action_space(opened.spec)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._actions = opened.spec.actions
        open_opponent = opponent_for(opened, opponent, num_envs, allow_imports=allow_imports)
        self._matches = SeatMatches(opened, num_envs, seat, open_opponent, illegal_action)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Begin all matches again. An environment that is not acting yet observes zeros until its first decision."""
        if seed is not None and not isinstance(seed, int | np.integer):
            raise UserError("The matches share one pool, so reset takes one seed for all of them.")
        super().reset(seed=seed, options=options)
        first = self._matches.reset(self.np_random)
        return first.view, self._info(first)

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        step = self._matches.step(np.asarray(actions))
        info = self._info(step)
        ended = step.terminated | step.truncated
        if ended.any():
            view = np.where(ended[:, None], step.final_view, 0).astype(step.view.dtype)
            reason = _REASON_NAMES[step.end_reason]
            reason[~ended] = None
            info |= {"final_obs": view, "_final_obs": ended, "_final_info": ended}
            info["final_info"] = {"end_reason": reason, "_end_reason": ended}
        if step.illegal.any():
            info |= {"illegal_action": step.illegal, "_illegal_action": step.illegal}
        return step.view, step.reward, step.terminated, step.truncated, info

    def close_extras(self, **_: Any) -> None:
        self._matches.close()

    def _info(self, step: SeatStep) -> dict[str, Any]:
        return {"action_mask": unpack_mask(step.mask, self._actions).astype(MASK_TYPE), "acting": step.acting}
