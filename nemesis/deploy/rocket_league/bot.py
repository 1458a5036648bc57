"""A bot of RLBot 5 that drives one car with a policy file."""

import secrets
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from rlbot import flat
from rlbot.managers import Bot
from rlbot.utils.logging import get_logger

from nemesis.core.errors import UserError
from nemesis.deploy.rocket_league.decider import CarDecider, decision_of
from nemesis.deploy.rocket_league.export import POLICY, SETTINGS
from nemesis.games.rocket_league import FAMILY
from nemesis.games.rocket_league.actions import ACTIONS, NEUTRAL
from nemesis.games.rocket_league.game import MIXED, open_game
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.views import VIEW_SIZE
from nemesis.play.players import Player
from nemesis.play.policy_players import PolicyPlayer
from nemesis.storage.policies import SavedPolicy, find_policy

_log = get_logger("bot")  # RLBot shows what is logged so
_CPU = torch.device("cpu")  # for one decision at a time it is the fastest

CONTROLLER_STATES = [
    flat.ControllerState(*row[:5], *(value > 0 for value in row[5:])) for row in ACTIONS.tolist()
]  # by action


class NemesisBot(Bot):
    """Answers packets with the policy of its folder."""

    def __init__(self, folder: Path) -> None:
        """Open the policy; the match is joined by `run`."""
        super().__init__(_agent_id(folder))
        saved = find_policy(folder / POLICY)
        self._settings = settings_of(saved)
        self._player = open_player(saved)
        self._decider: CarDecider | None = None
        self._refused = ""
        _log.info("%s", described(saved))

    def initialize(self) -> None:
        """Take the field of a match."""
        try:
            self._decider = CarDecider(self._player, self.field_info, self.index, self._settings)
        except UserError as error:
            _log.critical("%s", error)
            sys.exit(1)

    def get_output(self, packet: flat.GamePacket) -> flat.ControllerState:
        """Return the controls of the next tick; neutral ones in a match that the policy cannot play."""
        action = NEUTRAL
        try:
            if self._decider is not None:
                action = self._decider.action(packet)
        except UserError as error:
            if str(error) != self._refused:  # said once, not with every packet
                _log.error("%s", error)
            self._refused = str(error)
        return CONTROLLER_STATES[action]


def open_player(saved: SavedPolicy) -> Player:
    """Return a player with the policy, which plays as it was exported."""
    torch.set_num_threads(1)
    game = open_game(MIXED, settings_of(saved))
    policy = replace(saved, world="").load(game)  # the arena here is that of the real game
    player = PolicyPlayer(policy, game.spec, 1, _CPU, secrets.randbits(32), saved.style)
    first = decision_of(0, 0, np.zeros((1, VIEW_SIZE), dtype=np.float32))
    player.act(first)  # before the match, because the first decision is slow
    player.forget(first.slot)
    return player


def settings_of(saved: SavedPolicy) -> RocketLeagueSettings:
    """Return the settings of the matches that the policy was trained in."""
    settings: RocketLeagueSettings = getattr(saved.game_config(), FAMILY.name)
    return settings


def described(saved: SavedPolicy) -> str:
    """Return a sentence about the policy."""
    settings = settings_of(saved)
    return (
        f"The policy was trained for {saved.game} in {saved.world}; it decides every {settings.tick_skip} ticks, and "
        f"its actions act {settings.action_delay} ticks later."
    )


def _agent_id(folder: Path) -> str:
    """Return the id by which RLBot knows the bot, from its settings."""
    try:
        with (folder / SETTINGS).open("rb") as file:
            return str(tomllib.load(file)["settings"]["agent_id"])
    except (OSError, tomllib.TOMLDecodeError, LookupError, TypeError) as error:
        raise UserError(f"{folder / SETTINGS} does not name the bot's agent_id ({error}).") from error
