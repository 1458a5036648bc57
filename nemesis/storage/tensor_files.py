"""Tensors as safetensors files, as checkpoints and policy files have them."""

import stat
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a new file; raises OSError if that fails."""
    path.unlink(missing_ok=True)
    path.touch()
    permissions = stat.S_IMODE(path.stat().st_mode)
    try:
        safetensors.torch.save_file(_plain(tensors), path, metadata)
    except SafetensorError as error:
        raise OSError(str(error)) from error
    path.chmod(permissions)  # safetensors lets only the owner read what it writes, whatever the umask


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file, onto the CPU; raises OSError if that fails."""
    try:
        return safetensors.torch.load_file(path)
    except SafetensorError as error:
        raise OSError(str(error)) from error


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors as safetensors requires them: on the CPU, contiguous, without shared storage."""
    plain: dict[str, Tensor] = {}
    storages: set[int] = set()
    for name, tensor in tensors.items():
        copy = tensor.detach().cpu().contiguous()
        if copy.untyped_storage().data_ptr() in storages:
            copy = copy.clone()
        storages.add(copy.untyped_storage().data_ptr())
        plain[name] = copy
    return plain
