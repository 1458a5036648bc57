"""What the Pokémon of the two sides could do to each other, estimated from view records and the dex.

Damage is a share of the target's HP: level, power, accuracy, attack and defence with their boosts, same-type bonus,
type chart, and what abilities, items, weather, terrain, burns and screens do to it. Stats that the seat does not know
are taken to be those of an average spread. It is an estimate for a network to start from: chances, rare effects and the
last few per cent are left to learning, and scripted players count more exactly (`damage.py`). Nothing here is learned.

Nearly everything multiplies something, so all of it stands in one table of logarithms, and what holds for a Pokémon is
the sum of a few of its rows (`matchup_tables.py`).
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
AIM_FEATURES = 3

_LIKELY_POWER = 80.0  # of moves that a Pokémon has not shown
_MOST = 2.0  # damage, in shares of the target's HP
_NO_EFFECT = 1e-3


class Standing(NamedTuple):
    """Who can still fight, and where."""

    share: Tensor  # (n, side, member) of its HP that a Pokémon has left
    able: Tensor  # (n, side, member) 1 if it can still fight
    place: Tensor  # (n, side, slot) the member that stands there, if any
    present: Tensor  # (n, side, slot) 1 if one does


class Matchups(NamedTuple):
    """Estimates. The side that is named first is the one that attacks, or whose relations they are."""

    stats: Tensor  # (n, side, member, HP and the five stats) as they work now, about 1 at any level
    edges: Tensor  # (n, side, member, member of the other side, EDGE_FEATURES)
    aims: Tensor  # (n, side, slot of the other side, member, move, AIM_FEATURES)
    types: Tensor  # (n, side, member, move) type ids


class MatchupEstimator(nn.Module):
    """Estimates by the tables of one mod, from records (n, view) as floats."""

    offset: Tensor
    table: Tensor
    powers: Tensor
    types: Tensor
    least: Tensor

    def __init__(self, slots: int, mod: str) -> None:
        super().__init__()
        places, offset, table = factors(mod, slots)
        self.numbers = Columns(places)
        numbers = [POKEMON.column("level"), POKEMON.column("max_hp"), *_columns("stats")]
        self.known = Columns(PLACES.pokemon[..., numbers])
        self.moves = Columns(PLACES.pokemon[..., POKEMON.columns("moves")])
        self.trick_room = POSITION.columns("rooms").start + layout.ROOMS.index("trickroom")
        buffers = {
            "offset": torch.from_numpy(offset.astype(np.int32)),
            "table": torch.from_numpy(table),
            "powers": torch.from_numpy(move_powers(mod, slots)),
            "types": torch.from_numpy(move_types(mod)),
            "least": torch.tensor([10.0, 5, 5, 5, 5, 5]),  # what any Pokémon has of HP and the stats
        }
        for name, values in buffers.items():
            self.register_buffer(name, values, persistent=False)

    @torch.no_grad()
    def forward(self, view: Tensor, standing: Standing) -> Matchups:
        numbers = self.numbers(view).int()
        own_types = numbers[..., 2:4].long()
        numbers[..., -1] *= numbers[..., 0]  # the species, if terastallised
        rows = embedding_bag((numbers + self.offset).flatten(0, 2), self.table, mode="sum").view(*numbers.shape[:3], -1)
        factor = rows[..., STAT.start :].exp()
        known = self.known(view)
        level = known[..., :1]
        average = torch.addcmul(self.least, rows[..., BASE], level, value=0.01)
        stats = torch.where(known[..., 2:3] > 0, known[..., 1:], average).clamp_(min=1)
        stats *= factor[..., : STAT.stop - STAT.start]
        attack = factor[..., ATTACK.start - STAT.start : ATTACK.stop - STAT.start]
        effect = factor[..., DEFENCE.start - STAT.start :]

        force, meets, move_type = self._force(view, stats, level, attack, own_types)
        # From here on the side of the targets comes first: (n, side, target, other side's member · move).
        damage = (_take(_shield(effect, stats), meets.flip(1)) * force.flip(1).unsqueeze(2)).clamp_(max=_MOST)
        known_damage, likely = damage[..., : TEAM * MOVES], damage[..., TEAM * MOVES :]
        return Matchups(
            stats=stats / torch.add(10, level, alpha=3),
            edges=self._edges(view, known_damage, likely, stats[..., -1], standing),
            aims=_aims(known_damage, effect, move_type.flip(1), standing),
            types=move_type.view(-1, 2, TEAM, MOVES),
        )

    def _force(
        self, view: Tensor, stats: Tensor, level: Tensor, attack: Tensor, own_types: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the force of all moves, before any target, and how each is met: (n, side, member · 4 + member · 2).

        First known moves, then likely ones: of the Pokémon's first two types, by its better attack. And the types of
        the known ones, (n, side, member · 4).
        """
        scale = torch.add(0.04, level, alpha=0.008)
        moves = self.moves(view).int()
        depends, move_type, met = embedding(moves, self.types).unbind(-1)
        strength = torch.cat((stats * scale, level, torch.ones_like(level)), dim=-1)
        known = (embedding(moves, self.powers) * strength.unsqueeze(-2)).sum(-1) * attack.gather(-1, depends)
        better, way = stats[..., 1:4:2].max(-1, keepdim=True)  # of attack and special attack
        likely = (better * scale * _LIKELY_POWER) * attack.gather(-1, own_types) * (own_types > 0)
        force = torch.cat((known.flatten(2), likely.flatten(2)), dim=-1)
        meets = torch.cat(((met * TYPES + move_type).flatten(2), (way * TYPES + own_types).flatten(2)), dim=-1)
        return force, meets, move_type.flatten(2)

    def _edges(self, view: Tensor, known: Tensor, likely: Tensor, speed: Tensor, standing: Standing) -> Tensor:
        """Relate each Pokémon to each of the other side: what it gives and takes, and who is faster."""
        best = known.view(*known.shape[:3], TEAM, MOVES).amax(-1)
        guess = likely.view(*known.shape[:3], TEAM, 2).amax(-1)
        knock_out = (best / standing.share.unsqueeze(-1).clamp(min=0.01)).clamp_(max=1)
        own, other = speed.unsqueeze(-1), speed.flip(1).unsqueeze(-2)
        faster = (10 * (own - other) / (own + other)).clamp_(-1, 1)
        faster *= 1 - 2 * (view[:, self.trick_room] > 0).float()[:, None, None, None]
        taken = torch.stack((best, guess, knock_out), dim=-1)
        return torch.cat((taken.flip(1).transpose(2, 3), taken, faster.unsqueeze(-1)), dim=-1)


