"""Matchups: damage and speed of each Pokémon against each of the other side, as input features of the network.

Damage is a fraction of the target's HP. It depends on level, power, accuracy, attack and defence with their boosts,
same-type bonus, type chart, abilities, items, weather, terrain, burns and screens. Unknown stats are those of an
average spread. The estimate is rough and has no learned parameters: random rolls, rare effects and the last few per
cent are left to the network. Scripted players use the more exact `formula.py`.

Nearly all of these effects are factors, so they are stored as logarithms in one table. The factors of a Pokémon are the
exponential of the sum of a few rows (`matchup_tables.py`).
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag

from nemesis.games.pokemon.damage.matchup_tables import (
    ATTACK,
    BASE,
    DEFENCE,
    STAT,
    TYPES,
    factors,
    move_powers,
    move_types,
)
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.columns import PLACES, Columns
from nemesis.games.pokemon.views.layout import MOVES, POKEMON, POSITION, TEAM

EDGE_FEATURES = 7
EFFECT_FEATURES = 3

_GUESSED_POWER = 80.0  # of moves that a Pokémon has not revealed
_MAX_DAMAGE = 2.0  # in fractions of the target's HP
_NO_EFFECT = 1e-3


class TeamState(NamedTuple):
    """Which Pokémon can still battle, and which are active."""

    hp: Tensor  # (n, side, member) fraction of its HP that a Pokémon has left
    able: Tensor  # (n, side, member) 1 if it can still battle
    active: Tensor  # (n, side, slot) the member in the slot; 0 if the slot is empty
    occupied: Tensor  # (n, side, slot) 1 if there is one


class Matchups(NamedTuple):
    """Estimates. The first side axis is the attacking side."""

    stats: Tensor  # (n, side, member, HP and the five stats) after all factors, about 1 at any level
    edges: Tensor  # (n, side, member, member of the other side, EDGE_FEATURES)
    effects: Tensor  # (n, side, slot of the other side, member, move, EFFECT_FEATURES) of moves on active targets
    types: Tensor  # (n, side, member, move) type ids


class MatchupEstimator(nn.Module):
    """Estimates matchups with the tables of one mod, from float records (n, view)."""

    offset: Tensor
    table: Tensor
    powers: Tensor
    types: Tensor
    base: Tensor

    def __init__(self, slots: int, mod: str) -> None:
        super().__init__()
        places, offset, table = factors(mod, slots)
        self.numbers = Columns(places)
        exact = [POKEMON.column("level"), POKEMON.column("max_hp"), *_columns("stats")]
        self.exact = Columns(PLACES.pokemon[..., exact])
        self.moves = Columns(PLACES.pokemon[..., POKEMON.columns("moves")])
        self.trick_room = POSITION.columns("rooms").start + layout.ROOMS.index("trickroom")
        buffers = {
            "offset": torch.from_numpy(offset.astype(np.int32)),
            "table": torch.from_numpy(table),
            "powers": torch.from_numpy(move_powers(mod, slots)),
            "types": torch.from_numpy(move_types(mod)),
            "base": torch.tensor([10.0, 5, 5, 5, 5, 5]),  # the constant terms of HP and the stats
        }
        for name, values in buffers.items():
            self.register_buffer(name, values, persistent=False)

    @torch.no_grad()
    def forward(self, view: Tensor, state: TeamState) -> Matchups:
        numbers = self.numbers(view).int()
        own_types = numbers[..., 2:4].long()
        numbers[..., -1] *= numbers[..., 0]  # the species, if terastallized
        rows = embedding_bag((numbers + self.offset).flatten(0, 2), self.table, mode="sum").view(*numbers.shape[:3], -1)
        factor = rows[..., STAT.start :].exp()
        exact = self.exact(view)
        level = exact[..., :1]
        average = torch.addcmul(self.base, rows[..., BASE], level, value=0.01)
        stats = torch.where(exact[..., 2:3] > 0, exact[..., 1:], average).clamp_(min=1)
        stats *= factor[..., : STAT.stop - STAT.start]
        attack = factor[..., ATTACK.start - STAT.start : ATTACK.stop - STAT.start]
        effectiveness = factor[..., DEFENCE.start - STAT.start :]

        strength, column, move_type = self._strength(view, stats, level, attack, own_types)
        # From here on the side of the targets comes first: (n, side, target, other side's member · move).
        damage = _select(_defence_factors(effectiveness, stats), column.flip(1)) * strength.flip(1).unsqueeze(2)
        damage = damage.clamp_(max=_MAX_DAMAGE)
        known, guessed = damage[..., : TEAM * MOVES], damage[..., TEAM * MOVES :]
        return Matchups(
            stats=stats / torch.add(10, level, alpha=3),
            edges=self._edges(view, known, guessed, stats[..., -1], state),
            effects=_effects(known, effectiveness, move_type.flip(1), state),
            types=move_type.view(-1, 2, TEAM, MOVES),
        )

    def _strength(
        self, view: Tensor, stats: Tensor, level: Tensor, attack: Tensor, own_types: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the damage of all moves before the target's factors, and the column of the factor to apply.

        Both are (n, side, member · 4 + member · 2): first known moves, then guessed ones of the Pokémon's first two
        types with its better attacking stat. The third result has the types of the known moves, (n, side, member · 4).
        """
        scale = torch.add(0.04, level, alpha=0.008)
        moves = self.moves(view).int()
        power_type, move_type, defence = embedding(moves, self.types).unbind(-1)
        sources = torch.cat((stats * scale, level, torch.ones_like(level)), dim=-1)
        known = (embedding(moves, self.powers) * sources.unsqueeze(-2)).sum(-1) * attack.gather(-1, power_type)
        better, category = stats[..., 1:4:2].max(-1, keepdim=True)  # of attack and special attack
        guessed = (better * scale * _GUESSED_POWER) * attack.gather(-1, own_types) * (own_types > 0)
        strength = torch.cat((known.flatten(2), guessed.flatten(2)), dim=-1)
        column = torch.cat(
            ((defence * TYPES + move_type).flatten(2), (category * TYPES + own_types).flatten(2)), dim=-1
        )
        return strength, column, move_type.flatten(2)

    def _edges(self, view: Tensor, known: Tensor, guessed: Tensor, speed: Tensor, state: TeamState) -> Tensor:
        """Return damage dealt and damage taken between each pair of Pokémon, and which one is faster."""
        best = known.view(*known.shape[:3], TEAM, MOVES).amax(-1)
        guess = guessed.view(*known.shape[:3], TEAM, 2).amax(-1)
        knock_out = (best / state.hp.unsqueeze(-1).clamp(min=0.01)).clamp_(max=1)
        own, other = speed.unsqueeze(-1), speed.flip(1).unsqueeze(-2)
        faster = (10 * (own - other) / (own + other)).clamp_(-1, 1)
        faster *= 1 - 2 * (view[:, self.trick_room] > 0).float()[:, None, None, None]
        taken = torch.stack((best, guess, knock_out), dim=-1)
        return torch.cat((taken.flip(1).transpose(2, 3), taken, faster.unsqueeze(-1)), dim=-1)


