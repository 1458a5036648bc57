"""Games by name: `family:rest`, where the family is one of the packages here."""

from importlib import import_module

from nemesis.core.errors import UserError
from nemesis.core.game import Game

_FAMILIES = ("openspiel",)


def open_game(name: str) -> Game:
    """Return the game of a name such as `openspiel:leduc_poker` or `openspiel:liars_dice(dice_sides=4)`."""
    family, _, rest = name.partition(":")
    if family not in _FAMILIES or not rest:
        families = ", ".join(f"{family}:…" for family in _FAMILIES)
        raise UserError(f"'{name}' names no game. A game is written as {families}, for example openspiel:leduc_poker.")
    game: Game = import_module(f"nemesis.games.{family}").open_game(rest)
    return game
