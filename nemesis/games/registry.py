"""The registry of game families: the packages beside this file, and what installed packages bring as entry points.

The command line reads it to list its commands, so it imports neither numpy nor pydantic.
"""

# ruff: noqa: PLC0415 (what is slow to import is imported when it is needed)

import logging
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from nemesis import games
from nemesis.core.errors import UserError
from nemesis.core.family import Family
from nemesis.core.plugins import import_attribute, is_import

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from nemesis.core.game import Game
    from nemesis.core.settings import Settings

GROUP = "nemesis.games"
_log = logging.getLogger(__name__)


@cache
def families() -> Mapping[str, Family]:
    """Return all registered families by name; an entry point that does not load is left out with a warning."""
    found: dict[str, Family] = {}
    for module in iter_modules(games.__path__):
        if module.ispkg:
            family: Family = import_attribute(f"{games.__name__}.{module.name}:FAMILY")
            found[family.name] = family
    for point in _entry_points():
        try:
            family = point.load()
            if not isinstance(family, Family):
                raise TypeError(f"it is a {type(family).__name__}, not a nemesis.core.family.Family")
        except Exception as error:  # code of others
            _log.warning("The game family '%s' (%s) cannot be loaded: %s", point.name, point.value, error)
            continue
        if found.setdefault(family.name, family) is not family:
            _log.warning("The game family '%s' of %s is left out: its name is taken.", family.name, point.value)
    return found


def _entry_points() -> "Iterable[EntryPoint]":
    """Return the entry points of installed packages.

    Most installations have none. A look into the files tells it sooner than importlib.metadata, whose import is slow.
    """
    files = (file for path in sys.path if path for file in Path(path).glob("*-info/entry_points.txt"))
    if not any(f"[{GROUP}]" in file.read_text(encoding="utf-8", errors="replace") for file in files):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def family_of(game: str) -> Family | None:
    """Return the family of a game's name; None for one that is named as module:attribute."""
    return families().get(game.partition(":")[0])


def is_imported(game: str) -> bool:
    """Return whether opening this game imports code that it names."""
    return family_of(game) is None and is_import(game)


def open_game(
    name: str, settings: "Mapping[str, Settings] | None" = None, game_settings: Mapping[str, Any] | None = None
) -> "Game":
    """Return the game of a name such as `openspiel:leduc_poker` or `my_module:MyGame`.

    `settings` are those of families, by name; a family that is not among them has its defaults. `game_settings` are
    those of a game that is named as module:attribute.
    """
    family = family_of(name)
    rest = name.partition(":")[2]
    if family is not None and rest:
        opener = import_attribute(family.open_game)
        opened: Game = opener(rest, (settings or {}).get(family.name))
        return opened
    if not is_import(name):
        examples = " or ".join(f"{family.name}:{family.example}" for family in families().values())
        raise UserError(
            f"'{name}' names no game. A game is written as family:game, for example {examples}, or as "
            "module:attribute for one of your own."
        )
    return _open_imported(name, game_settings or {})


def _open_imported(name: str, game_settings: Mapping[str, Any]) -> "Game":
    """Return a game outside the package: a class or function that takes nothing, or the settings that it declares."""
    from nemesis.core.config import ConfigError, build_config

    maker = import_attribute(name)
    model = getattr(maker, "settings_model", None)
    if model is None and game_settings:
        raise UserError(f"{name} takes no game_settings; leave them out.")
    try:
        settings = [] if model is None else [build_config(model, game_settings)]
    except ConfigError as error:
        raise ConfigError(f"The game_settings of {name} are wrong. {error}") from error
    try:
        game = maker(*settings)
        own = game.spec.name
    except (TypeError, AttributeError) as error:
        raise UserError(f"{name} is not a game, or cannot be made without arguments: {error}.") from error
    if own != name:
        raise UserError(
            f"The spec of {name} calls it '{own}'; its spec.name must be '{name}', so that it is found again."
        )
    opened: Game = game
    return opened
