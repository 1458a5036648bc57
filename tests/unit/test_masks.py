"""Packed masks: one bit per action, and an index outside of them is never legal."""

import numpy as np
import pytest

from nemesis.core.masks import is_legal, pack_mask, packed_size, unpack_mask


@pytest.mark.parametrize(("actions", "size"), [(1, 1), (8, 1), (9, 2), (2115, 265)])
def test_a_packed_mask_has_one_bit_per_action(actions: int, size: int):
    mask = np.random.default_rng(0).random((20, actions)) < 0.5
    packed = pack_mask(mask)
    assert packed_size(actions) == size
    assert packed.shape == (20, size)
    assert packed.dtype == np.uint8
    unpacked = unpack_mask(packed, actions)
    assert unpacked.dtype == np.bool_
    np.testing.assert_array_equal(unpacked, mask)


def test_the_first_action_is_the_highest_bit():
    assert pack_mask(np.array([True, False, False, False, False, False, False, True, True])).tolist() == [0x81, 0x80]


def test_masks_of_any_number_of_dimensions_are_packed_along_the_last():
    mask = np.random.default_rng(0).random((2, 3, 11)) < 0.5
    assert pack_mask(mask).shape == (2, 3, 2)
    np.testing.assert_array_equal(unpack_mask(pack_mask(mask), 11), mask)


def test_is_legal_reads_the_bit_of_each_action():
    mask = np.random.default_rng(0).random((50, 19)) < 0.5
    packed = pack_mask(mask)
    for action in range(19):
        np.testing.assert_array_equal(is_legal(packed, np.full(50, action)), mask[:, action])


@pytest.mark.parametrize("action", [-1, -8, -24, 19, 23, 24, 2**40])
def test_an_index_outside_the_actions_is_not_legal(action: int):
    packed = pack_mask(np.ones((3, 19), dtype=np.bool_))
    assert not is_legal(packed, np.full(3, action)).any()


def test_masks_of_no_decisions_are_empty():
    packed = pack_mask(np.zeros((0, 19), dtype=np.bool_))
    assert packed.shape == (0, 3)
    assert is_legal(packed, np.zeros(0, dtype=np.int64)).shape == (0,)
