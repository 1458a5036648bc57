"""The command table. Lists of commands are printed from it alone; a command is imported when it runs."""

# ruff: noqa: PLC0415 (cyclopts is slow to import, and a list of commands does not need it)

import atexit
import gc
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EPIPE
from io import TextIOWrapper
from typing import TYPE_CHECKING, TypeAlias

from nemesis.cli.overview import print_overview
from nemesis.cli.status import status_line
from nemesis.core.commands import Command, CommandGroup
from nemesis.core.errors import UserError
from nemesis.core.interrupts import OUTPUT_CLOSED, Interrupted, interruptible, watched
from nemesis.core.plugins import import_attribute

if TYPE_CHECKING:
    from cyclopts import App

Entry: TypeAlias = Command | CommandGroup

COMMANDS: Sequence[Entry] = (
    Command("train", "Train from a preset.", "nemesis.cli.train:train", "PRESET [KEY=VALUE ...] [OPTIONS]"),
    Command(
        "resume",
        "Continue a run from its newest valid checkpoint.",
        "nemesis.cli.train:resume",
        "RUN [KEY=VALUE ...] [OPTIONS]",
    ),
    Command("evaluate", "Measure a run or a checkpoint: exactly, or by matches.", "nemesis.cli.evaluate:evaluate"),
    Command(
        "watch",
        "Show matches of a run's newest checkpoint.",
        "nemesis.cli.watch:watch",
        "RUN [KEY=VALUE ...] [OPTIONS]",
    ),
    Command(
        "exploit",
        "Train an exploiter against a policy.",
        "nemesis.cli.exploit:exploit",
        "RUN [KEY=VALUE ...] [OPTIONS]",
    ),
    Command(
        "psro",
        "Grow a population by best responses (PSRO).",
        "nemesis.cli.psro:psro",
        "PRESET [KEY=VALUE ...] [OPTIONS]",
    ),
    Command(
        "export",
        "Write a policy as one file, or in another format.",
        "nemesis.cli.export:export",
        "[FORMAT] POLICY FILE [OPTIONS]",
    ),
    Command(
        "collect",
        "Record matches into a dataset.",
        "nemesis.cli.collect:collect",
        "PLAYER [PLAYER ...] --out DATASET [OPTIONS]",
    ),
    CommandGroup(
        "data", "Inspect datasets.", [Command("show", "Print the card of a dataset.", "nemesis.cli.collect:show")]
    ),
    CommandGroup(
        "population",
        "Keep players and the matches among them.",
        [
            Command(
                "create",
                "Create a population.",
                "nemesis.cli.population:create",
                "DIR [PLAYER ...] [FAMILY.KEY=VALUE ...] [OPTIONS]",
            ),
            Command(
                "add",
                "Add members to a population.",
                "nemesis.cli.population:add",
                "DIR PLAYER [PLAYER ...] [OPTIONS]",
            ),
            Command(
                "list",
                "List the members of a population, or of a run's opponent pool.",
                "nemesis.cli.population:list_members",
                "DIR [OPTIONS]",
            ),
            Command(
                "show",
                "Show payoffs and ratings of a population, and how far no ranking explains them.",
                "nemesis.cli.population:show",
                "DIR [OPTIONS]",
            ),
            Command(
                "remove",
                "Remove members from a population; their matches stay in its log, and count no more.",
                "nemesis.cli.population:remove",
                "DIR MEMBER [MEMBER ...]",
            ),
            Command(
                "play",
                "Play matches among the members of a population.",
                "nemesis.cli.population:play",
                "DIR [FAMILY.KEY=VALUE ...] [OPTIONS]",
            ),
            Command(
                "export",
                "Write every match and every cell of a population, with intervals, as CSV.",
                "nemesis.cli.population:export",
                "DIR --csv FOLDER",
            ),
        ],
    ),
    CommandGroup(
        "replays",
        "Turn public replays into datasets.",
        [
            Command(
                "import",
                "Convert public replays of human matches into a dataset of the decisions of all seats.",
                "nemesis.cli.replays:import_replays",
                "SOURCE [SOURCE ...] --out DATASET [OPTIONS]",
            )
        ],
    ),
    CommandGroup(
        "config",
        "Show presets and settings.",
        [
            Command("list", "List the presets.", "nemesis.cli.config:list_presets"),
            Command(
                "show",
                "Print a preset with overrides and all defaults, as YAML.",
                "nemesis.cli.config:show",
                "PRESET [KEY=VALUE ...]",
            ),
            Command("fields", "List the settings with type, default and meaning.", "nemesis.cli.config:fields"),
            Command("schema", "Print the JSON schema of a config file, for editors.", "nemesis.cli.config:schema"),
        ],
    ),
    Command("doctor", "Report versions, accelerators and missing packages.", "nemesis.cli.doctor:doctor"),
)
"""All commands but those of game families."""

