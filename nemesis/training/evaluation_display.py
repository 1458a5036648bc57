"""How a display of progress shows the evaluations of a run."""

from collections.abc import Mapping, Sequence
from itertools import islice

from rich.table import Table
from rich.text import Text

from nemesis.training.figures import (
    AGAINST,
    best,
    figure,
    figure_with_interval,
    interval,
    is_share,
    label,
    matches_of,
    of_interest,
    sparkline,
)

_ROWS = 7
_SPARKS, _SPARKS_WITH_INTERVALS = 20, 6  # width of sparklines, so that names of opponents fit beside them


def evaluation_table(history: Sequence[tuple[int, dict[str, float]]], rows: int) -> Table:
    """Return the table of the live panel, of at most so many rows: the first, the best and the last evaluation."""
    update, latest = history[-1]
    title = Text(f"evaluation at {update:,}{_matches(history)}", style="dim")
    table = Table(
        box=None,
        padding=(0, 1, 0, 0),
        header_style="dim",
        pad_edge=False,
        expand=True,
        title=title,
        title_justify="left",
        title_style="",
    )
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("", style="cyan", no_wrap=True)
    for header in ("first", "best", "last"):
        table.add_column(header, justify="right", no_wrap=True)
    width = _SPARKS if all(interval(name, latest) is None for name in latest) else _SPARKS_WITH_INTERVALS
    for name in _by_interest(latest)[:rows]:
        results = [result for _, result in history if name in result]
        bounds = (0.0, 1.0) if is_share(name) else None
        table.add_row(
            label(name),
            sparkline([result[name] for result in results], width, bounds),
            _with_interval(name, results[0]).append(" →"),
            _with_interval(name, best(name, results)).append(" →"),
            _with_interval(name, latest, style="bold"),
        )
    return table


def plain_evaluation(history: Sequence[tuple[int, dict[str, float]]]) -> str:
    """Return the line of a plain display for the last evaluation."""
    update, latest = history[-1]
    parts = []
    for name in islice(filter(of_interest, latest), _ROWS):
        results = [result for _, result in history if name in result]
        first, best_so_far = (figure_with_interval(name, one) for one in (results[0], best(name, results)))
        text = f"first {first}, best {best_so_far}"
        if (bounds := interval(name, latest)) is not None:
            low, high = (figure(name, bound) for bound in bounds)
            matches = matches_of(name, latest)
            text = f"95 % interval {low} to {high}{f' of {matches:,} matches' if matches else ''}; {text}"
        parts.append(f"{name} {figure(name, latest[name])} ({text})")
    return f"evaluation at update {update}: {', '.join(parts)}"


def _with_interval(name: str, values: Mapping[str, float], style: str = "") -> Text:
    """Return a value for the live panel, with the interval of a win rate, in percent, or of a rating behind it."""
    text = Text()
    text.append(figure(name, values[name]), style=style)
    if (bounds := interval(name, values)) is not None:
        unit = 100 if is_share(name) else 1
        text.append(f" {bounds[0] * unit:.0f}–{bounds[1] * unit:.0f}", style="dim")
    return text


def _by_interest(values: Mapping[str, float]) -> list[str]:
    """Return the metrics to show, win rates first, because few rows fit."""
    return sorted(filter(of_interest, values), key=lambda name: not is_share(name))


def _matches(history: Sequence[tuple[int, Mapping[str, float]]]) -> str:
    """Return how many matches the win rates against single opponents are from."""
    found = (matches_of(name, values) for _, values in history for name in values if AGAINST in name)
    counts = {matches for matches in found if matches is not None}
    if not counts:
        return ""
    numbers = f"{min(counts):,}" if len(counts) == 1 else f"{min(counts):,} to {max(counts):,}"
    return f", {numbers} matches each"
