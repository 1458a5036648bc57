"""A match as a PettingZoo AEC environment.

Agents are seats. Seats that have to act at the same time are selected one after the other, and none sees what the
others chose. A seat that has nothing to decide is not selected.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Discrete
from pettingzoo import AECEnv

from nemesis.core.game import Game
from nemesis.environments.illegal_actions import IllegalAction, check_option, illegal_action_error
from nemesis.environments.single_match import Observation, SingleMatch, agent_names
from nemesis.environments.spaces import action_space, as_game, mask_space, view_space


class MatchAECEnv(AECEnv[str, Observation, int]):
    """All seats of one match, selected one by one.

    An agent observes its last view. The action mask is all zeros while the agent has nothing to decide. A match that
    ends by the rules is terminated. A match that is cut off or voided is truncated; `info["end_reason"]` says why.
    """

    def __init__(
        self, game: str | Game, *, illegal_action: IllegalAction = "raise", settings: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        check_option(illegal_action)
        opened = as_game(game, settings)
        spec = opened.spec
        self.metadata = {"name": spec.name, "render_modes": [], "is_parallelizable": False}
        self.render_mode = None
        self.possible_agents = agent_names(spec.seats)
        self.agents: list[str] = []
        self.agent_selection = ""
        self.observation_spaces = {
            agent: Dict({"observation": view_space(spec), "action_mask": mask_space(spec)})
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space(spec) for agent in self.possible_agents}
        self._illegal_action = illegal_action
        self._match = SingleMatch(opened)
        self._seat = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._chosen = np.zeros(spec.seats, dtype=np.int64)  # (seat,) actions of the seats that were selected already
        self._unasked: list[str] = []  # agents that are still to be selected before the match goes on

    def observation_space(self, agent: str) -> Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> "Discrete[np.int64]":
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        """Begin a match: with a seed one that can be repeated, else the next one."""
        self._match.reset(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._select_acting()

    def observe(self, agent: str) -> Observation:
        seat = self._seat[agent]
        return {"observation": self._match.view[seat].copy(), "action_mask": self._match.mask[seat].copy()}

    def step(self, action: int | None) -> None:
        if not self.agents:
            raise RuntimeError("There is no match to act in; call reset first.")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        legal = self._legal_action(agent, action)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if legal is None:
            self._match.forfeit(self._seat[agent])
            self._take_rewards()
            return
        self._chosen[self._seat[agent]] = legal
        if self._unasked:
            self.agent_selection = self._unasked.pop(0)
            return
        self._match.answer(self._chosen)
        self._take_rewards()

    def close(self) -> None:
        self._match.close()
        self.agents = []

    def _legal_action(self, agent: str, action: int | None) -> int | None:
        """Return what the agent plays; None if it loses the match by an illegal action."""
        mask = self._match.mask[self._seat[agent]]
        self.infos[agent] = {}
        if action is not None and 0 <= action < len(mask) and mask[action]:
            return int(action)
        if self._illegal_action == "raise":
            raise illegal_action_error(action, agent)
        self.infos[agent] = {"illegal_action": True}
        return self._match.random_action(self._seat[agent]) if self._illegal_action == "random" else None

    def _take_rewards(self) -> None:
        """Hand out what the seats got, and select who is next."""
        match = self._match
        for agent in self.agents:
            self.rewards[agent] = float(match.reward[self._seat[agent]])
        self._accumulate_rewards()
        if match.end_reason is None:
            self._select_acting()
            return
        for agent in self.agents:
            self.terminations[agent] = match.terminated
            self.truncations[agent] = not match.terminated
            self.infos[agent] = self.infos[agent] | {"end_reason": match.end_reason.name.lower()}
        self._unasked = []
        self.agent_selection = self.agents[0]

    def _select_acting(self) -> None:
        acting = [self.possible_agents[seat] for seat in sorted(self._match.acting.tolist())]
        self.agent_selection, self._unasked = acting[0], acting[1:]
