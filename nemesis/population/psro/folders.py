"""Folders of PSRO: which can be started in, and which can be continued."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from nemesis.core.errors import UserError
from nemesis.population.psro.config import PSROConfig, continued_config
from nemesis.population.psro.state import SETTINGS


def check_new(folder: Path) -> None:
    """Raise if PSRO cannot start in a folder."""
    if (folder / SETTINGS).exists():
        raise UserError(f"{folder} already has a PSRO; continue it with `nemesis psro {folder}`.")
    if folder.exists() and (not folder.is_dir() or any(one.name != "lock" for one in folder.iterdir())):
        raise UserError(f"{folder} contains files but no PSRO; choose another --run.")


def is_psro(folder: Path) -> bool:
    """Return whether a folder has a PSRO that can be continued."""
    return (folder / SETTINGS).is_file()


def saved_config(folder: Path, overrides: Sequence[str]) -> PSROConfig:
    """Return the settings that a PSRO in a folder goes on with."""
    try:
        saved = yaml.safe_load((folder / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{folder / SETTINGS} cannot be read ({error}); put its original back.") from error
    return continued_config(saved, overrides)
