"""Matches against a poke-env player on a local Showdown server, scored like matches in this process.

Matches are played in pairs: in the second battle of a pair, the players swap teams and seats.
"""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.progress import report
from nemesis.deploy.pokemon.decider import BattleDecider
from nemesis.deploy.pokemon.poke_env_opponent import poke_env_opponent
from nemesis.deploy.pokemon.showdown_client import (
    FinishedBattle,
    Limits,
    NoBattleError,
    OnFinished,
    ScheduledBattle,
    ShowdownClient,
)
from nemesis.deploy.pokemon.showdown_connection import Connection
from nemesis.deploy.pokemon.showdown_server import showdown_server
from nemesis.games.pokemon.game import PokemonGame
from nemesis.play.matches import Score, score
from nemesis.play.players import Player

_NAME = "Nemesis"
_MAX_NAME_LENGTH = 18  # limit of Showdown
_EXIT_LIMIT = 5.0  # seconds between what the server says of an opponent that has exited, and its exit code
SLOTS = 40  # concurrent battles


@dataclass(frozen=True, slots=True)
class MatchSeries:
    """A series of battles against one opponent."""

    opponent: str  # class name of a poke-env player
    matches: int
    seed: int
    slots: int = SLOTS


def play_on_server(game: PokemonGame, player: Player, series: MatchSeries, watch: OnFinished | None = None) -> Score:
    """Play a series on a new local server, and return the player's score.

    The player must have at least as many slots as the series. `watch` is called with every battle as it ends.
    """
    report("Starting a Showdown server")
    with showdown_server(simulators=1) as websocket, closing(game.observer()) as observer:
        played = asyncio.run(_play_series(game, BattleDecider(observer, player), series, websocket, watch))
    return score(
        np.array([one.earned for one in played], dtype=np.float32),
        np.array([one.end_reason for one in played], dtype=np.int64),
        np.array([one.decisions for one in played]),
        np.array([one.turns for one in played]),
    )


async def _play_series(
    game: PokemonGame, decider: BattleDecider, series: MatchSeries, websocket: str, watch: OnFinished | None
) -> list[FinishedBattle]:
    scheduled, opponent_teams = _schedule(game, series)
    # poke-env supports open team sheets only in formats with vgc in their name.
    sheets = game.sheets and game.format.sheets == "offered" and "vgc" in game.format.id
    # The prefix makes the name differ from ours, also for a class of the same name.
    opponent_name = f"X{series.opponent.rpartition(':')[2]}"[:_MAX_NAME_LENGTH]
    connection = await Connection.open(websocket, _NAME)
    try:
        async with poke_env_opponent(
            series.opponent,
            websocket,
            game.format.id,
            name=opponent_name,
            opponent=_NAME,
            teams=opponent_teams,
            sheets=sheets,
            seed=series.seed,
        ) as opponent:
            limits = Limits(turns=game.turn_limit)
            client = ShowdownClient(connection, decider, game.format.id, opponent_name, sheets=sheets, limits=limits)
            client.on_finished = watch
            playing = asyncio.create_task(client.play(scheduled, opponent.invite, series.slots))
            failing = asyncio.create_task(opponent.ended())
            try:
                done, _ = await asyncio.wait((playing, failing), return_when=asyncio.FIRST_COMPLETED)
                if playing not in done:
                    failing.result()  # raises its error
                return await playing
            except NoBattleError as error:
                raise UserError(f"{error}{opponent.output_tail()}") from None
            except UserError:
                await asyncio.wait((failing,), timeout=_EXIT_LIMIT)  # the server may be faster to tell that it is gone
                if failing.done():
                    failing.result()
                raise
            finally:
                playing.cancel()
                failing.cancel()
    finally:
        await connection.close()


def _schedule(game: PokemonGame, series: MatchSeries) -> tuple[Sequence[ScheduledBattle], dict[int, str | None]]:
    """Return our battles, and the opponent's team in each of them."""
    scheduled = []
    opponent_teams: dict[int, str | None] = {}
    for match in range(series.matches):
        seat = match % 2
        teams = game.pair_teams(series.seed, match // 2) or (None, None)
        scheduled.append(ScheduledBattle(match, teams[seat], challenges=seat == 0))
        opponent_teams[match] = teams[1 - seat]
    return scheduled, opponent_teams
