"""Real policies at real games, for tests of collecting and learning."""

from functools import cache

import torch
from torch import nn

from nemesis.core.game import Game
from nemesis.core.trajectory import Trajectories
from nemesis.games.openspiel import open_game
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy
from nemesis.runtime.actor import Actor
from nemesis.runtime.collector import Clock, Collector

KUHN = "kuhn_poker"
LEDUC = "leduc_poker"
CPU = torch.device("cpu")

opened = cache(open_game)


def build_policy(game: Game, seed: int = 0, **settings: object) -> Policy:
    """Return a small policy, its heads strong enough that actions and values depend on the position."""
    torch.manual_seed(seed)
    config = PolicyConfig.model_validate({"width": 16, "layers": 1, "context": 3} | settings)
    policy = Policy(game.encoder, game.action_head, config)
    for head in (policy.heads.action.linear, policy.heads.value):
        nn.init.normal_(head.weight, std=0.3)
    return policy


def build_collector(game: Game, policy: Policy, slots: int = 32, seed: int = 0, stride: int | None = None) -> Collector:
    return Collector(game, game.pool(slots, seed), Actor(policy, slots, CPU, seed), stride, Clock())


def play(
    game: Game, policy: Policy, decisions: int, slots: int = 32, seed: int = 0, stride: int | None = None
) -> Trajectories:
    """Return finished episodes of the policy against itself."""
    return build_collector(game, policy, slots, seed, stride).collect(decisions, version=0)
