"""The pictures of a PSRO as SVG: payoff heatmap, mixtures as stacked areas, NashConv over iterations.

They need no library and no network, so that the page of the report opens from disk.
"""

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from nemesis.population.meta_game.solution import Floats
from nemesis.population.psro.results import Results

WIDTH, HEIGHT = 760, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 14, 36
_LABELLED = 14  # members whose cells have numbers
NAMED = 30  # members whose rows have names
_COLOURS = (
    *("#3b6fb6", "#e08a2e", "#4a9d5b", "#c0483f", "#8566b3", "#8c6a50"),
    *("#d579b8", "#5fb3b3", "#b5b035", "#4f5d75", "#9bbf85"),
)
REST = "#bbbbbb"
LOSING, EVEN, WINNING = np.array([[178, 60, 60], [245, 245, 245], [45, 95, 165]], dtype=np.float64)


def heatmap(results: Results) -> str:
    """Return the payoff: what each row's member wins against each column's."""
    size, names = len(results.names), results.names
    named = size <= NAMED
    left = 8 + (min(max(map(len, names)), 24) * 7 if named else 40)
    side = min(WIDTH - left - 8, max(size * 34, 160))
    cell = side / size
    image = base64.b64encode(_png(colours(results.payoff))).decode()
    parts = [
        f'<image x="{left}" y="24" width="{side}" height="{side}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{image}"/>'
    ]
    if named:
        for row, name in enumerate(names):
            middle = 24 + (row + 0.5) * cell
            parts.append(_text(left - 6, middle + 4, _short(name), "end"))
            parts.append(_text(left + (row + 0.5) * cell, 18, str(row + 1), "middle"))
    else:
        parts += [_text(left - 6, 34, "1", "end"), _text(left - 6, 24 + side, str(size), "end")]
    if size <= _LABELLED:
        for row in range(size):
            for column in range(size):
                tip = f"{names[row]} against {names[column]}: {results.payoff[row, column]:+.3f}"
                tip += f" ({results.low[row, column]:+.3f} to {results.high[row, column]:+.3f})"
                number = _text(
                    left + (column + 0.5) * cell,
                    24 + (row + 0.5) * cell + 4,
                    f"{results.payoff[row, column]:+.2f}",
                    "middle",
                )
                parts.append(f"<g><title>{escape(tip)}</title>{number}</g>")
    return _svg(parts, left + side + 8, side + 34)


def areas(results: Results) -> str:
    """Return the mixture of each iteration as stacked areas."""
    shown, weights = stacked(results)
    frame = _Frame(len(results.iterations), 0.0, 1.0)
    parts = frame.axes(["0 %", "50 %", "100 %"], [0.0, 0.5, 1.0])
    lower = np.zeros(weights.shape[1])
    for number, (name, weight) in enumerate(zip(shown, weights, strict=True)):
        upper = lower + weight
        there = list(zip(frame.x, map(frame.y, upper), strict=True))
        back = list(zip(frame.x, map(frame.y, lower), strict=True))[::-1]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in there + back)
        colour = colour_of(number, name)
        parts.append(f'<polygon points="{points}" fill="{colour}"><title>{escape(name)}</title></polygon>')
        lower = upper
    legend = "".join(
        f'<span><i style="background:{colour_of(number, name)}"></i>{escape(name)}</span>'
        for number, name in enumerate(shown)
    )
    return _svg(parts, WIDTH, HEIGHT) + f'<p class="legend">{legend}</p>'


def curve(results: Results) -> str:
    """Return NashConv over iterations: bounds by the responses with their intervals, and the exact value if known."""
    series = curves(results)
    values = np.array([value for _, points in series for point in points if point is not None for value in point])
    log = is_logarithmic(values)
    low, high = (values[values > 0].min(), values.max()) if log else (min(values.min(), 0.0), max(values.max(), 1e-9))
    frame = _Frame(len(results.iterations), low, high, log=log)
    ticks = _ticks(low, high, log=log)
    parts = frame.axes([f"{tick:.3g}" for tick in ticks], ticks)
    for number, (name, points) in enumerate(series):
        colour = _COLOURS[number]
        known = [(place, point) for place, point in enumerate(points) if point is not None]
        upper = [(frame.x[place], frame.y(point[2])) for place, point in known]
        lower = [(frame.x[place], frame.y(point[1])) for place, point in known][::-1]
        if any(point[1] < point[2] for _, point in known):
            band = " ".join(f"{x:.1f},{y:.1f}" for x, y in upper + lower)
            parts.append(f'<polygon points="{band}" fill="{colour}" opacity="0.18"/>')
        line = " ".join(f"{frame.x[place]:.1f},{frame.y(point[0]):.1f}" for place, point in known)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(known) <= NAMED:
            for place, point in known:
                tip = f"{name}, mixture {place + 1}: {point[0]:.4g} ({point[1]:.4g} to {point[2]:.4g})"
                dot = f'<circle cx="{frame.x[place]:.1f}" cy="{frame.y(point[0]):.1f}" r="4" fill="{colour}">'
                parts.append(f"{dot}<title>{escape(tip)}</title></circle>")
    legend = "".join(
        f'<span><i style="background:{_COLOURS[number]}"></i>{escape(name)}</span>'
        for number, (name, _) in enumerate(series)
    )
    return _svg(parts, WIDTH, HEIGHT) + f'<p class="legend">{legend}</p>'


