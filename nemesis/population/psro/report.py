"""The report of a PSRO in its folder: JSON, one page that opens from disk, and pictures if Matplotlib is installed."""

# ruff: noqa: PLC0415 (Matplotlib is optional)

import json
from html import escape
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from nemesis.core.files import replace_file, replacement
from nemesis.population.psro import figures
from nemesis.population.psro.results import Results

JSON, PAGE = "report.json", "report.html"
_SHOWN = 12  # members of the resulting mixture in its sentence

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 800px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; } svg { width: 100%; height: auto; }
text { font: 12px system-ui, sans-serif; fill: #333; } .grid { stroke: #ddd; }
table { border-collapse: collapse; } td, th { padding: 2px 12px 2px 0; text-align: right; }
td:first-child, th:first-child { text-align: left; }
.legend span { margin-right: 1.2em; white-space: nowrap; }
.legend i { display: inline-block; width: 0.9em; height: 0.9em; margin-right: 0.4em; vertical-align: -0.1em; }
@media (prefers-color-scheme: dark) { body { background: #1b1d21; color: #ddd; } text { fill: #ccc; }
  image + text, g text { fill: #333; } .grid { stroke: #3a3d44; } }
"""


def write_report(folder: Path, results: Results) -> list[str]:
    """Write the report, and return its conclusions as sentences."""
    replace_file(folder / JSON, json.dumps(results.as_json(), indent=1) + "\n")
    replace_file(folder / PAGE, _page(results))
    if find_spec("matplotlib") is not None:
        _pictures(folder, results)
    return [*conclusions(results), f"The report is {folder / PAGE}."]


def conclusions(results: Results) -> list[str]:
    """Return what was found, in sentences."""
    chosen = results.iterations[results.chosen]
    largest = sorted(results.mixture.items(), key=lambda one: -one[1])
    listed = ", ".join(f"{name} {share:.1%}" for name, share in largest[:_SHOWN])
    more = f" and {len(largest) - _SHOWN} more" if len(largest) > _SHOWN else ""
    lines = [f"Mixture {results.chosen + 1}: {listed}{more}."]
    if chosen.exact is not None:
        lines.append(f"Its NashConv is {chosen.exact:.3g}.")
    if chosen.to_response is not None:
        lines.append(f"It loses at least {chosen.to_population} to the final population, summed over the sides.")
    elif chosen.exact is None and len(results.iterations) > 1:
        before = results.iterations[-2]
        lines.append(
            "No best response was trained against it. The mixture before it loses "
            f"{before.to_response} to its best response and {before.to_population} to the final population, summed "
            "over the sides."
        )
    return lines


def _page(results: Results) -> str:
    sections = [
        (
            "NashConv of the mixtures",
            "What best responses win against the mixture of each iteration, summed over both sides. It is a bound from "
            "below, except where the game is small enough to compute it. The bands are 95 % intervals.",
            figures.curve(results) if figures.curves(results) else "<p>No mixture has met a best response.</p>",
        ),
        ("Mixture over iterations", "The share of each member.", figures.areas(results)),
        (
            "Payoff",
            "What the row's member wins against the column's, on average per match: blue wins, red loses.",
            figures.heatmap(results),
        ),
        ("Iterations", "", _table(results)),
    ]
    body = "".join(f"<h2>{title}</h2><p>{text}</p>{content}" for title, text, content in sections)
    found = "".join(f"<p>{escape(line)}</p>" for line in conclusions(results))
    about = f"{escape(results.ended)} Meta-game solver: {escape(results.solver)}."
    title = f"PSRO on {escape(results.game)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"</head><body><h1>{title}</h1><p>{about}</p>{found}"
        f"{body}</body></html>\n"
    )


def _table(results: Results) -> str:
    head = "<tr><th>mixture</th><th>members</th><th>to its best response</th><th>to the final population</th>"
    rows = []
    for number, one in enumerate(results.iterations, start=1):
        present = int(((one.row > 0) | (one.column > 0)).sum())
        response = (
            "–"
            if one.to_response is None
            else _interval(one.to_response.value, one.to_response.low, one.to_response.high)
        )
        later = one.to_population
        population = "–" if one.to_response is None else _interval(later.value, later.low, later.high)
        exact = "" if one.exact is None else f"<td>{one.exact:.4g}</td>"
        rows.append(f"<tr><td>{number}</td><td>{present}</td><td>{response}</td><td>{population}</td>{exact}</tr>")
    last = "<th>NashConv</th>" if results.iterations[0].exact is not None else ""
    return f"<table>{head}{last}</tr>{''.join(rows)}</table>"


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.3f}" if low == high else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _pictures(folder: Path, results: Results) -> None:
    """Write the same pictures as PNG files."""
    from matplotlib.figure import Figure

    heatmap = Figure(figsize=(7, 6), layout="tight")
    axes = heatmap.add_subplot()
    axes.imshow(figures.colours(results.payoff))
    if len(results.names) <= figures.NAMED:
        axes.set_yticks(range(len(results.names)), results.names)
    axes.set_title("Payoff of the row against the column")

    mixtures = Figure(figsize=(8, 4), layout="tight")
    axes = mixtures.add_subplot()
    names, weights = figures.stacked(results)
    shades = [figures.colour_of(number, name) for number, name in enumerate(names)]
    places = np.arange(1, len(results.iterations) + 1)
    axes.stackplot(places, weights, labels=names, colors=shades)
    axes.legend(loc="upper left", fontsize="small")
    axes.set(xlabel="iteration", ylabel="share", title="Mixture over iterations")

    exploitability = Figure(figsize=(8, 4), layout="tight")
    axes = exploitability.add_subplot()
    lines = figures.curves(results)
    values = np.array([value for _, points in lines for point in points if point is not None for value in point])
    axes.set_yscale("log" if figures.is_logarithmic(values) else "linear")
    for name, points in lines:
        known = [(place, *point) for place, point in zip(places, points, strict=True) if point is not None]
        place, value, low, high = np.array(known).T
        axes.plot(place, value, marker=".", label=name)
        axes.fill_between(place, low, high, alpha=0.2)
    axes.set(xlabel="iteration", ylabel="NashConv", title="What best responses win against the mixtures")
    if axes.lines:
        axes.legend(fontsize="small")
    for name, figure in (("payoff", heatmap), ("mixture", mixtures), ("exploitability", exploitability)):
        with replacement(folder / f"{name}.png") as temporary:
            figure.savefig(temporary, format="png", dpi=120)
