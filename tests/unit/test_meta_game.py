"""Meta-game solvers against games whose equilibria are known exactly."""

from time import process_time

import numpy as np
import numpy.typing as npt
import pytest

from nemesis.population.meta_game.nash import solve_nash
from nemesis.population.meta_game.payoffs import Payoffs, exploitability
from nemesis.population.meta_game.rectified_nash import solve_rectified_nash
from nemesis.population.meta_game.solution import Solution
from nemesis.population.meta_game.solvers import SOLVERS

ROCK_PAPER_SCISSORS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], dtype=np.float64)
EQUILIBRIUM_SOLVERS = {"nash": 1e-12, "regret_matching": 1e-3, "replicator": 0.03}  # NashConv that they must reach


def cycle(weights: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the rock–paper–scissors cycle of an odd number of members whose equilibrium has these weights."""
    weight = np.asarray(weights, dtype=np.float64)
    size = len(weight)
    payoff = np.zeros((size, size))
    for member in range(size):
        for distance in range(1, size // 2 + 1):
            other = (member + distance) % size
            payoff[member, other] = (-1.0) ** distance / (weight[member] * weight[other])
            payoff[other, member] = -payoff[member, other]
    return payoff


@pytest.mark.parametrize("weights", [[1, 1, 1], [3, 1, 2], [0.01, 0.9, 0.09], [1, 1, 1, 1, 1], [5, 1, 3, 2, 4]])
def test_the_mixture_of_a_cycle_is_exact(weights: list[float]):
    expected = np.array(weights) / sum(weights)
    solution = solve_nash(cycle(weights))
    np.testing.assert_allclose(solution.row, expected, atol=1e-6)
    np.testing.assert_allclose(solution.column, expected, atol=1e-6)


def test_copies_of_a_member_share_its_weight_equally():
    payoff = np.kron(np.ones((3, 3)), cycle([3, 1, 2]))
    np.testing.assert_allclose(solve_nash(payoff).row, np.tile([3, 1, 2], 3) / 18, atol=1e-9)


def test_of_several_equilibria_the_one_of_maximum_entropy_is_found():
    # Rows: any mixture of the first two is optimal. Columns: the third alone holds rows to ½.
    payoff = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 0]], dtype=np.float64)
    solution = solve_nash(payoff)
    np.testing.assert_allclose(solution.row, [0.5, 0.5, 0], atol=1e-9)
    # Columns (c, c, 1 − 2c) are all optimal, and the uniform one has the most entropy.
    np.testing.assert_allclose(solution.column, [1 / 3, 1 / 3, 1 / 3], atol=1e-7)


def test_the_maximum_of_entropy_may_lie_where_another_column_becomes_tight():
    # Rows 0 to 2 earn 0 against the first column; the second forbids more than ¼ on row 0 ... so that the rest is even.
    payoff = np.array([[0, -3], [0, 1], [0, 1]], dtype=np.float64)
    np.testing.assert_allclose(solve_nash(payoff).row, [0.25, 0.375, 0.375], atol=1e-6)


def test_disjoint_cycles_are_mixed_evenly_whatever_their_stakes():
    zero = np.zeros((3, 3))
    payoff = np.block([[ROCK_PAPER_SCISSORS, zero], [zero, 7 * ROCK_PAPER_SCISSORS]])
    np.testing.assert_allclose(solve_nash(payoff).row, np.full(6, 1 / 6), atol=1e-9)


def test_a_payoff_without_differences_has_the_uniform_mixture():
    for solve in SOLVERS.values():
        np.testing.assert_allclose(solve(np.zeros((4, 4))).row, np.full(4, 0.25), atol=1e-9)
        np.testing.assert_array_equal(solve(np.zeros((1, 1))).row, [1.0])


def test_a_dominant_member_gets_all_the_weight():
    payoff = np.sign(np.subtract.outer(np.arange(5), np.arange(5))).astype(np.float64)
    for name, solve in SOLVERS.items():
        if name != "uniform":
            assert solve(payoff).row[-1] > 0.95, name


@pytest.mark.parametrize(("name", "close"), EQUILIBRIUM_SOLVERS.items())
@pytest.mark.parametrize("shape", [(3, 3), (8, 5), (1, 4)])
def test_solvers_approach_an_equilibrium_of_any_game(name: str, close: float, shape: tuple[int, int]):
    payoff = np.random.default_rng(0).normal(size=shape)
    solution = SOLVERS[name](payoff)  # type: ignore[index]
    assert solution.row.shape, solution.column.shape == shape
    for mixture in (solution.row, solution.column):
        assert (mixture >= 0).all()
        assert mixture.sum() == pytest.approx(1)
    assert -1e-12 <= solution.nash_conv(payoff) <= close


@pytest.mark.parametrize("name", SOLVERS)
def test_both_sides_have_the_same_mixture_if_they_have_the_same_members(name: str):
    solution = SOLVERS[name](cycle([3, 1, 2]))  # type: ignore[index]
    np.testing.assert_array_equal(solution.row, solution.column)


@pytest.mark.parametrize("antisymmetric", [True, False])
def test_the_gap_of_a_large_game_is_tiny_within_seconds(antisymmetric: bool):
    payoff = np.random.default_rng(1).uniform(-1, 1, size=(500, 500))
    payoff = (payoff - payoff.T) / 2 if antisymmetric else payoff
    start = process_time()
    solution = solve_nash(payoff)
    assert process_time() - start < 20
    assert solution.nash_conv(payoff) <= 1e-9
    copies = np.kron(np.ones((10, 10)), payoff[:25, :25])
    assert solve_nash(copies).nash_conv(copies) <= 1e-9


def test_rectified_nash_meets_opponents_that_the_mixture_beats():
    # Rock against a cycle in which paper wins by much: the mixture is (½, 1/6, 1/3) for rock, paper, scissors.
    payoff = np.array([[0, -2, 1], [2, 0, -3], [-1, 3, 0]], dtype=np.float64)
    nash = np.array([3, 1, 2]) / 6
    beaten = nash * (nash @ np.maximum(payoff, 0))
    np.testing.assert_allclose(solve_rectified_nash(payoff).column, beaten / beaten.sum(), atol=1e-9)


def test_alpha_rank_of_a_cycle_is_uniform_and_prefers_the_stronger_side():
    np.testing.assert_allclose(SOLVERS["alpha_rank"](ROCK_PAPER_SCISSORS).row, np.full(3, 1 / 3), atol=1e-6)
    solution = SOLVERS["alpha_rank"](np.array([[1.0, 1.0, 0.5], [0.0, 0.2, 0.1]]))
    assert solution.row[0] > 0.99
    assert solution.column[2] > 0.99


def test_nash_conv_is_what_the_best_members_win_against_each_mixture():
    # The uniform row mixture wins at least −0.5 (against column 1); the best row against column 0 wins 2.
    payoff = np.array([[2.0, -1.0], [0.0, 0.0]])
    solution = Solution(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    assert solution.nash_conv(payoff) == pytest.approx(2.5)


def test_payoffs_are_the_mean_results_and_unplayed_cells_are_even():
    counts = np.zeros((3, 3, 3), dtype=np.int64)
    counts[0, 1], counts[1, 0] = [6, 2, 2], [2, 2, 6]
    payoffs = Payoffs(counts)
    np.testing.assert_allclose(payoffs.mean, [[0, 0.4, 0], [-0.4, 0, 0], [0, 0, 0]])


def test_exploitability_of_a_mixture_has_an_interval_that_narrows_with_matches():
    # Member 0 wins 90 % against member 1, which is all of the mixture.
    widths = []
    for matches in (20, 2000):
        counts = np.zeros((2, 2, 3), dtype=np.int64)
        counts[0, 1], counts[1, 0] = [0.9 * matches, 0, 0.1 * matches], [0.1 * matches, 0, 0.9 * matches]
        estimate = exploitability(Payoffs(counts), np.array([0.0, 1.0]), np.random.default_rng(0))
        assert estimate.value == pytest.approx(2 * 0.8)  # both sides
        assert estimate.low < estimate.value < estimate.high
        widths.append(estimate.high - estimate.low)
    assert widths[1] < widths[0] / 5
    best = exploitability(Payoffs(counts), np.array([1.0, 0.0]), np.random.default_rng(0))
    assert (best.value, best.low, best.high) == (0, 0, 0)


def test_the_interval_covers_the_truth():
    """Rock–paper–scissors with uncertain strength: the loss of pure rock to paper, over many tables."""
    truth, covered = 2 * (2 * 0.8 - 1), 0
    generator = np.random.default_rng(0)
    for _ in range(200):
        wins = generator.binomial(100, 0.8)
        counts = np.zeros((2, 2, 3), dtype=np.int64)
        counts[1, 0], counts[0, 1] = [wins, 0, 100 - wins], [100 - wins, 0, wins]
        estimate = exploitability(Payoffs(counts), np.array([1.0, 0.0]), generator)
        covered += estimate.low <= truth <= estimate.high
    assert 180 <= covered <= 199
