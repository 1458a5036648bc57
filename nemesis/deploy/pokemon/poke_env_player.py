"""Runs a poke-env player on a Showdown server, in its own process, controlled through standard input.

    python -m nemesis.deploy.pokemon.poke_env_player WEBSOCKET FORMAT CLASS --name NAME --opponent NAME [--sheets]

CLASS is a player of poke-env, such as SimpleHeuristicsPlayer, or any other as package.module:Class. The process prints
`ready` once the player is logged in. Every line on standard input is one battle, as JSON: whether the player challenges
its opponent or is challenged, and its team. The process exits when standard input is closed.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import sys
from collections import deque
from importlib import import_module
from typing import Any

import poke_env.player
from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.battle import AbstractBattle
from poke_env.player import Player
from poke_env.teambuilder import ConstantTeambuilder

_KEPT_BATTLES = 100  # finished battles to keep: poke-env keeps all, but only late messages of the server need them
_MAX_BATTLES = 10_000  # concurrent; the parent process limits them


class GivenTeam(ConstantTeambuilder):
    """A packed team that is used unchanged; poke-env would repack it."""

    def __init__(self, packed: str) -> None:
        super().__init__(packed)
        self._packed = packed

    def yield_team(self) -> str:
        return self._packed


class ClassError(Exception):
    """The player class cannot be imported."""


def find_class(name: str) -> type[Player]:
    """Return a player class of poke-env by its name, or any other by package.module:Class."""
    module, _, attribute = name.rpartition(":")
    try:
        found = getattr(import_module(module) if module else poke_env.player, attribute)
    except (ImportError, AttributeError) as error:
        raise ClassError(f"There is no player {name}: {error}.") from error
    if not (isinstance(found, type) and issubclass(found, Player)):
        raise ClassError(f"{name} is not a Player class of poke-env.")
    return found


def drop_old_battles(player: Player) -> None:
    """Make a player keep only its last finished battles."""
    ended: deque[str] = deque()
    react = player._battle_finished_callback

    def on_finished(battle: AbstractBattle) -> None:
        react(battle)
        ended.append(battle.battle_tag)
        if len(ended) > _KEPT_BATTLES:
            player._battles.pop(ended.popleft(), None)

    setattr(player, "_battle_finished_callback", on_finished)  # noqa: B010 (a method cannot be assigned to in types)


async def enter_battles(player: Player, opponent: str, invitations: "asyncio.Queue[dict[str, Any]]") -> None:
    """Enter one battle after another, because poke-env has one current team."""
    await player.ps_client.logged_in.wait()
    print("ready", flush=True)
    while True:
        invitation = await invitations.get()
        player._team = GivenTeam(invitation["team"]) if invitation["team"] else None
        if invitation["challenges"]:
            await player.ps_client.challenge(opponent, player.format, player.next_team)
        else:
            challenger = await player._challenge_queue.get()
            await player.ps_client.accept_challenge(challenger, player.next_team)
        await player._battle_semaphore.acquire()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("websocket", "format", "player"):
        parser.add_argument(name)
    for name in ("--name", "--opponent"):
        parser.add_argument(name, required=True)
    parser.add_argument("--sheets", action="store_true", help="accept open team sheets")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.INFO)
    random.seed(options.seed)
    try:
        player_class = find_class(options.player)
    except ClassError as error:
        sys.exit(str(error))
    player = player_class(
        AccountConfiguration(options.name, None),
        battle_format=options.format,
        max_concurrent_battles=_MAX_BATTLES,
        server_configuration=ServerConfiguration(options.websocket, ""),
        ping_interval=None,  # a busy server answers late
        accept_open_team_sheet=options.sheets,
    )
    drop_old_battles(player)
    loop = player.ps_client.loop
    invitations: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    asyncio.run_coroutine_threadsafe(enter_battles(player, options.opponent, invitations), loop)
    for line in sys.stdin:
        asyncio.run_coroutine_threadsafe(invitations.put(json.loads(line)), loop)
    os._exit(0)  # the parent process has ended, and poke-env would wait for its tasks at exit


if __name__ == "__main__":
    main()
