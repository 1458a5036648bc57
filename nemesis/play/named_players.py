"""Players by name, wherever a command or an environment takes one.

DIR#NAME is the member of a population, and a path that ends with .json is a mixture of players. What is shipped:NAME,
has a slash or exists on disk is a policy: a run, a checkpoint or a policy file. Anything else is a scripted player of
the game, or a user function as module:attribute. Policies come first because they may say which game is played: they
have to be recognised before there is a game with scripted players.
"""

# ruff: noqa: PLC0415 (torch is slow to import, and much can be refused without it)

from collections.abc import Iterable
from pathlib import Path

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission, check_imports, is_import
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import MixturePlayer, SavablePlayer
from nemesis.play.scripted import open_opponent, opponent_names
from nemesis.storage.mixtures import Mixture, is_mixture, read_mixture
from nemesis.storage.policies import SHIPPED, find_policy, policy_path
from nemesis.storage.populations import is_member, member_player


def is_policy(name: str) -> bool:
    """Return whether a name refers to a single policy."""
    if is_member(name):
        return is_policy(member_player(name))
    return _is_path(name) and mixture_of(name) is None


def mixture_of(name: str) -> Mixture | None:
    """Return the mixture that a name refers to, if it is one."""
    if is_member(name):
        return mixture_of(member_player(name))
    if not name.startswith(SHIPPED) and is_mixture(Path(name)) and _is_path(name):
        return read_mixture(Path(name))
    return None


def parts_of(name: str) -> list[str]:
    """Return the policies and scripted players that a player consists of; itself if it is no mixture."""
    if is_member(name):
        return parts_of(member_player(name))
    mixture = mixture_of(name)
    if mixture is None:
        return [name]
    for player in mixture.players:
        if is_member(player) or mixture_of(player) is not None:
            raise UserError(f"{name} is a mixture of {player}, which is another; name its policies instead.")
    return list(mixture.players)


def check_player(game: Game, name: str, imports: ImportPermission = False) -> None:
    """Raise unless there is a player of that name who can play the game; no weights are loaded."""
    parts = parts_of(name)
    if parts != [name]:
        check_imports(name, filter(is_import, parts), allowed=imports)
    for part in parts:
        if is_policy(part):
            find_policy(part, allow_imports=imports).check(game)
        else:
            check_scripted(game, part)


def check_scripted(game: Game, name: str) -> None:
    """Raise unless a name that is no policy is a scripted player of the game, or a user function."""
    try:
        opponent_names(game, (name,))
    except UserError as error:
        raise UserError(f"{error} There is no run, checkpoint or policy file of that name either.") from None


def open_player(game: Game, name: str, slots: int, seed: int, options: PlayOptions) -> SavablePlayer:
    """Open a player for a pool with `slots` slots; the options are those of policies."""
    if is_member(name):
        name = member_player(name)
    mixture = mixture_of(name)
    if mixture is None:
        return _open_single(game, name, slots, seed, options)
    players = list(mixture.players)

    def open_one(number: int, own_seed: int) -> SavablePlayer:
        return _open_single(game, players[number], slots, own_seed, options)

    return MixturePlayer(open_one, list(mixture.players.values()), slots, seed)


def policies_among(names: Iterable[str]) -> list[str]:
    """Return the policies that players consist of, each once."""
    return list(dict.fromkeys(part for name in names for part in parts_of(name) if is_policy(part)))


def _open_single(game: Game, name: str, slots: int, seed: int, options: PlayOptions) -> SavablePlayer:
    if is_policy(name):
        from nemesis.play.policy_players import open_policy_player

        return open_policy_player(policy_path(name), game, slots, seed, options)
    return open_opponent(game, name, seed)


def _is_path(name: str) -> bool:
    return name.startswith(SHIPPED) or "/" in name or Path(name).exists()
