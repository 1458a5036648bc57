"""Options that several commands share, and the parsing of positional arguments."""

# ruff: noqa: PLC0415 (what is slow to import is imported when a command runs)

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from nemesis.core.errors import UserError
from nemesis.core.files import WriteError
from nemesis.core.progress import WarningHandler

if TYPE_CHECKING:
    from nemesis.core.replays import ReplayFamily
    from nemesis.evaluation.entrants import RemotePlayers

Flag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False)]
"""An option that is on or off."""

LogLevel: TypeAlias = Annotated[
    Literal["debug", "info", "warning", "error"] | None, Parameter(env_var="NEMESIS_LOG_LEVEL", show_default=False)
]
"""The least severe records that are logged."""

_LOGGER = logging.getLogger("nemesis")


def log_at(level: LogLevel, *, shown: bool = True) -> None:
    """Log from this level on, if one is given. A command with a run logs to run.log, others show it on stderr."""
    if level is None:
        return
    _LOGGER.setLevel(level.upper())
    for handler in _LOGGER.handlers:
        if shown and isinstance(handler, WarningHandler):
            handler.setLevel(level.upper())
            handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))


@contextmanager
def logging_restored() -> Iterator[None]:
    """Undo `log_at` at the end of a command."""
    level, handlers = _LOGGER.level, list(_LOGGER.handlers)
    try:
        yield
    finally:
        _LOGGER.setLevel(level)
        _LOGGER.handlers[:] = handlers


def check_minimum(**options: tuple[int | None, int]) -> None:
    """Raise if an option is below its minimum."""
    for name, (number, least) in options.items():
        if number is not None and number < least:
            raise UserError(f"--{name} must be a whole number of at least {least}, not {number}.")


def check_writable(file: Path) -> None:
    """Raise before the work starts if the file cannot be written, and leave no empty file."""
    try:
        existed = file.exists()
        file.open("a").close()
        if not existed:
            file.unlink()
    except OSError as error:
        raise WriteError(file, error) from error


def check_new(file: Path, *, may_be_empty_folder: bool = False) -> None:
    """Raise if a file would be overwritten, or a folder that has files."""
    try:
        exists = file.exists() and not (may_be_empty_folder and file.is_dir() and not any(file.iterdir()))
    except OSError as error:
        raise WriteError(file, error) from error
    if exists:
        raise UserError(f"{file} already exists; name a new file, or remove it first.")


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    try:
        file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise WriteError(file, error) from error


def split_settings(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of players, and the settings of games among them, such as FAMILY.KEY=VALUE."""
    from nemesis.games.config import family_settings

    groups = (*family_settings(), "game_settings")
    settings = [one for one in arguments if "=" in one and one.partition(".")[0] in groups]
    return [one for one in arguments if one not in settings], settings


def remote_players() -> "list[RemotePlayers]":
    """Return the players over servers of all game families."""
    from nemesis.core.plugins import import_attribute
    from nemesis.games import families

    return [import_attribute(family.remote_players) for family in families().values() if family.remote_players]


def replay_family(name: str | None) -> "ReplayFamily":
    """Return the replays of a game family; the name is optional if only one family has replays."""
    from nemesis.core.plugins import import_attribute
    from nemesis.games import families

    readable = {family.name: family.replays for family in families().values() if family.replays}
    if name is None and len(readable) == 1:
        name = next(iter(readable))
    if name not in readable:
        problem = "Several game families have replays" if name is None else f"{name} has no public replays"
        raise UserError(f"{problem}; name one with --family: {', '.join(readable)}.")
    found: ReplayFamily = import_attribute(readable[name])
    return found
