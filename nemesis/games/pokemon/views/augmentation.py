"""Battles retold: the same decisions with the teams in another order, or with the two slots of a side exchanged.

    order   own Pokémon change their places: all of them at team preview, those on the bench later, and those that were
            left at home among themselves. Switches, leads and picks follow. Foes change their places too.
    slots   the two slots of the own side, the two of the foe, or all four are exchanged, in doubles.

The places of a battle's turns are those of the request. A switch exchanges two of them, so that one order for all turns
of an episode gives the requests of a battle that could have been played; team preview has an order of its own.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, IntArray
from nemesis.games.pokemon.views.actions import OPTIONS, SWITCH, TARGETS, TURNS, ActionSpace
from nemesis.games.pokemon.views.layout import FOE, OWN, PHASES, POKEMON, POSITION, SIDE, TEAM, cut

AUGMENTATIONS = ("order", "slots")

_ROWS_AT_ONCE = 512  # so that the tables of moved actions stay small
_OF_OWN_SLOTS = ("must_switch", "reviving", "trapped", "maybe_trapped", "only_move", "gimmick")
_OF_SLOTS = (
    "wish", "future_move", "healing_wish", "last_kind", "last_move", "last_target", "last_outcome", "last_order",
)  # fmt: skip
_EXCHANGED_TARGETS = np.array([[0, 2, 1, 3, 4], [0, 1, 2, 4, 3]])  # `last_target` once the slots of own or foe are
_EXCHANGED_ACTIVE = np.array([0, 2, 1])
_BESIDE_FOES = np.arange(OPTIONS)  # an option once the slots of the foe are exchanged: its targets +1 and +2 are too
_BESIDE_FOES[:SWITCH] = np.arange(SWITCH).reshape(-1, len(TARGETS))[:, [0, 1, 2, 4, 3]].ravel()


def augment(
    space: ActionSpace,
    names: Collection[str],
    view: npt.NDArray[np.int16],
    mask: BoolArray,
    action: IntArray,
    episode: IntArray,
    generator: np.random.Generator,
) -> tuple[npt.NDArray[np.int16], BoolArray, IntArray]:
    """Return decisions retold in one way for each episode, as `AugmentedGame` says."""
    episodes = int(episode[-1]) + 1 if len(episode) else 0
    exchanged = np.zeros((episodes, 2), dtype=np.bool_)  # (episode, own and foe)
    if "slots" in names and space.slots > 1:
        exchanged = generator.random((episodes, 2)) < 0.5
    luck = np.tile(np.arange(TEAM) / TEAM, (episodes, 3, 1))  # ascending, so that everybody stays
    if "order" in names:
        luck = generator.random((episodes, 3, TEAM))  # for the preview, the turns and the foes
    retold = [
        _retell(space, view[part], mask[part], action[part], exchanged[episode[part]], luck[episode[part]])
        for part in (slice(first, first + _ROWS_AT_ONCE) for first in range(0, len(view), _ROWS_AT_ONCE))
    ]
    if not retold:
        return view, mask, action
    views, masks, actions = zip(*retold, strict=True)
    return np.concatenate(views), np.concatenate(masks), np.concatenate(actions)


def own_orders(view: npt.NDArray[Any], slots: int, exchanged: BoolArray, luck: npt.NDArray[np.float64]) -> IntArray:
    """Return the new place of the Pokémon at each own place: (n, place).

    Args:
        view: (n, view)
        slots: active places of a side
        exchanged: (n,) whether the two own slots are, after the preview
        luck: (n, preview and turns, place) what the order of those that may change their places goes by
    """
    parts = cut(view)
    place = np.arange(TEAM)
    team = parts.side[:, OWN, SIDE.columns("team_size")]
    brought = parts.side[:, OWN, SIDE.columns("brought_size")]
    preview = parts.position[:, POSITION.columns("phase")] == PHASES.index("preview")
    # Who may change places with whom: active ones with nobody, the bench, those at home, and places without anybody.
    later = np.where(place < slots, place, np.where(place < brought, slots, slots + 1))
    later = np.where(exchanged[:, None] & (place < slots), slots - 1 - place, later)
    group = np.where(preview, 0, later)
    group = np.where(place < team, group, TEAM + place)
    order: IntArray = np.argsort(np.argsort(group + np.where(preview, luck[:, 0], luck[:, 1]), axis=1), axis=1)
    return order


def _retell(
    space: ActionSpace,
    view: npt.NDArray[np.int16],
    mask: BoolArray,
    action: IntArray,
    exchanged: BoolArray,
    luck: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int16], BoolArray, IntArray]:
    """Retell decisions: exchanged (n, own and foe), luck (n, preview and turns and foes, place)."""
    parts = cut(view)
    fainted = parts.pokemon[:, OWN, :, POKEMON.column("fainted")] > 0
    reviving = (parts.position[:, POSITION.columns("reviving")] > 0).any(axis=1)
    # One Pokémon alone has nobody to change slots with.
    alone = parts.side[:, OWN, SIDE.column("brought_size")] < space.slots
    exchanged = exchanged & ~(alone[:, None] & [True, False])
    order = own_orders(view, space.slots, exchanged[:, OWN], luck)
    moved = space.moved(order, space.switch_places(fainted, reviving))
    beside_foes = _beside_foes(space)

    def follow(rows: IntArray, actions: IntArray) -> IntArray:
        own = moved[rows, actions]
        followed: IntArray = np.where(exchanged[rows, FOE], beside_foes[own], own)
        return followed

    # Few actions are legal, so that each is moved by itself.
    legal = np.flatnonzero(mask)
    was = legal % space.size
    new_mask = np.zeros(mask.shape, dtype=np.bool_)
    new_mask.reshape(-1)[legal - was + follow(legal // mask[0].size, was)] = True
    followed = follow(np.arange(len(view)), np.maximum(action, 0))
    return _moved_view(view, order, exchanged, luck[:, 2]), new_mask, np.where(action < 0, -1, followed)


def _beside_foes(space: ActionSpace) -> IntArray:
    """Return which action is meant once the slots of the foe are exchanged: (action,)."""
    turns = (_BESIDE_FOES[:, None] * OPTIONS + _BESIDE_FOES[None, :]).ravel()
    return np.concatenate([turns, np.arange(TURNS, space.size)])


def _moved_view(
    view: npt.NDArray[np.int16], order: IntArray, exchanged: BoolArray, foe_luck: npt.NDArray[np.float64]
) -> npt.NDArray[np.int16]:
    """Return the views with Pokémon at their new places and slots exchanged."""
    moved = view.copy()
    old, new = cut(view), cut(moved)
    rows = np.arange(len(view))[:, None]
    new.pokemon[rows, OWN, order] = old.pokemon[:, OWN]
    unknown = ~old.pokemon[:, FOE].any(axis=2)  # (n, place) nobody is known there, and known ones stay in front
    foe_order = np.argsort(np.argsort(unknown + foe_luck, axis=1), axis=1)
    new.pokemon[rows, FOE, foe_order] = old.pokemon[:, FOE]
    for side in (OWN, FOE):
        chosen = np.flatnonzero(exchanged[:, side])
        if not chosen.size:
            continue
        active = POKEMON.column("active")
        new.pokemon[chosen, side, :, active] = _EXCHANGED_ACTIVE[new.pokemon[chosen, side, :, active]]
        for name in _OF_SLOTS:
            columns = SIDE.columns(name)
            new.side[chosen, side, columns] = new.side[chosen, side, columns][:, ::-1]
        targets = SIDE.columns("last_target")
        new.side[chosen, :, targets] = _EXCHANGED_TARGETS[side][new.side[chosen, :, targets]]
        for name in _OF_OWN_SLOTS if side == OWN else ():
            columns = POSITION.columns(name)
            new.position[chosen, columns] = new.position[chosen, columns][:, ::-1]
    return moved
