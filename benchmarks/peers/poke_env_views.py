"""poke-env's battles as arrays in our layout: what a learner on top of poke-env has to write for itself.

The rows hold what such learners usually read: both teams with species, health, status, types, boosts, moves, items and
abilities, the field and the sides. They fill fewer columns than our own hosts, but the same ones, so that the same
network can read them.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from poke_env.battle import AbstractBattle, DoubleBattle, Move, Pokemon
from poke_env.player.battle_order import BattleOrder, DoubleBattleOrder, PassBattleOrder, SingleBattleOrder

from nemesis.core.game import BoolArray
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import action_space

_OPTIONS = 45  # of a slot in doubles
_TARGETS = 5
_GIMMICK = 5
_SWITCH = 40
_PASS = 44
_NO_TARGET = 2
_POKEMON = {field.name: layout.POKEMON.columns(field.name).start for field in layout.POKEMON.fields}
_POSITION = {field.name: layout.POSITION.columns(field.name).start for field in layout.POSITION.fields}


class ArrayWriter:
    """Writes the views and masks of one format."""

    def __init__(self, slots: int, brought: int) -> None:
        self._slots = slots
        self._actions = action_space(slots, brought).size
        words = vocabulary()
        self._numbers = {
            kind: {name: number for number, name in enumerate(getattr(words, kind), 1)}
            for kind in ("species", "moves", "items", "abilities", "types")
        }

    def view(self, battle: AbstractBattle) -> npt.NDArray[np.int16]:
        """Return what a seat sees: (view,)."""
        row = np.zeros(layout.VIEW_SIZE, dtype=np.int16)
        parts = layout.cut(row)
        parts.position[_POSITION["turn"]] = battle.turn
        parts.position[_POSITION["slots"]] = self._slots
        for side, (team, conditions) in enumerate(
            ((battle.team, battle.side_conditions), (battle.opponent_team, battle.opponent_side_conditions))
        ):
            for condition, layers in conditions.items():
                name = condition.name.lower().replace("_", "")
                if name in layout.SIDE_CONDITIONS:
                    place = layout.SIDE.columns("layers").start + layout.SIDE_CONDITIONS.index(name)
                    parts.side[side, place] = layers
            for member, pokemon in zip(parts.pokemon[side], team.values(), strict=False):
                self._write(member, pokemon)
        return row

    def choices(self, battle: AbstractBattle) -> tuple[BoolArray, dict[int, BattleOrder]]:
        """Return which actions are legal (action,), and the order that each of them stands for."""
        mask = np.zeros(self._actions, dtype=np.bool_)
        orders = self._doubles(battle) if isinstance(battle, DoubleBattle) else self._singles(battle)
        mask[list(orders)] = True
        return mask, orders

    def _write(self, row: npt.NDArray[np.int16], pokemon: Pokemon) -> None:
        numbers, place = self._numbers, _POKEMON
        row[place["species"]] = numbers["species"].get(pokemon.species, 0)
        row[place["base_species"]] = numbers["species"].get(pokemon.base_species, 0)
        row[place["level"]] = pokemon.level
        row[place["hp"]], row[place["max_hp"]] = pokemon.current_hp or 0, pokemon.max_hp or 0
        row[place["fainted"]], row[place["active"]] = int(pokemon.fainted), int(bool(pokemon.active))
        if pokemon.status is not None and (status := pokemon.status.name.lower()) in layout.STATUSES:
            row[place["status"]] = layout.STATUSES.index(status)
        for number, kind in enumerate(pokemon.types):
            row[place["types"] + number] = numbers["types"].get(kind.name.lower(), 0)
        row[place["item"]] = numbers["items"].get(pokemon.item or "", 0)
        row[place["ability"]] = numbers["abilities"].get(pokemon.ability or "", 0)
        for number, stage in enumerate(pokemon.boosts.values()):
            row[place["boosts"] + number] = stage
        for number, value in enumerate(pokemon.stats.values() if pokemon.stats else ()):
            row[place["stats"] + number] = value or 0
        for number, (name, move) in enumerate(list(pokemon.moves.items())[: layout.MOVES]):
            row[place["moves"] + number] = numbers["moves"].get(name, 0)
            row[place["pp"] + number] = move.current_pp
            row[place["max_pp"] + number] = move.max_pp

    def _singles(self, battle: Any) -> dict[int, BattleOrder]:
        team = list(battle.team.values())
        orders: dict[int, BattleOrder] = {}
        for order in battle.valid_orders:
            if isinstance(order.order, Pokemon):
                orders[8 + team.index(order.order)] = order
            elif isinstance(order.order, Move):
                orders[_place(battle.active_pokemon, order.order) + 4 * order.terastallize] = order
            else:
                orders[0] = order
        return orders

    def _doubles(self, battle: DoubleBattle) -> dict[int, BattleOrder]:
        slots = [self._slot(battle, slot, orders) for slot, orders in enumerate(battle.valid_orders)]
        return {
            first * _OPTIONS + second: DoubleBattleOrder(one, other)
            for first, one in slots[0].items()
            for second, other in slots[1].items()
            if not (first == second >= _SWITCH and first != _PASS) and not (one.terastallize and other.terastallize)
        }

    def _slot(self, battle: DoubleBattle, slot: int, orders: list[SingleBattleOrder]) -> dict[int, SingleBattleOrder]:
        """Return the options of a slot."""
        options: dict[int, SingleBattleOrder] = {}
        switches = 0
        for order in orders:
            if isinstance(order.order, Pokemon):
                options[_SWITCH + switches] = order
                switches += 1
            elif isinstance(order.order, Move):
                place = _place(battle.active_pokemon[slot], order.order)
                option = 2 * _TARGETS * place + _GIMMICK * order.terastallize + order.move_target + _NO_TARGET
                options[option] = order
            else:
                options[_PASS] = order
        return options or {_PASS: PassBattleOrder()}  # type: ignore[no-untyped-call]


def _place(pokemon: Pokemon | None, move: Move) -> int:
    """Return the place of a move among those of a Pokémon; the first if it is not among them."""
    known = list(pokemon.moves)[: layout.MOVES] if pokemon else []
    return known.index(move.id) if move.id in known else 0
