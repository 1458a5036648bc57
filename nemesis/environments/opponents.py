"""The opponents of Gymnasium environments: by name, from a policy, or any player."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from nemesis.core.game import Game
from nemesis.play.named_players import check_player, open_player
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player

OpenOpponent: TypeAlias = Callable[[int], Player]
"""Returns the opponent for a seed."""


def opponent_for(game: Game, opponent: str | Path | Player, slots: int, *, allow_imports: bool = False) -> OpenOpponent:
    """Return what opens the opponent of a pool of so many slots; a player that is given keeps its own seed."""
    if not isinstance(opponent, str | Path):
        return lambda _: opponent
    name, options = str(opponent), PlayOptions(allow_imports=allow_imports or frozenset([game.spec.name]))
    check_player(game, name, options.allow_imports)
    return lambda seed: open_player(game, name, slots, seed, options)
