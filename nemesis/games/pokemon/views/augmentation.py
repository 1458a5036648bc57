"""Data augmentation: equivalent decisions with permuted teams, or with the two slots of a side exchanged.

    order   permutes own Pokémon: the whole team at team preview; later the bench, and separately the Pokémon that were
            not brought. Switches, leads and picks are permuted with them. Foes are permuted, too.
    slots   exchanges the two slots of the own side, of the foe, or of both, in doubles.

The places of a turn are those of the request. A switch exchanges two of them, so one permutation for all turns of an
episode gives the requests of a battle that could have been played. Team preview has its own permutation.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, IntArray
from nemesis.games.pokemon.views.actions import OPTIONS, SWITCH, TARGETS, TURNS, ActionSpace
from nemesis.games.pokemon.views.layout import FOE, OWN, PHASES, POKEMON, POSITION, SIDE, TEAM, cut

AUGMENTATIONS = ("order", "slots")

_ROWS_AT_ONCE = 512  # so that the tables of permuted actions stay small
_OWN_SLOT_FIELDS = ("must_switch", "reviving", "trapped", "maybe_trapped", "only_move", "gimmick")
_SLOT_FIELDS = (
    "wish", "future_move", "healing_wish", "last_kind", "last_move", "last_target", "last_outcome", "last_order",
)  # fmt: skip
# `last_target` after the own or the foe's slots are exchanged
_EXCHANGED_TARGETS = np.array([[0, 2, 1, 3, 4], [0, 1, 2, 4, 3]])
_EXCHANGED_ACTIVE = np.array([0, 2, 1])
_FOE_EXCHANGED = np.arange(OPTIONS)  # options after the foe's slots are exchanged: targets +1 and +2 are, too
_FOE_EXCHANGED[:SWITCH] = np.arange(SWITCH).reshape(-1, len(TARGETS))[:, [0, 1, 2, 4, 3]].ravel()


def augment(
    space: ActionSpace,
    names: Collection[str],
    view: npt.NDArray[np.int16],
    mask: BoolArray,
    action: IntArray,
    episode: IntArray,
    generator: np.random.Generator,
) -> tuple[npt.NDArray[np.int16], BoolArray, IntArray]:
    """Return equivalent decisions, with one random transformation per episode; see `AugmentedGame.augment`."""
    episodes = int(episode[-1]) + 1 if len(episode) else 0
    exchanged = np.zeros((episodes, 2), dtype=np.bool_)  # (episode, own and foe)
    if "slots" in names and space.slots > 1:
        exchanged = generator.random((episodes, 2)) < 0.5
    sort_keys = np.tile(np.arange(TEAM) / TEAM, (episodes, 3, 1))  # ascending: the identity permutation
    if "order" in names:
        sort_keys = generator.random((episodes, 3, TEAM))  # for the preview, the turns and the foes
    augmented = [
        _augment(space, view[part], mask[part], action[part], exchanged[episode[part]], sort_keys[episode[part]])
        for part in (slice(first, first + _ROWS_AT_ONCE) for first in range(0, len(view), _ROWS_AT_ONCE))
    ]
    if not augmented:
        return view, mask, action
    views, masks, actions = zip(*augmented, strict=True)
    return np.concatenate(views), np.concatenate(masks), np.concatenate(actions)


def own_orders(
    view: npt.NDArray[Any], slots: int, exchanged: BoolArray, sort_keys: npt.NDArray[np.float64]
) -> IntArray:
    """Return the new place of the Pokémon at each own place: (n, place).

    Args:
        view: (n, view)
        slots: active Pokémon of a side
        exchanged: (n,) whether the two own slots are exchanged, after the preview
        sort_keys: (n, preview and turns, place) random keys that the Pokémon of a group are sorted by
    """
    parts = cut(view)
    place = np.arange(TEAM)
    team = parts.side[:, OWN, SIDE.columns("team_size")]
    brought = parts.side[:, OWN, SIDE.columns("brought_size")]
    preview = parts.position[:, POSITION.columns("phase")] == PHASES.index("preview")
    # Pokémon are permuted within groups: each active one alone, the bench, those not brought, each empty place alone.
    later = np.where(place < slots, place, np.where(place < brought, slots, slots + 1))
    later = np.where(exchanged[:, None] & (place < slots), slots - 1 - place, later)
    group = np.where(preview, 0, later)
    group = np.where(place < team, group, TEAM + place)
    keys = group + np.where(preview, sort_keys[:, 0], sort_keys[:, 1])
    order: IntArray = np.argsort(np.argsort(keys, axis=1), axis=1)
    return order


def _augment(
    space: ActionSpace,
    view: npt.NDArray[np.int16],
    mask: BoolArray,
    action: IntArray,
    exchanged: BoolArray,
    sort_keys: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int16], BoolArray, IntArray]:
    """Transform decisions: exchanged (n, own and foe), sort_keys (n, preview and turns and foes, place)."""
    parts = cut(view)
    fainted = parts.pokemon[:, OWN, :, POKEMON.column("fainted")] > 0
    reviving = (parts.position[:, POSITION.columns("reviving")] > 0).any(axis=1)
    # A single Pokémon cannot exchange slots.
    alone = parts.side[:, OWN, SIDE.column("brought_size")] < space.slots
    exchanged = exchanged & ~(alone[:, None] & [True, False])
    order = own_orders(view, space.slots, exchanged[:, OWN], sort_keys)
    moved = space.moved(order, space.switch_places(fainted, reviving))
    foe_exchanged = _foe_exchanged(space)

    def transform(rows: IntArray, actions: IntArray) -> IntArray:
        own = moved[rows, actions]
        transformed: IntArray = np.where(exchanged[rows, FOE], foe_exchanged[own], own)
        return transformed

    # Few actions are legal, so only these are transformed.
    legal = np.flatnonzero(mask)
    was = legal % space.size
    new_mask = np.zeros(mask.shape, dtype=np.bool_)
    new_mask.reshape(-1)[legal - was + transform(legal // mask[0].size, was)] = True
    new_action = transform(np.arange(len(view)), np.maximum(action, 0))
    return _permuted_view(view, order, exchanged, sort_keys[:, 2]), new_mask, np.where(action < 0, -1, new_action)


def _foe_exchanged(space: ActionSpace) -> IntArray:
    """Return the equivalent action after the foe's slots are exchanged: (action,)."""
    turns = (_FOE_EXCHANGED[:, None] * OPTIONS + _FOE_EXCHANGED[None, :]).ravel()
    return np.concatenate([turns, np.arange(TURNS, space.size)])


