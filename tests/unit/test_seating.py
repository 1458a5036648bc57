"""Several players in one pool: each decides for its own side, and a pairing lasts for a match."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from duel import Duel
from episodes import CPU, LEDUC, build_policy, opened

from nemesis.core.game import Decisions, Game
from nemesis.play.collector import Collector
from nemesis.play.experience import Clock
from nemesis.play.pairings import EXPLOITER, MAIN, Pairing, Pairings, PlayerSource
from nemesis.play.players import Choices, RandomPlayer, SavablePlayer
from nemesis.play.policy_players import PolicyPlayer, frozen_players
from nemesis.play.seating import Seating, open_seating
from nemesis.policies.config import PolicyConfig
from nemesis.policies.play_style import PlayStyle
from nemesis.policies.policy import Policy
from nemesis.storage.policy_files import save_policy
from nemesis.storage.state_tree import flatten_state, unflatten_state

torch.set_num_threads(1)

SELF = PlayerSource("learning", MAIN)
HUNTING = PlayerSource("learning", EXPLOITER)
RANDOM = PlayerSource("scripted", "random")
SLOTS = 40


class Noting(RandomPlayer):
    """A random player that records which seats it was asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: set[tuple[int, int]] = set()

    def act(self, decisions: Decisions) -> Choices:
        self.asked |= set(zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True))
        return super().act(decisions)


class League:
    """A collector whose main policy and exploiter meet others, and what it opened."""

    def __init__(self, game: Game, pairings: Pairings, memory: str = "none", seed: int = 0) -> None:
        stride = None if memory == "none" else 2
        self.learning = {
            name: PolicyPlayer(build_policy(game, seed=number, memory=memory), game.spec, SLOTS, CPU, seed + number)
            for number, name in enumerate((MAIN, EXPLOITER))
        }
        self.opened: list[Noting] = []
        self.seating = Seating(SLOTS, pairings, self._open, seed)
        self.collector = Collector(game, game.pool(SLOTS, seed), self.seating, stride, Clock())

    def _open(self, source: PlayerSource, seed: int) -> SavablePlayer:
        if source.kind == "learning":
            return self.learning[source.name]
        self.opened.append(Noting(seed))
        return self.opened[-1]


def test_only_the_decisions_of_learners_are_kept_and_each_learner_gets_its_own():
    pairings = Pairings((Pairing(SELF, SELF, 1.0), Pairing(SELF, RANDOM, 1.0), Pairing(HUNTING, RANDOM, 1.0)))
    league = League(opened(LEDUC), pairings)
    experience = league.collector.collect(2000)
    assert set(experience.episodes) == {MAIN, EXPLOITER}
    kept = {
        (match, seat)
        for episodes in experience.episodes.values()
        for match, seat in zip(episodes.match.tolist(), episodes.seat.tolist(), strict=True)
    }
    assert not kept & league.opened[0].asked
    for name, source in ((MAIN, SELF), (EXPLOITER, HUNTING)):
        number = experience.outcomes.players.index(source)
        assert experience.episodes[name].episodes == np.count_nonzero(experience.outcomes.player == number)


def test_pairs_meet_as_often_as_their_shares_say_and_take_turns_at_the_sides():
    league = League(opened(LEDUC), Pairings((Pairing(SELF, SELF, 3.0), Pairing(SELF, RANDOM, 1.0))))
    outcomes = league.collector.collect(6000).outcomes
    opponent = outcomes.players.index(RANDOM)
    in_flight = (league.seating.sides == league.seating.sources.index(RANDOM)).any(axis=1)
    assert in_flight.sum() == SLOTS / 4
    assert np.all(np.flatnonzero(in_flight) >= SLOTS * 3 / 4)  # neighbours, so that they decide together
    against = (outcomes.player == opponent).any(axis=1)
    sides = (outcomes.player[against] == opponent).mean(axis=0)
    assert np.all(abs(sides - 0.5) < 4.5 * np.sqrt(0.25 / against.sum()))
    assert np.all(outcomes.returns.sum(axis=1) == 0)


def test_a_share_smaller_than_a_slot_is_met_by_chance():
    pairings = Pairings((Pairing(SELF, SELF, 0.995), Pairing(SELF, RANDOM, 0.005)))
    slot = np.repeat(np.arange(SLOTS), 500)
    drawn = pairings.draw(slot, SLOTS, np.random.default_rng(0))
    assert abs(drawn.mean() - 0.005) < 4.5 * np.sqrt(0.005 / len(slot))


