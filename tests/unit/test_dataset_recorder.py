"""Writing matches to datasets: what is written is what was seen, done and earned."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from duel import BREATH, Duel
from episodes import CPU, LEDUC, build_policy, opened
from test_assembler import PayingDuel

from nemesis.cli import main
from nemesis.core.errors import UserError
from nemesis.data.dataset import open_dataset
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.writer import DatasetWriter
from nemesis.play.dataset_recorder import DatasetRecorder
from nemesis.play.matches import Score, play
from nemesis.play.players import Player, RandomPlayer, ScriptedPlayer
from nemesis.play.policy_players import PolicyPlayer

torch.set_num_threads(1)

SLOTS = 16
KUHN = ("--game", "openspiel:kuhn_poker")


def read_all(path: Path) -> Episodes:
    shards = open_dataset(path).shards
    return concatenate([shard.read(group) for shard in shards for group in range(len(shard.row_groups))])


def record(game: Duel, path: Path, first: Player, second: Player, matches: int = 60) -> tuple[Score, Episodes]:
    with DatasetWriter(path, game.spec) as writer:
        recorder = DatasetRecorder(game, writer, "x", SLOTS)
        (score,) = play(
            game,
            first,
            [second],
            matches=matches,
            slots=SLOTS,
            seed=3,
            on_end=recorder.on_end,
            on_decisions=recorder.on_decisions,
        )
        recorder.flush()
        writer.finish()
    return score, read_all(path)


def test_every_match_that_counts_is_there_with_both_seats_and_its_result(tmp_path: Path):
    game = Duel(lost=range(0, 100, 9))
    score, episodes = record(
        game, tmp_path, RandomPlayer(0), ScriptedPlayer(game.scripted["bold"], game.spec.actions, 1)
    )
    assert score.voided > 0
    numbers = np.array([int(source.removeprefix("x-")) for source in episodes.source])
    assert sorted({*numbers.tolist()}) == [number for number in range(60) if number % 9]
    assert score.matches == len(episodes.match_starts) == episodes.count / 2
    by_first = episodes.seat == numbers % 2
    assert score.wins == (episodes.result[by_first] > 0).sum()
    assert score.mean == pytest.approx(episodes.result[by_first].mean())
    np.testing.assert_array_equal(episodes.result[by_first], -episodes.result[~by_first])
    ends = np.zeros(episodes.decisions, np.float32)
    ends[episodes.offsets[1:] - 1] = episodes.result
    np.testing.assert_array_equal(episodes.reward, ends)


def test_rewards_per_decision_reach_what_learners_get(tmp_path: Path):
    _, recorded = record(PayingDuel(), tmp_path, RandomPlayer(0), RandomPlayer(1))
    trajectories = recorded.trajectories()
    assert trajectories.reward is not None
    for number, (first, last) in enumerate(zip(trajectories.offsets[:-1], trajectories.offsets[1:], strict=True)):
        expected = [*trajectories.view[first + 1 : last, 2], 100 + trajectories.seat[number]]
        assert trajectories.reward[first:last] == pytest.approx(expected)


def test_actions_views_and_masks_belong_together(tmp_path: Path):
    game = Duel(lost=range(0, 100, 9))
    _, episodes = record(game, tmp_path, RandomPlayer(0), ScriptedPlayer(game.scripted["bold"], game.spec.actions, 1))
    mask = np.unpackbits(episodes.mask, axis=1, count=game.spec.actions).astype(bool)
    assert mask[np.arange(episodes.decisions), episodes.action].all()
    np.testing.assert_array_equal(episodes.view[:, 3] > 0, episodes.action == BREATH)
    numbers = np.array([int(source.removeprefix("x-")) for source in episodes.source])
    bold = np.repeat(episodes.seat != numbers % 2, episodes.lengths)
    assert np.isnan(episodes.log_prob[bold]).all()  # a rule has no probabilities
    assert np.isfinite(episodes.log_prob[~bold]).all()
    assert set(episodes.action[bold]) == {2, BREATH}
    for episode in range(episodes.count):
        rows = slice(int(episodes.offsets[episode]), int(episodes.offsets[episode + 1]))
        assert (np.diff(episodes.view[rows, 2]) >= 0).all()  # rounds go up
        assert (np.diff(episodes.tick[rows]) > 0).all()
    assert (episodes.tick[episodes.offsets[:-1]] == 0).all()  # both seats begin at once


def test_the_probabilities_and_values_of_a_policy_are_recorded(tmp_path: Path):
    game = opened(LEDUC)
    policy = build_policy(game)
    players = [PolicyPlayer(policy, game.spec, SLOTS, CPU, seed) for seed in (0, 1)]
    _, episodes = record(game, tmp_path, *players)  # type: ignore[arg-type]
    with torch.inference_mode():
        mask = torch.from_numpy(np.unpackbits(episodes.mask, axis=1, count=game.spec.actions).astype(bool))
        output = policy.step(torch.from_numpy(episodes.view.copy()), mask, torch.zeros(episodes.decisions, 0))
    chosen = output.log_probs.numpy()[np.arange(episodes.decisions), episodes.action]
    np.testing.assert_allclose(episodes.log_prob, chosen, atol=1e-5)
    np.testing.assert_allclose(episodes.value, output.value.numpy(), atol=1e-5)
    assert (np.abs(episodes.result) <= 1).all()  # divided by the utility scale


def collect(*arguments: str) -> int:
    return main(["collect", *arguments])


def test_a_player_alone_meets_itself_and_the_card_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "new" / "self"
    assert collect("random", *KUHN, "--matches", "50", "--out", str(out)) == 0
    collected = capsys.readouterr().out
    assert main(["data", "show", str(out)]) == 0
    assert capsys.readouterr().out == collected
    assert re.search(r"\| kuhn_poker \| 50 \| 100 \|", collected)
    assert main(["data", "show", str(out), "--check"]) == 0
    assert "All shards match the card." in capsys.readouterr().out


def test_what_is_added_is_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    once = ("random", *KUHN, "--matches", "50", "--out", str(tmp_path))
    assert collect(*once) == 0
    assert collect(*once) == 2
    assert "already has a dataset; continue it with --add" in capsys.readouterr().err
    assert collect(*once, "--add") == 0
    episodes = read_all(tmp_path)
    assert len(set(episodes.source)) == 100
    first, second = (episodes.at(np.arange(start, start + 100)) for start in (0, 100))
    assert first.decisions != second.decisions or (first.action != second.action).any()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("random",), "Name the game with --game"),
        (("greedy", *KUHN), "no opponent called 'greedy'"),
        (("random", *KUHN, "--matches", "0"), "--matches must be a whole number of at least 1"),
        (("runs/none", *KUHN), "runs/none"),
    ],
)
def test_what_cannot_be_collected_is_said_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
):
    assert collect(*arguments, "--out", str(tmp_path / "out")) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_nothing_but_lost_matches_is_no_dataset(tmp_path: Path):
    game = Duel(lost=range(1000))
    with pytest.raises(UserError, match="There is no episode to write"):
        record(game, tmp_path, RandomPlayer(0), RandomPlayer(1))
