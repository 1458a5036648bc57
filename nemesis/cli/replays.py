"""`nemesis replays`: public replays as datasets."""

# ruff: noqa: PLC0415 (what is slow to import is imported when the command runs)

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from nemesis.cli.options import Flag, LogLevel, check_minimum, check_writable, log_at, replay_family, write_json
from nemesis.core.progress import clear, report

if TYPE_CHECKING:
    from rich.table import Table

    from nemesis.data.import_report import ImportReport


def import_replays(
    source: Path,
    /,
    *others: Path,
    out: Path,
    format: str | None = None,  # noqa: A002 (it is the option's name)
    family: str | None = None,
    add: Flag = False,
    keep_unfinished: Flag = False,
    imputation: Annotated[bool, Parameter(show_default=False)] = True,
    processes: int | None = None,
    json: Path | None = None,
    log_level: LogLevel = None,
) -> None:
    """Convert public replays of human matches into a dataset of the decisions of all seats.

    Args:
        source: file or folder of replays: .json, .jsonl, .html or .log, or one of these with .gz
        others: more files and folders
        out: folder of the dataset
        format: game of the family to import; by default that of the first replay
        family: game family, if several have replays
        add: continue an existing dataset, finished or not; matches that it already has are not read again
        keep_unfinished: also use matches that ended by forfeit or timer
        imputation: impute unrevealed parts of teams from usage statistics; they are marked as guessed either way
        processes: number of processes that read; by default the number of cores
        json: also write the results to this file
        log_level: what is shown of the log, by default warnings and errors
    """
    log_at(log_level)
    report(f"Opening {source}")
    check_minimum(processes=(processes, 1))
    if json is not None:
        check_writable(json)
    from nemesis.data import replay_import

    result = replay_import.import_replays(
        replay_family(family),
        [source, *others],
        out,
        format_name=format,
        add=add,
        processes=processes,
        unfinished=keep_unfinished,
        imputation=imputation,
        progress=_report,
    )
    clear()
    if json is not None:
        write_json(json, result.figures())
    _print(result)


def _report(share: float, so_far: "ImportReport") -> None:
    """Report how many matches were read; how many there are follows from the share of the files."""
    if not so_far.read:
        report("Counting usage, % of the work", round(100 * share), 100)
    elif share:
        report("Importing matches", so_far.read, round(so_far.read / share))


def _print(result: "ImportReport") -> None:
    from rich.console import Console

    # Tables in a pipe or a file need not fit a terminal.
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    matches = [("read", result.read, ""), ("used", result.used, "")]
    if result.already:
        matches.append(("already in the dataset", result.already, ""))
    dropped = result.dropped.most_common()
    matches += [(f"dropped: {reason}", count, result.examples[reason]) for reason, count in dropped]
    console.print(_table(f"Replays of {result.format}", ("", "matches", "example"), matches))
    decisions = [
        ("all", result.decisions),
        ("with a known action", result.known),
        ("with an action known in part", result.possible),
        ("with a mask that may be wrong", result.request_unsure),
        ("out of time, perhaps made by the server", result.late),
        ("illegal", result.illegal.total()),
        *((f"illegal: {cause}", count) for cause, count in result.illegal.most_common()),
    ]
    console.print(_table("Decisions", ("", "decisions"), decisions))
    if result.ratings:
        most = max(result.ratings.values())
        ratings = [
            (f"{low} and up", count, "█" * -(-20 * count // most)) for low, count in sorted(result.ratings.items())
        ]
        console.print(_table("Ratings", ("", "seats", ""), ratings))
    console.print(f"{result.read:,} matches in {result.seconds:.1f} s, {result.matches_per_second:,.0f}/s.")


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str | int]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number == 1 else "left", overflow="fold")
    for row in rows:
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else Text(cell) for cell in row))
    return table
