"""The damage formula of the simulator on view records, for all attackers, moves and defenders at once.

    damage = ((2·level/5 + 2) · power · attack / defence / 50 + 2) · factors

The result is the mean damage of a hit over damage rolls and critical hits, as a fraction of the target's full HP, and
the probability to hit. It includes fixed damage, multiple hits, same-type bonus, terastallization, the type chart,
weather, terrain, burns, screens, and items and abilities as far as they are known. It does not include the other
effects of a hit.
"""

from dataclasses import dataclass

import numpy as np

from nemesis.games.pokemon.damage.attacker_factors import MEAN_ROLL, AttackerFactors
from nemesis.games.pokemon.damage.defender_factors import DefenderFactors
from nemesis.games.pokemon.damage.moves import STATUS, Moves, MoveTable, move_set
from nemesis.games.pokemon.damage.pokemon_batch import ACCURACY_STAGES, HP, RAIN, SUN, Floats, PokemonBatch
from nemesis.games.pokemon.damage.variable_power import AttackContext, variable_power
from nemesis.games.pokemon.dex import tables as dex

_MIN_ROLL = 0.85
_SPREAD = [dex.TARGETS.index(name) for name in dex.SPREAD_TARGETS]


@dataclass(frozen=True, slots=True)
class Damage:
    """The damage of a hit and the probability to hit: (n, attacker, move, defender) each."""

    fraction: Floats  # of the target's full HP
    probability: Floats

    @property
    def expected(self) -> Floats:
        return self.fraction * self.probability

    def knock_out(self, hp: Floats) -> Floats:
        """Return the probability that a use takes all of the HP (n, defender) that is left."""
        return knock_out(self.fraction, hp[:, None, None, :]) * self.probability


def knock_out(damage: Floats, hp: Floats) -> Floats:
    """Return the probability that a hit with this mean damage takes all of the HP that is left."""
    maximum = np.maximum(damage, 1e-6) / np.float32(MEAN_ROLL)
    return np.clip((maximum - hp) / (np.float32(1 - _MIN_ROLL) * maximum), 0, 1) * (damage > 0)


class Estimator:
    """Estimates damage by the rules of one mod."""

    def __init__(self, mod: str) -> None:
        self.tables = dex.tables(mod)
        self.generation = self.tables.generation
        self.moves = MoveTable(self.tables)
        self._attacker = AttackerFactors(self.tables)
        self._defender = DefenderFactors(self.tables)
        self._spread = np.isin(self.tables.moves["target"], _SPREAD)
        self._storms = move_set("thunder", "hurricane")
        self.mega_forme = np.zeros(len(self.tables.items.values), np.int16)  # (item,) species that a holder may become
        mega = np.flatnonzero((self.tables.species["mega"] > 0) & (self.tables.species["required_item"] > 0))
        self.mega_forme[self.tables.species["required_item"][mega]] = mega

    def estimate(self, attackers: PokemonBatch, moves: Moves, defenders: PokemonBatch, spread: bool = False) -> Damage:
        """Return the damage of all moves to all defenders; `spread` if spread moves hit two targets."""
        moves = self._attacker.retyped(attackers, moves)
        attack = self._attacker.attack(attackers, moves)  # (n, attacker, move)
        modifier = self._attacker.modifier(attackers, moves)
        if spread:
            modifier = np.where(self._spread[moves.number], 0.75 * modifier, modifier)
        defence = self._defender.defence(moves, defenders)  # (n, attacker, move, defender)
        power = variable_power(AttackContext(attackers, defenders, moves.power), moves.number)
        level = (2 * attackers.column("level") / np.float32(5) + 2)[..., None]
        raw: Floats = (level * attack / 50)[..., None] * power / defence
        raw = np.where(raw > 0, np.floor(raw) + 2, 0)
        target_hp = np.maximum(defenders.stats[..., HP], 1)[:, None, None, :]
        effectiveness = self._defender.effectiveness(attackers, moves, defenders)
        damage: Floats = raw * modifier[..., None] * effectiveness / target_hp
        damage = self._defender.screens(damage, attackers, moves, defenders)
        damage = np.where(moves.category[..., None] == STATUS, 0, damage)
        damage = self._with_fixed_damage(damage, attackers, moves, defenders, effectiveness)
        return Damage(np.asarray(damage, np.float32), self._hit_probability(attackers, moves, defenders))

    def _with_fixed_damage(
        self, damage: Floats, attackers: PokemonBatch, moves: Moves, defenders: PokemonBatch, effectiveness: Floats
    ) -> Floats:
        """Replace the damage of moves with fixed damage and of one-hit knock-out moves."""
        fixed, ohko = moves["fixed_damage"], moves["ohko"]
        if not (fixed.any() or ohko.any()):
            return damage
        fixed = fixed[..., None]
        target_hp = np.maximum(defenders.stats[..., HP], 1)[:, None, None, :]
        level = attackers.column("level")[..., None, None]
        own_hp = (attackers.hp * attackers.stats[..., HP])[..., None, None]
        exact = np.where(fixed == dex.BY_LEVEL, level, np.where(fixed == dex.OWN_HP, own_hp, np.maximum(fixed, 0)))
        part = np.where(fixed == dex.HALF_OF_TARGET, defenders.hp[:, None, None, :] / 2, exact / target_hp)
        # Fixed damage ignores immunities in the first generation.
        part = np.where((effectiveness > 0) | (self.generation == 1), part, 0)
        damage = np.where(fixed != 0, part, damage)
        return np.where(ohko[..., None] > 0, np.where(effectiveness > 0, 1, 0), damage)

    def _hit_probability(self, attackers: PokemonBatch, moves: Moves, defenders: PokemonBatch) -> Floats:
        accuracy = moves["accuracy"].astype(np.float32)
        weather = attackers.field.weather[:, None, None]
        if weather.any():
            storm = self._storms[moves.number]
            accuracy = np.where(storm & RAIN[weather], 101, accuracy)
            accuracy = np.where(storm & SUN[weather], 50, accuracy)
        stages = attackers["boosts"][..., 5][..., None] - defenders["boosts"][..., 6][:, None, :]
        hit = accuracy[..., None] / 100 * ACCURACY_STAGES[np.clip(stages, -6, 6) + 6][:, :, None, :]
        certain = (accuracy > 100) | attackers.has_ability("noguard")[..., None]
        return np.where(certain[..., None], 1, np.minimum(hit, 1)).astype(np.float32)
