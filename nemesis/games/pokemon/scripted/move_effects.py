"""The direct effects of the moves of all slots, for scripted players: damage, stat stages, status conditions.

A *variant* is a slot's Pokémon as it is, or after the use of its gimmick.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray
from nemesis.games.pokemon.damage.formula import knock_out
from nemesis.games.pokemon.damage.moves import STATUS
from nemesis.games.pokemon.damage.pokemon_batch import Floats, Ints
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.scripted.position_estimates import PositionEstimates
from nemesis.games.pokemon.views.layout import STATUSES, TEAM, TERRAINS, VOLATILES

BRN, PAR, SLP, FRZ, PSN, TOX = range(6)  # indices in status_chances

_BLOCK = dex.BLOCKS["moves"]
_FLAG = {name: _BLOCK.columns("flags").start + number for number, name in enumerate(dex.FLAGS)}
_IMMUNE_TYPES = {BRN: ("fire",), FRZ: ("ice",), PSN: ("poison", "steel"), TOX: ("poison", "steel")}
_IMMUNE_ABILITIES = {
    BRN: ("waterveil", "waterbubble", "thermalexchange"),
    PAR: ("limber",),
    SLP: ("insomnia", "vitalspirit", "sweetveil"),
    FRZ: ("magmaarmor",),
    PSN: ("immunity", "pastelveil"),
    TOX: ("immunity", "pastelveil"),
}
_IMMUNE_TO_ALL = ("comatose", "purifyingsalt", "goodasgold", "shieldsdown")


@dataclass(frozen=True)
class MoveEffects:
    """Effects of the moves of all slots and variants on the foe's active Pokémon and on the user."""

    estimates: PositionEstimates

    @cached_property
    def _variant_index(self) -> Ints:
        """The indices of the variants among the own Pokémon: (n, slot, variant)."""
        plain = self.estimates.active
        if self.estimates.own_count == TEAM:
            return plain[..., None]
        with_gimmick = np.broadcast_to(TEAM + np.arange(self.estimates.slots), plain.shape)
        return np.stack([plain, with_gimmick], -1)

    @property
    def variants(self) -> int:
        return int(self._variant_index.shape[2])

    def of_variants(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Select the values of the variants: (n, own, …) → (n, slot, variant, …)."""
        return np.asarray(values[np.arange(len(values))[:, None, None], self._variant_index])

    @cached_property
    def numbers(self) -> npt.NDArray[np.int16]:
        """The ids of the moves: (n, slot, variant, move)."""
        return self.of_variants(self.estimates.own["moves"])

    @cached_property
    def _rows(self) -> npt.NDArray[np.int16]:
        """The dex rows of the moves: (n, slot, variant, move, column)."""
        return np.asarray(self.estimates.estimator.tables.moves.values[self.numbers])

    def fact(self, name: str) -> npt.NDArray[np.int16]:
        """Return a field of the moves' dex rows, of one column: (n, slot, variant, move)."""
        return self._rows[..., _BLOCK.column(name)]

    def facts(self, name: str) -> npt.NDArray[np.int16]:
        """Return a field of several columns: (n, slot, variant, move, column)."""
        return self._rows[..., _BLOCK.columns(name)]

    def has_flag(self, name: str) -> BoolArray:
        """Return which moves have a flag: (n, slot, variant, move)."""
        return np.asarray(self._rows[..., _FLAG[name]] > 0)

    def is_move(self, name: str) -> BoolArray:
        """Return which moves are the named one: (n, slot, variant, move)."""
        return np.asarray(self.numbers == dex.vocabulary().number("moves", name))

    def since(self, generation: int) -> bool:
        """Return whether the rules are of this generation or a later one."""
        return self.estimates.estimator.generation >= generation

    @cached_property
    def hit_damage(self) -> Floats:
        """The damage of a hit of each move on each foe: (n, slot, variant, move, foe)."""
        return self.of_variants(self.estimates.attacks.fraction) * self.estimates.present[:, None, None, None]

    @cached_property
    def hit_probability(self) -> Floats:
        return self.of_variants(self.estimates.attacks.probability)

    @cached_property
    def damage(self) -> Floats:
        """The expected damage of each move to each foe: (n, slot, variant, move, foe)."""
        substitute = self.estimates.foes.has_volatile("substitute")[:, None, None, None]
        return self.hit_damage * self.hit_probability * np.where(substitute, 0.3, 1)

    @cached_property
    def foe_hp(self) -> Floats:
        return self.estimates.foes.hp[:, None, None, None]  # (n, 1, 1, 1, foe)

    @cached_property
    def knock_out(self) -> Floats:
        """The probability that each move knocks out each foe: (n, slot, variant, move, foe)."""
        foes = self.estimates.foes
        survives = (foes.hp >= 1) & (foes.has_item("focussash") | (foes.has_ability("sturdy") & self.since(5)))
        survives |= foes.has_volatile("substitute")
        return knock_out(self.hit_damage, self.foe_hp) * self.hit_probability * ~survives[:, None, None, None]

    @cached_property
    def self_stages(self) -> Floats:
        """The factor of a move on the user's stats: (n, slot, variant, move, stat)."""
        change = self.facts("self_boosts") + self.facts("secondary_self_boosts") / np.float32(100)
        ghost = self.of_variants(self.estimates.own.has_type("ghost"))[..., None, None]
        ghost_curse = self.is_move("curse")[..., None] & ghost
        current = self.of_variants(self.estimates.own["boosts"])[..., None, :]
        return _stage_ratio(current[..., :5], np.where(ghost_curse, 0, change)[..., :5])

    @cached_property
    def foe_stages(self) -> Floats:
        """The factor of a move on a foe's stats: (n, slot, variant, move, foe, stat)."""
        change = self.facts("target_boosts") + self.facts("secondary_target_boosts") / np.float32(100)
        foes = self.estimates.foes
        immune = foes.has_ability("clearbody", "whitesmoke", "fullmetalbody", "mirrorarmor", "goodasgold")
        immune |= foes.has_volatile("substitute") | foes.has_condition("mist")
        applied = change[..., None, :5] * self.hit_probability[..., None] * ~immune[:, None, None, None, :, None]
        return _stage_ratio(foes["boosts"][:, None, None, None, :, :5], applied)

    @cached_property
    def status(self) -> Floats:
        """The probability that a move gives each status to each foe: (n, slot, variant, move, foe, status)."""
        foes = self.estimates.foes
        possible = np.ones((*foes.hp.shape, 6), np.bool_)  # (n, foe, status)
        for status, names in _IMMUNE_TYPES.items():
            for name in names:
                possible[..., status] &= ~foes.has_type(name)
        if self.since(6):
            possible[..., PAR] &= ~foes.has_type("electric")
        for status, abilities in _IMMUNE_ABILITIES.items():
            possible[..., status] &= ~foes.has_ability(*abilities)
        immune = (foes.column("status") > 0) | foes.has_volatile("substitute") | foes.has_condition("safeguard")
        immune |= foes.has_ability(*_IMMUNE_TO_ALL)
        terrain = self.estimates.field.terrain[:, None]
        immune |= (terrain == TERRAINS.index("mistyterrain")) & foes.grounded
        possible &= ~immune[..., None]
        possible[..., SLP] &= ~((terrain == TERRAINS.index("electricterrain")) & foes.grounded)
        possible[..., SLP] &= ~self._foe_asleep[:, None]
        chances = self.facts("status_chances")[..., None, :] / np.float32(100) * self.hit_probability[..., None]
        return chances * possible[:, None, None, None] * self.reaches[..., None]

    @cached_property
    def _foe_asleep(self) -> BoolArray:
        """Whether a foe is asleep already, so that Sleep Clause forbids to put another to sleep: (n,)."""
        foes = self.estimates.foe_team
        return np.asarray(((foes.column("status") == STATUSES.index("slp")) & foes.alive).any(-1))

    @cached_property
    def reaches(self) -> BoolArray:
        """Whether a move's effects reach each foe: (n, slot, variant, move, foe)."""
        foes = self.estimates.foes
        no_damage = (self.fact("category")[..., None] != STATUS) & (self.hit_damage <= 0)
        wave_immune = (foes.has_type("ground") | foes.has_type("electric"))[:, None, None, None]
        wave = self.is_move("thunderwave")[..., None] & wave_immune
        powder_immune = foes.has_ability("overcoat") | (foes.has_type("grass") if self.since(6) else False)
        powder = self.has_flag("powder")[..., None] & np.asarray(powder_immune)[:, None, None, None]
        return np.asarray(~(no_damage | wave | powder) & self.estimates.present[:, None, None, None])

    @cached_property
    def leech_seed(self) -> BoolArray:
        """Whether a move seeds each foe: (n, slot, variant, move, foe)."""
        foes = self.estimates.foes
        immune = foes.has_type("grass") | foes.has_volatile("leechseed") | foes.has_volatile("substitute")
        seeds = self.fact("volatile") == 1 + VOLATILES.index("leechseed")
        return np.asarray(seeds[..., None] & ~immune[:, None, None, None])

    def own_hp_change(self, damage: Floats, hp: Floats) -> Floats:
        """Return the change of the user's HP by its own move: (n, slot, variant, move, foe)."""
        drained = (self.fact("drain") - self.fact("recoil"))[..., None] / np.float32(100) * damage
        heals = np.where(self.fact("target") == dex.TARGETS.index("self"), self.fact("heal"), 0)
        change = (heals - np.minimum(self.fact("cost"), 100))[..., None] / np.float32(100)
        change = np.where(self.fact("cost")[..., None] >= 100, -hp, change)
        item_recoil = self.of_variants(self.estimates.own.item_fact("recoil"))[..., None, None] / np.float32(100)
        return drained + change - np.where(damage > 0, item_recoil, 0)


def _stage_ratio(current: npt.NDArray[Any], change: npt.NDArray[Any]) -> Floats:
    """Return the factor on stats of a change of stages, which may be an expected value."""
    return _stage(np.clip(current + change, -6, 6)) / _stage(current)


def _stage(stage: npt.NDArray[Any]) -> Floats:
    return np.where(stage >= 0, 1 + stage / np.float32(2), 2 / (2 - np.minimum(stage, 0))).astype(np.float32)
