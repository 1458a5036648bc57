"""Players by name, wherever a command or an environment takes one.

What is shipped:NAME, has a slash or exists on disk is a policy: a run, a checkpoint or a policy file. Anything else is
a scripted player of the game, or a user function as module:attribute. Policies come first because they may say which
game is played: they have to be recognised before there is a game with scripted players.
"""

# ruff: noqa: PLC0415 (torch is slow to import, and much can be refused without it)

from pathlib import Path

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player
from nemesis.play.scripted import open_opponent, opponent_names
from nemesis.storage.policies import SHIPPED, find_policy, policy_path


def is_policy(name: str) -> bool:
    """Return whether a name refers to a policy."""
    return name.startswith(SHIPPED) or "/" in name or Path(name).exists()


def check_player(game: Game, name: str, imports: ImportPermission = False) -> None:
    """Raise unless there is a player of that name who can play the game; no weights are loaded."""
    if is_policy(name):
        find_policy(name, allow_imports=imports).check(game)
    else:
        check_scripted(game, name)


def check_scripted(game: Game, name: str) -> None:
    """Raise unless a name that is no policy is a scripted player of the game, or a user function."""
    try:
        opponent_names(game, (name,))
    except UserError as error:
        raise UserError(f"{error} There is no run, checkpoint or policy file of that name either.") from None


def open_player(game: Game, name: str, slots: int, seed: int, options: PlayOptions) -> Player:
    """Open a player for a pool with `slots` slots; the options are those of policies."""
    if is_policy(name):
        from nemesis.play.policy_players import open_policy_player

        return open_policy_player(policy_path(name), game, slots, seed, options)
    return open_opponent(game, name, seed)
