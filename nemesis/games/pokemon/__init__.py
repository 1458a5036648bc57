"""Pokémon battles on the simulator of Pokémon Showdown: any of its singles and doubles formats."""

from nemesis.core.family import Family

FAMILY = Family(
    name="pokemon",
    example="gen1randombattle",
    open_game="nemesis.games.pokemon.game:open_game",
    settings="nemesis.games.pokemon.settings:PokemonSettings",
    commands="nemesis.games.pokemon.commands:commands",
    checks="nemesis.games.pokemon.commands:checks",
    replays="nemesis.games.pokemon.replay_family:REPLAYS",
    remote_players="nemesis.deploy.pokemon.remote_players:REMOTE_PLAYERS",
)
