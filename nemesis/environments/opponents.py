"""The opponents of Gymnasium environments: by name, from a policy, or any player."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.play.players import Player
from nemesis.play.policy_players import PlayOptions, open_player
from nemesis.play.scripted import open_opponent, opponent_names
from nemesis.storage.policy_files import SHIPPED, policy_path

OpenOpponent: TypeAlias = Callable[[int], Player]
"""Returns the opponent for a seed."""


def opponent_for(game: Game, opponent: str | Path | Player, slots: int) -> OpenOpponent:
    """Return what opens the opponent of a pool of so many slots; a player that is given keeps its own seed."""
    if not isinstance(opponent, str | Path):
        return lambda _: opponent
    name = str(opponent)
    if name in opponent_names(game):
        return lambda seed: open_opponent(game, name, seed)
    if not name.startswith(SHIPPED) and not Path(name).exists():
        raise UserError(
            f"There is no opponent '{name}': {game.spec.name} has {', '.join(opponent_names(game))}, and there is no "
            "policy at that path."
        )
    path = policy_path(name)
    return lambda seed: open_player(path, game, slots, seed, PlayOptions())
