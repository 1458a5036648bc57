"""The progress display of a training run: a live panel on a terminal, plain lines elsewhere.

A display gets every update and every activity, and draws at most a few times per second. It therefore costs almost
nothing when updates are fast. A thread of its own looks at the display every second, so that the time goes on, and an
activity that takes long is shown, while the caller is busy.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import RLock
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from nemesis.core.progress import Activity, Ticker
from nemesis.training.evaluation_display import evaluation_table, plain_evaluation
from nemesis.training.figures import clock, count, number, short_number

_PAIRS = 3  # per line
_LOSS_ROWS, _EVALUATION_ROWS = 5, 7  # so that the panel fits 24 lines
_LOSS_ROWS_BESIDE_REWARDS, _REWARD_LINES, _EVALUATION_ROWS_BESIDE_REWARDS = 2, 5, 5
_SPLIT_COLOURS = {"simulate": "cyan", "infer": "magenta", "learn": "green", "evaluate": "yellow"}
_TICK = 1.0  # seconds between looks of a live display at the time


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run. Rates are recent averages; the time split sums to one."""

    update: int
    total: int
    decisions: int
    decisions_per_second: float
    updates_per_second: float
    seconds_left: float | None  # None if it is not known
    time_split: dict[str, float]  # simulate, infer, learn, evaluate …
    losses: dict[str, float]
    rewards: dict[str, tuple[float, float]]  # what each reward component adds to a decision: mean, mean of the absolute
    evaluation: list[tuple[int, dict[str, float]]]  # by update, oldest first
    skipped_steps: int
    stage: str = ""  # of the curriculum, in words


class Display(Protocol):
    """Shows the progress of a run until it is closed."""

    def update(self, progress: Progress) -> None: ...

    def activity(self, activity: Activity | None) -> None:
        """Show what is being done, until something else is."""
        ...

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
        self._activity: Activity | None = None
        self._waiting = f"{total_updates:,} updates; waiting for the first"
        self._lock = RLock()
        self._live = Live(console=console, auto_refresh=False)
        self._live.start()
        self._draw()
        self._ticker = Ticker(_TICK, self._draw)

    def update(self, progress: Progress) -> None:
        self._last = progress
        if self._throttle.ready():
            self._draw()

    def activity(self, activity: Activity | None) -> None:
        self._activity = activity
        if self._throttle.ready():
            self._draw()

    def message(self, text: str) -> None:
        with self._lock:
            self._live.console.print(Text(f"▸ {text}", style="yellow"))

    def close(self) -> None:
        self._ticker.close()
        self._activity = None
        self._draw()
        self._live.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _draw(self) -> None:
        with self._lock:
            elapsed = time.monotonic() - self._start
            rows = [render(self._last, elapsed) if self._last else Text(self._waiting, style="dim")]
            if self._activity:
                rows.append(Text(str(self._activity), style="dim", no_wrap=True, overflow="ellipsis"))
            self._live.update(_panel(self._title, Group(*rows)), refresh=True)


class PlainDisplay:
    """A line every few seconds and one for each evaluation, without escape codes."""

    def __init__(
        self,
        title: str,
        total_updates: int,
        console: Console,
        seconds_between_lines: float = 5.0,
        patience: float = 2.0,
    ) -> None:
        """Show a new activity after `patience` seconds without a line."""
        self._patience = patience
        self._console = console
        self._interval = seconds_between_lines
        self._throttle = _Throttle(seconds_between_lines)
        self._evaluated_at = -1  # update of the last evaluation that was shown
        self._pending: Progress | None = None
        self._activity: Activity | None = None
        self._shown = ""  # text of the activity that was shown last
        self._written = 0.0
        self._lock = RLock()
        self._print(f"{title}: {total_updates} updates")
        self._ticker = Ticker(patience / 2, self._tick)

    def update(self, progress: Progress) -> None:
        with self._lock:
            self._pending = progress
            if self._throttle.ready():
                self._show(progress)
            for shown, (update, _) in enumerate(progress.evaluation, start=1):
                if update > self._evaluated_at:
                    self._print(plain_evaluation(progress.evaluation[:shown]))
                    self._evaluated_at = update

    def activity(self, activity: Activity | None) -> None:
        self._activity = activity

    def message(self, text: str) -> None:
        self._print(f"note: {text}")

    def close(self) -> None:
        self._ticker.close()
        if self._pending is not None:
            self._show(self._pending)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _tick(self) -> None:
        """Say what is going on if nothing was written for a while."""
        with self._lock:
            activity = self._activity
            if activity is None:
                return
            silent = time.monotonic() - self._written
            if silent >= (self._interval if activity.text == self._shown else self._patience):
                self._shown = activity.text
                self._print(f"{activity} …")

    def _show(self, progress: Progress) -> None:
        self._pending = None
        self._print(_plain_line(progress))

    def _print(self, line: str) -> None:
        # Console.print would wrap lines and add styles. Characters that cannot be encoded are replaced.
        encoding = self._console.encoding
        with self._lock:
            self._console.file.write(line.encode(encoding, "replace").decode(encoding) + "\n")
            self._console.file.flush()
            self._written = time.monotonic()


