"""Parts of the encoder, each for one kind of entity: float view records (n, view) → tokens."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag

from nemesis.games.pokemon.damage.matchups import EFFECT_FEATURES, Matchups, TeamState
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.network.dex_features import dex_features
from nemesis.games.pokemon.network.pointer_head import skinny_weight
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.columns import PLACES, Columns
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, SIDE, TEAM

_EMBEDDING_STD = 0.3  # of embeddings without dex features


class DexEmbedding(nn.Module):
    """A learned embedding of each id of a kind plus a projection of its dex features."""

    features: Tensor

    def __init__(self, kind: str, width: int, mod: str) -> None:
        super().__init__()
        features = torch.from_numpy(dex_features(mod, kind))
        self.register_buffer("features", features, persistent=False)
        self.embedding = nn.Parameter(torch.empty(len(features), width))
        self.projection = nn.Linear(features.shape[1], width, bias=False)
        nn.init.normal_(self.embedding, std=0.02)  # small, so that dex features dominate at first

    def forward(self) -> Tensor:
        """Return the table (number, width)."""
        projected: Tensor = self.projection(self.features)
        return self.embedding + projected


class IdentityEncoder(nn.Module):
    """Species, item and ability of a Pokémon: the current ones, plus the earlier ones through a gate."""

    offset: Tensor

    def __init__(self, token: int, mod: str) -> None:
        super().__init__()
        tables = [DexEmbedding(kind, token, mod) for kind in ("species", "items", "abilities")]
        self.tables = nn.ModuleList(tables)
        self.gate = nn.Parameter(torch.empty(token))
        nn.init.normal_(self.gate, std=_EMBEDDING_STD)
        names = ("species", "item", "ability", "base_species", "last_item", "base_ability")
        self.numbers = Columns(PLACES.pokemon[..., _all(POKEMON, names)])
        species, items, _ = (len(table.features) for table in tables)
        offset = torch.tensor([0, species, species + items], dtype=torch.int32)
        self.register_buffer("offset", offset, persistent=False)

    def forward(self, view: Tensor) -> Tensor:
        """Return the sum for each Pokémon, (n, side, member, token)."""
        table = torch.cat([part() for part in self.tables])
        now, before = self.numbers(view).int().chunk(2, dim=-1)
        before = before * (before != now)  # unchanged ids are not counted twice
        now, before = (embedding_bag((part + self.offset).flatten(0, 2), table, mode="sum") for part in (now, before))
        return torch.addcmul(now, before, self.gate).view(-1, 2, TEAM, table.shape[1])


class AttributeEncoder(nn.Module):
    """Numeric and categorical attributes of each Pokémon, and its side."""

    scale: Tensor
    offset: Tensor
    side: Tensor

    def __init__(self, token: int) -> None:
        super().__init__()
        numeric = {"level": 0.01, "status_turns": 0.25, "active": 1.0, "fainted": 1.0, "terastallized": 1.0}
        numeric |= {"seen": 1.0, "item_revealed": 1.0, "ability_revealed": 1.0}
        self.numeric = Columns(PLACES.pokemon[..., _all(POKEMON, numeric)])
        self.register_buffer("scale", torch.from_numpy(_scales(POKEMON, numeric)), persistent=False)
        types = 1 + len(vocabulary().types)
        categorical = {
            "types": types,
            "tera_type": types,
            "status": len(layout.STATUSES),
            "gender": len(layout.GENDERS),
            "item_state": len(layout.ITEM_STATES),
            "brought": len(layout.BROUGHT),
        }
        self.categorical = Columns(PLACES.pokemon[..., _all(POKEMON, categorical)])
        self.categories = sum(categorical.values())
        starts = dict(zip(categorical, np.cumsum([0, *categorical.values()]), strict=False))
        offset = [starts[name] for name in categorical for _ in _columns(POKEMON, name)]
        self.register_buffer("offset", torch.tensor(offset), persistent=False)
        self.register_buffer("side", torch.tensor([1.0, 0.0]).view(2, 1, 1).expand(2, TEAM, 1), persistent=False)
        self.projection = nn.Linear(1 + len(numeric) + 2 + 6 + self.categories, token)

    def forward(self, view: Tensor, state: TeamState, matchups: Matchups) -> Tensor:
        """Return (n, side, member, token)."""
        numeric = (self.numeric(view) * self.scale).clamp_(max=1)
        category = self.categorical(view).long().add_(self.offset)
        one_hot = numeric.new_zeros(*numeric.shape[:3], self.categories).scatter_(-1, category, 1.0)
        hp = state.hp.unsqueeze(-1)
        side = self.side.expand(len(view), -1, -1, -1)
        features = torch.cat((side, numeric, hp, hp >= 1, matchups.stats.clamp(max=4), one_hot), dim=-1)
        token: Tensor = self.projection(features)
        return token


class ConditionEncoder(nn.Module):
    """The field and the side conditions, from the perspective of each side."""

    scale: Tensor
    offset: Tensor

    def __init__(self, token: int) -> None:
        super().__init__()
        position = {"turn": 1 / 30, "refusals": 1.0, "weather_least": 0.2, "weather_most": 0.2}
        position |= {"terrain_least": 0.2, "terrain_most": 0.2, "rooms": 0.2}
        side = {"team_size": 1 / 6, "brought_size": 1 / 6, "left": 1 / 6, "gimmick_used": 1.0, "layers": 0.5}
        side |= {"turns_least": 0.2, "turns_most": 0.2}
        own, foe = (PLACES.side[index, _all(SIDE, side)] for index in (OWN, FOE))
        common = PLACES.position[_all(POSITION, position)]
        self.numeric = Columns(np.stack([np.concatenate((common, own, foe)), np.concatenate((common, foe, own))]))
        scale = np.concatenate((_scales(POSITION, position), _scales(SIDE, side), _scales(SIDE, side)))
        self.register_buffer("scale", torch.from_numpy(scale), persistent=False)
        categorical = {"phase": len(layout.PHASES), "weather": len(layout.WEATHERS), "terrain": len(layout.TERRAINS)}
        self.categorical = Columns(PLACES.position[_all(POSITION, categorical)])
        offset = np.cumsum([0, *categorical.values()])[:-1].astype(np.int32)
        self.register_buffer("offset", torch.from_numpy(offset), persistent=False)
        self.embedding = nn.Parameter(torch.empty(sum(categorical.values()), token))
        self.projection = nn.Linear(len(scale), token)
        nn.init.normal_(self.embedding, std=_EMBEDDING_STD)

    def forward(self, view: Tensor) -> Tensor:
        """Return (n, side, token)."""
        numeric = (self.numeric(view) * self.scale).clamp_(max=4)
        categorical = embedding_bag(self.categorical(view).int() + self.offset, self.embedding, mode="sum")
        conditions: Tensor = self.projection(numeric) + categorical.unsqueeze(1)
        return conditions


class SlotEncoder(nn.Module):
    """The volatile state of the active Pokémon in a slot, its options in the request, and the slot's last action."""

    scale: Tensor
    bits: Tensor
    gimmicks: Tensor
    kinds: Tensor
    positions: Tensor

    def __init__(self, slots: int, token: int, move: int) -> None:
        super().__init__()
        self.slots = slots
        member = {"counters": 0.3, "boosts": 0.5, "turns_active": 0.1, "streak": 0.3}
        self.words = len(_columns(POKEMON, "volatiles"))
        columns = np.concatenate((_all(POKEMON, member), _columns(POKEMON, "volatiles")))
        self.member = Columns(PLACES.pokemon[..., columns])
        self.register_buffer("scale", torch.from_numpy(_scales(POKEMON, member)), persistent=False)
        self.pending = Columns(
            _of_slots(PLACES.side, SIDE, ("wish", "future_move", "healing_wish", "last_order"), slots)
        )
        self.last_action = Columns(_of_slots(PLACES.side, SIDE, ("last_outcome", "last_kind", "last_move"), slots))
        request = ("must_switch", "reviving", "trapped", "maybe_trapped", "gimmick")
        self.request = Columns(_of_slots(PLACES.position, POSITION, request, slots))
        self.last_target = Columns(PLACES.side[:, SIDE.columns("last_target")])
        self.register_buffer("bits", 1 << torch.arange(16, dtype=torch.int32), persistent=False)
        self.register_buffer("gimmicks", torch.arange(1, len(layout.GIMMICKS)), persistent=False)
        self.register_buffer("kinds", torch.arange(1, len(layout.ACTION_KINDS)), persistent=False)
        self.register_buffer("positions", torch.arange(1, 5), persistent=False)
        width = len(self.scale) + 4 + len(layout.VOLATILES) + len(layout.OUTCOMES) + len(self.kinds)
        self.projection = nn.Linear(width + (5 if slots > 1 else 0), token)
        self.request_projection = nn.Linear(len(request) - 1 + len(self.gimmicks), token, bias=False)
        self.move_projection = nn.Linear(move, token, bias=False)

    def forward(self, view: Tensor, move_table: Tensor, state: TeamState) -> Tensor:
        """Return (n, side, slot, token)."""
        member = self.member(view)
        member = member.gather(2, state.active.unsqueeze(-1).expand(-1, -1, -1, member.shape[-1]))
        numeric, volatiles = torch.split(member, [len(self.scale), self.words], dim=-1)
        outcome, kind, move = self.last_action(view).int().chunk(3, dim=-1)  # (n, side, slot, 1)
        features = [
            numeric * self.scale,
            self._unpack_bits(volatiles.int())[..., : len(layout.VOLATILES)],
            self.pending(view) * 0.5,
            self._unpack_bits(outcome)[..., : len(layout.OUTCOMES)],
            kind == self.kinds,
        ]
        if self.slots > 1:
            features.append(self._target_features(view))
        own = self.request(view)  # (n, slot, …)
        own = self.request_projection(torch.cat((own[..., :-1], own[..., -1:] == self.gimmicks), dim=-1))
        last_move = self.move_projection(embedding(move.squeeze(-1), move_table))
        token: Tensor = self.projection(torch.cat(features, dim=-1)) + last_move
        return token + torch.stack((own, torch.zeros_like(own)), dim=1)

    def _unpack_bits(self, words: Tensor) -> Tensor:
        """Return the bits of 16-bit words: (…, word) → (…, 16 · word)."""
        return ((words.unsqueeze(-1) & self.bits) != 0).flatten(-2)

    def _target_features(self, view: Tensor) -> Tensor:
        """Return whether a slot targeted itself, its ally or the other side, and how often ally and foes targeted it.

        (n, side, slot, 5)
        """
        target = (self.last_target(view).unsqueeze(-1) == self.positions).float()
        target = target.view(-1, 2, 2, 2, 2)  # (n, side, slot, target side, target slot)
        within = torch.stack((target[:, OWN, :, OWN], target[:, FOE, :, FOE]), dim=1)  # (n, side, slot, target slot)
        across = torch.stack((target[:, OWN, :, FOE], target[:, FOE, :, OWN]), dim=1)
        itself = within.diagonal(dim1=-2, dim2=-1)
        features = (itself, within.sum(-1) - itself, across.sum(-1), within.sum(-2) - itself, across.sum(-2).flip(1))
        return torch.stack(features, dim=-1)


