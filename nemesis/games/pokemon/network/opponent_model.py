"""What the opponent does, named as the other seat sees it, and the head of a network that foresees it.

A seat does one thing in each of its slots: it uses a move, or it sends in a Pokémon. The *class* of a deed is the move,
or the species sent in, at team preview as the lead, whatever its forme; those that the mod's games do not have share
one class. Targets and gimmicks are left out, and so is a slot that passes.

A head scores all classes by a product of low rank: what it thinks of each of the foe's slots, times a vector that is
learned for each class. Few thoughts are turned into scores, those of slots in which something is known to be done.
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn
from torch.nn.functional import relu

from nemesis.core.game import IntArray
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.network.pointer_head import Pointers, token_widths
from nemesis.games.pokemon.views.actions import ActionSpace, Kind
from nemesis.games.pokemon.views.layout import OWN, POKEMON, POSITION, cut

_RANK = 32  # numbers that the scores of all classes are made of
_MOVES = POKEMON.columns("moves")
_UNKNOWN = -1


class ClassNames:
    """The classes of a mod: something else, its moves, its species."""

    def __init__(self, mod: str) -> None:
        tables = dex.tables(mod)
        species = np.arange(len(tables.species.values))
        base = tables.species["base_species"]
        base = np.where(base > 0, base, species)  # the same for all formes: a foe may see another than the owner
        present = np.isin(species, base[tables.species["standard"] > 0])
        self.of_move = _numbered(tables.moves["standard"] > 0, first=1)  # (id,)
        self.of_species = _numbered(present, first=1 + int(self.of_move.max()))[base]  # (id,)
        self.count = 1 + int(self.of_species.max())


@cache
def class_names(mod: str) -> ClassNames:
    return ClassNames(mod)


def action_classes(
    view: npt.NDArray[Any], action: IntArray, space: ActionSpace, names: ClassNames
) -> npt.NDArray[np.int16]:
    """Return the classes of what the seats of these views (n, view) do by these actions (n,): (n, slot)."""
    views = cut(view)
    rows = np.arange(len(view))[:, None]
    own = views.pokemon[:, OWN]  # (n, place, column); those in the slots stand in front
    fainted = own[..., POKEMON.column("fainted")] > 0
    reviving = (views.position[:, POSITION.columns("reviving")] > 0).any(axis=1)
    place = space.switch_places(fainted, reviving)[rows, space.switch[action]]  # (n, slot)
    kind = space.kind[action]
    place = np.where(kind == Kind.PREVIEW, space.picks[action][:, : space.slots], place)
    sent = own[rows, place, POKEMON.column("base_species")]

    used = own[rows, np.arange(space.slots), _MOVES.start + space.move[action]]
    only = views.position[:, POSITION.columns("only_move")][:, : space.slots]
    used = np.where(only > 0, only, used)
    named = np.where(kind == Kind.MOVE, names.of_move[used], names.of_species[sent])
    return np.where(kind == Kind.PASS, _UNKNOWN, named).astype(np.int16)


class PokemonOpponentModel(nn.Module):
    """Features (…, width) and pointers to thoughts (…, slot of the foe, thought), and thoughts to logits."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        token, hidden = token_widths(width)
        self.norm = nn.LayerNorm(width)
        self.think = nn.Linear(width, hidden)
        self.foe = nn.Linear(token, hidden, bias=False)
        self.thought = nn.Linear(hidden, _RANK)
        self.logits = nn.Linear(_RANK, classes)

    def forward(self, features: Tensor, pointers: Pointers) -> Tensor:
        thinking = self.think(self.norm(features)).unsqueeze(-2) + self.foe(pointers.foe_slots)
        opponent_features: Tensor = self.thought(relu(thinking))
        return opponent_features


def _numbered(present: npt.NDArray[np.bool_], first: int) -> npt.NDArray[np.int16]:
    """Number what is present from `first` on; the rest is 0."""
    return np.where(present, first - 1 + np.cumsum(present), 0).astype(np.int16)
