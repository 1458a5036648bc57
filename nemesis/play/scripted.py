"""Scripted players: random play, those of the game, and user functions as module:attribute."""

from collections.abc import Mapping, Sequence

from nemesis.core.errors import UserError
from nemesis.core.game import AnchoredGame, Game, Scripted
from nemesis.core.plugins import ImportPermission, check_imports, import_attribute, is_import
from nemesis.play.players import RandomPlayer, ScriptedPlayer

RANDOM = "random"


def opponent_names(game: Game, chosen: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the chosen opponents, or all of the game: those of the game from weak to strong, then imported ones."""
    known = (RANDOM, *game.scripted)
    if chosen is None:
        return known
    for name in chosen:
        if is_import(name) and name not in known:
            _imported(name)  # now, and not in the middle of a run
        elif name not in known:
            raise UserError(
                f"{game.spec.name} has no opponent called '{name}'. It has {', '.join(known)}. Write your "
                "own function as module:attribute."
            )
    own = tuple(name for name in known if name in chosen)
    return own + tuple(name for name in dict.fromkeys(chosen) if name not in known)


def anchors_of(game: Game, given: Mapping[str, float]) -> Mapping[str, float]:
    """Return the ratings of opponents that are known: those of the game, and those that a config gives."""
    opponent_names(game, [name for name in given if not is_import(name)])
    own = game.anchors if isinstance(game, AnchoredGame) else {}
    return {**own, **given}


def open_opponent(game: Game, name: str, seed: int, imports: ImportPermission = True) -> RandomPlayer | ScriptedPlayer:
    """Return a scripted player by its name."""
    if name == RANDOM:
        return RandomPlayer(seed)
    if name not in game.scripted:
        check_imports("The run", [name], allowed=imports)
    scripted = game.scripted[name] if name in game.scripted else _imported(name)
    return ScriptedPlayer(scripted, game.spec.actions, seed)


def _imported(name: str) -> Scripted:
    """Return a function outside the package."""
    scripted = import_attribute(name)
    if not callable(scripted):
        raise UserError(f"{name} is not a function of views, masks and a generator, so it cannot be an opponent.")
    function: Scripted = scripted
    return function
