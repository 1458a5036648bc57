"""From a configuration to the parts of a run: game, policy, learner."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.games import open_game
from nemesis.learners.behaviour_cloning import BehaviourCloning, BehaviourCloningConfig
from nemesis.learners.learner import Learner
from nemesis.learners.offline import Offline, OfflineConfig
from nemesis.learners.portfolio import Portfolio, PortfolioConfig, Rate
from nemesis.learners.ppo import PPO
from nemesis.learners.rnad import RNaD, RNaDConfig
from nemesis.policies import policy as policies
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy
from nemesis.storage.checkpoints import Checkpoint, load_checkpoint, newest_valid
from nemesis.storage.policy_files import load_policy_file, new_policy, policy_path, read_header
from nemesis.storage.run_directory import RunDirectory
from nemesis.training.config import RunConfig


def choose_device(config: RunConfig) -> torch.device:
    if config.device == "cuda" and not torch.cuda.is_available():
        raise UserError("device is cuda, but torch sees no CUDA device here. Use device=cpu, or see `nemesis doctor`.")
    if config.device == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def open_game_of(config: RunConfig) -> Game:
    """Return the game of a run, with the settings that the run has for its family."""
    return open_game(config.game, {"pokemon": config.pokemon})


def build_policy(config: RunConfig, game: Game) -> Policy:
    """Return a fresh policy for the game, its weights drawn from torch's global generator."""
    return new_policy(game, config.policy)


def build_learner(policy: Policy, config: RunConfig, device: torch.device, seed: int, rate: Rate) -> Learner:
    """Return the configured learner; `rate` plays policies against each other for those that ask."""
    learner = config.learner
    if learner.precision == "float16" and device.type != "cuda":
        raise UserError("learner.precision=float16 needs CUDA; use bfloat16 or float32 on a CPU.")
    if isinstance(learner, RNaDConfig):
        return RNaD(policy, learner, device, seed)
    if isinstance(learner, PortfolioConfig):
        return Portfolio(policy, learner, device, seed, rate)
    if isinstance(learner, OfflineConfig):
        return Offline(policy, learner, device, seed)
    if isinstance(learner, BehaviourCloningConfig):
        return BehaviourCloning(policy, learner, device, seed)
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


def config_of_policy(path: Path) -> RunConfig:
    """Return with what a policy was trained: a run, a checkpoint, or a policy file, if it says so."""
    if not path.is_file():
        return config_of(find_checkpoint(path))
    config = read_header(path).about.get("config")
    if not isinstance(config, dict):
        raise UserError(
            f"{path} does not say with which settings it was trained; name the run or checkpoint that it is from, or "
            "export it again with `nemesis export`."
        )
    return build_config(RunConfig, config)


def open_any_policy(
    path: Path, game: Game, weights: Literal["average", "weights"] = "average"
) -> tuple[Policy, PolicyConfig]:
    """Return the policy of a policy file, a checkpoint or a run, with its config; of the latter two the averaged."""
    if path.is_file():
        return load_policy_file(path, game), read_header(path).policy
    checkpoint = find_checkpoint(path)
    config = config_of(checkpoint)
    if (plays := open_game_of(config).spec.name) != game.spec.name:
        raise UserError(f"{path} plays {plays}, not {game.spec.name}.")
    policy = build_policy(config, game)
    policy.load_state_dict(checkpoint.tensors(weights))
    return policy.eval(), config.policy


def take_weights(policy: Policy, path: Path, game: Game, parts: Mapping[str, str]) -> None:
    """Give a policy the weights of another one: all of them or, by their names here and there, some of its parts."""
    other, _ = open_any_policy(path, game)
    theirs, ours = other.state_dict(), policy.state_dict()
    if parts:
        taken: dict[str, Tensor] = {}
        for here, there in parts.items():
            found = {name: tensor for name, tensor in theirs.items() if f"{name}.".startswith(f"{there}.")}
            if not found:
                raise UserError(f"policy.init={path} has no part {there}; its parts are {_part_names(theirs)}.")
            taken |= {here + name.removeprefix(there): tensor for name, tensor in found.items()}
        own = {
            name: tensor for name, tensor in ours.items() if any(f"{name}.".startswith(f"{here}.") for here in parts)
        }
        _check_shapes(path, own, taken)
        policy.load_state_dict(ours | taken)
        return
    _check_shapes(path, ours, theirs)
    policy.load_state_dict(theirs)


def _part_names(weights: Mapping[str, Tensor]) -> str:
    """Return the modules of a policy, down to the second level."""
    return ", ".join(dict.fromkeys(".".join(name.split(".")[:2]) for name in weights))


def _check_shapes(path: Path, ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> None:
    """Raise unless both have the same tensors of the same shapes."""
    for name in sorted(ours.keys() ^ theirs.keys()):
        where = "policy.init" if name in theirs else "the run's policy"
        raise UserError(
            f"policy.init={path} has another shape: only {where} has {name}. Set policy as it was there, or name the "
            "parts to take by policy.init_parts."
        )
    for name, tensor in ours.items():
        if tensor.shape != theirs[name].shape:
            raise UserError(
                f"policy.init={path} has another shape: {name} is {tuple(theirs[name].shape)} there and "
                f"{tuple(tensor.shape)} here. Set policy.size and its like as they were there."
            )


def load_policy(path: str | Path, average: bool = False) -> Policy:
    """Load a trained policy from a policy file, a checkpoint folder, or the newest valid checkpoint of a run.

    Nothing but the file or folder is needed; shipped:NAME is one that comes with Nemesis. With `average`, the
    Polyak-averaged weights of a checkpoint are loaded instead of the last ones; a file has only one kind.
    """
    found = policy_path(str(path))
    if found.is_file():
        return load_policy_file(found, open_game(read_header(found).game))
    checkpoint = find_checkpoint(found)
    config = config_of(checkpoint)
    policy = build_policy(config, open_game_of(config))
    policy.load_state_dict(checkpoint.tensors("average" if average else "weights"))
    return policy.eval()
