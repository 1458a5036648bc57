"""The process-wide random generators of Python, numpy and torch, as tensors and JSON, so that a run resumes exactly."""

import logging
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

_log = logging.getLogger(__name__)


def capture_random_states() -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return the states of all global generators: tensors, and scalars as JSON."""
    version, words, gauss = random.getstate()
    legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002  libraries may use it
    if legacy["bit_generator"] != "MT19937":
        raise TypeError(f"The global numpy generator is a {legacy['bit_generator']}; only MT19937 can be saved.")
    tensors = {
        "python": torch.tensor(words, dtype=torch.int64),  # (625,)
        "numpy": torch.from_numpy(legacy["state"]["key"].astype(np.int64)),  # (624,)
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        tensors |= {f"cuda.{device}": state for device, state in enumerate(torch.cuda.get_rng_state_all())}
    scalars = {
        "python": {"version": version, "gauss": gauss},
        "numpy": {
            "position": int(legacy["state"]["pos"]),
            "has_gauss": int(legacy["has_gauss"]),
            "gauss": float(legacy["gauss"]),
        },
    }
    return tensors, scalars


def restore_random_states(tensors: Mapping[str, torch.Tensor], scalars: Mapping[str, Any]) -> None:
    """Restore the states returned by `capture_random_states`."""
    python, legacy = scalars["python"], scalars["numpy"]
    random.setstate((python["version"], tuple(tensors["python"].tolist()), python["gauss"]))
    key = tensors["numpy"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", key, legacy["position"], legacy["has_gauss"], legacy["gauss"]))  # noqa: NPY002
    torch.set_rng_state(tensors["torch"])
    saved = {int(name.removeprefix("cuda.")): state for name, state in tensors.items() if name.startswith("cuda.")}
    present = range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    for device in present:
        if device in saved:
            torch.cuda.set_rng_state(saved[device], device)
    if set(saved) != set(present):
        _log.warning(
            "The checkpoint has random states of %d CUDA devices, but this machine has %d; "
            "the run continues, but does not reproduce the original exactly.",
            len(saved),
            len(present),
        )