Point = tuple[float, float, float]  # value, low, high


def curves(results: Results) -> list[tuple[str, list[Point | None]]]:
    """Return the lines of the NashConv curve by name, with a point for each mixture that has one."""
    iterations = results.iterations
    responses: list[Point | None] = [
        (one.to_response.value, one.to_response.low, one.to_response.high) if one.to_response else None
        for one in iterations
    ]
    answered = [one.to_response is not None for one in iterations]
    population: list[Point | None] = [
        (one.to_population.value, one.to_population.low, one.to_population.high) if is_answered else None
        for one, is_answered in zip(iterations, answered, strict=True)
    ]
    exact: list[Point | None] = [None if one.exact is None else (one.exact,) * 3 for one in iterations]
    named = [
        ("to the newest best response", responses),
        ("to the final population", population),
        ("NashConv in the whole game", exact),
    ]
    return [(name, points) for name, points in named if any(point is not None for point in points)]


def stacked(results: Results) -> tuple[list[str], Floats]:
    """Return the members with the largest shares, the rest as one, and their weights (member, iteration)."""
    weights = np.stack([(one.row + one.column) / 2 for one in results.iterations], axis=1)
    largest = np.argsort(-weights.max(axis=1), kind="stable")[: len(_COLOURS)]
    chosen = np.sort(largest[weights[largest].max(axis=1) > 0])
    shown, rest = weights[chosen], 1.0 - weights[chosen].sum(axis=0)
    names = [results.names[member] for member in chosen]
    if rest.max() > 1e-6:
        return [*names, "all others"], np.vstack([shown, np.maximum(rest, 0.0)])
    return names, shown


def colour_of(number: int, name: str) -> str:
    """Return the colour of an area."""
    return REST if name == "all others" else _COLOURS[number % len(_COLOURS)]


def colours(payoff: Floats) -> npt.NDArray[np.uint8]:
    """Return the colours of a payoff as an image (row, column, 3): red for losses, white for even, blue for wins."""
    strength = (payoff / (np.abs(payoff).max() or 1.0))[:, :, None]
    mixed = EVEN + np.abs(strength) * (np.where(strength > 0, WINNING, LOSING) - EVEN)
    image: npt.NDArray[np.uint8] = mixed.round().astype(np.uint8)
    return image


def is_logarithmic(values: Floats) -> bool:
    """Return whether values cover so many orders of magnitude that their axis is logarithmic."""
    return bool(len(values) and values.min() >= 0 and values.max() > 30 * values[values > 0].min(initial=np.inf))


class _Frame:
    """The axes of a picture over iterations."""

    def __init__(self, iterations: int, low: float, high: float, *, log: bool = False) -> None:
        span = max(iterations - 1, 1)
        self.x = [_LEFT + (WIDTH - _LEFT - _RIGHT) * place / span for place in range(iterations)]
        self._log = log
        self._low = float(np.log(low)) if log else low
        self._high = float(np.log(high)) if log else high

    def y(self, value: float) -> float:
        scaled = np.log(max(value, 1e-300)) if self._log else value
        share = (scaled - self._low) / ((self._high - self._low) or 1.0)
        return float(HEIGHT - _BOTTOM - min(max(share, 0.0), 1.0) * (HEIGHT - _TOP - _BOTTOM))

    def axes(self, labels: Sequence[str], ticks: Sequence[float]) -> list[str]:
        parts: list[str] = []
        for label, tick in zip(labels, ticks, strict=True):
            height = self.y(tick)
            parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{height:.1f}" y2="{height:.1f}" class="grid"/>')
            parts.append(_text(_LEFT - 6, height + 4, label, "end"))
        every = max(1, round(len(self.x) / 12))
        shown = range(0, len(self.x), every)
        return parts + [_text(self.x[place], HEIGHT - _BOTTOM + 18, str(place + 1), "middle") for place in shown]


def _ticks(low: float, high: float, *, log: bool) -> list[float]:
    if not log:
        return [float(tick) for tick in np.linspace(low, high, 5)]
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    return [float(tick) for tick in 10.0**powers if low <= tick <= high] or [low, high]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"


def _svg(parts: Sequence[str], width: float, height: float) -> str:
    return f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px">{"".join(parts)}</svg>'


def _png(image: npt.NDArray[np.uint8]) -> bytes:
    """Return an image (row, column, 3) as PNG."""
    height, width, _ = image.shape
    rows = np.hstack([np.zeros((height, 1), dtype=np.uint8), image.reshape(height, -1)]).tobytes()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
