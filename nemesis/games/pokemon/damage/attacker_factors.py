"""The attacker's side of the damage formula: the type of its moves, its attacking stat and its factors."""

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.damage.moves import PHYSICAL, STATUS, Moves, move_set
from nemesis.games.pokemon.damage.pokemon_batch import (
    ATTACK,
    DEFENCE,
    RAIN,
    SPECIAL_ATTACK,
    SPEED,
    SUN,
    Floats,
    PokemonBatch,
)
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import STATUSES, TERRAINS

MEAN_ROLL = 0.925
_TERRAIN_TYPES = {"electricterrain": "electric", "grassyterrain": "grass", "psychicterrain": "psychic"}


class AttackerFactors:
    """Everything in the formula that does not depend on the defender, by the rules of one mod."""

    def __init__(self, tables: dex.Tables) -> None:
        self._generation = tables.generation
        self._types = {name: number for number, name in enumerate(dex.vocabulary().types, 1)}
        self._tera_blast, self._weather_ball = dex.vocabulary().numbers("moves", "terablast", "weatherball")
        self._typed_by_user = move_set("revelationdance", "judgment", "multiattack", "ivycudgel", "ragingbull")
        hits = tables.moves["hits"].astype(np.float32)
        self._mean_hits = np.where(hits[:, 0] == hits[:, 1], hits[:, 0], hits.mean(-1) - 0.4)
        self._max_hits = hits[:, 1]

    def retyped(self, attackers: PokemonBatch, moves: Moves) -> Moves:
        """Return the moves with the type, power and category that they have for these attackers."""
        types, power, category = moves.type, moves.power, moves.category
        becomes = attackers.ability_fact("becomes_type")[..., None]
        if becomes.any():
            changes = (becomes > 0) & (types == self._types["normal"]) & (category != STATUS)
            types = np.where(changes, becomes, types)
            power = np.where(changes, power * (1.3 if self._generation == 6 else 1.2), power)
        by_user = self._typed_by_user[moves.number]
        if by_user.any():
            own = attackers.species_types
            types = np.where(by_user, np.where(own[..., 1:] > 0, own[..., 1:], own[..., :1]), types)
        tera = (moves.number == self._tera_blast) & (attackers.column("terastallized") > 0)[..., None]
        if tera.any():
            types = np.where(tera, attackers.column("tera_type")[..., None], types)
            physical = attackers.boosted[..., ATTACK] > attackers.boosted[..., SPECIAL_ATTACK]
            category = np.where(tera & physical[..., None], PHYSICAL, category)
        in_weather = moves.number == self._weather_ball
        if in_weather.any():
            types = np.where(in_weather, self._weather_type(attackers)[:, None, None], types)
        return Moves(moves.number, power, types, category, moves.rows)

    def _weather_type(self, attackers: PokemonBatch) -> npt.NDArray[np.int64]:
        names = ("normal", "water", "fire", "rock", "ice", "ice", "water", "fire", "normal")
        return np.array([self._types[name] for name in names])[attackers.field.weather]

    def attack(self, attackers: PokemonBatch, moves: Moves) -> Floats:
        """Return the attacking stat with the factors of items and abilities: (n, attacker, move)."""
        physical = attackers.boosted[..., ATTACK] * attackers.ability_factor("physical_power")
        physical *= attackers.item_factor("physical_power")
        special = attackers.boosted[..., SPECIAL_ATTACK] * attackers.ability_factor("special_power")
        special *= attackers.item_factor("special_power")
        guts = attackers.has_ability("guts") & (attackers.column("status") > 0)
        physical = np.where(guts, 1.5 * physical, physical)
        attack = np.where(moves.category == PHYSICAL, physical[..., None], special[..., None])
        by_defence = moves["attack_stat"] == 1
        return np.where(by_defence, attackers.boosted[..., None, DEFENCE], attack)

    def modifier(self, attackers: PokemonBatch, moves: Moves) -> Floats:
        """Return the product of all other factors: (n, attacker, move)."""
        factor = self._same_type(attackers, moves) * self._from_field(attackers, moves)
        factor *= self._from_ability(attackers, moves) * self._mean_critical(attackers, moves) * np.float32(MEAN_ROLL)
        types = attackers.item_facts("boosted_types")[..., None, :]
        boosted = (types[..., 0] == moves.type) | (types[..., 1] == moves.type)
        factor = np.where(boosted, factor * attackers.item_factor("type_power")[..., None], factor)
        burned = (attackers.column("status") == STATUSES.index("brn")) & ~attackers.has_ability("guts")
        factor = np.where(burned[..., None] & (moves.category == PHYSICAL), factor / 2, factor)
        always_max = attackers.has_ability("skilllink")[..., None]
        hits = np.where(always_max, self._max_hits[moves.number], self._mean_hits[moves.number])
        return np.asarray(factor * np.maximum(hits, 1), np.float32)

    def _same_type(self, attackers: PokemonBatch, moves: Moves) -> Floats:
        """Return the same-type attack bonus (STAB), with terastallization: (n, attacker, move)."""
        kind, types = moves.type, attackers.types[..., None, :]
        current = (types[..., 0] == kind) | (types[..., 1] == kind) | (types[..., 2] == kind)
        adaptable = attackers.has_ability("adaptability")[..., None]
        bonus = np.where(current, np.where(adaptable, 2, 1.5), 1)
        terastallized = attackers.column("terastallized")[..., None] > 0
        if terastallized.any():
            own_types = attackers.species_types[..., None, :]
            original = (own_types[..., 0] == kind) | (own_types[..., 1] == kind)
            same = attackers.column("tera_type")[..., None] == moves.type
            tera = np.where(same & original, np.where(adaptable, 2.25, 2), np.where(same | original, 1.5, 1))
            stellar = attackers.column("tera_type")[..., None] == self._types["stellar"]
            tera = np.where(stellar, np.where(original, 2, 1.2), tera)
            bonus = np.where(terastallized, tera, bonus)
        return bonus.astype(np.float32)

    def _from_field(self, attackers: PokemonBatch, moves: Moves) -> Floats:
        """Return the factor of weather and terrain: (n, attacker, move)."""
        factor = np.ones(moves.power.shape, np.float32)
        weather, terrain = attackers.field.weather, attackers.field.terrain
        if weather.any():
            fire, water = moves.type == self._types["fire"], moves.type == self._types["water"]
            sun, rain = SUN[weather][:, None, None], RAIN[weather][:, None, None]
            factor = np.where((fire & sun) | (water & rain), 1.5, factor)
            factor = np.where((fire & rain) | (water & sun), 0.5, factor)
        if terrain.any():
            kinds = np.array([self._types.get(_TERRAIN_TYPES.get(name, ""), -1) for name in TERRAINS])[terrain]
            boosted = (moves.type == kinds[:, None, None]) & attackers.grounded[..., None]
            factor = np.where(boosted, factor * (1.3 if self._generation >= 8 else 1.5), factor)
        return factor.astype(np.float32)

    def _from_ability(self, attackers: PokemonBatch, moves: Moves) -> Floats:
        """Return the factor of the attacker's ability: (n, attacker, move)."""
        factor = np.ones(moves.power.shape, np.float32)
        if not attackers.ability.any():
            return factor
        kind = attackers.ability_fact("boosted_type")
        active = (attackers.ability_fact("pinch") == 0) | (attackers.hp <= 1 / 3)
        kind = np.where(active, kind, 0)[..., None]
        factor = np.where((kind > 0) & (kind == moves.type), attackers.ability_factor("type_power")[..., None], 1)
        flag = attackers.ability_fact("boosted_flag")[..., None]
        flags = moves.flags
        flagged = (flag > 0) & (np.take_along_axis(flags, np.maximum(flag - 1, 0)[..., None], -1)[..., 0] > 0)
        factor = np.where(flagged, factor * attackers.ability_factor("flag_power")[..., None], factor)
        technician = attackers.has_ability("technician")[..., None] & (moves.power <= 60)
        sheer_force = attackers.has_ability("sheerforce")[..., None] & (moves["secondary_chance"] > 0)
        reckless = attackers.has_ability("reckless")[..., None] & (moves["recoil"] > 0)
        bond = attackers.has_ability("parentalbond")[..., None]
        factor *= (
            np.where(technician, 1.5, 1)
            * np.where(sheer_force, 1.3, 1)
            * np.where(reckless, 1.2, 1)
            * np.where(bond, 1.25, 1)
        )
        flash_fire = attackers.has_volatile("flashfire")[..., None] & (moves.type == self._types["fire"])
        return np.where(flash_fire, 1.5 * factor, factor).astype(np.float32)

    def _mean_critical(self, attackers: PokemonBatch, moves: Moves) -> Floats:
        """Return the mean factor of critical hits: (n, attacker, move)."""
        ratio = np.clip(moves["critical_ratio"], 1, 4)
        if self._generation == 1:
            base = attackers.species[..., dex.BLOCKS["species"].columns("base_stats")][..., SPEED, None]
            chance = np.where(ratio > 1, np.minimum(base * 8, 510), base) / 512
            level = attackers.column("level")[..., None]
            gain = (4 * level / 5 + 2) / (2 * level / 5 + 2) - 1
        else:
            chances = {2: (1 / 16, 1 / 4, 1 / 3, 1), 7: (1 / 24, 1 / 8, 1 / 2, 1)}.get(
                2 if self._generation == 2 else 7 if self._generation >= 7 else 0, (1 / 16, 1 / 8, 1 / 4, 1)
            )
            chance = np.array(chances)[ratio - 1]
            gain = np.asarray(0.5 if self._generation >= 6 else 1)
        return np.asarray(1 + chance * gain, np.float32)
