"""Nested state, such as an optimiser's, as named tensors plus JSON, so that checkpoints can store it without pickle.

JSON turns tuples into lists and integer keys into strings, and has no infinity. So a container becomes a one-entry
object that names its kind. Values that JSON represents exactly are unchanged:

    3, true, null, "x"                     unchanged
    {"tensor": NAME}                       an entry of the tensors
    {"dict": [[KEY, NODE], …]}             keys are integers or strings, in order
    {"list": [NODE, …]}, {"tuple": […]}
    {"float": "inf"}                       a number that JSON does not support
"""

import math
from collections.abc import Mapping
from typing import Any

import torch


def flatten_state(state: Any) -> tuple[dict[str, torch.Tensor], Any]:
    """Return the tensors of a nested state by path, and a JSON tree of their positions."""
    tensors: dict[str, torch.Tensor] = {}
    return tensors, _flatten(state, "", tensors)


def unflatten_state(tensors: Mapping[str, torch.Tensor], tree: Any) -> Any:
    """Invert `flatten_state`."""
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    match kind:
        case "tensor":
            return tensors[content]
        case "dict":
            return {key: unflatten_state(tensors, node) for key, node in content}
        case "list":
            return [unflatten_state(tensors, node) for node in content]
        case "tuple":
            return tuple(unflatten_state(tensors, node) for node in content)
        case "float":
            return float(content)
    raise ValueError(f"A state tree has a node of unknown kind {kind!r}.")


def _flatten(state: Any, path: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(state, torch.Tensor):
        name = path or "value"
        while name in tensors:  # keys 0 and "0" of one dict have the same path
            name += "'"
        tensors[name] = state
        return {"tensor": name}
    if isinstance(state, Mapping):
        for key in state:
            if isinstance(key, bool) or not isinstance(key, int | str):
                raise TypeError(
                    f"A state has the key {key!r} at {path or 'its top'}; keys must be integers or strings."
                )
        return {"dict": [[key, _flatten(value, _join(path, key), tensors)] for key, value in state.items()]}
    if isinstance(state, list | tuple):
        kind = "list" if isinstance(state, list) else "tuple"
        return {kind: [_flatten(value, _join(path, index), tensors) for index, value in enumerate(state)]}
    if isinstance(state, float):
        return float(state) if math.isfinite(state) else {"float": repr(float(state))}
    if state is None or isinstance(state, bool | int | str):
        return state
    raise TypeError(f"A state has a {type(state).__name__} at {path or 'its top'}, which needs pickle.")


def _join(path: str, key: int | str) -> str:
    return f"{path}/{key}" if path else str(key)
