"""What the opponent did, as it is kept beside a decision, is what the seat sees a turn later in real battles."""

import numpy as np
import pytest
import torch

from nemesis.games import open_game
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.network.opponent_model import class_names
from nemesis.games.pokemon.views.layout import ACTION_KINDS, FOE, PHASES, POKEMON, POSITION, SIDE, cut
from nemesis.play.collector import Collector
from nemesis.play.experience import Clock
from nemesis.play.pairings import MAIN, SELF_PLAY
from nemesis.play.policy_players import PolicyPlayer
from nemesis.play.seating import Seating
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy

torch.set_num_threads(1)


@pytest.mark.parametrize("name", ["gen1ou", "gen9vgc2025regi"])
def test_what_the_opponent_was_noted_to_do_is_seen_a_turn_later(name: str):
    game = open_game(f"pokemon:{name}")
    assert isinstance(game, PokemonGame)
    policy = Policy(game.encoder, game.action_head, PolicyConfig(size="nano"))
    player = PolicyPlayer(policy, game.spec, 16, torch.device("cpu"), seed=0)
    pool = game.pool(16, seed=0)
    collector = Collector(game, pool, Seating(16, SELF_PLAY, lambda *_: player, 0), None, Clock(), opponent_model=True)
    trajectories = collector.collect(1500).episodes[MAIN]
    pool.close()

    names, slots, views = class_names(game.format.mod), game.format.slots, cut(trajectories.view)
    opponent_action = trajectories.opponent_action
    assert opponent_action is not None
    turn = views.position[:, POSITION.column("phase")] == PHASES.index("turn")
    assert (opponent_action[turn] >= 0).any(axis=1).mean() > 0.95
    before = np.setdiff1d(np.flatnonzero(turn), trajectories.offsets[1:] - 1)
    before = before[turn[before + 1]]  # a whole turn lies between the two decisions
    after = before + 1
    kind = views.side[after, FOE][:, SIDE.columns("last_kind")][:, :slots]
    moved = (kind == ACTION_KINDS.index("move")) & (opponent_action[before] >= 0)
    seen = names.of_move[views.side[after, FOE][:, SIDE.columns("last_move")][:, :slots]]
    assert moved.mean() > 0.4
    assert (seen == opponent_action[before])[moved].mean() > 0.95  # a few moves call others

    sent = opponent_action[before] > names.of_move.max()  # else a replacement of who fainted came in
    switched = (kind == ACTION_KINDS.index("switch")) & sent
    foes = views.pokemon[after, FOE]
    slot = np.arange(1, slots + 1)
    place = (foes[:, None, :, POKEMON.column("active")] == slot[:, None]).argmax(axis=2)  # (n, slot)
    standing = names.of_species[np.take_along_axis(foes[..., POKEMON.column("base_species")], place, axis=1)]
    assert switched.mean() > 0.05
    assert switched.sum() / sent.sum() > 0.95
    species = names.of_species[foes[..., POKEMON.column("base_species")]]
    fainted = foes[..., POKEMON.column("fainted")] > 0
    fell = ((species[:, None] == opponent_action[before][:, :, None]) & fainted[:, None]).any(axis=2)
    assert (standing == opponent_action[before])[switched & ~fell].mean() > 0.98  # a few were driven out at once