def test_a_match_keeps_its_pair_when_the_pairings_change():
    game = Duel()
    league = League(game, Pairings((Pairing(SELF, RANDOM, 1.0),)))
    league.collector.collect(100)
    before = league.seating.sides.copy()
    league.seating.follow(Pairings((Pairing(SELF, SELF, 1.0),)))
    np.testing.assert_array_equal(league.seating.sides, before)
    assert len(league.seating._players) == 2
    for _ in range(3):
        league.collector.collect(400)
        league.seating.follow(Pairings((Pairing(SELF, SELF, 1.0),)))
    assert [league.seating.sources[number] for number in league.seating._players] == [SELF]  # no match needs the other


def test_decisions_are_marked_with_the_version_of_their_own_learner():
    league = League(opened(LEDUC), Pairings((Pairing(SELF, RANDOM, 1.0), Pairing(HUNTING, RANDOM, 1.0))))
    league.learning[MAIN].version, league.learning[EXPLOITER].version = 7, 3
    experience = league.collector.collect(200)
    assert set(experience.episodes[MAIN].version.tolist()) == {7}
    assert set(experience.episodes[EXPLOITER].version.tolist()) == {3}


def test_a_match_lost_before_its_first_decision_is_credited_to_no_player():
    game = Duel(lost=range(0, 100_000, 5))
    league = League(game, Pairings((Pairing(SELF, RANDOM, 1.0),)))
    experience = league.collector.collect(500)
    counts = league.collector.counts
    assert counts.voided > 0
    assert len(experience.outcomes) <= counts.matches + counts.voided
    assert experience.outcomes.counted.sum() == counts.matches
    assert (experience.outcomes.player >= 0).all()


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_a_restored_league_continues_identically(memory: str):
    pairings = Pairings((Pairing(SELF, SELF, 1.0), Pairing(SELF, RANDOM, 2.0), Pairing(HUNTING, RANDOM, 1.0)))
    league = League(opened(LEDUC), pairings, memory)
    league.collector.collect(300)
    snapshot = unflatten_state(*flatten_state(league.collector.snapshot()))
    expected = league.collector.collect(300)
    other = League(opened(LEDUC), Pairings((Pairing(SELF, SELF, 1.0),)), memory, seed=1)
    other.collector.collect(100)
    other.collector.restore(snapshot)
    again = other.collector.collect(300)
    assert set(again.episodes) == set(expected.episodes)
    for name, episodes in expected.episodes.items():
        for field in ("view", "action", "log_prob", "match", "seat", "result", "memory", "memory_row"):
            np.testing.assert_array_equal(getattr(again.episodes[name], field), getattr(episodes, field), err_msg=field)
    np.testing.assert_array_equal(again.outcomes.returns, expected.outcomes.returns)


def test_a_frozen_policy_plays_in_the_style_of_its_file(tmp_path: Path):
    game = opened(LEDUC)
    config = PolicyConfig(width=16, layers=1)
    frozen = build_policy(game)
    save_policy(tmp_path / "frozen.safetensors", frozen, config, game, {}, PlayStyle(temperature=0))
    player = frozen_players(game, SLOTS, CPU, tmp_path)(PlayerSource("frozen", "frozen.safetensors"), 0)
    waiting, _ = game.pool(SLOTS, seed=0).recv()
    with torch.no_grad():
        output = frozen.step(torch.from_numpy(waiting.view), torch.from_numpy(waiting.mask), torch.zeros(SLOTS, 0))
    likeliest = output.log_probs.argmax(-1).numpy()
    for _ in range(3):
        np.testing.assert_array_equal(player.act(waiting).action, likeliest)


def test_a_frozen_policy_is_opened_from_its_file_and_plays_as_itself(tmp_path: Path):
    game = opened(LEDUC)
    config = PolicyConfig(width=16, layers=1)
    frozen = Policy(game.encoder, game.action_head, config)
    save_policy(tmp_path / "frozen.safetensors", frozen, config, game, {})
    source = PlayerSource("frozen", "frozen.safetensors")
    open_frozen = frozen_players(game, SLOTS, CPU, tmp_path)
    seating = open_seating(game, SLOTS, Pairings((Pairing(SELF, source, 1.0),)), {}, open_frozen, seed=0)
    waiting, _ = game.pool(SLOTS, seed=0).recv()
    assert set(waiting.seat.tolist()) == {0}
    odd = replace(waiting, match=waiting.match * 2 + 1)  # in odd matches the second of the pair has side 0
    choices = seating.act(odd, seating.players_of(odd))
    view, mask = torch.from_numpy(waiting.view), torch.from_numpy(waiting.mask)
    with torch.no_grad():
        log_probs = frozen.step(view, mask, torch.zeros(SLOTS, 0)).log_probs
    expected = log_probs.gather(1, torch.from_numpy(choices.action)[:, None])[:, 0]
    np.testing.assert_allclose(choices.log_prob, expected.numpy(), atol=1e-6)