_SUMMARY = "Train agents for two-player games with hidden information, and measure how exploitable they are."
_HELP = ("--help", "-h")
_INSTALL_COMPLETION = "--install-completion"
_OPTIONS = {
    "--help (-h)": "Display this message and exit.",
    _INSTALL_COMPLETION: "Install completion for your shell.",
    "--version": "Display application version.",
}
_USAGE = 2
_INTERRUPTED = 130

# At its end, Python looks for garbage in all that was imported. That took a fifth of the time of a wrong setting.
atexit.register(gc.freeze)


class _OutputError(OSError):
    """The standard output cannot be written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code of the process."""
    try:
        with interruptible(), _watched_output():
            code = _run(sys.argv[1:] if arguments is None else arguments)
    except UserError as error:
        with suppress(OSError):
            print(error, file=sys.stderr)
        code = _USAGE
    except KeyboardInterrupt as request:
        code = request.exit_code if isinstance(request, Interrupted) else _INTERRUPTED
    except (_OutputError, BrokenPipeError) as error:
        code = _unwritten("output", error)
    return _flush() or code


@contextmanager
def _watched_output() -> Iterator[None]:
    """Tell errors of the standard output from those of files, and replace letters that it lacks."""
    stream = sys.stdout
    if stream is None:  # the process was started without it
        yield
        return
    if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="replace")
    sys.stdout = watched(stream, _raise_output_error)
    try:
        yield
    finally:
        sys.stdout = stream


def _raise_output_error(error: OSError) -> None:
    raise _OutputError(error.errno, error.strerror) from error


def _flush() -> int:
    """Write what is buffered, and return the exit code if that fails."""
    code = 0
    for stream, name in ((sys.stdout, "output"), (sys.stderr, "error")):
        try:
            stream.flush()
        except OSError as error:  # Python flushes again at exit, and would fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            code = _unwritten(name, error)
        except AttributeError:  # the process was started without the stream
            continue
    return code


def _unwritten(name: str, error: OSError) -> int:
    """Say that a standard stream cannot be written, unless its reader has closed it, as `head` does."""
    if error.errno == EPIPE:
        return OUTPUT_CLOSED
    with suppress(OSError):
        print(f"The standard {name} cannot be written: {error.strerror}.", file=sys.stderr)
    return _USAGE


def _run(arguments: Sequence[str]) -> int:
    """Print the list of commands that is asked for, or run a command."""
    words = [argument for argument in arguments if argument not in _HELP]
    if not words:
        print_overview("nemesis", _SUMMARY, _rows(_entries()) | _OPTIONS)
        return 0
    named = next((entry for entry in _entries() if entry.name == words[0]), None)
    if isinstance(named, CommandGroup) and len(words) == 1:
        print_overview(f"nemesis {named.name}", named.summary, _rows(named.commands))
        return 0
    from cyclopts import CycloptsError

    from nemesis.cli.options import logging_restored

    with logging_restored(), status_line():
        app = _app([named]) if named else _whole_app()
        try:
            return app(arguments, exit_on_error=False, print_error=False, result_action="return_value") or 0
        except CycloptsError as error:
            raise UserError(str(error)) from error


def _entries() -> Iterator[Entry]:
    """Yield the command table; the commands of game families come last, because finding them takes a moment."""
    yield from COMMANDS
    from nemesis.games import families

    for family in families().values():
        yield from family.commands


def _rows(entries: Iterable[Entry]) -> dict[str, str]:
    return {entry.name: entry.summary for entry in entries}


def _whole_app() -> "App":
    """Return the parser of all commands, which completes their names and suggests those that are near."""
    app = _app(_entries())
    app.register_install_completion_command(_INSTALL_COMPLETION, help=_OPTIONS[_INSTALL_COMPLETION])
    return app


def _app(entries: Iterable[Entry]) -> "App":
    """Import some commands and return their parser."""
    from cyclopts import App

    app = App(
        name="nemesis",
        help=_SUMMARY,
        version=_version,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
    )
    for place, entry in enumerate(entries):
        if isinstance(entry, Command):
            _add(app, entry, entry.name, place)
            continue
        group = App(name=entry.name, help=entry.summary, sort_key=place)
        for number, command in enumerate(entry.commands):
            _add(group, command, f"{entry.name} {command.name}", number)
        app.command(group)
    return app


def _add(app: "App", command: Command, path: str, place: int) -> None:
    usage = f"nemesis {path} {command.usage}" if command.usage else None
    app.command(import_attribute(command.function), name=command.name, usage=usage, sort_key=place)


def _version() -> str:
    from nemesis.cli.doctor import nemesis_version

    return nemesis_version()
