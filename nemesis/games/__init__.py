"""Games by name: `family:rest`, where the family is one of the packages here."""

from collections.abc import Mapping
from importlib import import_module

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.settings import Settings

_FAMILIES = {"openspiel": "leduc_poker", "pokemon": "gen1randombattle"}  # each with an example


def open_game(name: str, settings: Mapping[str, Settings] | None = None) -> Game:
    """Return the game of a name such as `openspiel:leduc_poker` or `pokemon:gen1ou`.

    `settings` are those of families, by name; a family that is not among them has its defaults.
    """
    family, _, rest = name.partition(":")
    if family not in _FAMILIES or not rest:
        examples = " or ".join(f"{family}:{example}" for family, example in _FAMILIES.items())
        raise UserError(f"'{name}' names no game. A game is written as family:game, for example {examples}.")
    own = (settings or {}).get(family)
    open_in_family = import_module(f"nemesis.games.{family}").open_game
    game: Game = open_in_family(rest) if own is None else open_in_family(rest, own)
    return game
