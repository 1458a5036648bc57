"""Moves as the damage formula reads them: known moves, Z-moves and max moves, and guesses of unknown moves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.damage.pokemon_batch import ATTACK, SPECIAL_ATTACK, Floats, PokemonBatch
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import Block

PHYSICAL, SPECIAL, STATUS = (dex.CATEGORIES.index(name) for name in ("physical", "special", "status"))
_GUESSED_POWER = 80  # of unrevealed moves of a Pokémon's own types
_COVERAGE_POWER = 65  # of an unrevealed move of another type, which is always neutral
_SPECIAL_TYPES = ("fire", "water", "grass", "electric", "psychic", "ice", "dragon", "dark")  # up to generation 3

# The fields that the formula needs, without the rest, so that less is copied.
_NEEDED = (
    "power", "type", "category", "accuracy", "flags", "fixed_damage", "ohko", "critical_ratio", "recoil", "cost",
    "secondary_chance", "attack_stat", "hits_defence", "ignores_boosts", "ignores_ability",
)  # fmt: skip
_FIELDS = Block([field for field in dex.BLOCKS["moves"].fields if field.name in _NEEDED])


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves of attackers: (n, attacker, move) each."""

    number: npt.NDArray[Any]
    power: Floats
    type: npt.NDArray[Any]
    category: npt.NDArray[Any]
    rows: npt.NDArray[np.int16]  # (n, attacker, move, column of _FIELDS)

    def __getitem__(self, name: str) -> npt.NDArray[np.int16]:
        """Return a field of one column: (n, attacker, move)."""
        return self.rows[..., _FIELDS.column(name)]

    @property
    def flags(self) -> npt.NDArray[np.int16]:
        """The flags of the moves: (n, attacker, move, flag)."""
        return self.rows[..., _FIELDS.columns("flags")]

    def join(self, other: "Moves") -> "Moves":
        """Append further moves of the same attackers."""
        return Moves(
            np.concatenate([self.number, other.number], -1),
            np.concatenate([self.power, other.power], -1),
            np.concatenate([self.type, other.type], -1),
            np.concatenate([self.category, other.category], -1),
            np.concatenate([self.rows, other.rows], -2),
        )


class MoveTable:
    """The moves of one mod."""

    def __init__(self, tables: dex.Tables) -> None:
        self._moves = tables.moves
        self._generation = tables.generation
        self._rows = np.concatenate(
            [self._moves[field.name].reshape(-1, field.size) for field in _FIELDS.fields], axis=1
        )
        flags = self._moves["flags"]
        slow = (flags[:, dex.FLAGS.index("charge")] + flags[:, dex.FLAGS.index("recharge")]) > 0
        delayed = flags[:, dex.FLAGS.index("futuremove")] > 0
        # (move,) damage per turn as a fraction of the damage: some take two turns, some hit when the foe may have left.
        self.damage_rate = np.where(delayed, 0.3, np.where(slow, 0.55, 1)).astype(np.float32)
        self._physical_type = np.array([False] + [name not in _SPECIAL_TYPES for name in dex.vocabulary().types])

    def read(self, numbers: npt.NDArray[Any]) -> Moves:
        """Return moves by their numbers (n, attacker, move)."""
        rows = self._rows[numbers]
        power = rows[..., _FIELDS.column("power")].astype(np.float32)
        return Moves(numbers, power, rows[..., _FIELDS.column("type")], rows[..., _FIELDS.column("category")], rows)

    def with_power(self, moves: Moves, attackers: npt.NDArray[np.bool_], field: str) -> Moves:
        """Give some attackers (n, attacker) the `z_power` or `max_power` of their moves, without special rules."""
        chosen = attackers[..., None]
        rows = moves.rows.copy()
        flat = rows.reshape(-1, *rows.shape[2:])
        index = np.flatnonzero(attackers.ravel())
        for name, value in (("fixed_damage", 0), ("ohko", 0), ("accuracy", 101)):
            flat[index, :, _FIELDS.column(name)] = value
        power = np.where(chosen, self._moves[field][moves.number], moves.power)
        return Moves(np.where(chosen, 0, moves.number), power, moves.type, moves.category, rows)

    def guesses(self, attackers: PokemonBatch) -> Moves:
        """Return guesses of an unknown move: one of each of the attacker's types, one of another: (n, attacker, 3)."""
        types = np.concatenate([attackers.species_types, np.zeros_like(attackers.species_types[..., :1])], -1)
        physical = (attackers.boosted[..., ATTACK] >= attackers.boosted[..., SPECIAL_ATTACK])[..., None]
        if self._generation <= 3:
            physical = np.where(types > 0, self._physical_type[types], physical)
        category = np.broadcast_to(np.where(physical, PHYSICAL, SPECIAL), types.shape)
        power = np.where(types > 0, _GUESSED_POWER, [0, 0, _COVERAGE_POWER]).astype(np.float32)
        rows = np.zeros((*types.shape, _FIELDS.width), np.int16)
        rows[..., _FIELDS.column("accuracy")] = 100
        rows[..., _FIELDS.column("critical_ratio")] = 1
        return Moves(np.zeros(types.shape, np.int64), power, types, category, rows)


def move_set(*names: str) -> npt.NDArray[np.bool_]:
    """Return which numbers are those of the named moves: (move,)."""
    chosen = np.zeros(len(dex.vocabulary().moves) + 1, np.bool_)
    chosen[dex.vocabulary().numbers("moves", *names)] = True
    return chosen
