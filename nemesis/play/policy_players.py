"""Policies as players: from a file, a checkpoint or a run, or from the last checkpoints of a run as one player."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.play.players import PlayStyle, PolicyPlayer
from nemesis.policies.ensemble import Ensemble
from nemesis.policies.policy import Policy
from nemesis.storage.checkpoints import Checkpoint, CheckpointError, load_checkpoint
from nemesis.storage.policy_files import style_of
from nemesis.storage.run_directory import RunDirectory
from nemesis.training.assembly import build_policy, config_of, open_any_policy, open_game_of


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """How a policy plays: how it draws its actions, and with how many of its run's last checkpoints at once."""

    style: PlayStyle | None = None  # None leaves it to the policy
    ensemble: int = 1
    weights: Literal["average", "weights"] = "average"  # of checkpoints


def open_last_checkpoints(path: Path, game: Game, count: int, average: bool = False) -> Ensemble:
    """Return the policies of a run's newest whole checkpoints, so many of them, as one.

    They are the last weights of each; with `average`, the averaged ones, which differ less from each other.
    """
    if path.is_file():
        raise UserError(f"{path} is one policy; an ensemble needs a run, for its last checkpoints.")
    checkpoints = _newest(RunDirectory.checkpoints_of(path), count)
    if len(checkpoints) < count:
        raise UserError(
            f"{path} has {len(checkpoints)} whole checkpoints, and {count} were asked for; "
            "ask for fewer, or train with a larger checkpoints.keep_last."
        )
    return Ensemble([_policy(checkpoint, game, average) for checkpoint in checkpoints]).eval()


def open_player(path: Path, game: Game, slots: int, seed: int, play_options: PlayOptions) -> PolicyPlayer:
    """Return whoever plays with a policy file, a checkpoint or a run, in the manner that is wanted."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    policy: Policy | Ensemble
    if play_options.ensemble > 1:
        policy = open_last_checkpoints(path, game, play_options.ensemble, average=play_options.weights == "average")
    else:
        policy, _ = open_any_policy(path, game, play_options.weights)
    return PolicyPlayer(policy.to(device), slots, device, seed, play_options.style or style_of(path))


def _newest(root: Path, count: int) -> list[Checkpoint]:
    """Return the newest checkpoints that are whole, at most so many."""
    found: list[Checkpoint] = []
    for path in sorted(root.glob("update-*"), reverse=True):  # their names have leading zeros
        if len(found) == count:
            break
        try:
            found.append(load_checkpoint(path))
        except CheckpointError:
            continue
    return found


def _policy(checkpoint: Checkpoint, game: Game, average: bool) -> Policy:
    config = config_of(checkpoint)
    if (plays := open_game_of(config).spec.name) != game.spec.name:
        raise UserError(f"{checkpoint.path} plays {plays}, not {game.spec.name}.")
    with torch.random.fork_rng(devices=[]):  # the first weights are drawn for nothing
        policy = build_policy(config, game)
    policy.load_state_dict(checkpoint.tensors("average" if average else "weights"))
    return policy
