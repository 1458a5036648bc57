"""Matches of a run's newest checkpoint, to watch while it trains or later. The run directory is only read."""

# ruff: noqa: PLC0415 (torch is slow to import, and much can be refused without it)

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.progress import report
from nemesis.evaluation.replays import POLICY, ReplaySaver, SavedReplay
from nemesis.games.config import GameConfig
from nemesis.play.matches import play
from nemesis.play.named_players import check_player, open_player
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player
from nemesis.storage.checkpoints import CheckpointError, FormatError, newest_update
from nemesis.storage.policies import SavedPolicy, find_policy
from nemesis.storage.run_directory import RunDirectory

if TYPE_CHECKING:
    from nemesis.policies.policy import Policy

_Read = TypeVar("_Read")
_ATTEMPTS = 5  # to read a checkpoint that the run replaces meanwhile
_PAUSE = 0.5  # seconds between them


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Who plays the matches, and how many."""

    opponent: str | None = None  # a scripted player or a policy; None: the policy itself
    matches: int = 4  # of each checkpoint
    play: PlayOptions = PlayOptions()  # noqa: RUF009 (frozen)
    overrides: Sequence[str] = ()  # settings of the game
    seed: int = 0


@dataclass(frozen=True, slots=True)
class WatchedMatch:
    """A match that was played to be watched."""

    update: int  # of the checkpoint
    names: tuple[str, str]  # of the policy and of its opponent
    earned: float  # return of the policy
    page: bytes  # HTML

    @property
    def winner(self) -> str | None:
        """The name of who won; None for a draw."""
        return None if self.earned == 0 else self.names[0 if self.earned > 0 else 1]


class NewestMatches:
    """Plays matches of each new checkpoint of a run, once."""

    def __init__(self, run: Path, options: WatchOptions) -> None:
        """Check all that can be refused before the policy is loaded."""
        self._run = run
        self._options = options
        self._root = RunDirectory.checkpoints_of(run)
        self._seen: int | None = None  # newest update that was there
        self._played = 0  # batches of matches
        self._config: GameConfig | None = None
        self._game: Game | None = None
        if newest_update(self._root) is None:
            raise UserError(f"{run} has no checkpoint yet; watch it when the run has saved one.")
        game = self._open_game(_attempt(self._find))
        if options.opponent is not None:
            check_player(game, options.opponent, options.play.allow_imports)

    def play(self, on_save: Callable[[WatchedMatch], None]) -> int | None:
        """Play matches of the newest checkpoint; returns its update, or None if there is none since the last call."""
        newest = newest_update(self._root)
        if newest is None or newest == self._seen:
            return None
        saved, game, policy = _attempt(self._load)
        self._seen = newest
        update = saved.update or 0
        options, other = self._options, self._options.opponent
        names = (POLICY, other) if other is not None else (f"{POLICY} A", f"{POLICY} B")

        def save(replay: SavedReplay) -> None:
            on_save(WatchedMatch(update, names, replay.earned, replay.path.read_bytes()))

        seed = options.seed + 3 * self._played
        self._played += 1
        with TemporaryDirectory() as folder:
            saver = ReplaySaver(game, names, count=options.matches, folder=Path(folder), on_save=save)
            play(
                game,
                self._player(saved, game, policy, seed),
                [self._opponent(saved, game, policy, seed + 1)],
                matches=options.matches,
                slots=options.matches,
                seed=seed + 2,
                on_end=saver.on_end,
                recorded=True,
                activity=f"Playing matches of update {update}",
            )
        return update

    def _find(self) -> SavedPolicy:
        return find_policy(self._run, allow_imports=self._options.play.allow_imports)

    def _load(self) -> "tuple[SavedPolicy, Game, Policy]":
        report(f"Opening the newest checkpoint of {self._run}")
        import torch

        torch.set_num_threads(1)  # a run that goes on needs the others
        saved = self._find()
        game = self._open_game(saved)
        return saved, game, saved.load(game, self._options.play.weights)

    def _open_game(self, saved: SavedPolicy) -> Game:
        """Return the game of a checkpoint, which changes with the stage of a curriculum."""
        config = saved.game_config(self._options.overrides)
        if self._game is None or config != self._config:
            self._config, self._game = config, config.open_game()
            saved.check(self._game)
        return self._game

    def _player(self, saved: SavedPolicy, game: Game, policy: "Policy", seed: int) -> Player:
        from nemesis.play.policy_players import PolicyPlayer
        from nemesis.policies.build import choose_device

        device, options = choose_device(), self._options
        style = options.play.style or saved.style
        return PolicyPlayer(policy.to(device), game.spec, options.matches, device, seed, style)

    def _opponent(self, saved: SavedPolicy, game: Game, policy: "Policy", seed: int) -> Player:
        name, options = self._options.opponent, self._options
        if name is None:
            return self._player(saved, game, policy, seed)
        return open_player(game, name, options.matches, seed, options.play)


def _attempt(read: Callable[[], _Read]) -> _Read:
    """Read something of a run; a checkpoint that was replaced or pruned meanwhile is read again."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return read()
        except FormatError:
            raise
        except CheckpointError:
            time.sleep(_PAUSE)
    return read()