class MoveEncoder(nn.Module):
    """Tokens of all known moves, and their projected sum for each Pokémon."""

    def __init__(self, token: int, move: int) -> None:
        super().__init__()
        by_move = [_columns(POKEMON, name) for name in ("moves", "pp", "max_pp", "move_disabled", "move_revealed")]
        self.columns = Columns(PLACES.pokemon[..., np.stack(by_move, axis=-1)])
        marked = [POKEMON.column(name) for name in ("last_move", "disabled_move", "encored_move", "tera_type")]
        self.marked = Columns(PLACES.pokemon[..., marked])
        self.projection = skinny_weight(3 + len(marked) + EFFECT_FEATURES, move)
        self.member_projection = nn.Linear(move, token, bias=False)

    def forward(self, view: Tensor, table: Tensor, matchups: Matchups) -> tuple[Tensor, Tensor]:
        """Return (n, side, member, move, move token) and (n, side, member, token)."""
        moves, pp, max_pp, flags = torch.split(self.columns(view), [1, 1, 1, 2], dim=-1)
        marked = self.marked(view).unsqueeze(3)  # (n, side, member, 1, mark)
        features = torch.cat(
            (
                pp / max_pp.clamp(min=1),
                flags,
                moves == marked[..., :-1],
                matchups.types.unsqueeze(-1) == marked[..., -1:],
                matchups.effects.amax(2),
            ),
            dim=-1,
        )
        tokens = (features @ self.projection).add_(embedding(moves.squeeze(-1).int(), table)).relu_() * (moves > 0)
        return tokens, self.member_projection(tokens.sum(3))


def _columns(block: layout.Block, name: str) -> npt.NDArray[np.int64]:
    place = block.columns(name)
    return np.arange(place.start, place.stop)


def _all(block: layout.Block, names: Iterable[str]) -> npt.NDArray[np.int64]:
    return np.concatenate([_columns(block, name) for name in names])


def _scales(block: layout.Block, scales: dict[str, float]) -> npt.NDArray[np.float32]:
    """Return a factor for each column of the named fields."""
    return np.concatenate([np.full(len(_columns(block, name)), scale, np.float32) for name, scale in scales.items()])


def _of_slots(
    places: npt.NDArray[np.int64], block: layout.Block, names: Iterable[str], slots: int
) -> npt.NDArray[np.int64]:
    """Return the places of fields that have one column per slot: (…, slot, field)."""
    return np.stack([places[..., _columns(block, name)[:slots]] for name in names], axis=-1)
