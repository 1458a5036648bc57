"""A mixture of players in one JSON file: their names and weights, and the game that they play.

A player of a mixture is a policy, by its path from the folder of the file or by any other name of a policy, or a
scripted player. At the start of a match, one of them is drawn by weight.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from nemesis.core.errors import UserError
from nemesis.core.files import replace_file

FORMAT = 1
SUFFIX = ".json"
_MARK = "mixture"


@dataclass(frozen=True, slots=True)
class Mixture:
    """Players, each with its probability; they sum to one."""

    game: str
    settings: Mapping[str, Any]  # of the game, that affect its matches
    players: Mapping[str, float]


def read_mixture(path: Path) -> Mixture:
    """Read a mixture; names of its policies that are relative to its folder become paths from here."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if _MARK not in saved:
            raise UserError(f"{path} is not a mixture of players; such a file has their weights under '{_MARK}'.")
        if saved["format"] != FORMAT:
            raise UserError(f"{path} has format {saved['format']}, and this version of Nemesis reads {FORMAT}.")
        weights = {str(name): float(weight) for name, weight in saved[_MARK].items()}
        game, settings = str(saved["game"]), dict(saved["settings"])
    except FileNotFoundError as error:
        raise UserError(f"There is no mixture at {path}.") from error
    except (OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path} is not a mixture of players, or it is damaged ({error}).") from error
    players = {_located(path.parent, name): weight for name, weight in normalised(str(path), weights).items()}
    return Mixture(game, settings, players)


def write_mixture(path: Path, mixture: Mixture) -> None:
    """Write a mixture; names of its policies should be relative to the folder of the file."""
    content = {
        "format": FORMAT,
        "game": mixture.game,
        "settings": dict(mixture.settings),
        _MARK: normalised(str(path), mixture.players),
    }
    replace_file(path, json.dumps(content, indent=2) + "\n")


def normalised(where: str, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights that are not zero as probabilities; raises in a sentence if there are none."""
    if wrong := [name for name, weight in weights.items() if not isfinite(weight) or weight < 0]:
        raise UserError(f"{where} has a weight that is not a number of at least 0, that of {wrong[0]}.")
    total = sum(weights.values())
    if total <= 0:
        raise UserError(f"{where} has no player with a weight above 0.")
    return {name: weight / total for name, weight in weights.items() if weight > 0}


def is_mixture(path: Path) -> bool:
    """Return whether a path is that of a mixture, by its suffix."""
    return path.suffix == SUFFIX


def _located(folder: Path, name: str) -> str:
    path = folder / name
    return str(path) if path.exists() else name
