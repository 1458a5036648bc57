"""The progress display of a training run: a live panel on a terminal, plain lines elsewhere.

A display gets every update and draws at most a few times per second, in the caller's thread. It therefore costs almost
nothing when updates are fast.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_SPARKS = "▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 20
_LOSS_PAIRS = 3  # per line
_LOSS_ROWS = 5  # so that the panel fits 24 lines
_EVALUATION_ROWS = 8
_SPLIT_COLOURS = {"simulate": "cyan", "infer": "magenta", "learn": "green"}
_LOWER_IS_BETTER = ("nash", "exploit", "loss", "error")


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run. Rates are recent averages; the time split sums to one."""

    update: int
    total: int
    decisions: int
    decisions_per_second: float
    updates_per_second: float
    time_split: dict[str, float]  # simulate, infer, learn, other
    losses: dict[str, float]
    evaluation: list[tuple[int, dict[str, float]]]  # by update, oldest first
    skipped_steps: int

    @property
    def seconds_left(self) -> float | None:
        left = max(self.total - self.update, 0)
        if left == 0:
            return 0.0
        return left / self.updates_per_second if self.updates_per_second > 0 else None


class Display(Protocol):
    """Shows the progress of a run until it is closed."""

    def update(self, progress: Progress) -> None: ...

    def message(self, text: str) -> None:
        """Show a permanent line, such as a warning."""
        ...

    def close(self) -> None:
        """Show the last progress and restore the terminal."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def open_display(title: str, total_updates: int, console: Console | None = None) -> Display:
    """Return a live display on a terminal, else a plain one."""
    console = console or Console()
    live = console.is_terminal and not console.is_dumb_terminal and console.encoding.lower().startswith("utf")
    return LiveDisplay(title, total_updates, console) if live else PlainDisplay(title, total_updates, console)


class LiveDisplay:
    """A panel that is redrawn in place."""

    def __init__(self, title: str, total_updates: int, console: Console, seconds_between_draws: float = 0.25) -> None:
        self._title = title
        self._start = time.monotonic()
        self._throttle = _Throttle(seconds_between_draws)
        self._last: Progress | None = None
        waiting = Text(f"{total_updates:,} updates; waiting for the first", style="dim")
        self._live = Live(_panel(title, waiting), console=console, auto_refresh=False)
        self._live.start(refresh=True)

    def update(self, progress: Progress) -> None:
        self._last = progress
        if self._throttle.ready():
            self._draw(progress)

    def message(self, text: str) -> None:
        self._live.console.print(Text(f"▸ {text}", style="yellow"))

    def close(self) -> None:
        if self._last is not None:
            self._draw(self._last)
            self._last = None
        self._live.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _draw(self, progress: Progress) -> None:
        content = render(progress, time.monotonic() - self._start)
        self._live.update(_panel(self._title, content), refresh=True)


class PlainDisplay:
    """A line every few seconds and one for each evaluation, without escape codes."""

    def __init__(self, title: str, total_updates: int, console: Console, seconds_between_lines: float = 5.0) -> None:
        self._console = console
        self._throttle = _Throttle(seconds_between_lines)
        self._evaluations = 0
        self._pending: Progress | None = None
        self._print(f"{title}: {total_updates} updates")

    def update(self, progress: Progress) -> None:
        self._pending = progress
        if self._throttle.ready():
            self._show(progress)
        for index in range(self._evaluations, len(progress.evaluation)):
            self._print(_plain_evaluation(progress.evaluation[: index + 1]))
        self._evaluations = len(progress.evaluation)

    def message(self, text: str) -> None:
        self._print(f"note: {text}")

    def close(self) -> None:
        if self._pending is not None:
            self._show(self._pending)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _show(self, progress: Progress) -> None:
        self._pending = None
        self._print(_plain_line(progress))

    def _print(self, line: str) -> None:
        # Console.print would wrap lines and add styles. Characters that cannot be encoded are replaced.
        encoding = self._console.encoding
        self._console.file.write(line.encode(encoding, "replace").decode(encoding) + "\n")
        self._console.file.flush()


def render(progress: Progress, elapsed: float) -> RenderableType:
    """Return the content of the live panel."""
    rates = Text.assemble(
        (f"{progress.decisions_per_second:,.0f}", "bold"),
        " decisions/s   ",
        (_number(progress.updates_per_second), "bold"),
        " updates/s   ",
        (_count(progress.decisions), "bold"),
        " decisions in ",
        (_clock(elapsed), "bold"),
    )
    parts: list[RenderableType] = [_progress_row(progress), rates]
    if progress.time_split:
        parts.append(_split_row(progress.time_split))
    if progress.skipped_steps:
        parts.append(Text(f"{progress.skipped_steps:,} steps skipped: not finite", style="bold red"))
    if progress.losses:
        parts += [Text(), _loss_table(progress.losses)]
    if progress.evaluation:
        parts += [Text(), _evaluation_table(progress.evaluation)]
    return Group(*parts)


class _Throttle:
    """Limits how often something is done."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0

    def ready(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True


def _panel(title: str, content: RenderableType) -> Panel:
    return Panel(content, title=Text(title, style="bold"), title_align="left", border_style="dim")


def _progress_row(progress: Progress) -> Table:
    row = Table.grid(padding=(0, 2), expand=True)
    row.add_column(ratio=1)
    for _ in range(3):
        row.add_column(justify="right", no_wrap=True)
    row.add_row(
        ProgressBar(total=max(progress.total, 1), completed=progress.update, complete_style="green"),
        f"{progress.update:,} / {progress.total:,}",
        f"{_percent(progress)} %",
        Text.assemble("ETA ", (_clock(progress.seconds_left), "bold")),
    )
    return row


def _split_row(split: dict[str, float], width: int = 20) -> Text:
    """Return a bar of the time split, with a legend."""
    bar, names = Text(no_wrap=True, overflow="ellipsis"), Text()
    drawn = 0
    reached = 0.0
    for name, share in split.items():
        colour = _SPLIT_COLOURS.get(name, "bright_black")
        reached += share
        end = round(width * min(reached, 1.0))
        bar.append("█" * (end - drawn), style=colour)
        drawn = end
        names.append("  ■ ", style=colour)
        names.append(f"{name} {share:.0%}")
    return bar.append_text(names)


def _loss_table(losses: dict[str, float]) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    for _ in range(_LOSS_PAIRS):
        table.add_column(style="dim", no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(width=1)  # the gap between pairs
    cells = [cell for name, value in losses.items() for cell in (name, _number(value), "")]
    row = 3 * _LOSS_PAIRS
    for start in range(0, min(len(cells), _LOSS_ROWS * row), row):
        table.add_row(*cells[start : start + row])
    return table


def _evaluation_table(history: Sequence[tuple[int, dict[str, float]]]) -> Table:
    update, latest = history[-1]
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False, expand=True)
    table.add_column(f"evaluation at {update:,}", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("", style="cyan", no_wrap=True)
    for header in ("first", "best", "last"):
        table.add_column(header, justify="right", no_wrap=True)
    by_interest = sorted(latest, key=lambda name: not _is_share(name))  # win rates first, because few rows fit
    for name in by_interest[:_EVALUATION_ROWS]:
        values = [result[name] for _, result in history if name in result]
        table.add_row(
            _label(name),
            sparkline(values, bounds=(0.0, 1.0) if _is_share(name) else None),
            f"{figure(name, values[0])} →",
            f"{figure(name, best(name, values))} →",
            Text(figure(name, values[-1]), style="bold"),
        )
    return table


def _label(name: str) -> str:
    stem = name.removesuffix("_average")
    words = stem.replace("win_rate", "win rate").replace("_against_", " against ")
    return words if stem == name else f"{words}, average"


def figure(name: str, value: float) -> str:
    """Format the value of a metric."""
    return f"{value:.1%}" if _is_share(name) else _number(value)


def _is_share(name: str) -> bool:
    return name.startswith(("win_rate", "validation_accuracy"))


def best(name: str, values: Sequence[float]) -> float:
    """Return the best value of a metric: the lowest for exploitability, losses and errors, else the highest."""
    numbers = [value for value in values if not math.isnan(value)] or values
    return min(numbers) if any(word in name.lower() for word in _LOWER_IS_BETTER) else max(numbers)


def sparkline(values: Sequence[float], width: int = _SPARK_WIDTH, bounds: tuple[float, float] | None = None) -> str:
    """Return the history as one character per value, subsampled to a width; the last value is always included.

    The lowest and the highest bar are the bounds, or the lowest and the highest value.
    """
    if len(values) > width:
        values = [values[round(index * (len(values) - 1) / (width - 1))] for index in range(width)]
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return " " * len(values)
    low, high = bounds or (min(finite), max(finite))
    scale = (len(_SPARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(_SPARKS[round((v - low) * scale)] if math.isfinite(v) else " " for v in values)


def _plain_line(progress: Progress) -> str:
    parts = [
        f"update {progress.update}/{progress.total} ({_percent(progress)}%)",
        f"ETA {_clock(progress.seconds_left)}",
        f"{progress.decisions_per_second:.0f} decisions/s",
        f"{_number(progress.updates_per_second)} updates/s",
        " ".join(f"{name} {share:.0%}" for name, share in progress.time_split.items()),
        " ".join(f"{name} {_number(value)}" for name, value in progress.losses.items()),
        f"{progress.skipped_steps} steps skipped" if progress.skipped_steps else "",
    ]
    return " | ".join(part for part in parts if part)


def _plain_evaluation(history: Sequence[tuple[int, dict[str, float]]]) -> str:
    update, latest = history[-1]
    parts = []
    for name, value in islice(latest.items(), _EVALUATION_ROWS):
        values = [result[name] for _, result in history if name in result]
        first, peak = figure(name, values[0]), figure(name, best(name, values))
        parts.append(f"{name} {figure(name, value)} (first {first}, best {peak})")
    return f"evaluation at update {update}: {', '.join(parts)}"


def _percent(progress: Progress) -> int:
    return 100 * progress.update // max(progress.total, 1)


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "-:--:--"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}"


def _number(value: float) -> str:
    """Format about four significant digits, with an exponent only if needed."""
    if value == 0 or 0.001 <= abs(value) < 100:
        return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"
    return f"{value:,.0f}" if 100 <= abs(value) < 1e7 else f"{value:.2e}"


def _count(value: int) -> str:
    for size, suffix in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:.2f}{suffix}"
    return str(value)
