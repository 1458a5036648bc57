"""`policy.act`: from arrays of views, masks and memory to actions, as a user's own loop calls it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from episodes import CPU, LEDUC, build_policy, opened

import nemesis
from nemesis.core.game import Decisions, IntArray
from nemesis.core.masks import IllegalPositionError, PackedMask, is_legal, unpack_mask
from nemesis.play.policy_players import PolicyPlayer
from nemesis.policies.config import PolicyConfig
from nemesis.policies.play_style import PlayStyle
from nemesis.policies.policy import Policy
from nemesis.storage.policy_files import save_policy

torch.set_num_threads(1)

SLOTS, ROUNDS = 16, 12
ACTIONS = opened(LEDUC).spec.actions


def waiting() -> Decisions:
    with closing(opened(LEDUC).pool(SLOTS, 0)) as pool:
        return pool.recv()[0]


def own_loop(
    policy: Policy, masks: Callable[[PackedMask], np.ndarray], style: PlayStyle, forget: bool
) -> list[IntArray]:
    """Return the actions of a loop that keeps the memory of all seats itself."""
    generator = torch.Generator().manual_seed(7)
    memory = np.zeros((SLOTS, 2, policy.state_size), dtype=np.float32)  # (slot, seat, state)
    chosen = []
    with closing(opened(LEDUC).pool(SLOTS, 0)) as pool:
        for _ in range(ROUNDS):
            decisions, results = pool.recv()
            memory[results.slot] = 0
            state = None if forget else memory[decisions.slot, decisions.seat]
            actions, memory[decisions.slot, decisions.seat] = policy.act(
                decisions.view, masks(decisions.mask), state, style=style, generator=generator
            )
            assert is_legal(decisions.mask, actions).all()
            pool.send(actions)
            chosen.append(actions)
    return chosen


def player_loop(policy: Policy, style: PlayStyle) -> list[IntArray]:
    game = opened(LEDUC)
    player = PolicyPlayer(policy, game.spec, SLOTS, CPU, 7, style)
    chosen = []
    with closing(game.pool(SLOTS, 0)) as pool:
        for _ in range(ROUNDS):
            decisions, results = pool.recv()
            player.forget(results.slot)
            chosen.append(player.act(decisions).action)
            pool.send(chosen[-1])
    return chosen


@pytest.mark.parametrize("masks", [lambda packed: packed, lambda packed: unpack_mask(packed, ACTIONS)])
@pytest.mark.parametrize("memory", ["none", "gru", "transformer"])
def test_arrays_get_the_actions_of_a_player(memory: str, masks: Callable[[PackedMask], np.ndarray]):
    policy, style = build_policy(opened(LEDUC), memory=memory), PlayStyle(temperature=0.7, top_p=0.9)
    np.testing.assert_array_equal(own_loop(policy, masks, style, forget=False), player_loop(policy, style))


def test_the_memory_that_is_given_back_matters():
    policy, style = build_policy(opened(LEDUC), memory="gru"), PlayStyle()
    kept, forgotten = (own_loop(policy, lambda packed: packed, style, forget) for forget in (False, True))
    np.testing.assert_array_equal(kept[0], forgotten[0])
    assert not np.array_equal(kept, forgotten)


def test_a_policy_file_acts_as_it_was_exported_unless_asked_otherwise(tmp_path: Path):
    game, config, decisions = opened(LEDUC), PolicyConfig(width=16, layers=1), waiting()
    saved = Policy(game.encoder, game.action_head, config)
    save_policy(tmp_path / "policy.safetensors", saved, config, game, {}, PlayStyle(temperature=0))
    policy = nemesis.load_policy(tmp_path / "policy.safetensors")

    def answers(style: PlayStyle | None) -> int:
        """Return how many different answers the same decision gets."""
        same = np.zeros(200, dtype=np.int64)
        return len(set(policy.act(decisions.view[same], decisions.mask[same], style=style)[0].tolist()))

    assert answers(None) == 1
    assert answers(PlayStyle()) > 1


def test_masks_of_another_type_or_width_are_refused():
    policy, decisions = build_policy(opened(LEDUC)), waiting()
    legal = unpack_mask(decisions.mask, ACTIONS)
    with pytest.raises(ValueError, match=r"^Masks are bool .* or packed uint8 .*, not int8; use astype\(bool\)\.$"):
        policy.act(decisions.view, legal.astype(np.int8))
    with pytest.raises(ValueError, match=r"^A packed mask of 3 actions has 1 columns, not 3\.$"):
        policy.act(decisions.view, legal.astype(np.uint8))
    with pytest.raises(ValueError, match=r"^A mask of 3 actions has 3 columns, not 2\.$"):
        policy.act(decisions.view, legal[:, :2])
    decisions.mask[5] = 0
    with pytest.raises(IllegalPositionError, match=r"^Row 5 has a mask that allows no action\.$"):
        policy.act(decisions.view, decisions.mask)
