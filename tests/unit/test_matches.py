"""Matches between two players: fair counts, intervals that are known from tables, and figures that are valid JSON."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from nemesis.core.config import build_config
from nemesis.core.game import Arrays, Decisions, EndReason, IntArray, MatchPool, Results
from nemesis.games.openspiel import OpenSpielGame, open_game
from nemesis.runtime.actor import RandomActor
from nemesis.runtime.assembly import build_policy
from nemesis.runtime.checkpoints import save_checkpoint
from nemesis.runtime.config import RunConfig
from nemesis.runtime.evaluation import AgainstRandom, Evaluation, NashConv, evaluate, measure
from nemesis.runtime.matches import Score, play

torch.set_num_threads(1)

KUHN = "kuhn_poker"


class FailingGame:
    """A game all of whose matches end by a failure of the simulator."""

    def __init__(self, game: OpenSpielGame) -> None:
        self._game = game
        self.spec = game.spec
        self.encoder = game.encoder

    def pool(self, slots: int, seed: int) -> MatchPool:
        return FailingPool(self._game.pool(slots, seed))


class FailingPool:
    def __init__(self, pool: MatchPool) -> None:
        self._pool = pool

    @property
    def slots(self) -> int:
        return self._pool.slots

    def recv(self) -> tuple[Decisions, Results]:
        waiting, ended = self._pool.recv()
        reason = np.full(len(ended), EndReason.SIMULATOR_FAILURE, dtype=np.int64)
        return waiting, Results(ended.match, ended.slot, ended.returns, reason)

    def send(self, actions: IntArray) -> None:
        self._pool.send(actions)

    def snapshot(self) -> Arrays:
        return self._pool.snapshot()

    def restore(self, snapshot: Arrays) -> None:
        self._pool.restore(snapshot)


def run_config(game: str, **settings: str) -> RunConfig:
    return build_config(RunConfig, {"game": f"openspiel:{game}", "policy": {"size": "nano"}, **settings})


def score(wins: int, draws: int, matches: int) -> Score:
    return Score(matches=matches, mean=0.0, margin=0.0, wins=wins, draws=draws, voided=0)


@pytest.mark.parametrize(
    ("wins", "draws", "matches", "low", "high"),
    [
        (8, 0, 10, 0.4902, 0.9433),
        (7, 2, 10, 0.4902, 0.9433),
        (0, 0, 10, 0.0, 0.2775),
        (10, 0, 10, 0.7225, 1.0),
        (50, 0, 100, 0.4038, 0.5962),
    ],
)
def test_the_win_rate_has_wilsons_interval(wins: int, draws: int, matches: int, low: float, high: float):
    counted = score(wins, draws, matches)
    assert counted.win_rate == pytest.approx((wins + draws / 2) / matches)
    assert counted.win_rate_interval == pytest.approx((low, high), abs=1e-4)


def test_random_players_are_equal_within_the_intervals():
    counted = play(open_game(KUHN), RandomActor(1), RandomActor(2), matches=2001, seed=3)
    assert (counted.matches, counted.voided) == (2001, 0)
    assert abs(counted.mean) < 2 * counted.margin
    low, high = counted.win_rate_interval
    assert low < 0.5 < high
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / math.sqrt(2001), rel=0.01)


def test_a_single_match_has_no_margin():
    counted = play(open_game(KUHN), RandomActor(1), RandomActor(2), matches=1, seed=3)
    assert counted.matches == 1
    assert math.isfinite(counted.mean)
    assert math.isnan(counted.margin)


def test_a_policy_is_measured_against_random_play_with_its_intervals(tmp_path: Path):
    config = run_config(KUHN)
    game = open_game(KUHN, node_limit=1)
    strength = measure(game, build_policy(config, game).eval(), torch.device("cpu"), matches=50, seed=0)
    assert isinstance(strength, AgainstRandom)
    figures = strength.as_json()
    low, high = strength.score.win_rate_interval
    assert (figures["win_rate_low"], figures["win_rate"], figures["win_rate_high"]) == (
        low,
        strength.score.win_rate,
        high,
    )
    assert f"(95 % interval {low:.1%} to {high:.1%}), 0 voided" in dict(strength.rows("last weights")).popitem()[1]
    evaluation = Evaluation("openspiel:kuhn_poker", tmp_path, 1, strength, strength)
    assert {"win_rate_low_last", "win_rate_high_last", "win_rate_low_average"} <= evaluation.as_json().keys()


def test_when_every_match_is_voided_the_figures_say_so_and_stay_valid_json(tmp_path: Path):
    config = run_config(KUHN)
    game = FailingGame(open_game(KUHN))
    strength = measure(game, build_policy(config, game).eval(), torch.device("cpu"), matches=20, seed=0)
    assert isinstance(strength, AgainstRandom)
    assert (strength.score.matches, strength.score.voided) == (0, 20)
    assert all(math.isnan(value) for value in strength.metrics().values())
    evaluation = Evaluation("openspiel:kuhn_poker", tmp_path, 1, strength, strength)
    assert ("against random, last weights", "no match ended by play, 20 voided") in evaluation.rows()
    figures = json.loads(json.dumps(evaluation.as_json(), allow_nan=False))
    for name in ("return", "return_margin", "win_rate", "win_rate_low", "win_rate_high"):
        assert figures[f"{name}_last"] is None
    assert (figures["matches_last"], figures["voided_last"]) == (0, 20)


def test_what_was_trained_on_cuda_can_be_measured_anywhere(tmp_path: Path):
    config = run_config(KUHN, device="cuda")
    policy = build_policy(config, open_game(KUHN))
    tensors = {"weights": policy.state_dict(), "average": policy.state_dict()}
    path = save_checkpoint(tmp_path, 7, tensors, {}, config.model_dump(mode="json"))
    evaluation = evaluate(path, matches=10, seed=0)
    assert isinstance(evaluation.last, NashConv)
    assert evaluation.update == 7
    figures = evaluation.as_json()
    assert figures["nashconv_last"] == figures["nashconv_average"] == evaluation.last.value > 0
    assert [label for label, _ in evaluation.rows()][3:5] == ["NashConv, last weights", "exploitability, last weights"]