def render(progress: Progress, elapsed: float) -> RenderableType:
    """Return the content of the live panel."""
    rates = Text.assemble(
        (f"{progress.decisions_per_second:,.0f}", "bold"),
        " decisions/s   ",
        (number(progress.updates_per_second), "bold"),
        " updates/s   ",
        (count(progress.decisions), "bold"),
        " decisions in ",
        (clock(elapsed), "bold"),
    )
    parts: list[RenderableType] = [_progress_row(progress), rates]
    if progress.stage:
        parts.append(Text(progress.stage, style="bold"))
    if progress.time_split:
        parts.append(_split_row(progress.time_split))
    if progress.skipped_steps:
        parts.append(Text(f"{progress.skipped_steps:,} steps skipped: not finite", style="bold red"))
    if progress.losses:
        losses = {name: number(value) for name, value in progress.losses.items()}
        parts += [Text(), _pair_table(losses, _LOSS_ROWS_BESIDE_REWARDS if progress.rewards else _LOSS_ROWS)]
    if progress.rewards:
        parts.append(_FewLines(Text(_rewards_text(progress.rewards)), _REWARD_LINES))
    if progress.evaluation:
        rows = _EVALUATION_ROWS_BESIDE_REWARDS if progress.rewards else _EVALUATION_ROWS
        parts += [Text(), evaluation_table(progress.evaluation, rows)]
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _FewLines:
    """A text of at most so many lines."""

    text: Text
    lines: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.text.wrap(console, options.max_width)[: self.lines]


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
        Text.assemble("ETA ", (clock(progress.seconds_left), "bold")),
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


def _rewards_text(rewards: Mapping[str, tuple[float, float]]) -> str:
    """Return all contributions to rewards but those of 0, the largest first, each with its size in brackets."""
    paid = sorted((name for name in rewards if rewards[name][1]), key=lambda name: -rewards[name][1])
    figures = ("{} ({})".format(*(short_number(1000 * value) for value in rewards[name])) for name in paid)
    parts = [f"{name} {figure}" for name, figure in zip(paid, figures, strict=True)]
    return f"rewards of 1,000 decisions: {', '.join(parts)}" if parts else ""


def _pair_table(figures: Mapping[str, str], rows: int) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    for _ in range(_PAIRS):
        table.add_column(style="dim", no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(width=1)  # the gap between pairs
    cells = [cell for name, value in figures.items() for cell in (name, value, "")]
    row = 3 * _PAIRS
    for start in range(0, min(len(cells), rows * row), row):
        table.add_row(*cells[start : start + row])
    return table


def _plain_line(progress: Progress) -> str:
    parts = [
        f"update {progress.update}/{progress.total} ({_percent(progress)}%)",
        f"ETA {clock(progress.seconds_left)}",
        progress.stage,
        f"{progress.decisions_per_second:.0f} decisions/s",
        f"{number(progress.updates_per_second)} updates/s",
        " ".join(f"{name} {share:.0%}" for name, share in progress.time_split.items()),
        " ".join(f"{name} {number(value)}" for name, value in progress.losses.items()),
        _rewards_text(progress.rewards),
        f"{progress.skipped_steps} steps skipped" if progress.skipped_steps else "",
    ]
    return " | ".join(part for part in parts if part)


def _percent(progress: Progress) -> int:
    return 100 * progress.update // max(progress.total, 1)
