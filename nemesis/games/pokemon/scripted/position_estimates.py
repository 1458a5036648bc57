"""Estimates of a position for scripted players: damage in both directions, speed, and duels.

A *duel* is two Pokémon that attack each other until one faints. Its score is the fraction of HP that the foe loses
minus the fraction that the own Pokémon loses, plus or minus a bonus for the one that survives.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray
from nemesis.games.pokemon.damage.formula import Damage, Estimator
from nemesis.games.pokemon.damage.moves import PHYSICAL, Moves
from nemesis.games.pokemon.damage.pokemon_batch import (
    Battlefield,
    Floats,
    Ints,
    PokemonBatch,
    active_members,
    estimated_stats,
    read_side,
)
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import FOE, GIMMICKS, OWN, POKEMON, POSITION, STATUSES, TEAM, Views

SURVIVAL_BONUS = 0.3
_MAX_HITS = 12  # after which a duel counts as endless
_GUESS_WEIGHT = 0.85  # of the damage of guessed moves
_TERASTALLIZE, _MEGA, _ZMOVE, _DYNAMAX = (GIMMICKS.index(name) for name in ("terastallize", "mega", "zmove", "dynamax"))
# The probability that a Pokémon can act with a status condition: in this turn, and in later turns.
_ACTS = {"slp": (0.3, 0.6), "frz": (0.2, 0.4), "par": (0.75, 0.75)}
_ACTS_NOW, _ACTS_LATER = (
    np.array([_ACTS.get(name, (1.0, 1.0))[when] for name in STATUSES], np.float32) for when in (0, 1)
)


@dataclass(frozen=True)
class PositionEstimates:
    """The own team against the foe's active Pokémon. Own active Pokémon are listed again after the use of a gimmick."""

    estimator: Estimator
    views: Views
    slots: int

    @cached_property
    def field(self) -> Battlefield:
        return Battlefield.read(self.views, self.slots)

    @cached_property
    def team(self) -> PokemonBatch:
        team = read_side(self.views, OWN, self.estimator.tables, self.field)
        columns = POSITION.columns("only_move")
        only = self.views.position[:, columns.start : columns.start + self.slots]
        if not only.any():
            return team
        pokemon = team.pokemon.copy()
        row, slot = np.nonzero(only)
        moves = pokemon[row, self.active[row, slot]]
        moves[:, POKEMON.columns("moves")] = 0
        moves[:, POKEMON.columns("moves").start] = only[row, slot]
        moves[:, POKEMON.columns("max_pp")] = 0
        pokemon[row, self.active[row, slot]] = moves
        return PokemonBatch(team.tables, team.field, pokemon, team.conditions)

    @cached_property
    def foe_team(self) -> PokemonBatch:
        return read_side(self.views, FOE, self.estimator.tables, self.field)

    @cached_property
    def _own_active(self) -> tuple[Ints, BoolArray]:
        return active_members(self.views.pokemon[:, OWN], self.slots)

    @property
    def active(self) -> Ints:
        """The members in the own slots: (n, slot)."""
        return self._own_active[0]

    @cached_property
    def gimmick(self) -> Ints:
        """The gimmick that the slots may use now, an index in GIMMICKS: (n, slot)."""
        columns = POSITION.columns("gimmick")
        return np.asarray(self.views.position[:, columns.start : columns.start + self.slots], np.int64)

    @cached_property
    def own(self) -> PokemonBatch:
        """The team and, if any slot may use a gimmick, the active Pokémon after it: (n, own)."""
        if not self.gimmick.any():
            return self.team
        pokemon = np.concatenate([self.team.pokemon, self._after_gimmick()], axis=1)
        return PokemonBatch(self.estimator.tables, self.field, pokemon, self.team.conditions)

    @property
    def own_count(self) -> int:
        return int(self.own.pokemon.shape[1])

    @cached_property
    def foes(self) -> PokemonBatch:
        """The foe's active Pokémon: (n, foe)."""
        return self.foe_team.select(self._foe_active[0])

    @cached_property
    def present(self) -> BoolArray:
        """Which of them are on the field: (n, foe)."""
        return self._foe_active[1] & self.foes.alive

    @cached_property
    def _foe_active(self) -> tuple[Ints, BoolArray]:
        return active_members(self.views.pokemon[:, FOE], self.slots)

    @cached_property
    def moves(self) -> Moves:
        """The own moves: (n, own, move)."""
        moves = self.estimator.moves.read(self.own["moves"])
        for gimmick, field in ((_ZMOVE, "z_power"), (_DYNAMAX, "max_power")):
            affected = np.zeros((len(self.gimmick), self.own_count), np.bool_)
            affected[:, TEAM:] = self.gimmick[:, : self.own_count - TEAM] == gimmick
            if gimmick == _DYNAMAX:
                affected |= self.own.has_volatile("dynamax")
            if affected.any():
                moves = self.estimator.moves.with_power(moves, affected, field)
        return moves

    @cached_property
    def attacks(self) -> Damage:
        """The damage of own moves: (n, own, move, foe)."""
        return self.estimator.estimate(self.own, self.moves, self.foes, spread=self.slots > 1)

    @cached_property
    def usable(self) -> BoolArray:
        """Which own moves can be used, as far as is known: (n, own, move)."""
        own = self.own
        left = (own["pp"] > 0) | (own["max_pp"] == 0)
        return np.asarray((own["moves"] > 0) & left & (own["move_disabled"] == 0))

    @cached_property
    def hits(self) -> tuple[Floats, Floats]:
        """The best expected damage per turn of physical and of other moves: (n, own, foe) each."""
        expected = (
            self.attacks.expected
            * self.estimator.moves.damage_rate[self.moves.number][..., None]
            * self.usable[..., None]
        )
        physical = self.moves.category[..., None] == PHYSICAL
        acts = _ACTS_LATER[self.own.column("status")][..., None]
        return (np.where(physical, expected, 0).max(2) * acts, np.where(physical, 0, expected).max(2) * acts)

    @cached_property
    def threats(self) -> tuple[Floats, Floats]:
        """The best expected damage per turn of the foe's physical and other moves: (n, foe, own) each."""
        known = self.estimator.moves.read(self.foes["moves"])
        moves = known.join(self.estimator.moves.guesses(self.foes))
        damage = self.estimator.estimate(self.foes, moves, self.own, spread=self.slots > 1)
        unknown = (known.number == 0).any(-1, keepdims=True)
        weight = np.concatenate([np.ones_like(known.power), np.where(unknown, _GUESS_WEIGHT, 0).repeat(3, -1)], -1)
        rate = weight * self.estimator.moves.damage_rate[moves.number]
        expected = damage.expected * rate[..., None] * self.present[:, :, None, None]
        physical = moves.category[..., None] == PHYSICAL
        return np.where(physical, expected, 0).max(2), np.where(physical, 0, expected).max(2)

    @cached_property
    def foe_acts(self) -> tuple[Floats, Floats]:
        """The probability that the foe's active Pokémon can act: now, and later: (n, foe) each."""
        status = self.foes.column("status")
        recharges = self.foes.has_volatile("mustrecharge")
        return np.where(recharges, 0, _ACTS_NOW[status]), _ACTS_LATER[status]

    @cached_property
    def faster(self) -> BoolArray:
        """Whether own Pokémon act before the foe's active Pokémon: (n, own, foe)."""
        difference = self.own.speed[:, :, None] - self.foes.speed[:, None, :]
        return np.where(self.field.trick_room[:, None, None], difference < 0, difference > 0)

    def _after_gimmick(self) -> npt.NDArray[Any]:
        """Return the active Pokémon after the use of their gimmick: (n, slot, column)."""
        pokemon = self.team.select(self.active).pokemon.copy()
        tera = self.gimmick == _TERASTALLIZE
        types = pokemon[..., POKEMON.columns("types")]
        tera_type = pokemon[..., POKEMON.column("tera_type")]
        stellar = tera_type == dex.vocabulary().number("types", "stellar")
        single_type = np.stack([tera_type, np.zeros_like(tera_type), np.zeros_like(tera_type)], -1)
        types[...] = np.where((tera & ~stellar)[..., None], single_type, types)
        pokemon[..., POKEMON.column("terastallized")] |= tera
        mega = (self.gimmick == _MEGA) & (self._mega_forme(pokemon) > 0)
        if mega.any():
            self._mega_evolve(pokemon, mega)
        return pokemon

    def _mega_forme(self, pokemon: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(self.estimator.mega_forme[pokemon[..., POKEMON.column("item")]])

    def _mega_evolve(self, pokemon: npt.NDArray[Any], mega: BoolArray) -> None:
        """Give Pokémon (n, slot, column) the stats, types and ability of their mega forme, in place."""
        species = self.estimator.tables.species
        column = POKEMON.column("species")
        forme = np.where(mega, self._mega_forme(pokemon), pokemon[..., column])
        level = pokemon[..., POKEMON.column("level")]
        generation = self.estimator.generation
        before = estimated_stats(species["base_stats"][pokemon[..., column]], level, generation)[..., 1:]
        after = estimated_stats(species["base_stats"][forme], level, generation)[..., 1:]
        stats = POKEMON.columns("stats")
        pokemon[..., stats] = np.rint(pokemon[..., stats] * after / np.maximum(before, 1))
        types = POKEMON.columns("types")
        pokemon[..., types.start : types.stop - 1] = np.where(
            mega[..., None], species["types"][forme], pokemon[..., types.start : types.stop - 1]
        )
        ability = POKEMON.column("ability")
        pokemon[..., ability] = np.where(mega, species["abilities"][forme][..., 0], pokemon[..., ability])
        pokemon[..., column] = forme


def duel(hp: Floats | float, foe_hp: Floats | float, hit: Floats, threat: Floats, faster: npt.NDArray[Any]) -> Floats:
    """Return the score of a duel from this position on; all arguments broadcast."""
    needed = np.clip(np.ceil(foe_hp / np.maximum(hit, 1e-3) - 1e-3), 1, _MAX_HITS)
    survived = np.clip(np.ceil(hp / np.maximum(threat, 1e-3) - 1e-3), 1, _MAX_HITS)
    taken = needed - faster  # hits by the foe before it faints
    won = foe_hp + SURVIVAL_BONUS - np.minimum(taken * threat, hp)
    lost = np.minimum(hit * (survived - 1 + faster), foe_hp) - hp - SURVIVAL_BONUS
    score = np.where(taken < survived, won, lost)
    endless = (needed >= _MAX_HITS) & (survived >= _MAX_HITS)
    return np.asarray(np.where(endless, 0, score), np.float32)
