"""The opponents of Gymnasium environments: by name, from a policy, or any player."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.plugins import is_import
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player
from nemesis.play.policy_players import open_policy_player
from nemesis.play.scripted import open_opponent, opponent_names
from nemesis.storage.policies import SHIPPED

OpenOpponent: TypeAlias = Callable[[int], Player]
"""Returns the opponent for a seed."""


def opponent_for(game: Game, opponent: str | Path | Player, slots: int, *, allow_imports: bool = False) -> OpenOpponent:
    """Return what opens the opponent of a pool of so many slots; a player that is given keeps its own seed."""
    if not isinstance(opponent, str | Path):
        return lambda _: opponent
    name = str(opponent)
    if name in opponent_names(game):
        return lambda seed: open_opponent(game, name, seed)
    if name.startswith(SHIPPED) or Path(name).exists():
        options = PlayOptions(allow_imports=allow_imports or frozenset([game.spec.name]))
        return lambda seed: open_policy_player(name, game, slots, seed, options)
    if is_import(name):
        return lambda seed: open_opponent(game, name, seed)
    raise UserError(
        f"There is no opponent '{name}': {game.spec.name} has {', '.join(opponent_names(game))}, there is no policy at "
        "that path, and a function of your own is written as module:attribute."
    )
