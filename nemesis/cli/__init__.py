"""The command table. Each command is a short function that imports torch only when it runs."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from cyclopts import App, CycloptsError

from nemesis.cli import collect, config, doctor, evaluate, exploit, export, replays, train
from nemesis.cli.options import logging_restored
from nemesis.cli.status import status_line
from nemesis.core.errors import UserError
from nemesis.core.interrupts import OUTPUT_CLOSED, Interrupted, interruptible
from nemesis.core.plugins import import_attribute
from nemesis.games import families

_USAGE = 2
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code of the process."""
    try:
        with interruptible(), logging_restored(), status_line():
            code = _app()(arguments, exit_on_error=False, print_error=False, result_action="return_value") or 0
    except (UserError, CycloptsError) as error:
        with suppress(OSError):
            print(error, file=sys.stderr)
        code = _USAGE
    except KeyboardInterrupt as request:
        code = request.exit_code if isinstance(request, Interrupted) else _INTERRUPTED
    except BrokenPipeError:
        code = OUTPUT_CLOSED
    return _flush() or code


def _flush() -> int:
    """Write what is buffered, and return the exit code if the reader has closed the pipe, as `head` does."""
    code = 0
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python flushes again at exit, and would fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            code = OUTPUT_CLOSED
        except AttributeError:  # the process was started without the stream
            continue
    return code


def _app() -> App:
    app = App(
        name="nemesis",
        help="Train agents for two-player games with hidden information, and measure how exploitable they are.",
        version=doctor.nemesis_version,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
    )
    app.command(train.train, sort_key=1, usage="nemesis train PRESET [KEY=VALUE ...] [OPTIONS]")
    app.command(train.resume, sort_key=2, usage="nemesis resume RUN [KEY=VALUE ...] [OPTIONS]")
    app.command(evaluate.evaluate, sort_key=3)
    app.command(exploit.exploit, sort_key=4, usage="nemesis exploit RUN [KEY=VALUE ...] [OPTIONS]")
    app.command(export.export, sort_key=5)
    app.command(collect.collect, sort_key=6, usage="nemesis collect PLAYER [PLAYER ...] --out DATASET [OPTIONS]")
    data = App(name="data", help="Inspect datasets.", sort_key=7)
    data.command(collect.show)
    app.command(data)
    human = App(name="replays", help="Turn public replays into datasets.", sort_key=8)
    human.command(
        replays.import_replays,
        name="import",
        usage="nemesis replays import SOURCE [SOURCE ...] --out DATASET [OPTIONS]",
    )
    app.command(human)
    settings = App(name="config", help="Show presets and settings.", sort_key=9)
    settings.command(config.list_presets, name="list", sort_key=1)
    settings.command(config.show, sort_key=2, usage="nemesis config show PRESET [KEY=VALUE ...]")
    settings.command(config.fields, sort_key=3)
    settings.command(config.schema, sort_key=4)
    app.command(settings)
    for family in families().values():
        for command in import_attribute(family.commands)() if family.commands else ():
            command.sort_key = 10
            app.command(command)
    app.command(doctor.doctor, sort_key=11)
    app.register_install_completion_command(help="Install completion for your shell.")
    return app
