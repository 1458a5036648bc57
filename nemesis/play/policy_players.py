"""Policies as players: of a policy file, a checkpoint or a run, or an ensemble of a run's last checkpoints."""

from dataclasses import dataclass
from pathlib import Path

import torch

from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission
from nemesis.play.pairings import PlayerSource
from nemesis.play.players import PolicyPlayer
from nemesis.play.seating import OpenPlayer
from nemesis.policies.build import choose_device
from nemesis.policies.ensemble import Ensemble
from nemesis.policies.play_style import PlayStyle
from nemesis.policies.policy import Policy
from nemesis.storage.policies import DEFAULT_WEIGHTS, Weights, find_policy, last_policies, policy_path


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """How a policy plays: its sampling, weights, and the size of its ensemble."""

    style: PlayStyle | None = None  # None: the style of the policy
    ensemble: int = 1
    weights: Weights = DEFAULT_WEIGHTS  # of checkpoints
    allow_imports: ImportPermission = False


def open_policy_player(name: str | Path, game: Game, slots: int, seed: int, options: PlayOptions) -> PolicyPlayer:
    """Return a player with the policy of a file, a checkpoint or a run."""
    device = choose_device()
    saved = find_policy(name, allow_imports=options.allow_imports)
    policy: Policy | Ensemble
    if options.ensemble > 1:
        policy = open_ensemble(policy_path(str(name)), game, options)
    else:
        policy = saved.load(game, options.weights)
    return PolicyPlayer(policy.to(device), game.spec, slots, device, seed, options.style or saved.style)


def open_ensemble(path: Path, game: Game, options: PlayOptions) -> Ensemble:
    """Return an ensemble of a run's newest valid checkpoints.

    Last weights differ more between checkpoints than averaged weights.
    """
    saved = last_policies(path, options.ensemble, allow_imports=options.allow_imports)
    return Ensemble([one.load(game, options.weights) for one in saved]).eval()


def frozen_players(
    game: Game, slots: int, device: torch.device, folder: Path, imports: ImportPermission = False
) -> OpenPlayer:
    """Return a function that opens frozen policies; their paths are relative to the folder."""

    def open_frozen(source: PlayerSource, seed: int) -> PolicyPlayer:
        saved = find_policy(folder / source.name, allow_imports=imports)
        return PolicyPlayer(saved.load(game).to(device), game.spec, slots, device, seed, saved.style)

    return open_frozen
