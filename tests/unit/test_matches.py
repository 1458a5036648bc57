"""Matches between two players: fair counts, intervals that are known from tables, and figures that are valid JSON."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from duel import Duel
from episodes import CPU
from episodes import build_policy as seeded_policy

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.game import Arrays, Decisions, EndReason, Game, IntArray, MatchPool, Results
from nemesis.evaluation.replays import save_replays
from nemesis.evaluation.strength import AgainstOpponents, Evaluation, NashConv, Strength, evaluate, measure
from nemesis.evaluation.subject import open_subject
from nemesis.games.openspiel.game import OpenSpielGame, open_game
from nemesis.play.matches import Score, play
from nemesis.play.players import Choices, RandomPlayer, ScriptedPlayer
from nemesis.play.scripted import opponent_names
from nemesis.policies.build import build_policy
from nemesis.policies.policy import Policy
from nemesis.storage.checkpoints import save_checkpoint
from nemesis.training.config import RunConfig

torch.set_num_threads(1)

KUHN = "kuhn_poker"


class FailingGame:
    """A game all of whose matches end by a failure of the simulator."""

    def __init__(self, game: OpenSpielGame) -> None:
        self._game = game
        self.spec = game.spec
        self.scripted = game.scripted
        self.encoder = game.encoder
        self.action_head = game.action_head

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

    def close(self) -> None:
        self._pool.close()


def run_config(game: str, **settings: str) -> RunConfig:
    return build_config(RunConfig, {"game": f"openspiel:{game}", "policy": {"size": "nano"}, **settings})


def score(wins: int, draws: int, matches: int) -> Score:
    return Score(matches=matches, mean=0.0, margin=0.0, wins=wins, draws=draws, voided=0, ended=Counter())


def measured(game: Game, policy: Policy, matches: int, opponents: tuple[str, ...] = ("random",)) -> Strength:
    return measure(game, policy.eval(), CPU, opponents=opponents, matches=matches, slots=50, seed=0)


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
    (counted,) = play(open_game(KUHN), RandomPlayer(1), [RandomPlayer(2)], matches=2001, slots=500, seed=3)
    assert (counted.matches, counted.voided) == (2001, 0)
    assert counted.ended == {"played": 2001}
    assert abs(counted.mean) < 2 * counted.margin
    low, high = counted.win_rate_interval
    assert low < 0.5 < high
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / math.sqrt(2001), rel=0.01)


def test_a_single_match_has_no_margin():
    (counted,) = play(open_game(KUHN), RandomPlayer(1), [RandomPlayer(2)], matches=1, slots=500, seed=3)
    assert counted.matches == 1
    assert abs(counted.mean) in {1, 2}
    assert counted.win_rate == (counted.mean > 0)
    assert math.isnan(counted.margin)


def test_a_policy_is_measured_against_random_play_with_its_intervals(tmp_path: Path):
    game = open_game(KUHN, node_limit=1)
    strength = measured(game, seeded_policy(game), matches=50)
    assert isinstance(strength, AgainstOpponents)
    score = strength.scores["random"]
    low, high = score.win_rate_interval
    assert strength.metrics() == {
        "win_rate_against_random": score.win_rate,
        "return_against_random": score.mean,
        "matches_against_random": score.matches,
    }
    evaluation = Evaluation("openspiel:kuhn_poker", tmp_path, 1, strength, strength)
    figures = evaluation.as_json()
    for weights in ("last", "average"):
        against = figures[f"against_{weights}"]["random"]
        assert (against["win_rate_low"], against["win_rate"], against["win_rate_high"]) == (low, score.win_rate, high)
        assert (against["matches"], against["voided"], against["ended"]) == (50, 0, {"played": 50})
    row = dict(evaluation.rows())["against random, averaged weights"]
    assert row.startswith(f"win rate {score.win_rate:.1%} (95 % interval {low:.1%} to {high:.1%}), return ")
    assert row.endswith("50 matches, 0 voided")


def test_when_every_match_is_voided_the_figures_say_so_and_stay_valid_json(tmp_path: Path):
    game = FailingGame(open_game(KUHN))
    strength = measured(game, seeded_policy(game), matches=20)
    assert isinstance(strength, AgainstOpponents)
    assert (strength.scores["random"].matches, strength.scores["random"].voided) == (0, 20)
    assert strength.metrics()["matches_against_random"] == 0
    assert all(math.isnan(strength.metrics()[f"{figure}_against_random"]) for figure in ("win_rate", "return"))
    evaluation = Evaluation("openspiel:kuhn_poker", tmp_path, 1, strength, strength)
    sentence = "no scored matches, 20 voided; ended: 20 simulator_failure"
    assert ("against random, last weights", sentence) in evaluation.rows()
    figures = json.loads(json.dumps(evaluation.as_json(), allow_nan=False))["against_last"]["random"]
    for name in ("return", "return_margin", "win_rate", "win_rate_low", "win_rate_high"):
        assert figures[name] is None
    assert (figures["matches"], figures["voided"], figures["ended"]) == (0, 20, {"simulator_failure": 20})


def test_what_was_trained_on_cuda_can_be_measured_anywhere(tmp_path: Path):
    config, game = run_config(KUHN, device="cuda"), open_game(KUHN)
    policy = build_policy(game, config.policy)
    tensors = {"weights": policy.state_dict(), "average": policy.state_dict()}
    state = {"view_version": game.spec.view_version, "decisions": 0}
    path = save_checkpoint(tmp_path, 7, tensors, state, config.model_dump(mode="json"))
    evaluation = evaluate(open_subject(path), seed=0)
    assert isinstance(evaluation.last, NashConv)
    assert evaluation.update == 7
    figures = evaluation.as_json()
    assert figures["nash_conv_last"] == figures["nash_conv_average"] == evaluation.last.value > 0
    assert [label for label, _ in evaluation.rows()][3:5] == ["NashConv, last weights", "exploitability, last weights"]


class RecordingPlayer:
    """Plays at random and records what it was asked."""

    def __init__(self, seed: int) -> None:
        self._player = RandomPlayer(seed)
        self.asked: list[tuple[int, int]] = []  # match, seat
        self.forgotten: list[int] = []

    def act(self, decisions: Decisions) -> Choices:
        self.asked += zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True)
        return self._player.act(decisions)

    def forget(self, slot: IntArray) -> None:
        self.forgotten += slot.tolist()


def test_sides_alternate_and_players_are_asked_only_in_matches_that_count():
    first, second = RecordingPlayer(1), RecordingPlayer(2)
    (counted,) = play(Duel(), first, [second], matches=31, slots=8, seed=0)
    assert counted.matches == 31
    assert {match for match, _ in first.asked} == {match for match, _ in second.asked} == set(range(31))
    assert all(seat == match % 2 for match, seat in first.asked)
    assert all(seat != match % 2 for match, seat in second.asked)
    assert first.forgotten == second.forgotten
    assert set(first.forgotten) == set(range(8))


def test_several_opponents_share_a_pool_and_each_gets_its_pairs_of_matches():
    first, others = RecordingPlayer(1), [RecordingPlayer(2), RecordingPlayer(3), RecordingPlayer(4)]
    lost = [match for match in range(1000) if match // 2 % 3 == 0]
    scores = play(Duel(lost=lost), first, others, matches=10, slots=8, seed=0)
    assert [(score.matches, score.voided) for score in scores] == [(0, 10), (10, 0), (10, 0)]
    for number, other in enumerate(others):
        assert {match for match, _ in other.asked} == {match for match in range(30) if match // 2 % 3 == number}
        assert all(seat != match % 2 for match, seat in other.asked)
    assert all(seat == match % 2 for match, seat in first.asked)


def test_an_odd_number_of_matches_is_played_against_each_opponent():
    others = [RecordingPlayer(2), RecordingPlayer(3)]
    scores = play(Duel(), RecordingPlayer(1), others, matches=3, slots=4, seed=0)
    assert [score.matches for score in scores] == [3, 3]
    assert [{match for match, _ in other.asked} for other in others] == [{0, 1, 4}, {2, 3, 5}]


def test_the_length_of_matches_is_counted():
    first = RecordingPlayer(1)
    (counted,) = play(Duel(), first, [RecordingPlayer(2)], matches=20, slots=4, seed=0)
    assert counted.decisions == len(first.asked) / 20
    assert math.isnan(counted.turns)
    assert (counted.as_json()["decisions"], counted.as_json()["turns"]) == (counted.decisions, None)


def test_every_way_to_end_is_counted_and_what_must_not_count_is_voided():
    (counted,) = play(Duel(lost=range(0, 1000, 5)), RandomPlayer(1), [RandomPlayer(2)], matches=200, slots=16, seed=0)
    assert (counted.matches, counted.voided) == (160, 40)
    assert counted.ended.keys() == {"played", "tie", "turn_limit", "host_lost"}
    assert (counted.ended["host_lost"], sum(counted.ended.values())) == (40, 200)
    assert counted.draws == counted.ended["tie"] + counted.ended["turn_limit"]
    assert counted.mean == pytest.approx((2 * counted.wins + counted.draws - 160) / 160)


def test_a_pool_is_closed_after_the_matches_and_after_an_error():
    game = Duel()
    play(game, RandomPlayer(1), [RandomPlayer(2)], matches=3, slots=2, seed=0)
    with pytest.raises(RuntimeError, match="The script failed"):
        play(game, RandomPlayer(1), [ScriptedPlayer(failing, game.spec.actions, 0)], matches=3, slots=2, seed=0)
    assert [pool.closed for pool in game.pools] == [True, True]


def failing(*_: object) -> IntArray:
    raise RuntimeError("The script failed.")


def test_a_policy_is_measured_against_each_opponent_of_the_game():
    game = Duel()
    assert opponent_names(game) == ("random", "timid", "bold")
    strength = measured(game, seeded_policy(game), matches=200, opponents=opponent_names(game))
    assert isinstance(strength, AgainstOpponents)
    rates = [strength.scores[name].win_rate for name in ("timid", "random", "bold")]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == strength.metrics()["win_rate_against_timid"] > 0.8
    assert [label for label, _ in strength.rows("last weights")] == [
        f"against {name}, last weights" for name in ("random", "timid", "bold")
    ]


def test_opponents_are_chosen_by_name():
    assert opponent_names(Duel(), ("bold", "random")) == ("random", "bold")
    with pytest.raises(UserError, match=r"^duel:plain has no opponent called 'bald'\. It has random, timid, bold\. "):
        opponent_names(Duel(), ("bald",))


def test_matches_are_saved_as_replays_with_who_played_them(tmp_path: Path):
    game = Duel()
    folder = tmp_path / "replays" / "update-7"
    policy = seeded_policy(game).eval()
    replays = save_replays(game, policy, CPU, opponent="bold", matches=5, seed=0, folder=folder)
    assert sorted(replay.path for replay in replays) == [folder / f"{match}.txt" for match in range(5)]
    for replay in replays:
        names, _, log = replay.path.read_text().partition(": ")
        assert names == ("bold against Nemesis" if int(replay.path.stem) % 2 else "Nemesis against bold")
        assert len(json.loads(log)) >= 4
    assert {replay.earned for replay in replays} <= {-1.0, 0.0, 1.0}
    assert all(pool.closed for pool in game.pools)


def test_a_game_that_cannot_save_replays_says_so(tmp_path: Path):
    game = open_game(KUHN, node_limit=1)
    with pytest.raises(UserError, match=r"^Matches of openspiel:kuhn_poker cannot be saved as replays\.$"):
        save_replays(game, seeded_policy(game), CPU, opponent="random", matches=2, seed=0, folder=tmp_path)