def _permuted_view(
    view: npt.NDArray[np.int16], order: IntArray, exchanged: BoolArray, foe_sort_keys: npt.NDArray[np.float64]
) -> npt.NDArray[np.int16]:
    """Return the views with permuted Pokémon and exchanged slots."""
    permuted = view.copy()
    old, new = cut(view), cut(permuted)
    rows = np.arange(len(view))[:, None]
    new.pokemon[rows, OWN, order] = old.pokemon[:, OWN]
    unknown = ~old.pokemon[:, FOE].any(axis=2)  # (n, place); known Pokémon stay in front
    foe_order = np.argsort(np.argsort(unknown + foe_sort_keys, axis=1), axis=1)
    new.pokemon[rows, FOE, foe_order] = old.pokemon[:, FOE]
    for side in (OWN, FOE):
        chosen = np.flatnonzero(exchanged[:, side])
        if not chosen.size:
            continue
        active = POKEMON.column("active")
        new.pokemon[chosen, side, :, active] = _EXCHANGED_ACTIVE[new.pokemon[chosen, side, :, active]]
        for name in _SLOT_FIELDS:
            columns = SIDE.columns(name)
            new.side[chosen, side, columns] = new.side[chosen, side, columns][:, ::-1]
        targets = SIDE.columns("last_target")
        new.side[chosen, :, targets] = _EXCHANGED_TARGETS[side][new.side[chosen, :, targets]]
        for name in _OWN_SLOT_FIELDS if side == OWN else ():
            columns = POSITION.columns(name)
            new.position[chosen, columns] = new.position[chosen, columns][:, ::-1]
    return permuted
