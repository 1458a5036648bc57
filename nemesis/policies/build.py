"""From a config and a game to a policy, and the device that it runs on."""

from typing import Literal

import torch

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, Game, OpponentModelGame
from nemesis.core.plugins import import_attribute
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy, parameter_count


def build_policy(game: Game, config: PolicyConfig) -> Policy:
    """Return a new policy for the game, its weights drawn from torch's global generator."""
    encoder, action_head = game.encoder, game.action_head
    if config.encoder is not None:
        try:
            network = import_attribute(config.encoder)(game)
            encoder, action_head = network.encoder, network.action_head
        except (TypeError, AttributeError) as error:
            raise UserError(
                f"policy.encoder={config.encoder} is not a class (game) with encoder(width) and action_head(width): "
                f"{error}."
            ) from error
    paired = isinstance(game, OpponentModelGame) and game.spec.seats == SIDES
    opponent_model_head = game.opponent_model_head if paired and isinstance(game, OpponentModelGame) else None
    return Policy(encoder, action_head, config, opponent_model_head)


def count_parameters(game: Game, config: PolicyConfig) -> int:
    """Return the number of a policy's parameters, without allocating them."""
    with torch.device("meta"):
        return parameter_count(build_policy(game, config))


def choose_device(device: Literal["auto", "cpu", "cuda"] = "auto") -> torch.device:
    """Return the device that a setting stands for; auto takes CUDA if there is a CUDA device."""
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device is cuda, but torch sees no CUDA device here. Use device=cpu, or see `nemesis doctor`.")
    if device == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())
