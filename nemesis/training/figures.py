"""How metrics are written for people: numbers, shares, intervals, times and sparklines."""

import math
from collections.abc import Mapping, Sequence

from nemesis.play.matches import win_rate_interval

AGAINST = "_against_"
_MATCHES = "matches"
_RATING = "rating"
_WIN_RATE = "win_rate"
_AVERAGE = "_average"
_SPARKS = "▁▂▃▄▅▆▇█"
_LOWER_IS_BETTER = ("nash", "exploit", "loss", "error")


def figure(name: str, value: float) -> str:
    """Format the value of a metric."""
    return f"{value:.1%}" if is_share(name) else number(value)


def is_share(name: str) -> bool:
    return name.startswith(("win_rate", "validation_accuracy"))


def matches_of(name: str, values: Mapping[str, float]) -> int | None:
    """Return the number of matches that a win rate is from; None for other metrics."""
    if not name.startswith(_WIN_RATE) or (count := values.get(name.replace(_WIN_RATE, _MATCHES, 1))) is None:
        return None
    return int(count)


def interval(name: str, values: Mapping[str, float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a win rate or a rating; None for other metrics."""
    stem = name.removesuffix(_AVERAGE)
    if stem == _RATING:
        suffix = name.removeprefix(stem)
        return values[f"{stem}_low{suffix}"], values[f"{stem}_high{suffix}"]
    matches = matches_of(name, values)
    return win_rate_interval(values[name], matches) if matches else None


def figure_with_interval(name: str, values: Mapping[str, float]) -> str:
    """Return a value, with the interval of a win rate or a rating, and the matches of a win rate."""
    text = figure(name, values[name])
    if (bounds := interval(name, values)) is None:
        return text
    low, high = (figure(name, bound) for bound in bounds)
    matches = matches_of(name, values)
    return f"{text} [{low} to {high}{f' of {matches:,}' if matches else ''}]"


def of_interest(name: str) -> bool:
    """Return whether a metric is shown for itself, and does not only say how sure another one is."""
    return not name.startswith((_MATCHES, f"{_RATING}_low", f"{_RATING}_high"))


def label(name: str) -> str:
    """Return the name of a metric in words."""
    stem = name.removesuffix(_AVERAGE)
    words = stem.replace("win_rate", "win rate").replace("_against_", " against ")
    if stem == name:
        return words
    return (
        words.replace("win rate", "average") if stem.startswith(_WIN_RATE + AGAINST) else f"{words}, average"
    )  # to fit a row


def best(name: str, results: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the evaluation with the best value of a metric: the lowest for exploitability, losses and errors."""
    known = [result for result in results if not math.isnan(result[name])] or results
    lower_is_better = any(word in name.lower() for word in _LOWER_IS_BETTER)
    return (min if lower_is_better else max)(known, key=lambda result: result[name])


def sparkline(values: Sequence[float], width: int = 20, bounds: tuple[float, float] | None = None) -> str:
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


def clock(seconds: float | None) -> str:
    if seconds is None:
        return "-:--:--"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}"


def number(value: float) -> str:
    """Format about four significant digits, with an exponent only if needed."""
    if value == 0 or 0.001 <= abs(value) < 100:
        return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"
    return f"{value:,.0f}" if 100 <= abs(value) < 1e7 else f"{value:.2e}"


def short_number(value: float) -> str:
    """Format two significant digits, or the whole digits if there are more."""
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.2g}"


def count(value: int) -> str:
    """Format a large count with a suffix."""
    for size, suffix in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:.2f}{suffix}"
    return str(value)
