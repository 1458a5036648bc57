"""The players of a tournament or of a recorded dataset, by name.

An entrant is a policy (a run, a checkpoint, a policy file, shipped:NAME), a mixture of players, a scripted player of
the game, a user function as module:attribute, or a player over a server. A game family registers the latter with a name
prefix.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from nemesis.core.config import build_config, override_paths
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission
from nemesis.games.config import GameConfig, is_technical
from nemesis.play.matches import Score
from nemesis.play.named_players import check_player, is_policy, mixture_of, open_player, policies_among
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player
from nemesis.storage.policies import DEFAULT_WEIGHTS, SavedPolicy, find_policy, last_policies, policy_path

OnMatch: TypeAlias = Callable[["RemoteMatch"], None]
"""Gets every match over a server as it ends."""


@dataclass(frozen=True, slots=True)
class RemoteMatch:
    """A match of our player over a server."""

    number: int
    side: int  # of our player
    earned: float  # the return of our player
    end_reason: int
    decisions: int  # of our player
    turns: int


def ignore_match(match: RemoteMatch) -> None:
    """Do nothing with a match."""


class RemotePlayers(Protocol):
    """Players that play over a server, of one family of games."""

    prefix: str
    """Prefix of the names of these players, including the colon."""

    @property
    def slots(self) -> int:
        """Number of concurrent matches."""
        ...

    def check(self, game: Game, name: str) -> None:
        """Raise if the player cannot play the game."""
        ...

    def play(
        self,
        game: Game,
        player: Player,
        name: str,
        *,
        matches: int,
        seed: int,
        replays: int,
        folder: Path,
        ours: str,
        on_match: OnMatch = ignore_match,
    ) -> tuple[Score, list[Path]]:
        """Play our player against one of these; returns the score of ours, and the replays of the first matches."""
        ...


@dataclass(frozen=True, slots=True)
class Entrants:
    """The entrants and their game."""

    game: Game
    config: GameConfig  # of the game
    names: Sequence[str]
    options: PlayOptions  # of the policies among them
    remote_players: Sequence[RemotePlayers] = ()

    def remote(self, name: str) -> RemotePlayers | None:
        """Return the group of players over a server that an entrant belongs to, if any."""
        return remote_of(name, self.remote_players)

    def open(self, name: str, slots: int, seed: int) -> Player:
        """Open an entrant as a player in this process, for a pool with `slots` slots."""
        return open_player(self.game, name, slots, seed, self.options)


def open_entrants(
    names: Sequence[str],
    game: str | None,
    overrides: Sequence[str],
    options: PlayOptions = PlayOptions(),  # noqa: B008 (frozen)
    remote_players: Sequence[RemotePlayers] = (),
) -> Entrants:
    """Open the game of all entrants, with the settings of the policies, which must agree, or else the overrides."""
    if repeated := {name for name in names if names.count(name) > 1}:
        raise UserError(f"{min(repeated)} is given twice; name each player once.")
    imports: ImportPermission = options.allow_imports or frozenset([game] if game else ())
    options = replace(options, allow_imports=imports)
    local = [name for name in names if remote_of(name, remote_players) is None]
    policies = [find_policy(name, allow_imports=imports) for name in policies_among(local)]
    mixtures = [mixture for name in local if (mixture := mixture_of(name))]
    game = game or _common_game(policies) or next((mixture.game for mixture in mixtures), None)
    _check_options(options, policies)
    if options.ensemble > 1:
        for name in filter(is_policy, local):
            last_policies(policy_path(name), options.ensemble, allow_imports=imports)
    if game is None:
        raise UserError("Name the game with --game FAMILY:GAME; none of the players determines it.")
    for saved in policies:
        if saved.game != game:
            saved.check(build_config(GameConfig, {"game": game}).open_game())
    config = common_settings(policies, overrides)
    built = build_config(GameConfig, {**config, "game": game}, overrides)
    opened = built.open_game()
    for name in names:
        if remote := remote_of(name, remote_players):
            remote.check(opened, name)
        elif not is_policy(name):
            check_player(opened, name, imports)
    return Entrants(opened, built, names, options, remote_players)


def _check_options(options: PlayOptions, policies: Sequence[SavedPolicy]) -> None:
    """Raise if an option would change nothing."""
    if options.style and not policies:
        raise UserError("--temperature and --top-p are for policies, and none of the players is one; leave them out.")
    if options.ensemble > 1 and not policies:
        raise UserError("--ensemble is for runs, and none of the players is one; leave it out.")
    if options.weights != DEFAULT_WEIGHTS and not any(saved.checkpoint for saved in policies):
        raise UserError("--last is for runs and checkpoints, and none of the players is one; leave it out.")


def _common_game(policies: Sequence[SavedPolicy]) -> str | None:
    """Return the game that all policies were trained on; None if there are none."""
    for saved in policies[1:]:
        first = policies[0]
        if saved.game != first.game:
            saved.check(first.game_config().open_game())
            raise UserError(
                f"{first.path} was trained on {first.game} and {saved.path} on {saved.game}; say which they play with "
                "--game."
            )
    return policies[0].game if policies else None


def common_settings(policies: Sequence[SavedPolicy], overrides: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the game that all policies were trained with; those of an old file are not known."""
    decided = {"game", *override_paths(overrides)}
    common: dict[str, Any] = {}
    first: SavedPolicy | None = None
    for saved in policies:
        if saved.config is None:
            continue
        config = saved.game_config().model_dump(mode="json")
        if first is None:
            common, first = config, saved
        different = [
            (path, json.dumps(ours), json.dumps(theirs))
            for path, ours, theirs in _differences(common, config)
            if path not in decided and not is_technical(path)
        ]
        if different:
            listed = ", ".join(f"{path} is {ours} and {theirs}" for path, ours, theirs in different)
            remedy = " ".join(f"{path}={ours}" for path, ours, _ in different)
            raise UserError(
                f"{first.path} and {saved.path} were trained with different settings of the game: {listed}. Say which "
                f"are used for all players, such as {remedy}."
            )
    return common


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of every setting in which two configs differ, and both values."""
    for name in {**ours, **theirs}:
        one, other = ours.get(name), theirs.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _differences(one, other, f"{above}{name}.")
        elif one != other:
            yield f"{above}{name}", one, other


def remote_of(name: str, remote_players: Sequence[RemotePlayers]) -> RemotePlayers | None:
    """Return the group of players over a server that a name belongs to, if any."""
    return next((remote for remote in remote_players if name.startswith(remote.prefix)), None)
