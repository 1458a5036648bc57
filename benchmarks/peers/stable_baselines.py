"""RecurrentPPO of stable-baselines3-contrib on an OpenSpiel game, with the size of a Nemesis policy.

The peer's network is ours without its layer norms: a linear encoder with ReLU, one LSTM layer that actor and critic
share, linear heads. An environment is one seat of one match at a time, alternating seats, against random play.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
import pyspiel
import torch
from gymnasium import spaces
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor, nn

from nemesis.learners.config import PPOConfig

Observation: TypeAlias = npt.NDArray[np.float32]


class SeatEnvironment(gymnasium.Env[Observation, np.int64]):
    """One seat of an OpenSpiel game against a uniformly random opponent."""

    def __init__(self, game: Any, seed: int) -> None:
        self._game = game
        self._scale = max(abs(game.max_utility()), abs(game.min_utility()))
        self._random = np.random.default_rng(seed)
        self._seat = 0
        self.observation_space = spaces.Box(0.0, np.inf, game.information_state_tensor_shape())
        self.action_space = spaces.Discrete(game.num_distinct_actions())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        while True:  # a match may end before the seat has had a decision
            self._seat = 1 - self._seat
            self._state = self._game.new_initial_state()
            self._play_others()
            if not self._state.is_terminal():
                return self._observation(), {}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        legal = self._state.legal_actions()
        # RecurrentPPO does not support masks, so an illegal action is replaced by a legal one.
        self._state.apply_action(int(action) if action in legal else legal[int(action) % len(legal)])
        self._play_others()
        ended = self._state.is_terminal()
        reward = self._state.player_return(self._seat) / self._scale if ended else 0.0
        return self._observation(), reward, ended, False, {}

    def _play_others(self) -> None:
        state = self._state
        while not state.is_terminal() and state.current_player() != self._seat:
            # Chance is uniform too in the games measured here.
            legal = state.legal_actions()
            state.apply_action(legal[int(self._random.random() * len(legal))])

    def _observation(self) -> Observation:
        return np.asarray(self._state.information_state_tensor(self._seat), dtype=np.float32)


class Encoder(BaseFeaturesExtractor):
    """Maps views to vectors, as our own encoder of OpenSpiel games does."""

    def __init__(self, observation_space: spaces.Box, features_dim: int) -> None:
        super().__init__(observation_space, features_dim)
        self.linear = nn.Linear(observation_space.shape[0], features_dim)

    def forward(self, observation: Tensor) -> Tensor:
        return torch.relu(self.linear(observation))


def recurrent_ppo(game: str, width: int, slots: int, decisions: int, config: PPOConfig, seed: int) -> RecurrentPPO:
    """Return the peer, with the settings of our PPO and so many decisions per update."""
    opened = pyspiel.load_game(game)
    environments: list[Callable[[], gymnasium.Env[Any, Any]]] = [
        partial(SeatEnvironment, opened, seed + number) for number in range(slots)
    ]
    return RecurrentPPO(
        "MlpLstmPolicy",
        DummyVecEnv(environments),
        learning_rate=config.learning_rate.start,
        n_steps=decisions // slots,
        batch_size=config.minibatch,
        n_epochs=config.epochs,
        gamma=config.discount,
        gae_lambda=config.advantage_lambda,
        clip_range=config.clip,
        normalize_advantage=config.normalise_advantages,
        ent_coef=config.entropy_weight.start,
        vf_coef=config.value_weight,
        max_grad_norm=config.gradient_clip,
        policy_kwargs={
            "features_extractor_class": Encoder,
            "features_extractor_kwargs": {"features_dim": width},
            "lstm_hidden_size": width,
            "n_lstm_layers": 1,
            "shared_lstm": True,
            "enable_critic_lstm": False,
            "net_arch": [],
            "optimizer_class": torch.optim.AdamW,
            "optimizer_kwargs": {"betas": (config.momentum, 0.999), "eps": 1e-5, "weight_decay": config.weight_decay},
        },
        seed=seed,
        device="cpu",
    )
