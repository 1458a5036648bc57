"""Pokémon battles on the simulator of Pokémon Showdown: any of its singles and doubles formats."""

from nemesis.core.game import Game
from nemesis.games.pokemon.settings import PokemonSettings


def open_game(name: str, settings: PokemonSettings | None = None) -> Game:
    """Open a format by its Showdown id, such as `gen1ou` or `gen9vgc2025regi`."""
    from nemesis.games.pokemon.formats import find_format  # noqa: PLC0415 (the parts are of use without a network)
    from nemesis.games.pokemon.game import PokemonGame  # noqa: PLC0415

    return PokemonGame(find_format(name), settings or PokemonSettings())
