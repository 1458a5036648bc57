"""From a configuration to the parts of a run: game, policy, learner."""

from pathlib import Path

import torch

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.games import open_game
from nemesis.learners.interface import Learner
from nemesis.learners.portfolio import Portfolio, PortfolioConfig, Rate
from nemesis.learners.ppo import PPO
from nemesis.learners.rnad import RNaD, RNaDConfig
from nemesis.policies import policy as policies
from nemesis.policies.policy import Policy
from nemesis.runtime.checkpoints import Checkpoint, load_checkpoint, newest_valid
from nemesis.runtime.config import RunConfig
from nemesis.runtime.run_directory import RunDirectory


def choose_device(config: RunConfig) -> torch.device:
    if config.device == "cuda" and not torch.cuda.is_available():
        raise UserError("device is cuda, but torch sees no CUDA device here. Use device=cpu, or see `nemesis doctor`.")
    return torch.device("cuda" if config.device != "cpu" and torch.cuda.is_available() else "cpu")


def open_game_of(config: RunConfig) -> Game:
    """Return the game of a run, with the settings that the run has for its family."""
    return open_game(config.game, {"pokemon": config.pokemon})


def build_policy(config: RunConfig, game: Game) -> Policy:
    """Return a fresh policy for the game, its weights drawn from torch's global generator."""
    return Policy(game.encoder, game.action_head, config.policy)


def build_learner(policy: Policy, config: RunConfig, device: torch.device, seed: int, rate: Rate) -> Learner:
    """Return the configured learner; `rate` plays policies against each other for those that ask."""
    learner = config.learner
    if learner.precision == "float16" and device.type != "cuda":
        raise UserError("learner.precision=float16 needs CUDA; use bfloat16 or float32 on a CPU.")
    if isinstance(learner, RNaDConfig):
        return RNaD(policy, learner, device, seed)
    if isinstance(learner, PortfolioConfig):
        return Portfolio(policy, learner, device, seed, rate)
    return PPO(policy, learner, device, seed)


def parameter_count(config: RunConfig) -> int:
    """Return the number of the policy's parameters, without allocating them."""
    with torch.device("meta"):
        return policies.parameter_count(build_policy(config, open_game_of(config)))


def find_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint at a path, or the newest valid one of the run at that path."""
    if (path / "manifest.json").exists():
        return load_checkpoint(path)
    checkpoints = RunDirectory.checkpoints_of(path)
    return newest_valid(checkpoints)[0]


def config_of(checkpoint: Checkpoint) -> RunConfig:
    return build_config(RunConfig, checkpoint.config)


def load_policy(path: str | Path, average: bool = False) -> Policy:
    """Load a trained policy from a checkpoint folder, or from the newest valid checkpoint of a run.

    Nothing but the folder is needed. With `average`, the Polyak-averaged weights are loaded instead of the last ones.
    """
    checkpoint = find_checkpoint(Path(path))
    config = config_of(checkpoint)
    policy = build_policy(config, open_game_of(config))
    policy.load_state_dict(checkpoint.tensors("average" if average else "weights"))
    return policy.eval()
