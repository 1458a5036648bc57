"""Saved matches: matches of a policy, written as files that a person can watch."""

# ruff: noqa: PLC0415 (torch is slow to import, and tournaments need none of it here before they start)

from collections.abc import Sequence
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

_POLICY = "Nemesis"
_SLOTS = 16  # matches at once


class NoReplaysError(UserError):
    """A game whose matches cannot be saved as replays."""


@dataclass(frozen=True, slots=True)
class SavedReplay:
    """A saved match, and the return of the policy in it."""

    path: Path
    earned: float


def new_folder(folder: Path) -> Path:
    """Return the folder, or the next with a number behind its name that is empty, so that no replay is overwritten."""
    found, number = folder, 1
    while found.exists() and any(found.iterdir()):
        number += 1
        found = folder.with_name(f"{folder.name}-{number}")
    return found


def save_replays(
    game: Game, policy: "Policy", device: "torch.device", *, opponent: str, matches: int, seed: int, folder: Path
) -> Sequence[SavedReplay]:
    """Play so many matches against an opponent and save each that counts, in a new folder."""
    from nemesis.play.policy_players import PolicyPlayer

    saved: list[SavedReplay] = []
    folder = new_folder(folder)

    def save(pool: MatchPool, ended: Results) -> None:
        if not isinstance(pool, ReplayPool):
            raise NoReplaysError(f"Matches of {game.spec.name} cannot be saved as replays.")
        for row in np.flatnonzero(is_counted(ended.end_reason)):
            side = side_of_first(ended.match[row])
            names = (opponent, _POLICY) if side else (_POLICY, opponent)
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise WriteError(folder, error) from error
            path = pool.save_replay(int(ended.match[row]), folder, names)
            saved.append(SavedReplay(path, float(ended.returns[row, side])))

    player = PolicyPlayer(policy, game.spec, _SLOTS, device, seed)
    scripted = open_opponent(game, opponent, seed + 1)
    play(
        game,
        player,
        [scripted],
        matches=matches,
        slots=_SLOTS,
        seed=seed + 2,
        on_end=save,
        activity=f"Recording matches against {opponent}",
    )
    return saved
