"""Commands of the command line without their code, so that they are listed without importing it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command: a function whose parameters are its arguments and options, and whose docstring is its help."""

    name: str
    summary: str  # the first line of the docstring
    function: str  # as module:attribute
    usage: str | None = None  # its arguments, if they are not to be named as the parameters are


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """Commands whose names follow that of the group, as in `nemesis config list`."""

    name: str
    summary: str
    commands: Sequence[Command]
