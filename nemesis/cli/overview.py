"""The help of a list of commands, drawn as cyclopts draws the help of one command, but without its slow import."""

import os
import sys
from collections.abc import Mapping
from textwrap import wrap

from nemesis.cli.status import terminal_width

_BOLD, _CYAN, _NORMAL = "\x1b[1m", "\x1b[36m", "\x1b[0m"
_ASCII = str.maketrans("╭╮╰╯─│", "++++-|")


def print_overview(name: str, summary: str, rows: Mapping[str, str]) -> None:
    """Print the usage, what the commands are for, and a row for each command."""
    if sys.stdout is None:  # the process was started without it
        return
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    text = _overview(name, summary, rows, terminal_width(sys.stdout), coloured)
    encoding = (sys.stdout.encoding or "utf-8").lower()
    if not encoding.startswith("utf"):
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    print(text)


def _overview(name: str, summary: str, rows: Mapping[str, str], width: int, coloured: bool) -> str:
    bold, cyan, normal = (_BOLD, _CYAN, _NORMAL) if coloured else ("", "", "")
    left = max(map(len, rows))
    right = max(width - left - 6, 1)
    lines = [f"{bold}Usage: {name} COMMAND{normal}", "", *wrap(summary, width), ""]
    lines.append("╭─ Commands ".ljust(width - 1, "─") + "╮")
    for label, text in rows.items():
        first, *rest = wrap(text, right)
        lines.append(f"│ {cyan}{label:{left}}{normal}  {first:{right}} │")
        lines += [f"│ {'':{left}}  {part:{right}} │" for part in rest]
    lines.append("╰".ljust(width - 1, "─") + "╯")
    return "\n".join(lines)