def _shield(effect: Tensor, stats: Tensor) -> Tensor:
    """Return what a target multiplies a force by, for each type met in each way: (n, side, target, 3 · type)."""
    hit_points = stats[..., :1]
    resistance = 1 / (stats[..., 2:5:2] * hit_points)  # by defence and special defence
    return torch.cat(
        (effect * resistance[..., :1], effect * resistance[..., 1:], (effect > _NO_EFFECT) / hit_points), -1
    )


def _take(rows: Tensor, column: Tensor) -> Tensor:
    """Of each target's row (n, side, target, column), take the columns (n, side, move): (n, side, target, move)."""
    return rows.gather(-1, column.unsqueeze(2).expand(-1, -1, rows.shape[2], -1))


def _aims(damage: Tensor, effect: Tensor, move_type: Tensor, standing: Standing) -> Tensor:
    """Tell what each move does to whoever stands in the slots of the other side."""
    place, present = standing.place.unsqueeze(-1), standing.present.unsqueeze(-1)
    damage = damage.gather(2, place.expand(-1, -1, -1, damage.shape[-1]))
    effect = _take(effect.gather(2, place.expand(-1, -1, -1, TYPES)), move_type)
    left = standing.share.unsqueeze(-1).gather(2, place).clamp_(min=0.01)
    features = torch.stack((damage, (damage / left).clamp_(max=1), (effect - 1).clamp_(max=3)), dim=-1)
    features *= present.unsqueeze(-1)
    return features.flip(1).view(*features.shape[:3], TEAM, MOVES, AIM_FEATURES)


def _columns(name: str) -> range:
    place = POKEMON.columns(name)
    return range(place.start, place.stop)
