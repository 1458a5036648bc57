"""What all benchmarks share: options, tables, JSON files and exit codes.

A JSON file holds the command, the date and the machine besides the figures, so that these can be quoted from it alone.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import torch
from rich.console import Console
from rich.table import Table

from nemesis.cli.options import check_writable
from nemesis.core.errors import UserError

Row: TypeAlias = Mapping[str, Any]


class MeasurementError(UserError):
    """A benchmark cannot measure what it claims to measure."""


def option_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with --json, --quick and --seed, to which a benchmark adds its own options."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=_writable, metavar="FILE", help="also write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="measure less, to see that it works")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything that is random (default: 0)")
    return parser


def print_table(title: str, rows: Sequence[Row]) -> None:
    """Print rows that have the same keys; the keys are the column heads."""
    table = Table(title=title, title_justify="left", caption=machine(), caption_justify="left")
    for key in rows[0]:
        numeric = isinstance(rows[0][key], int | float)
        table.add_column(key.replace("_", " "), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    # A pipe or a file has no width, and truncated figures would be worthless.
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(table)


def write_json(path: Path, rows: Sequence[Row]) -> None:
    """Write rows and where they come from."""
    write_figures(path, {"rows": [dict(row) for row in rows]})


def write_figures(path: Path, figures: Mapping[str, Any]) -> None:
    """Write figures of any shape and where they come from."""
    report = {
        "command": " ".join(["python -m", _module(), *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        **figures,
    }
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def progress(line: str) -> None:
    """Print what is being measured now."""
    print(line, file=sys.stderr, flush=True)


def warn_if_busy() -> None:
    """Print a warning if other processes use the machine."""
    if (load := os.getloadavg()[0]) > 0.5:
        progress(f"The machine is already busy (load {load:.1f}), so the figures will be too low.")


def machine() -> str:
    """Describe in one line what the figures were measured on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = torch.get_num_threads()
    return (
        f"{_processor()}, {cores} cores, {threads} torch thread{'s' if threads > 1 else ''}; "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def run(benchmark: Callable[[], None]) -> NoReturn:
    """Run a benchmark and exit: 0 when it measured, 1 with a sentence when it could not, 130 when interrupted."""
    try:
        benchmark()
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


def _writable(text: str) -> Path:
    """Refuse a path that cannot be written before the measurement, not after it."""
    path = Path(text)
    try:
        check_writable(path)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return path


def _module() -> str:
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec else Path(sys.argv[0]).stem


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
