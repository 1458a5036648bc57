"""A match as a PettingZoo parallel environment.

All seats act in every step, as PettingZoo asks. A seat that has nothing to decide, for example while the other one
makes a forced move, has action 0 as its only legal action, and its action is ignored. A policy that reads the
mask then has a log-probability of 0, so the step has no policy gradient. `info["acting"]` tells these steps apart.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Discrete
from pettingzoo import ParallelEnv

from nemesis.core.game import Game, IntArray
from nemesis.environments.illegal_actions import IllegalAction, check_option, illegal_action_error
from nemesis.environments.single_match import Observation, SingleMatch, agent_names
from nemesis.environments.spaces import action_space, as_game, mask_space, view_space


class MatchParallelEnv(ParallelEnv[str, Observation, int]):
    """All seats of one match at the same time.

    An agent observes its last view. A match that ends by the rules is terminated. A match that is cut off or voided is
    truncated; `info["end_reason"]` says why.
    """

    def __init__(
        self, game: str | Game, *, illegal_action: IllegalAction = "raise", settings: Mapping[str, Any] | None = None
    ) -> None:
        check_option(illegal_action)
        opened = as_game(game, settings)
        spec = opened.spec
        self.metadata = {"name": spec.name, "render_modes": []}
        self.render_mode = None
        self.possible_agents = agent_names(spec.seats)
        self.agents: list[str] = []
        self.observation_spaces = {
            agent: Dict({"observation": view_space(spec), "action_mask": mask_space(spec)})
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space(spec) for agent in self.possible_agents}
        self._illegal_action = illegal_action
        self._match = SingleMatch(opened)

    def observation_space(self, agent: str) -> Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> "Discrete[np.int64]":
        return self.action_spaces[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin a match: with a seed one that can be repeated, else the next one."""
        self._match.reset(seed)
        self.agents = list(self.possible_agents)
        return self._observations(), self._infos()

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        match = self._match
        if not self.agents:
            raise RuntimeError("There is no match to act in; call reset first.")
        chosen, illegal = self._legal_actions(actions)
        if illegal and self._illegal_action == "lose":
            match.forfeit(illegal[0])
        else:
            match.answer(chosen)
        ended = match.end_reason is not None
        infos = self._infos()
        for seat in illegal:
            infos[self.possible_agents[seat]]["illegal_action"] = True
        step = (
            self._observations(),
            {agent: float(reward) for agent, reward in zip(self.agents, match.reward, strict=True)},
            dict.fromkeys(self.agents, ended and match.terminated),
            dict.fromkeys(self.agents, ended and not match.terminated),
            infos,
        )
        if ended:
            self.agents = []
        return step

    def close(self) -> None:
        self._match.close()
        self.agents = []

    def _legal_actions(self, actions: Mapping[str, int]) -> tuple[IntArray, list[int]]:
        """Return what the seats play, and which acting seats chose an illegal action."""
        chosen = np.zeros(len(self.possible_agents), dtype=np.int64)
        illegal = []
        for seat in self._match.acting.tolist():
            agent, mask = self.possible_agents[seat], self._match.mask[seat]
            action = actions.get(agent)
            if action is not None and 0 <= action < len(mask) and mask[action]:
                chosen[seat] = action
                continue
            if self._illegal_action == "raise":
                raise illegal_action_error(action, agent)
            illegal.append(seat)
            chosen[seat] = self._match.random_action(seat)
        return chosen, illegal

    def _observations(self) -> dict[str, Observation]:
        match = self._match
        mask = match.mask.copy()
        mask[~mask.any(axis=1), 0] = 1
        return {
            agent: {"observation": match.view[seat].copy(), "action_mask": mask[seat]}
            for seat, agent in enumerate(self.possible_agents)
        }

    def _infos(self) -> dict[str, dict[str, Any]]:
        match = self._match
        infos: dict[str, dict[str, Any]] = {
            agent: {"acting": seat in match.acting} for seat, agent in enumerate(self.possible_agents)
        }
        if match.end_reason is not None:
            for info in infos.values():
                info["end_reason"] = match.end_reason.name.lower()
        return infos
