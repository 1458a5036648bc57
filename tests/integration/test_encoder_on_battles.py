"""The encoder on records of real battles: its assumptions hold, and its outputs are valid."""

from functools import cache

import numpy as np
import pytest
import torch

from nemesis.core.masks import unpack_mask
from nemesis.games import open_game
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.views.layout import FOE, OWN, PHASES, POKEMON, POSITION, cut
from nemesis.play.players import RandomPlayer
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy

torch.set_num_threads(1)

FORMATS = ("gen1randombattle", "gen9ou", "gen9vgc2025regi", "gen9randomdoublesbattle", "championsvgc2026regma")


@cache
def played(name: str) -> tuple[PokemonGame, np.ndarray, np.ndarray]:
    """Return a game, and the views and masks of a few hundred random decisions."""
    game = open_game(f"pokemon:{name}")
    assert isinstance(game, PokemonGame)
    pool, player = game.pool(16, seed=1), RandomPlayer(seed=1)
    views, masks = [], []
    for _ in range(60):
        decisions, _ = pool.recv()
        views.append(decisions.view.copy())
        masks.append(unpack_mask(decisions.mask, game.spec.actions))
        pool.send(player.act(decisions).action)
    pool.close()
    return game, np.concatenate(views), np.concatenate(masks)


def new_policy(game: PokemonGame) -> Policy:
    torch.manual_seed(0)
    policy = Policy(game.encoder, game.action_head, PolicyConfig(width=64, layers=1))
    for name, parameter in policy.heads.named_parameters():
        if "score" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    return policy


@pytest.mark.parametrize("name", FORMATS)
def test_own_active_pokemon_come_first_and_each_slot_has_one_foe_at_most(name: str):
    game, view, _ = played(name)
    active = cut(view).pokemon[..., POKEMON.column("active")]
    place = np.arange(active.shape[-1]) + 1
    assert np.isin(active, range(game.format.slots + 1)).all()
    assert ((active[:, OWN] == 0) | (active[:, OWN] == place)).all()
    for slot in range(1, game.format.slots + 1):
        assert ((active[:, FOE] == slot).sum(axis=1) <= 1).all()
        turn = cut(view).position[:, POSITION.column("phase")] == PHASES.index("turn")
        assert (active[turn] == slot).any(axis=2).mean() > 0.8


@pytest.mark.parametrize("name", FORMATS)
def test_legal_actions_of_a_battle_have_distinct_probabilities(name: str):
    game, view, mask = played(name)
    with torch.inference_mode():
        output = new_policy(game).step(torch.from_numpy(view), torch.from_numpy(mask), torch.zeros(len(view), 0))
    log_probs = output.log_probs.numpy()
    assert (np.exp(log_probs[~mask]) == 0).all()
    assert np.exp(log_probs).sum(axis=1) == pytest.approx(1, abs=1e-4)
    several = mask.sum(axis=1) > 1
    distinct = [
        len(np.unique(row[legal])) / legal.sum() for row, legal in zip(log_probs[several], mask[several], strict=True)
    ]
    assert np.mean(distinct) > 0.95


@pytest.mark.parametrize("name", FORMATS)
def test_estimated_damage_is_plausible_and_at_most_twice_the_hp(name: str):
    game, view, _ = played(name)
    encoder = game.encoder(64)
    with torch.inference_mode():
        numbers = torch.from_numpy(view).float()
        matchups = encoder.matchups(numbers, encoder.team_state(numbers))
    damage = matchups.effects[:, OWN, ..., 0].numpy()
    assert damage.min() >= 0
    assert damage.max() <= 2
    assert 0.05 < damage[damage > 0].mean() < 0.8
