"""Scripted players and potentials in real battles."""

import numpy as np
import pytest

from nemesis.core.game import is_counted
from nemesis.core.masks import unpack_mask
from nemesis.games.pokemon.game import open_game

MATCHES = 60


def play_randomly(_, mask, generator):
    return np.where(mask, generator.random(mask.shape), -1).argmax(axis=1)


def win_rate(battle_format, player, opponent, seed=0):
    """Return the win rate of a player that alternates seats."""
    game = open_game(battle_format)
    players = {"random": play_randomly, **game.scripted}
    generator = np.random.default_rng(seed)
    pool = game.pool(MATCHES, seed)
    won, counted = 0, 0
    while counted < MATCHES:
        decisions, results = pool.recv()
        seat = results.match % 2
        returns = results.returns[np.arange(len(results)), seat][is_counted(results.end_reason)]
        won, counted = won + np.count_nonzero(returns > 0), counted + len(returns)
        actions = np.zeros(len(decisions), np.int64)
        ours = decisions.seat == decisions.match % 2
        mask = unpack_mask(decisions.mask, game.spec.actions)
        for name, rows in ((player, np.flatnonzero(ours)), (opponent, np.flatnonzero(~ours))):
            actions[rows] = players[name](decisions.view[rows], mask[rows], generator)
        pool.send(actions)
    pool.close()
    return won / counted


@pytest.mark.parametrize(
    ("battle_format", "player", "opponent", "minimum"),
    [
        ("gen1randombattle", "max_power", "random", 0.8),
        ("gen1randombattle", "greedy", "max_power", 0.7),
        ("gen9randombattle", "greedy", "max_power", 0.8),
        ("gen9randomdoublesbattle", "greedy", "max_power", 0.75),
        ("gen9randomdoublesbattle", "focus_fire", "max_power", 0.75),
    ],
)
def test_stronger_opponents_win(battle_format, player, opponent, minimum):
    assert win_rate(battle_format, player, opponent) > minimum


@pytest.mark.parametrize("battle_format", ["gen1randombattle", "gen9randombattle", "gen9randomdoublesbattle"])
def test_potentials_of_the_seats_sum_to_zero(battle_format):
    game = open_game(battle_format)
    generator = np.random.default_rng(1)
    pool = game.pool(16, 1)
    differences = []
    for _ in range(80):
        decisions, _ = pool.recv()
        potential = game.potential(decisions.view)
        order = np.lexsort((decisions.seat, decisions.match))
        first, second = order[:-1], order[1:]
        both = decisions.match[first] == decisions.match[second]
        total = potential[first[both]] + potential[second[both]]
        assert np.abs(total[:, 1]).max(initial=0) < 1e-6  # faints are public
        differences.extend(np.abs(total[:, [0, 2]]).max(axis=1))
        pool.send(play_randomly(decisions.view, unpack_mask(decisions.mask, game.spec.actions), generator))
    pool.close()
    assert len(differences) > 100
    assert np.quantile(differences, 0.9) < 0.02  # HP are shown as per cent or 48ths; healing on the bench is not shown
