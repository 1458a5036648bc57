"""Rocket League as a `Game`: 1v1, 2v2, 3v3, or all of them mixed. All have the same views and actions."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from torch import nn

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, GameSpec, MatchPool, RewardComponent, Scripted
from nemesis.games.rocket_league import resets, rewards
from nemesis.games.rocket_league.actions import ACTIONS
from nemesis.games.rocket_league.arena.meshes import Meshes, find_meshes, use_meshes
from nemesis.games.rocket_league.network.encoder import RocketLeagueActionHead, RocketLeagueEncoder
from nemesis.games.rocket_league.pool import Matches, RocketLeaguePool
from nemesis.games.rocket_league.scripted import drivers
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.views import TEAM, VERSION, VIEW_SIZE

MIXED = "mixed"
ANCHORS = {"random": 700.0, "idle": 700.0, "driver": 1500.0}
SIZES = {f"{size}v{size}": size for size in range(1, TEAM + 1)}


class RocketLeagueGame:
    """Matches of one size, or of several."""

    def __init__(self, name: str, settings: RocketLeagueSettings) -> None:
        weights = np.array(settings.sizes if name == MIXED else np.eye(TEAM)[SIZES[name] - 1])
        self._name = name
        self._settings = settings
        self._shares = weights / weights.sum()

    @cached_property
    def meshes(self) -> Meshes:
        """The collision meshes of its arena."""
        meshes, arena = find_meshes(self._settings.meshes), self._settings.arena
        if arena is not None and arena != meshes.hash:
            raise UserError(
                f"These matches take place in the arena {arena}, but the collision meshes here are {meshes}; name the "
                "folder of the others with rocket_league.meshes, or play in these with rocket_league.arena=null."
            )
        return meshes

    @cached_property
    def spec(self) -> GameSpec:
        return GameSpec(
            name=f"rocket_league:{self._name}",
            view_size=VIEW_SIZE,
            actions=len(ACTIONS),
            utility_scale=1.0,
            view_bytes=4,
            view_version=VERSION,
            seats=SIDES * int(1 + np.flatnonzero(self._shares)[-1]),
            policy_group="rocket_league",
            world=f"the arena {self.meshes}",
        )

    @property
    def scripted(self) -> Mapping[str, Scripted]:
        return {"idle": drivers.idle, "driver": drivers.driver}

    @property
    def anchors(self) -> Mapping[str, float]:
        return ANCHORS

    @property
    def reward_components(self) -> Mapping[str, RewardComponent]:
        return rewards.COMPONENTS

    def pool(self, slots: int, seed: int) -> MatchPool:
        return self._pool(resets.Starts(self._settings), slots, seed)

    def paired_pool(self, slots: int, seed: int) -> MatchPool:
        """Return a pool of matches that start with kick-offs, two with the same one."""
        return self._pool(resets.kickoff, slots, seed, paired=True)

    def encoder(self, width: int) -> nn.Module:
        return RocketLeagueEncoder(width)

    def action_head(self, width: int) -> nn.Module:
        return RocketLeagueActionHead(width)

    def _pool(self, start: resets.DrawStart, slots: int, seed: int, *, paired: bool = False) -> RocketLeaguePool:
        use_meshes(self.meshes)
        return RocketLeaguePool(Matches(self._shares, start, self.spec.seats, paired), self._settings, slots, seed)


def pin(settings: RocketLeagueSettings) -> RocketLeagueSettings:
    """Return the settings with the hash of the collision meshes that they stand for here."""
    return settings.model_copy(update={"arena": RocketLeagueGame(MIXED, settings).meshes.hash})


def open_game(name: str, settings: RocketLeagueSettings | None = None) -> RocketLeagueGame:
    """Open a game by its size: `1v1`, `2v2`, `3v3` or `mixed`."""
    if name not in (*SIZES, MIXED):
        raise UserError(f"rocket_league:{name} is no game; its games are {', '.join((*SIZES, MIXED))}.")
    return RocketLeagueGame(name, settings or RocketLeagueSettings())
