"""Scripted opponents: random play, those of the game, and user functions as module:attribute."""

from collections.abc import Sequence

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.plugins import import_attribute, is_import
from nemesis.play.players import RandomPlayer, ScriptedPlayer

RANDOM = "random"


def opponent_names(game: Game, chosen: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the chosen opponents, or all of the game: those of the game from weak to strong, then imported ones."""
    known = (RANDOM, *game.scripted)
    if chosen is None:
        return known
    for name in chosen:
        if name not in known and not is_import(name):
            raise UserError(
                f"{game.spec.name} has no opponent called '{name}'. It has {', '.join(known)}. Write your "
                "own function as module:attribute."
            )
    own = tuple(name for name in known if name in chosen)
    return own + tuple(name for name in dict.fromkeys(chosen) if name not in known)


def open_opponent(game: Game, name: str, seed: int) -> RandomPlayer | ScriptedPlayer:
    """Return a scripted player by its name."""
    if name == RANDOM:
        return RandomPlayer(seed)
    scripted = game.scripted[name] if name in game.scripted else import_attribute(name)
    return ScriptedPlayer(scripted, game.spec.actions, seed)
