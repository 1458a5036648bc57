"""poke-env players as opponents in tournaments, on a local Showdown server."""

# ruff: noqa: PLC0415 (what plays on a server is slow to import, and every tournament asks whether it has such players)

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import Game, is_counted
from nemesis.deploy.pokemon.poke_env_opponent import PREFIX, check_installed
from nemesis.evaluation.entrants import OnMatch, RemoteMatch, ignore_match

if TYPE_CHECKING:
    from nemesis.deploy.pokemon.showdown_client import FinishedBattle
    from nemesis.play.matches import Score
    from nemesis.play.players import Player


class PokeEnvPlayers:
    """poke-env players by class name, such as poke-env:SimpleHeuristicsPlayer."""

    prefix = PREFIX

    @property
    def slots(self) -> int:
        from nemesis.deploy.pokemon.server_matches import SLOTS

        return SLOTS

    def check(self, game: Game, name: str) -> None:
        from nemesis.games.pokemon.game import PokemonGame

        check_installed()
        if not isinstance(game, PokemonGame):
            raise UserError(f"{name} plays Pokémon battles, not {game.spec.name}.")

    def play(
        self,
        game: Game,
        player: "Player",
        name: str,
        *,
        matches: int,
        seed: int,
        replays: int,
        folder: Path,
        ours: str,
        on_match: OnMatch = ignore_match,
    ) -> "tuple[Score, list[Path]]":
        from nemesis.deploy.pokemon.server_matches import MatchSeries, play_on_server
        from nemesis.games.pokemon.game import PokemonGame
        from nemesis.games.pokemon.hosts.replay_page import write_replay

        assert isinstance(game, PokemonGame)  # noqa: S101
        saved: list[Path] = []

        def save(played: "FinishedBattle") -> None:
            if len(saved) < replays and is_counted(np.array([played.end_reason]))[0]:
                first, second = (ours, name) if played.scheduled.challenges else (name, ours)
                log = [line for line in played.log if line.startswith("|")]
                saved.append(write_replay(game.format, log, played.scheduled.match, folder, (first, second)))

        def hand_over(played: "FinishedBattle") -> None:
            side = 0 if played.scheduled.challenges else 1
            on_match(
                RemoteMatch(
                    played.scheduled.match, side, played.earned, played.end_reason, played.decisions, played.turns
                )
            )
            save(played)

        series = MatchSeries(name.removeprefix(PREFIX), matches, seed)
        return play_on_server(game, player, series, hand_over), saved


REMOTE_PLAYERS = PokeEnvPlayers()
