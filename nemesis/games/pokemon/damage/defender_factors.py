"""The defender's side of the damage formula: its defending stat, type effectiveness, abilities and screens."""

import numpy as np

from nemesis.games.pokemon.damage.moves import PHYSICAL, Moves, move_set
from nemesis.games.pokemon.damage.pokemon_batch import DEFENCE, Floats, PokemonBatch
from nemesis.games.pokemon.dex import tables as dex


class DefenderFactors:
    """Everything in the formula that depends on the defender, by the rules of one mod."""

    def __init__(self, tables: dex.Tables) -> None:
        self._generation = tables.generation
        self._chart = tables.chart
        self._normal, self._ground = dex.vocabulary().numbers("types", "normal", "ground")
        self._freeze_dry = dex.vocabulary().number("moves", "freezedry")
        self._screen_breaking = move_set("brickbreak", "psychicfangs", "ragingbull")

    def defence(self, moves: Moves, defenders: PokemonBatch) -> Floats:
        """Return the defending stat: (n, attacker, move, defender)."""
        by_defence = (moves.category == PHYSICAL) | (moves["hits_defence"] > 0)
        defences = defenders.defences[:, None, None]  # (n, 1, 1, defender, 2)
        defence = np.where(by_defence[..., None], defences[..., 0], defences[..., 1])
        if self._generation <= 4:
            halved = (moves["cost"] == 100) & (moves.category == PHYSICAL)
            defence = np.where(halved[..., None], defence / 2, defence)
        ignores = moves["ignores_boosts"] > 0
        if ignores.any():
            defence = np.where(ignores[..., None], defenders.stats[:, None, None, :, DEFENCE], defence)
        return np.maximum(defence, 1)

    def effectiveness(self, attackers: PokemonBatch, moves: Moves, defenders: PokemonBatch) -> Floats:
        """Return the factor of types, and of abilities and items that depend on them: (n, attacker, move, defender)."""
        kind = moves.type[..., None]
        types = defenders.types[:, None, None]  # (n, 1, 1, defender, 3)
        effect = self._chart[kind, types[..., 0]] * self._chart[kind, types[..., 1]]
        if types[..., 2].any():
            effect *= self._chart[kind, types[..., 2]]
        airborne = (~defenders.grounded & ~defenders.has_type("flying"))[:, None, None]
        if airborne.any():
            effect = np.where(airborne & (kind == self._ground), 0, effect)
        freeze_dry = (moves.number == self._freeze_dry)[..., None]
        if freeze_dry.any():
            effect = np.where(freeze_dry & defenders.has_type("water")[:, None, None], 4 * effect, effect)
        if defenders.ability.any():
            effect = self._with_abilities(effect, attackers, moves, defenders)
        super_effective = effect > 1
        effect = np.where(
            super_effective, effect * attackers.item_factor("super_effective_power")[..., None, None], effect
        )
        tinted_lens = attackers.has_ability("tintedlens")[..., None, None]
        effect = np.where((effect < 1) & tinted_lens, 2 * effect, effect)
        berry = defenders.item_fact("resisted_type")[:, None, None]
        halved = (berry == kind) & (berry > 0) & (super_effective | (berry == self._normal))
        doubled = defenders.has_volatile("glaiverush")[:, None, None]
        return np.asarray(np.where(halved, effect / 2, np.where(doubled, 2 * effect, effect)))

    def _with_abilities(self, effect: Floats, attackers: PokemonBatch, moves: Moves, defenders: PokemonBatch) -> Floats:
        """Apply the defenders' abilities to the effectiveness (n, attacker, move, defender)."""
        kind = moves.type[..., None]
        immune = (kind == defenders.ability_fact("immune_type")[:, None, None]) & (kind > 0)
        flag = defenders.ability_fact("immune_flag")[:, None, None]
        if flag.any():
            flags = moves.flags[..., None, :]
            has = np.take_along_axis(flags, np.maximum(flag - 1, 0)[..., None], -1)[..., 0] > 0
            immune |= (flag > 0) & has
        after = np.where(immune, 0, effect)
        resisted = defenders.ability_facts("resisted_types")[:, None, None]
        matches = ((kind == resisted[..., 0]) | (kind == resisted[..., 1])) & (kind > 0)
        after = np.where(matches, after * defenders.ability_factor("resisted_power")[:, None, None], after)
        solid = defenders.has_ability("filter", "solidrock", "prismarmor")[:, None, None]
        after = np.where(solid & (effect > 1), 0.75 * after, after)
        full_hp = (defenders.has_ability("multiscale", "shadowshield") & (defenders.hp >= 1))[:, None, None]
        wonder_guard = defenders.has_ability("wonderguard")[:, None, None]
        after = np.where(wonder_guard & (effect <= 1), 0, np.where(full_hp, after / 2, after))
        ignores = (attackers.ability_fact("ignores_ability")[..., None] > 0) | (moves["ignores_ability"] > 0)
        return np.where(ignores[..., None], effect, after)

    def screens(self, damage: Floats, attackers: PokemonBatch, moves: Moves, defenders: PokemonBatch) -> Floats:
        """Apply Reflect, Light Screen and Aurora Veil to the damage (n, attacker, move, defender)."""
        veil = defenders.has_condition("auroraveil")
        reflect = defenders.has_condition("reflect") | defenders.has_volatile("reflect") | veil
        light = defenders.has_condition("lightscreen") | defenders.has_volatile("lightscreen") | veil
        if not (reflect.any() or light.any()):
            return damage
        factor = 2 / 3 if attackers.field.slots > 1 else 0.5
        physical = moves.category[..., None] == PHYSICAL
        screened = np.where(physical, reflect[:, None, None], light[:, None, None])
        ignores = self._screen_breaking[moves.number] | attackers.has_ability("infiltrator")[..., None]
        return np.where(screened & ~ignores[..., None], damage * factor, damage)
