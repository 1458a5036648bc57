"""Who takes part in a tournament or in the recording of a dataset, by name.

An entrant is a policy (a run, a checkpoint, a policy file, shipped:NAME), a scripted player of the game, a function of
the user's own as module:attribute, or a player over a server, which a game family registers with a prefix of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.games.config import GameConfig
from nemesis.play.matches import Score
from nemesis.play.players import Player
from nemesis.play.policy_players import PlayOptions, open_policy_player
from nemesis.play.scripted import open_opponent, opponent_names
from nemesis.storage.policies import SHIPPED, find_policy, policy_path


class RemotePlayers(Protocol):
    """Players that play over a server, of one family of games."""

    prefix: str
    """Before the name of each, up to and with a colon."""

    slots: int
    """Matches at the same time."""

    def check(self, game: Game, name: str) -> None:
        """Raise unless a player can play the game."""
        ...

    def play(
        self, game: Game, player: Player, name: str, *, matches: int, seed: int, replays: int, folder: Path, ours: str
    ) -> tuple[Score, list[Path]]:
        """Let our player meet one of these; returns the score of ours, and the first matches as replays."""
        ...


@dataclass(frozen=True, slots=True)
class Entrants:
    """Who takes part, and in which game."""

    game: Game
    names: Sequence[str]
    options: PlayOptions  # of the policies among them
    remote_players: Sequence[RemotePlayers] = ()

    def remote(self, name: str) -> RemotePlayers | None:
        """Return what lets an entrant play over a server, if it does."""
        return _remote(name, self.remote_players)

    def open(self, name: str, slots: int, seed: int) -> Player:
        """Return an entrant as a player of so many matches at once in process."""
        if is_policy(name):
            return open_policy_player(policy_path(name), self.game, slots, seed, self.options)
        return open_opponent(self.game, name, seed)


def open_entrants(
    names: Sequence[str],
    game: str | None,
    overrides: Sequence[str],
    options: PlayOptions = PlayOptions(),  # noqa: B008 (frozen)
    remote_players: Sequence[RemotePlayers] = (),
) -> Entrants:
    """Find the game that all can play; runs bring the settings of their game, with the overrides on top."""
    if repeated := {name for name in names if names.count(name) > 1}:
        raise UserError(f"{min(repeated)} is there twice; a player need not be measured against itself.")
    config: dict[str, Any] = {}
    for name in names:
        if _remote(name, remote_players) is None and is_policy(name):
            saved = find_policy(name, allow_imports=options.allow_imports or game is not None)
            game = game or saved.game
            if saved.game != game:
                raise UserError(f"{saved.path} plays {saved.game}, not {game}.")
            config = {**saved.game_config().model_dump(mode="json"), **config}
    if game is None:
        raise UserError("Say which game is played, such as --game family:game: none of the players tells.")
    opened = build_config(GameConfig, {**config, "game": game}, overrides).open_game()
    for name in names:
        if remote := _remote(name, remote_players):
            remote.check(opened, name)
        elif not is_policy(name):
            _check_scripted(opened, name)
    return Entrants(opened, names, options, remote_players)


def is_policy(name: str) -> bool:
    """Return whether a name is that of a policy: what exists on disk, or looks like a path."""
    return name.startswith(SHIPPED) or "/" in name or Path(name).exists()


def _remote(name: str, remote_players: Sequence[RemotePlayers]) -> RemotePlayers | None:
    return next((remote for remote in remote_players if name.startswith(remote.prefix)), None)


def _check_scripted(game: Game, name: str) -> None:
    try:
        opponent_names(game, (name,))
    except UserError as error:
        raise UserError(f"{error} There is no run, checkpoint or policy file of that name either.") from None
