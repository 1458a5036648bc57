"""The opponent model: a head that predicts the class of the opponent's action in each of its slots.

A seat takes one action in each of its slots: it uses a move, or it sends in a Pokémon. The *class* of an action is the
move, or the species sent in, whatever its forme; at team preview, the species of the lead. All moves and species that
the mod's games do not have share one class. Targets and gimmicks are not part of the class. A slot that passes has
none.

The head computes a low-rank feature vector for each slot of the foe, and a linear layer maps features to the logits of
all classes. Only the features of slots with a known action are mapped to logits.
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

_RANK = 32  # features that the logits of all classes are computed from
_MOVES = POKEMON.columns("moves")
_NO_ACTION = -1


class ClassNames:
    """The action classes of a mod: 0 for everything else, then its moves, then its species."""

    def __init__(self, mod: str) -> None:
        tables = dex.tables(mod)
        species = np.arange(len(tables.species.values))
        base = tables.species["base_species"]
        base = np.where(base > 0, base, species)  # one class for all formes: the foe may see another than the owner
        present = np.isin(species, base[tables.species["standard"] > 0])
        self.of_move = _numbered(tables.moves["standard"] > 0, first=1)  # (id,)
        self.of_species = _numbered(present, first=1 + int(self.of_move.max()))[base]  # (id,)
        self.count = 1 + int(self.of_species.max())


@cache
def class_names(mod: str) -> ClassNames:
    """Return the action classes of a mod."""
    return ClassNames(mod)


def action_classes(
    view: npt.NDArray[Any], action: IntArray, space: ActionSpace, names: ClassNames
) -> npt.NDArray[np.int16]:
    """Return the classes of actions (n,) that seats with these views (n, view) take: (n, slot)."""
    views = cut(view)
    rows = np.arange(len(view))[:, None]
    own = views.pokemon[:, OWN]  # (n, place, column); active Pokémon come first
    fainted = own[..., POKEMON.column("fainted")] > 0
    reviving = (views.position[:, POSITION.columns("reviving")] > 0).any(axis=1)
    place = space.switch_places(fainted, reviving)[rows, space.switch[action]]  # (n, slot)
    kind = space.kind[action]
    place = np.where(kind == Kind.PREVIEW, space.picks[action][:, : space.slots], place)
    species = own[rows, place, POKEMON.column("base_species")]

    move = own[rows, np.arange(space.slots), _MOVES.start + space.move[action]]
    only = views.position[:, POSITION.columns("only_move")][:, : space.slots]
    move = np.where(only > 0, only, move)
    classes = np.where(kind == Kind.MOVE, names.of_move[move], names.of_species[species])
    return np.where(kind == Kind.PASS, _NO_ACTION, classes).astype(np.int16)


class PokemonOpponentModel(nn.Module):
    """Features (…, width) and pointers → opponent features (…, foe slot, rank), which `logits` maps to classes."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        token, hidden = token_widths(width)
        self.norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, hidden)
        self.foe = nn.Linear(token, hidden, bias=False)
        self.features = nn.Linear(hidden, _RANK)
        self.logits = nn.Linear(_RANK, classes)

    def forward(self, features: Tensor, pointers: Pointers) -> Tensor:
        hidden = self.query(self.norm(features)).unsqueeze(-2) + self.foe(pointers.foe_slots)
        opponent_features: Tensor = self.features(relu(hidden))
        return opponent_features


def _numbered(present: npt.NDArray[np.bool_], first: int) -> npt.NDArray[np.int16]:
    """Number the present entries from `first` on; the others get 0."""
    return np.where(present, first - 1 + np.cumsum(present), 0).astype(np.int16)
