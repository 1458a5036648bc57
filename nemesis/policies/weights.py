"""The weights of a module on disk, as safetensors: numbers and names, nothing that runs."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nemesis.core.errors import UserError


class WeightsError(UserError):
    """A weights file cannot be read, or does not fit the module it is loaded into."""


def save_weights(module: nn.Module, path: Path) -> None:
    """Write the weights and buffers of a module."""
    save_file({name: tensor.detach().contiguous() for name, tensor in module.state_dict().items()}, path)


def load_weights(module: nn.Module, path: Path) -> None:
    """Load weights that `save_weights` wrote. A file that does not fit changes nothing and is a WeightsError."""
    if not path.is_file():
        raise WeightsError(f"The weights file {path} does not exist.")
    try:
        stored = load_file(path)
    except SafetensorError as error:
        raise WeightsError(f"The weights file {path} is damaged or no safetensors file ({error}).") from error
    wanted: dict[str, Tensor] = module.state_dict()
    problems = _problems(wanted, stored)
    if problems:
        raise WeightsError(f"The weights in {path} do not fit this policy: {'; '.join(problems)}.")
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(stored[name])


def _problems(wanted: dict[str, Tensor], stored: dict[str, Tensor]) -> list[str]:
    shapes = [
        f"{name} is {tuple(stored[name].shape)} in the file but {tuple(tensor.shape)} here"
        for name, tensor in wanted.items()
        if name in stored and stored[name].shape != tensor.shape
    ]
    groups = {
        "the file lacks": [name for name in wanted if name not in stored],
        "the file has the unknown": [name for name in stored if name not in wanted],
        "other shapes:": shapes,
    }
    return [f"{title} {_listing(names)}" for title, names in groups.items() if names]


def _listing(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
