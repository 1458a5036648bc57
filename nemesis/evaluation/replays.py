"""Saves replays: matches of a policy, written as files that a person can watch."""

# ruff: noqa: PLC0415 (torch is slow to import, and tournaments need none of it here before they start)

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.files import WriteError
from nemesis.core.game import Game, MatchPool, ReplayPool, Results, is_counted
from nemesis.play.matches import play, side_of_first
from nemesis.play.scripted import open_opponent

if TYPE_CHECKING:
    import torch

    from nemesis.policies.policy import Policy

POLICY = "Nemesis"  # the name of a policy that is measured
_SLOTS = 16  # matches at once


class NoReplaysError(UserError):
    """A game whose matches cannot be saved as replays."""


@dataclass(frozen=True, slots=True)
class SavedReplay:
    """A saved match, and the return of its first player."""

    path: Path
    earned: float


def new_folder(folder: Path) -> Path:
    """Return the folder, or the next with a number behind its name that is empty, so that no replay is overwritten."""
    found, number = folder, 1
    while found.exists() and any(found.iterdir()):
        number += 1
        found = folder.with_name(f"{folder.name}-{number}")
    return found


class ReplaySaver:
    """Saves the first scored matches of `play`, in a new folder; its `on_end` is for recorded matches of the game."""

    def __init__(
        self,
        game: Game,
        names: tuple[str, str],
        *,
        count: int,
        folder: Path,
        on_save: Callable[[SavedReplay], None] = lambda _: None,
    ) -> None:
        """Save so many matches, with the names of the first player and of the other one."""
        self.saved: list[SavedReplay] = []
        self._game = game
        self._names = names
        self._count = count
        self._folder = new_folder(folder)
        self._on_save = on_save

    def on_end(self, pool: MatchPool, ended: Results) -> None:
        """Save matches that have just ended."""
        if not isinstance(pool, ReplayPool):
            raise NoReplaysError(f"Matches of {self._game.spec.name} cannot be saved as replays.")
        for row in np.flatnonzero(is_counted(ended.end_reason))[: self._count - len(self.saved)]:
            side = side_of_first(ended.match[row])
            names = self._names[::-1] if side else self._names
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise WriteError(self._folder, error) from error
            path = pool.save_replay(int(ended.match[row]), self._folder, names)
            self.saved.append(SavedReplay(path, float(ended.returns[row, side])))
            self._on_save(self.saved[-1])


def save_replays(
    game: Game, policy: "Policy", device: "torch.device", *, opponent: str, matches: int, seed: int, folder: Path
) -> Sequence[SavedReplay]:
    """Play so many matches against an opponent and save each that counts, in a new folder."""
    from nemesis.play.policy_players import PolicyPlayer

    saver = ReplaySaver(game, (POLICY, opponent), count=matches, folder=folder)
    player = PolicyPlayer(policy, game.spec, _SLOTS, device, seed)
    scripted = open_opponent(game, opponent, seed + 1)
    play(
        game,
        player,
        [scripted],
        matches=matches,
        slots=_SLOTS,
        seed=seed + 2,
        on_end=saver.on_end,
        recorded=True,
        activity=f"Recording matches against {opponent}",
    )
    return saver.saved
