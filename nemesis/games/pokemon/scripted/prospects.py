"""What the Pokémon of a position can do to each other, for scripted players: damage both ways, speed, and duels.

A *duel* is two Pokémon that hit each other until one faints. Its worth is what the foe loses of its HP minus what the
own Pokémon loses of its own, and a bonus for whoever still stands.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray
from nemesis.games.pokemon.damage.battlers import (
    Field,
    Fighters,
    Floats,
    Ints,
    active_places,
    estimated_stats,
    read_fighters,
)
from nemesis.games.pokemon.damage.formula import Damage, Estimator, Moves
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import FOE, GIMMICKS, OWN, POKEMON, POSITION, STATUSES, TEAM, Views

STANDING = 0.3  # what it is worth to be the one who stands
_LONGEST = 12  # hits after which a duel leads nowhere
_GUESS = 0.85  # how much of a guessed move's damage is expected
_TERASTALLIZE, _MEGA, _ZMOVE, _DYNAMAX = (GIMMICKS.index(name) for name in ("terastallize", "mega", "zmove", "dynamax"))
# How often a Pokémon gets to act under an ailment: now, and in the turns to come.
_ACTS = {"slp": (0.3, 0.6), "frz": (0.2, 0.4), "par": (0.75, 0.75)}
_ACTS_NOW, _ACTS_LATER = (
    np.array([_ACTS.get(name, (1.0, 1.0))[when] for name in STATUSES], np.float32) for when in (0, 1)
)
_PHYSICAL = dex.CATEGORIES.index("physical")


@dataclass(frozen=True)
class Prospects:
    """Own Pokémon, and after them the active ones as their gimmick would make them, against the foe's active ones."""

    estimator: Estimator
    views: Views
    slots: int

    @cached_property
    def field(self) -> Field:
        return Field.read(self.views, self.slots)

    @cached_property
    def team(self) -> Fighters:
        team = read_fighters(self.views, OWN, self.estimator.tables, self.field)
        columns = POSITION.columns("only_move")
        only = self.views.position[:, columns.start : columns.start + self.slots]
        if not only.any():
            return team
        pokemon = team.pokemon.copy()
        row, slot = np.nonzero(only)
        moves = pokemon[row, self.place[row, slot]]
        moves[:, POKEMON.columns("moves")] = 0
        moves[:, POKEMON.columns("moves").start] = only[row, slot]
        moves[:, POKEMON.columns("max_pp")] = 0
        pokemon[row, self.place[row, slot]] = moves
        return Fighters(team.tables, team.field, pokemon, team.conditions)

    @cached_property
    def foe_team(self) -> Fighters:
        return read_fighters(self.views, FOE, self.estimator.tables, self.field)

    @cached_property
    def _own_active(self) -> tuple[Ints, BoolArray]:
        return active_places(self.views.pokemon[:, OWN], self.slots)

    @property
    def place(self) -> Ints:
        """Who stands in the own slots: (n, slot)."""
        return self._own_active[0]

    @cached_property
    def gimmick(self) -> Ints:
        """What the slots may do now, place in GIMMICKS: (n, slot)."""
        columns = POSITION.columns("gimmick")
        return np.asarray(self.views.position[:, columns.start : columns.start + self.slots], np.int64)

    @cached_property
    def own(self) -> Fighters:
        """The team, and if a gimmick is at hand anywhere the transformed active ones: (n, fighter)."""
        if not self.gimmick.any():
            return self.team
        pokemon = np.concatenate([self.team.pokemon, self._transformed()], axis=1)
        return Fighters(self.estimator.tables, self.field, pokemon, self.team.conditions)

    @property
    def fighters(self) -> int:
        return int(self.own.pokemon.shape[1])

    @cached_property
    def foes(self) -> Fighters:
        """The foe's active Pokémon: (n, foe)."""
        return self.foe_team.members(self._foe_active[0])

    @cached_property
    def present(self) -> BoolArray:
        """Which of them are there: (n, foe)."""
        return self._foe_active[1] & self.foes.alive

    @cached_property
    def _foe_active(self) -> tuple[Ints, BoolArray]:
        return active_places(self.views.pokemon[:, FOE], self.slots)

    @cached_property
    def moves(self) -> Moves:
        """The own moves: (n, fighter, move)."""
        moves = self.estimator.moves(self.own["moves"])
        for gimmick, powers in ((_ZMOVE, "z_power"), (_DYNAMAX, "max_power")):
            raised = np.zeros((len(self.gimmick), self.fighters), np.bool_)
            raised[:, TEAM:] = self.gimmick[:, : self.fighters - TEAM] == gimmick
            if gimmick == _DYNAMAX:
                raised |= self.own.has_volatile("dynamax")
            if raised.any():
                moves = self.estimator.raised(moves, raised, powers)
        return moves

    @cached_property
    def attacks(self) -> Damage:
        """What own moves do: (n, fighter, move, foe)."""
        return self.estimator.estimate(self.own, self.moves, self.foes, spread=self.slots > 1)

    @cached_property
    def usable(self) -> BoolArray:
        """Which own moves can be used as far as is known: (n, fighter, move)."""
        own = self.own
        left = (own["pp"] > 0) | (own["max_pp"] == 0)
        return np.asarray((own["moves"] > 0) & left & (own["move_disabled"] == 0))

    @cached_property
    def hits(self) -> tuple[Floats, Floats]:
        """The best expected damage of a turn by physical and by other moves: (n, fighter, foe) each."""
        expected = self.attacks.expected * self.estimator.tempo[self.moves.number][..., None] * self.usable[..., None]
        physical = self.moves.category[..., None] == _PHYSICAL
        acts = _ACTS_LATER[self.own.one("status")][..., None]
        return (np.where(physical, expected, 0).max(2) * acts, np.where(physical, 0, expected).max(2) * acts)

    @cached_property
    def threats(self) -> tuple[Floats, Floats]:
        """The best expected damage of the foe by physical and by other moves: (n, foe, fighter) each."""
        known = self.estimator.moves(self.foes["moves"])
        moves = self.estimator.join(known, self.estimator.guesses(self.foes))
        damage = self.estimator.estimate(self.foes, moves, self.own, spread=self.slots > 1)
        unknown = (known.number == 0).any(-1, keepdims=True)
        trusted = np.concatenate([np.ones_like(known.power), np.where(unknown, _GUESS, 0).repeat(3, -1)], -1)
        expected = (
            damage.expected * (trusted * self.estimator.tempo[moves.number])[..., None] * self.present[:, :, None, None]
        )
        physical = moves.category[..., None] == _PHYSICAL
        return np.where(physical, expected, 0).max(2), np.where(physical, 0, expected).max(2)

    @cached_property
    def foe_acts(self) -> tuple[Floats, Floats]:
        """How often the foe's active ones act: now, and later: (n, foe) each."""
        status = self.foes.one("status")
        recharges = self.foes.has_volatile("mustrecharge")
        return np.where(recharges, 0, _ACTS_NOW[status]), _ACTS_LATER[status]

    @cached_property
    def faster(self) -> BoolArray:
        """Whether own fighters act before the foe's active ones: (n, fighter, foe)."""
        difference = self.own.speed[:, :, None] - self.foes.speed[:, None, :]
        return np.where(self.field.trick_room[:, None, None], difference < 0, difference > 0)

    def _transformed(self) -> npt.NDArray[Any]:
        """Return the active Pokémon as their gimmick would make them: (n, slot, column)."""
        pokemon = self.team.members(self.place).pokemon.copy()
        tera = self.gimmick == _TERASTALLIZE
        types = pokemon[..., POKEMON.columns("types")]
        tera_type = pokemon[..., POKEMON.column("tera_type")]
        stellar = tera_type == dex.vocabulary().number("types", "stellar")
        lone = np.stack([tera_type, np.zeros_like(tera_type), np.zeros_like(tera_type)], -1)
        types[...] = np.where((tera & ~stellar)[..., None], lone, types)
        pokemon[..., POKEMON.column("terastallized")] |= tera
        mega = (self.gimmick == _MEGA) & (self._mega_forme(pokemon) > 0)
        if mega.any():
            self._evolve(pokemon, mega)
        return pokemon

    def _mega_forme(self, pokemon: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(self.estimator.mega_forme[pokemon[..., POKEMON.column("item")]])

    def _evolve(self, pokemon: npt.NDArray[Any], mega: BoolArray) -> None:
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
    """Return what a duel from here is worth; all arguments broadcast."""
    needed = np.clip(np.ceil(foe_hp / np.maximum(hit, 1e-3) - 1e-3), 1, _LONGEST)
    endured = np.clip(np.ceil(hp / np.maximum(threat, 1e-3) - 1e-3), 1, _LONGEST)
    taken = needed - faster  # hits of the foe before it faints
    won = foe_hp + STANDING - np.minimum(taken * threat, hp)
    lost = np.minimum(hit * (endured - 1 + faster), foe_hp) - hp - STANDING
    worth = np.where(taken < endured, won, lost)
    endless = (needed >= _LONGEST) & (endured >= _LONGEST)
    return np.asarray(np.where(endless, 0, worth), np.float32)
