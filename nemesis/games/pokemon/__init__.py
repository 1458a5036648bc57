"""Pokémon battles on the simulator of Pokémon Showdown: any of its singles and doubles formats."""

from nemesis.core.commands import Command, CommandGroup
from nemesis.core.family import Family

_CHECK = Command(
    "check",
    "Check teams with the simulator's own validator.",
    "nemesis.games.pokemon.commands:check",
    "FORMAT [SOURCE ...]",
)

FAMILY = Family(
    name="pokemon",
    example="gen1randombattle",
    open_game="nemesis.games.pokemon.game:open_game",
    settings="nemesis.games.pokemon.settings:PokemonSettings",
    commands=[CommandGroup("teams", "Check teams for Pokémon battles.", [_CHECK])],
    checks="nemesis.games.pokemon.commands:checks",
    replays="nemesis.games.pokemon.replay_family:REPLAYS",
    remote_players="nemesis.deploy.pokemon.remote_players:REMOTE_PLAYERS",
)
