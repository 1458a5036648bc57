"""The fixed opponents that a policy is measured against: random play, and whatever a game brings."""

from collections.abc import Sequence

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.play.players import RandomPlayer, ScriptedPlayer

_RANDOM = "random"


def opponent_names(game: Game, chosen: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the chosen opponents, or all that there are, from weak to strong."""
    known = (_RANDOM, *game.scripted)
    for name in chosen or ():
        if name not in known:
            raise UserError(f"{game.spec.name} has no opponent called '{name}'. It has {', '.join(known)}.")
    return known if chosen is None else tuple(name for name in known if name in chosen)


def open_opponent(game: Game, name: str, seed: int) -> RandomPlayer | ScriptedPlayer:
    return RandomPlayer(seed) if name == _RANDOM else ScriptedPlayer(game.scripted[name], seed)
