"""Real policies at real games, for tests of collecting and learning."""

from functools import cache

import torch
from torch import nn

from nemesis.core.game import Game, MatchPool
from nemesis.core.trajectory import Trajectories
from nemesis.games.openspiel.game import open_game
from nemesis.play.collector import Collector
from nemesis.play.experience import Clock, PlayCounts
from nemesis.play.pairings import MAIN, SELF_PLAY
from nemesis.play.policy_players import PolicyPlayer
from nemesis.play.seating import Seating
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy

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


class SelfPlay:
    """A collector of one policy's matches against itself."""

    def __init__(self, game: Game, pool: MatchPool, policy: Policy, seed: int = 0, stride: int | None = None) -> None:
        self.player = PolicyPlayer(policy, game.spec, pool.slots, CPU, seed)
        self.clock = Clock()
        self._collector = Collector(game, pool, self._seating(pool.slots, seed), stride, self.clock)
        self.snapshot = self._collector.snapshot
        self.restore = self._collector.restore

    def _seating(self, slots: int, seed: int) -> Seating:
        return Seating(slots, SELF_PLAY, lambda *_: self.player, seed)

    @property
    def counts(self) -> PlayCounts:
        return self._collector.counts

    def collect(self, decisions: int, version: int) -> Trajectories:
        """Play with the policy as it is, after so many updates."""
        self.player.version = version
        return self._collector.collect(decisions).episodes[MAIN]


def build_collector(game: Game, policy: Policy, slots: int = 32, seed: int = 0, stride: int | None = None) -> SelfPlay:
    return SelfPlay(game, game.pool(slots, seed), policy, seed, stride)


def play(
    game: Game, policy: Policy, decisions: int, slots: int = 32, seed: int = 0, stride: int | None = None
) -> Trajectories:
    """Return episodes of the policy against itself."""
    return build_collector(game, policy, slots, seed, stride).collect(decisions, version=0)
