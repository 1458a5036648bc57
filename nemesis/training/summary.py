"""The summary of a run: its first and its last evaluation, in sentences."""

import math
from collections.abc import Sequence

from nemesis.training.figures import figure, interval, matches_of

_AVERAGE = "_average"
_WIN_RATE, _RETURN = "win_rate_against_", "return_against_"


def summary(history: Sequence[tuple[int, dict[str, float]]]) -> list[str]:
    """Return a sentence for each measured quantity; `history` is by update, oldest first."""
    after = history[-1][1]
    sentences = []
    for name in dict.fromkeys(name.removesuffix(_AVERAGE) for name in after):  # without duplicates, in order
        if name == "nash_conv":
            sentences.append(f"Exact NashConv: {_change(history, name)}. Zero is an equilibrium.")
        elif name == "rating":
            sentences.append(f"Rating: {_change(history, name)}.")
        elif name.startswith(_WIN_RATE):
            opponent = name.removeprefix(_WIN_RATE)
            sentences.append(f"Win rate against {opponent}: {_change(history, name)}.")
            if not _follows(after, opponent):
                sentences.append(f"Return against {opponent}: {_change(history, _RETURN + opponent)}.")
    return sentences


def _change(history: Sequence[tuple[int, dict[str, float]]], name: str) -> str:
    """Return a value before and after, of the last weights if they were measured, and of the averaged weights."""
    update, after = history[-1]
    main = name if name in after else name + _AVERAGE
    first, before = next((at, values) for at, values in history if main in values)
    when = f"at update {first}" if first else "before"
    text = f"{_figure(before, main)} {when} → {_figure(after, main)} after {update} updates"
    if main != name:
        return f"{text}, with averaged weights"
    average = name + _AVERAGE
    return f"{text}, {_figure(after, average)} with averaged weights" if average in after else text


def _figure(values: dict[str, float], name: str) -> str:
    """Return a value, with the interval of a win rate or a rating, and the matches of a win rate."""
    text = figure(name, values[name])
    if (bounds := interval(name, values)) is None:
        return text
    low, high = (figure(name, bound) for bound in bounds)
    matches = matches_of(name, values)
    return f"{text} (95 % interval {low} to {high}{f', {matches:,} matches' if matches else ''})"


def _follows(after: dict[str, float], opponent: str) -> bool:
    """Return whether the returns follow from the win rates, as in games with returns 1, 0 and −1."""
    return all(
        math.isclose(after[_RETURN + opponent + suffix], 2 * after[_WIN_RATE + opponent + suffix] - 1, abs_tol=1e-6)
        for suffix in ("", _AVERAGE)
        if _WIN_RATE + opponent + suffix in after
    )
