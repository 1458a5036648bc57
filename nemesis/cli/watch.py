"""`nemesis watch`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nemesis.cli.options import Flag, LogLevel, check_minimum, log_at
from nemesis.cli.status import output
from nemesis.core.errors import UserError
from nemesis.core.progress import report

_PORTS = 2**16


def watch(
    run: Path,
    /,
    *overrides: str,
    opponent: str | None = None,
    matches: int = 4,
    temperature: float | None = None,
    top_p: float | None = None,
    last: Flag = False,
    port: int = 0,
    browser: Annotated[bool, Parameter(show_default=False)] = True,
    seed: int = 0,
    allow_imports: Flag = False,
    log_level: LogLevel = None,
) -> None:
    """Show matches of a run's newest checkpoint.

    They are played here and shown in the browser. The run may go on meanwhile: its folder is only read, and newer
    checkpoints are shown as they appear. Ctrl-C ends it.

    Args:
        run: folder of the run
        overrides: settings of the game to change, as FAMILY.KEY=VALUE
        opponent: scripted player such as random, module:attribute, or a policy; by default the policy itself
        matches: number of matches of each checkpoint
        temperature: of the policies' sampling; 0 plays the most likely action
        top_p: total probability of the most likely actions that are kept
        last: play with the last weights instead of the averaged ones
        port: port of 127.0.0.1 that the matches are served at; 0 takes a free one
        browser: open the page in the browser
        seed: of the matches
        allow_imports: import the code that the run names as module:attribute
        log_level: what is shown of the log, by default warnings and errors
    """
    log_at(log_level)
    report(f"Opening {run}")
    check_minimum(seed=(seed, 0), matches=(matches, 1), port=(port, 0))
    if port >= _PORTS:
        raise UserError(f"--port must be below {_PORTS}, not {port}.")
    from nemesis.dashboard import watching
    from nemesis.evaluation.newest_matches import WatchOptions
    from nemesis.play.play_options import PlayOptions
    from nemesis.policies.play_style import PlayStyle
    from nemesis.storage.policies import DEFAULT_WEIGHTS

    style = PlayStyle.from_options(temperature, top_p)
    play = PlayOptions(style, weights="last" if last else DEFAULT_WEIGHTS, allow_imports=allow_imports)
    options = WatchOptions(opponent, matches, play, overrides, seed)

    def show(address: str) -> None:
        _print(f"{run} is shown at {address}; Ctrl-C ends it.")
        if browser:
            import webbrowser

            webbrowser.open(address)

    watching.watch(
        run, options, port, on_ready=show, on_update=lambda update: _print(f"Played matches of update {update}.")
    )


def _print(sentence: str) -> None:
    """Print at once, also into a pipe: the command goes on."""
    output(sentence)
    sys.stdout.flush()
