"""What moves would do: the simulator's damage formula on view records, for all attackers, moves and defenders at once.

    damage = ((2·level/5 + 2) · power · attack / defence / 50 + 2) · chance factors · modifiers

The result is the mean over the damage roll and critical hits of a hit, as a share of the target's full HP, with the
chance to hit beside it. Fixed damage, several hits, same-type bonus, terastallisation, the type chart, weather,
terrain, burns, screens, items and abilities as far as they are known are in it; what a hit does beside damage is not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.damage.battlers import (
    ACCURACY_STAGES,
    ATTACK,
    DEFENCE,
    HP,
    RAIN,
    SPECIAL_ATTACK,
    SPEED,
    SUN,
    Fighters,
    Floats,
)
from nemesis.games.pokemon.damage.variable_power import Scene, varied_power
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import STATUSES, TERRAINS, Block

MEAN_ROLL, LEAST_ROLL = 0.925, 0.85
_PHYSICAL, _SPECIAL, _STATUS = (dex.CATEGORIES.index(name) for name in ("physical", "special", "status"))
_SPREAD = [dex.TARGETS.index(name) for name in dex.SPREAD_TARGETS]
_STELLAR = "stellar"
_TERRAIN_TYPES = {"electricterrain": "electric", "grassyterrain": "grass", "psychicterrain": "psychic"}
_GUESSED_POWER = 80  # of the moves of its own types that a Pokémon has not shown
_COVERAGE_POWER = 65  # of a move of another type that it has not shown, against which nothing is safe

# What the formula needs of the dex, apart from the rest so that less is copied.
_NEEDED = (
    "power", "type", "category", "accuracy", "flags", "fixed_damage", "ohko", "critical_ratio", "recoil", "cost",
    "secondary_chance", "attack_stat", "hits_defence", "ignores_boosts", "ignores_ability",
)  # fmt: skip
_FACTS = Block([field for field in dex.BLOCKS["moves"].fields if field.name in _NEEDED])


@dataclass(frozen=True, slots=True)
class Damage:
    """What a hit takes of the target's full HP, and how likely it hits: (n, attacker, move, defender) each."""

    share: Floats
    chance: Floats

    @property
    def expected(self) -> Floats:
        return self.share * self.chance

    def knock_out(self, hp: Floats) -> Floats:
        """Return how likely a use takes all of the HP (n, defender) that is left."""
        return knock_out(self.share, hp[:, None, None, :]) * self.chance


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves as the formula reads them: (n, attacker, move) each."""

    number: npt.NDArray[Any]
    power: Floats
    type: npt.NDArray[Any]
    category: npt.NDArray[Any]
    facts: npt.NDArray[np.int16]  # (n, attacker, move, column of _FACTS)


def knock_out(share: Floats, hp: Floats) -> Floats:
    """Return how likely a hit of a mean size takes the HP that is left."""
    most = np.maximum(share, 1e-6) / np.float32(MEAN_ROLL)
    return np.clip((most - hp) / (np.float32(1 - LEAST_ROLL) * most), 0, 1) * (share > 0)


class Estimator:
    """Estimates damage by the rules of one mod."""

    def __init__(self, mod: str) -> None:
        self.tables = dex.tables(mod)
        self.generation = self.tables.generation
        self._types = {name: number for number, name in enumerate(dex.vocabulary().types, 1)}
        columns = [self.tables.moves[field.name].reshape(-1, field.size) for field in _FACTS.fields]
        self._move_facts = np.concatenate(columns, axis=1)
        flags = self.tables.moves["flags"]
        slow = (flags[:, dex.FLAGS.index("charge")] + flags[:, dex.FLAGS.index("recharge")]) > 0
        later = flags[:, dex.FLAGS.index("futuremove")] > 0
        # (move,) how much of its damage a turn gets: some take two turns, some strike when the foe may have gone.
        self.tempo = np.where(later, 0.3, np.where(slow, 0.55, 1)).astype(np.float32)
        hits = self.tables.moves["hits"].astype(np.float32)
        self._hits = np.where(hits[:, 0] == hits[:, 1], hits[:, 0], hits.mean(-1) - 0.4)
        self._most_hits = hits[:, 1]
        self.mega_forme = np.zeros(len(self.tables.items.values), np.int16)  # (item,) species that a holder may become
        mega = np.flatnonzero((self.tables.species["mega"] > 0) & (self.tables.species["required_item"] > 0))
        self.mega_forme[self.tables.species["required_item"][mega]] = mega
        self._spread = np.isin(self.tables.moves["target"], _SPREAD)
        self._number = {
            name: dex.vocabulary().number("moves", name)
            for name in ("freezedry", "terablast", "weatherball", "thunder", "hurricane")
        }
        special = (
            "fire",
            "water",
            "grass",
            "electric",
            "psychic",
            "ice",
            "dragon",
            "dark",
        )  # until types ceased to tell
        self._physical_type = np.array([False] + [name not in special for name in dex.vocabulary().types])
        self._screen_breaking = self._set("brickbreak", "psychicfangs", "ragingbull")
        self._typed_by_user = self._set("revelationdance", "judgment", "multiattack", "ivycudgel", "ragingbull")

    def moves(self, numbers: npt.NDArray[Any]) -> Moves:
        """Read moves by their numbers (n, attacker, move)."""
        facts = self._move_facts[numbers]
        power = facts[..., _FACTS.column("power")].astype(np.float32)
        return Moves(numbers, power, facts[..., _FACTS.column("type")], facts[..., _FACTS.column("category")], facts)

    def raised(self, moves: Moves, raised: npt.NDArray[np.bool_], powers: str) -> Moves:
        """Give some attackers (n, attacker) the `z_power` or `max_power` of their moves, which nothing varies."""
        at = raised[..., None]
        facts = moves.facts.copy()
        plain = np.flatnonzero(raised.ravel())
        flat = facts.reshape(-1, *facts.shape[2:])
        for name, value in (("fixed_damage", 0), ("ohko", 0), ("accuracy", 101)):
            flat[plain, :, _FACTS.column(name)] = value
        power = np.where(at, self.tables.moves[powers][moves.number], moves.power)
        return Moves(np.where(at, 0, moves.number), power, moves.type, moves.category, facts)

    def guesses(self, attackers: Fighters) -> Moves:
        """Return what an unknown move may be: one of each of its own types, or of any other: (n, attacker, 3)."""
        types = np.concatenate([attackers.own_types, np.zeros_like(attackers.own_types[..., :1])], -1)
        physical = (attackers.boosted[..., ATTACK] >= attackers.boosted[..., SPECIAL_ATTACK])[..., None]
        if self.generation <= 3:
            physical = np.where(types > 0, self._physical_type[types], physical)
        category = np.broadcast_to(np.where(physical, _PHYSICAL, _SPECIAL), types.shape)
        power = np.where(types > 0, _GUESSED_POWER, [0, 0, _COVERAGE_POWER]).astype(np.float32)
        facts = np.zeros((*types.shape, _FACTS.width), np.int16)
        facts[..., _FACTS.column("accuracy")] = 100
        facts[..., _FACTS.column("critical_ratio")] = 1
        return Moves(np.zeros(types.shape, np.int64), power, types, category, facts)

    @staticmethod
    def join(one: Moves, other: Moves) -> Moves:
        """Put moves of the same attackers side by side."""
        return Moves(
            np.concatenate([one.number, other.number], -1),
            np.concatenate([one.power, other.power], -1),
            np.concatenate([one.type, other.type], -1),
            np.concatenate([one.category, other.category], -1),
            np.concatenate([one.facts, other.facts], -2),
        )

    def estimate(self, attackers: Fighters, moves: Moves, defenders: Fighters, spread: bool = False) -> Damage:
        """Return what each move of each attacker does to each defender; `spread` if spread moves have two targets."""
        moves = self._retyped(attackers, moves)
        attack = self._attack(attackers, moves)  # (n, attacker, move)
        modifier = self._attacker_modifier(attackers, moves)
        if spread:
            modifier = np.where(self._spread[moves.number], 0.75 * modifier, modifier)
        defence = self._defence(moves, defenders)  # (n, attacker, move, defender)
        power = varied_power(Scene(attackers, defenders, moves.power), moves.number)
        level = (2 * attackers.one("level") / np.float32(5) + 2)[..., None]
        raw: Floats = (level * attack / 50)[..., None] * power / defence
        raw = np.where(raw > 0, np.floor(raw) + 2, 0)
        target_hp = np.maximum(defenders.stats[..., HP], 1)[:, None, None, :]
        effect = self._effectiveness(attackers, moves, defenders)
        share: Floats = raw * modifier[..., None] * effect / target_hp
        share = self._screened(share, attackers, moves, defenders)
        share = np.where(moves.category[..., None] == _STATUS, 0, share)
        share = self._with_fixed(share, attackers, moves, defenders, effect)
        return Damage(np.asarray(share, np.float32), self._chance(attackers, moves, defenders))

    def _set(self, *names: str) -> npt.NDArray[np.bool_]:
        """Return which numbers are those of some moves."""
        chosen = np.zeros(len(dex.vocabulary().moves) + 1, np.bool_)
        chosen[dex.vocabulary().numbers("moves", *names)] = True
        return chosen

    def _fact(self, moves: Moves, name: str) -> npt.NDArray[np.int16]:
        return moves.facts[..., _FACTS.column(name)]

    def _retyped(self, attackers: Fighters, moves: Moves) -> Moves:
        """Give moves the type and category that they have in these hands."""
        types, power, category = moves.type, moves.power, moves.category
        becomes = attackers.ability_fact("becomes_type")[..., None]
        if becomes.any():
            changes = (becomes > 0) & (types == self._types["normal"]) & (category != _STATUS)
            types = np.where(changes, becomes, types)
            power = np.where(changes, power * (1.3 if self.generation == 6 else 1.2), power)
        by_user = self._typed_by_user[moves.number]
        if by_user.any():
            now = attackers.own_types
            types = np.where(by_user, np.where(now[..., 1:] > 0, now[..., 1:], now[..., :1]), types)
        tera = (moves.number == self._number["terablast"]) & (attackers.one("terastallized") > 0)[..., None]
        if tera.any():
            types = np.where(tera, attackers.one("tera_type")[..., None], types)
            physical = attackers.boosted[..., ATTACK] > attackers.boosted[..., SPECIAL_ATTACK]
            category = np.where(tera & physical[..., None], _PHYSICAL, category)
        in_weather = moves.number == self._number["weatherball"]
        if in_weather.any():
            types = np.where(in_weather, self._weather_type(attackers)[:, None, None], types)
        return Moves(moves.number, power, types, category, moves.facts)

    def _weather_type(self, attackers: Fighters) -> npt.NDArray[np.int64]:
        names = ("normal", "water", "fire", "rock", "ice", "ice", "water", "fire", "normal")
        return np.array([self._types[name] for name in names])[attackers.field.weather]

    def _attack(self, attackers: Fighters, moves: Moves) -> Floats:
        """Return the stat that attacks, with what items and abilities add: (n, attacker, move)."""
        physical = attackers.boosted[..., ATTACK] * attackers.ability_factor("physical_power")
        physical *= attackers.item_factor("physical_power")
        special = attackers.boosted[..., SPECIAL_ATTACK] * attackers.ability_factor("special_power")
        special *= attackers.item_factor("special_power")
        guts = attackers.has_ability("guts") & (attackers.one("status") > 0)
        physical = np.where(guts, 1.5 * physical, physical)
        attack = np.where(moves.category == _PHYSICAL, physical[..., None], special[..., None])
        by_defence = self._fact(moves, "attack_stat") == 1
        return np.where(by_defence, attackers.boosted[..., None, DEFENCE], attack)

    def _attacker_modifier(self, attackers: Fighters, moves: Moves) -> Floats:
        """Return all factors that do not depend on the defender: (n, attacker, move)."""
        factor = self._same_type(attackers, moves) * self._from_field(attackers, moves)
        factor *= self._from_ability(attackers, moves) * self._mean_critical(attackers, moves) * np.float32(MEAN_ROLL)
        types = attackers.item_facts("boosted_types")[..., None, :]
        boosted = (types[..., 0] == moves.type) | (types[..., 1] == moves.type)
        factor = np.where(boosted, factor * attackers.item_factor("type_power")[..., None], factor)
        burnt = (attackers.one("status") == STATUSES.index("brn")) & ~attackers.has_ability("guts")
        factor = np.where(burnt[..., None] & (moves.category == _PHYSICAL), factor / 2, factor)
        most = attackers.has_ability("skilllink")[..., None]
        hits = np.where(most, self._most_hits[moves.number], self._hits[moves.number])
        return np.asarray(factor * np.maximum(hits, 1), np.float32)

    def _same_type(self, attackers: Fighters, moves: Moves) -> Floats:
        kind, types = moves.type, attackers.types[..., None, :]
        now = (types[..., 0] == kind) | (types[..., 1] == kind) | (types[..., 2] == kind)
        adaptable = attackers.has_ability("adaptability")[..., None]
        bonus = np.where(now, np.where(adaptable, 2, 1.5), 1)
        terastallized = attackers.one("terastallized")[..., None] > 0
        if terastallized.any():
            own_types = attackers.own_types[..., None, :]
            born = (own_types[..., 0] == kind) | (own_types[..., 1] == kind)
            same = attackers.one("tera_type")[..., None] == moves.type
            tera = np.where(same & born, np.where(adaptable, 2.25, 2), np.where(same | born, 1.5, 1))
            stellar = attackers.one("tera_type")[..., None] == self._types[_STELLAR]
            tera = np.where(stellar, np.where(born, 2, 1.2), tera)
            bonus = np.where(terastallized, tera, bonus)
        return bonus.astype(np.float32)

    def _from_field(self, attackers: Fighters, moves: Moves) -> Floats:
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
            factor = np.where(boosted, factor * (1.3 if self.generation >= 8 else 1.5), factor)
        return factor.astype(np.float32)

    def _from_ability(self, attackers: Fighters, moves: Moves) -> Floats:
        factor = np.ones(moves.power.shape, np.float32)
        if not attackers.ability.any():
            return factor
        kind = attackers.ability_fact("boosted_type")
        pinched = (attackers.ability_fact("pinch") == 0) | (attackers.hp <= 1 / 3)
        kind = np.where(pinched, kind, 0)[..., None]
        factor = np.where((kind > 0) & (kind == moves.type), attackers.ability_factor("type_power")[..., None], 1)
        flag = attackers.ability_fact("boosted_flag")[..., None]
        flags = moves.facts[..., _FACTS.columns("flags")]
        flagged = (flag > 0) & (np.take_along_axis(flags, np.maximum(flag - 1, 0)[..., None], -1)[..., 0] > 0)
        factor = np.where(flagged, factor * attackers.ability_factor("flag_power")[..., None], factor)
        weak = attackers.has_ability("technician")[..., None] & (moves.power <= 60)
        sheer = attackers.has_ability("sheerforce")[..., None] & (self._fact(moves, "secondary_chance") > 0)
        reckless = attackers.has_ability("reckless")[..., None] & (self._fact(moves, "recoil") > 0)
        bond = attackers.has_ability("parentalbond")[..., None]
        factor *= (
            np.where(weak, 1.5, 1) * np.where(sheer, 1.3, 1) * np.where(reckless, 1.2, 1) * np.where(bond, 1.25, 1)
        )
        fired = attackers.has_volatile("flashfire")[..., None] & (moves.type == self._types["fire"])
        return np.where(fired, 1.5 * factor, factor).astype(np.float32)

    def _mean_critical(self, attackers: Fighters, moves: Moves) -> Floats:
        ratio = np.clip(self._fact(moves, "critical_ratio"), 1, 4)
        if self.generation == 1:
            base = attackers.species[..., dex.BLOCKS["species"].columns("base_stats")][..., SPEED, None]
            chance = np.where(ratio > 1, np.minimum(base * 8, 510), base) / 512
            level = attackers.one("level")[..., None]
            gain = (4 * level / 5 + 2) / (2 * level / 5 + 2) - 1
        else:
            chances = {2: (1 / 16, 1 / 4, 1 / 3, 1), 7: (1 / 24, 1 / 8, 1 / 2, 1)}.get(
                2 if self.generation == 2 else 7 if self.generation >= 7 else 0, (1 / 16, 1 / 8, 1 / 4, 1)
            )
            chance = np.array(chances)[ratio - 1]
            gain = np.asarray(0.5 if self.generation >= 6 else 1)
        return np.asarray(1 + chance * gain, np.float32)

    def _defence(self, moves: Moves, defenders: Fighters) -> Floats:
        by_defence = (moves.category == _PHYSICAL) | (self._fact(moves, "hits_defence") > 0)
        defences = defenders.defences[:, None, None]  # (n, 1, 1, defender, 2)
        defence = np.where(by_defence[..., None], defences[..., 0], defences[..., 1])
        if self.generation <= 4:
            halved = (self._fact(moves, "cost") == 100) & (moves.category == _PHYSICAL)
            defence = np.where(halved[..., None], defence / 2, defence)
        ignores = self._fact(moves, "ignores_boosts") > 0
        if ignores.any():
            defence = np.where(ignores[..., None], defenders.stats[:, None, None, :, DEFENCE], defence)
        return np.maximum(defence, 1)

    def _effectiveness(self, attackers: Fighters, moves: Moves, defenders: Fighters) -> Floats:
        """Return what types, and abilities and items that know types, make of a hit."""
        kind = moves.type[..., None]
        types = defenders.types[:, None, None]  # (n, 1, 1, defender, 3)
        effect = self.tables.chart[kind, types[..., 0]] * self.tables.chart[kind, types[..., 1]]
        if types[..., 2].any():
            effect *= self.tables.chart[kind, types[..., 2]]
        lifted = (~defenders.grounded & ~defenders.has_type("flying"))[:, None, None]
        if lifted.any():
            effect = np.where(lifted & (kind == self._types["ground"]), 0, effect)
        dried = (moves.number == self._number["freezedry"])[..., None]
        if dried.any():
            effect = np.where(dried & defenders.has_type("water")[:, None, None], 4 * effect, effect)
        if defenders.ability.any():
            effect = self._met_by_ability(effect, attackers, moves, defenders)
        strong = effect > 1
        effect = np.where(strong, effect * attackers.item_factor("super_effective_power")[..., None, None], effect)
        tinted = attackers.has_ability("tintedlens")[..., None, None]
        effect = np.where((effect < 1) & tinted, 2 * effect, effect)
        berry = defenders.item_fact("resisted_type")[:, None, None]
        softened = (berry == kind) & (berry > 0) & (strong | (berry == self._types["normal"]))
        bare = defenders.has_volatile("glaiverush")[:, None, None]
        return np.asarray(np.where(softened, effect / 2, np.where(bare, 2 * effect, effect)))

    def _met_by_ability(self, effect: Floats, attackers: Fighters, moves: Moves, defenders: Fighters) -> Floats:
        """Change how moves hit (n, attacker, move, defender) by the defenders' abilities."""
        kind = moves.type[..., None]
        immune = (kind == defenders.ability_fact("immune_type")[:, None, None]) & (kind > 0)
        flag = defenders.ability_fact("immune_flag")[:, None, None]
        if flag.any():
            flags = moves.facts[..., None, _FACTS.columns("flags")]
            has = np.take_along_axis(flags, np.maximum(flag - 1, 0)[..., None], -1)[..., 0] > 0
            immune |= (flag > 0) & has
        met = np.where(immune, 0, effect)
        resisted = defenders.ability_facts("resisted_types")[:, None, None]
        fits = ((kind == resisted[..., 0]) | (kind == resisted[..., 1])) & (kind > 0)
        met = np.where(fits, met * defenders.ability_factor("resisted_power")[:, None, None], met)
        solid = defenders.has_ability("filter", "solidrock", "prismarmor")[:, None, None]
        met = np.where(solid & (effect > 1), 0.75 * met, met)
        scaled = (defenders.has_ability("multiscale", "shadowshield") & (defenders.hp >= 1))[:, None, None]
        guarded = defenders.has_ability("wonderguard")[:, None, None]
        met = np.where(guarded & (effect <= 1), 0, np.where(scaled, met / 2, met))
        ignores = (attackers.ability_fact("ignores_ability")[..., None] > 0) | (
            self._fact(moves, "ignores_ability") > 0
        )
        return np.where(ignores[..., None], effect, met)

    def _screened(self, share: Floats, attackers: Fighters, moves: Moves, defenders: Fighters) -> Floats:
        reflect = defenders.condition("reflect") | defenders.has_volatile("reflect") | defenders.condition("auroraveil")
        light = (
            defenders.condition("lightscreen")
            | defenders.has_volatile("lightscreen")
            | defenders.condition("auroraveil")
        )
        if not (reflect.any() or light.any()):
            return share
        left = 2 / 3 if attackers.field.slots > 1 else 0.5
        physical = moves.category[..., None] == _PHYSICAL
        screened = np.where(physical, reflect[:, None, None], light[:, None, None])
        passes = self._screen_breaking[moves.number] | attackers.has_ability("infiltrator")[..., None]
        return np.where(screened & ~passes[..., None], share * left, share)

    def _with_fixed(
        self, share: Floats, attackers: Fighters, moves: Moves, defenders: Fighters, effect: Floats
    ) -> Floats:
        """Put in what does not follow from power."""
        fixed, ohko = self._fact(moves, "fixed_damage"), self._fact(moves, "ohko")
        if not (fixed.any() or ohko.any()):
            return share
        fixed = fixed[..., None]
        target_hp = np.maximum(defenders.stats[..., HP], 1)[:, None, None, :]
        level = attackers.one("level")[..., None, None]
        own_hp = (attackers.hp * attackers.stats[..., HP])[..., None, None]
        exact = np.where(fixed == dex.BY_LEVEL, level, np.where(fixed == dex.OWN_HP, own_hp, np.maximum(fixed, 0)))
        part = np.where(fixed == dex.HALF_OF_TARGET, defenders.hp[:, None, None, :] / 2, exact / target_hp)
        # The first generation's fixed damage knows no immunity.
        part = np.where((effect > 0) | (self.generation == 1), part, 0)
        share = np.where(fixed != 0, part, share)
        return np.where(ohko[..., None] > 0, np.where(effect > 0, 1, 0), share)

    def _chance(self, attackers: Fighters, moves: Moves, defenders: Fighters) -> Floats:
        accuracy = self._fact(moves, "accuracy").astype(np.float32)
        weather = attackers.field.weather[:, None, None]
        if weather.any():
            storm = (moves.number == self._number["thunder"]) | (moves.number == self._number["hurricane"])
            accuracy = np.where(storm & RAIN[weather], 101, accuracy)
            accuracy = np.where(storm & SUN[weather], 50, accuracy)
        stages = attackers["boosts"][..., 5][..., None] - defenders["boosts"][..., 6][:, None, :]
        hit = accuracy[..., None] / 100 * ACCURACY_STAGES[np.clip(stages, -6, 6) + 6][:, :, None, :]
        certain = (accuracy > 100) | attackers.has_ability("noguard")[..., None]
        return np.where(certain[..., None], 1, np.minimum(hit, 1)).astype(np.float32)
