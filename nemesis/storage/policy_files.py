"""A policy in one file: its weights as safetensors, with everything that builds the network again in their header.

Members of a population, exports and the policies that come with Nemesis are such files. Nothing is ever unpickled.
"""

# ruff: noqa: PLC0415 (torch is slow to import, and reading a header needs none of it)

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from safetensors import SafetensorError, safe_open

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.files import WriteError, replacement
from nemesis.policies.config import PolicyConfig
from nemesis.policies.play_style import DEFAULT_STYLE, PlayStyle

if TYPE_CHECKING:
    from torch import Tensor

    from nemesis.core.game import Game
    from nemesis.policies.policy import Policy

FORMAT = 2
SUFFIX = ".safetensors"
_KEY = "nemesis"


@dataclass(frozen=True, slots=True)
class PolicyHeader:
    """What a file says about its policy."""

    game: str
    policy_group: str | None
    view_version: str
    world: str
    policy: PolicyConfig
    style: PlayStyle  # in which it plays unless another is asked for
    about: dict[str, Any]  # how it was made


def save_policy(
    path: Path,
    policy: "Policy",
    config: PolicyConfig,
    game: "Game",
    about: dict[str, Any],
    style: PlayStyle = DEFAULT_STYLE,
    world: str | None = None,
) -> None:
    """Write a policy; the file appears whole or not at all. It was trained in the game's world, or in the given one."""
    from nemesis.storage.tensor_files import save_tensors

    spec = game.spec
    header = {
        "format": FORMAT,
        "game": spec.name,
        "policy_group": spec.policy_group,
        "view_version": spec.view_version,
        "world": spec.world if world is None else world,
        "policy": config.model_dump(mode="json", exclude={"init", "init_parts"}),
        "style": asdict(style),
        "about": about,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(path, error) from error
    with replacement(path) as temporary:
        save_tensors(temporary, policy.state_dict(), {_KEY: json.dumps(header)})


def read_header(path: Path) -> PolicyHeader:
    """Read what a file says about its policy, without the weights."""
    try:
        with safe_open(path, "numpy") as file:
            header = json.loads((file.metadata() or {})[_KEY])
        if header["format"] != FORMAT:
            raise UserError(
                f"{path} has format {header['format']}, and this version of Nemesis reads {FORMAT}; export the policy "
                "again, or use the version of Nemesis that wrote it."
            )
        policy = build_config(PolicyConfig, header["policy"])
        style = PlayStyle(**header.get("style", {}))
        return PolicyHeader(
            game=str(header["game"]),
            policy_group=header.get("policy_group"),
            view_version=str(header["view_version"]),
            world=str(header.get("world", "")),
            policy=policy,
            style=style,
            about=dict(header["about"]),
        )
    except FileNotFoundError as error:
        raise UserError(f"There is no policy at {path}.") from error
    except (OSError, SafetensorError, ValidationError, LookupError, TypeError, ValueError) as error:
        raise UserError(f"{path} is not a policy file of Nemesis, or it is damaged ({error}).") from error


def read_weights(path: Path) -> "dict[str, Tensor]":
    """Read the weights of a file."""
    from nemesis.storage.tensor_files import load_tensors

    try:
        return load_tensors(path)
    except OSError as error:
        raise UserError(f"The weights in {path} cannot be read ({error}).") from error
