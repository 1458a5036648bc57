"""Ratings and intervals of a large population whose strengths are known.

Invents the results of 200 players at 20 matches a pair, whose log odds are differences of strengths, or these and
cycles between them, with and without draws. Reports the rank correlation (Spearman) of ratings and truth, how often the
95 % intervals of ratings and of single win rates cover it, and the share of variance that is cyclic. The truth of a
cyclic population is the rating that explains its win rates best.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from benchmarks.report import MeasurementError, option_parser, print_table, progress, run, write_json
from nemesis.evaluation.intransitivity import cyclic_share
from nemesis.evaluation.payoffs.counts import PayoffCounts
from nemesis.evaluation.ratings import MEAN, rate

PLAYERS, MATCHES = 200, 20
SPREAD = 200.0  # standard deviation of strengths, in Elo
LEAST_CORRELATION, COVERAGE = 0.99, (0.93, 0.97)
_SCALE = 400.0 / np.log(10.0)
_MANY = 1e6  # matches that stand for the truth

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """A population."""

    name: str
    cyclic: float  # standard deviation of the cyclic part, in log odds
    drawn: float  # share of draws between equal players


CASES = (
    Case("transitive", 0.0, 0.0),
    Case("transitive, with draws", 0.0, 0.4),
    Case("cyclic", 0.7, 0.0),
    Case("cyclic, with draws", 0.7, 0.4),
)


def main() -> None:
    """Measure every case and print a table."""
    parser = option_parser(__doc__)
    parser.add_argument("--populations", type=int, default=10, help="populations of each case (default: 10)")
    options = parser.parse_args()
    populations = 2 if options.quick else options.populations
    rows = []
    for case in CASES:
        progress(f"{case.name}: {populations} populations of {PLAYERS}")
        rows.append(measure(case, populations, options.seed))
    print_table(f"{PLAYERS} players, {MATCHES} matches a pair", rows)
    if options.json:
        write_json(options.json, rows)
    check(rows)


def measure(case: Case, populations: int, seed: int, players: int = PLAYERS) -> dict[str, float | str]:
    """Return the figures of one case, over several populations."""
    correlation, of_ratings, of_cells, shares, seconds = [], [], [], [], []
    for number in range(populations):
        generator = np.random.default_rng((seed, number))
        chances = invented(case, generator, players)
        counts = played(chances, case.drawn, generator)
        started = perf_counter()
        ratings = rate(range_names(players), counts.points, draws=counts.draws.astype(np.float64))
        seconds.append(perf_counter() - started)
        elo, margin = np.empty((2, players))
        for one in ratings:
            elo[int(one.name)], margin[int(one.name)] = one.elo, one.margin
        truth = best_ratings(chances)
        correlation.append(float(np.corrcoef(elo.argsort().argsort(), truth.argsort().argsort())[0, 1]))
        of_ratings.append(float(np.mean(np.abs(elo - truth) <= margin)))
        low, high = counts.intervals
        cells = np.triu_indices(players, 1)
        of_cells.append(float(np.mean((low[cells] <= chances[cells]) & (chances[cells] <= high[cells]))))
        shares.append(cyclic_share(counts))
    return {
        "population": case.name,
        "spearman_at_least": min(correlation),
        "ratings_covered": float(np.mean(of_ratings)),
        "cells_covered": float(np.mean(of_cells)),
        "cyclic_share": float(np.mean(shares)),
        "seconds_to_rate": float(np.median(seconds)),
    }


def invented(case: Case, generator: np.random.Generator, players: int) -> Matrix:
    """Return the win rates (player, opponent) of a population; draws count half."""
    strength = generator.normal(0, SPREAD / _SCALE, players)
    one, other = generator.normal(0, 1, (2, players))
    cycles = case.cyclic * (np.outer(one, other) - np.outer(other, one)) / np.sqrt(2)
    chances: Matrix = 1 / (1 + np.exp(strength[None, :] - strength[:, None] - cycles))
    return chances


def played(chances: Matrix, drawn: float, generator: np.random.Generator) -> PayoffCounts:
    """Return results of MATCHES matches of every pair with these win rates."""
    players = len(chances)
    first, second = (np.repeat(numbers, MATCHES) for numbers in np.triu_indices(players, 1))
    chance = chances[first, second]
    draw = np.minimum(4 * drawn * chance * (1 - chance), 2 * np.minimum(chance, 1 - chance))
    luck = generator.random(len(first))
    result = (luck > chance - draw / 2).astype(np.int64) + (luck > chance + draw / 2)
    counts = PayoffCounts(players)
    counts.add_results(first, second, np.arange(len(first)) % 2, result)
    return counts


def best_ratings(chances: Matrix) -> Matrix:
    """Return the ratings (player,) that explain win rates best."""
    players = len(chances)
    points = _MANY * chances * (1 - np.eye(players))
    elo = np.full(players, MEAN)
    for one in rate(range_names(players), points):
        elo[int(one.name)] = one.elo
    return elo


def range_names(players: int) -> list[str]:
    return [str(number) for number in range(players)]


def check(rows: list[dict[str, float | str]]) -> None:
    """Raise if the figures are not what they should be."""
    for row in rows:
        figures: Mapping[str, float] = {key: value for key, value in row.items() if isinstance(value, float)}
        covered = [figures["ratings_covered"], figures["cells_covered"]]
        right = all(COVERAGE[0] <= one <= COVERAGE[1] for one in covered)
        if figures["spearman_at_least"] < LEAST_CORRELATION or not right:
            raise MeasurementError(
                f"{row['population']}: a rank correlation of at least {LEAST_CORRELATION} and a coverage from "
                f"{COVERAGE[0]:.0%} to {COVERAGE[1]:.0%} were expected."
            )


if __name__ == "__main__":
    run(main)