def _defence_factors(effectiveness: Tensor, stats: Tensor) -> Tensor:
    """Return the factor of a target for each defending stat and type: (n, side, target, 3 · type)."""
    hp = stats[..., :1]
    resistance = 1 / (stats[..., 2:5:2] * hp)  # by defence and special defence
    fixed_damage = (effectiveness > _NO_EFFECT) / hp
    return torch.cat((effectiveness * resistance[..., :1], effectiveness * resistance[..., 1:], fixed_damage), -1)


def _select(rows: Tensor, column: Tensor) -> Tensor:
    """Select columns (n, side, move) of each target's row (n, side, target, column): (n, side, target, move)."""
    return rows.gather(-1, column.unsqueeze(2).expand(-1, -1, rows.shape[2], -1))


def _effects(damage: Tensor, effectiveness: Tensor, move_type: Tensor, state: TeamState) -> Tensor:
    """Return the effect of each move on the active Pokémon of the other side."""
    active, occupied = state.active.unsqueeze(-1), state.occupied.unsqueeze(-1)
    damage = damage.gather(2, active.expand(-1, -1, -1, damage.shape[-1]))
    effectiveness = _select(effectiveness.gather(2, active.expand(-1, -1, -1, TYPES)), move_type)
    hp = state.hp.unsqueeze(-1).gather(2, active).clamp_(min=0.01)
    features = torch.stack((damage, (damage / hp).clamp_(max=1), (effectiveness - 1).clamp_(max=3)), dim=-1)
    features *= occupied.unsqueeze(-1)
    return features.flip(1).view(*features.shape[:3], TEAM, MOVES, EFFECT_FEATURES)


def _columns(name: str) -> range:
    place = POKEMON.columns(name)
    return range(place.start, place.stop)
