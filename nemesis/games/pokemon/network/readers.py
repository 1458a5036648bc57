"""Parts of the encoder that read one kind of thing out of view records (n, view) as floats."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag

from nemesis.games.pokemon.damage.matchups import AIM_FEATURES, Matchups, Standing
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.network.dex_features import dex_features
from nemesis.games.pokemon.network.pointer_head import skinny_weight
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.columns import PLACES, Columns
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, SIDE, TEAM

_SPREAD = 0.3  # of embeddings that have nothing from the dex beside them


class FactTable(nn.Module):
    """What is learned of each id of a kind plus what the dex says of it."""

    facts: Tensor

    def __init__(self, kind: str, width: int, mod: str) -> None:
        super().__init__()
        facts = torch.from_numpy(dex_features(mod, kind))
        self.register_buffer("facts", facts, persistent=False)
        self.learned = nn.Parameter(torch.empty(len(facts), width))
        self.read = nn.Linear(facts.shape[1], width, bias=False)
        nn.init.normal_(self.learned, std=0.02)  # the dex speaks first

    def forward(self) -> Tensor:
        """Return the table (number, width)."""
        said: Tensor = self.read(self.facts)
        return self.learned + said


class IdentityReader(nn.Module):
    """Species, item and ability of a Pokémon: what they are now, and through a gate what they were before."""

    offset: Tensor

    def __init__(self, token: int, mod: str) -> None:
        super().__init__()
        tables = [FactTable(kind, token, mod) for kind in ("species", "items", "abilities")]
        self.tables = nn.ModuleList(tables)
        self.gate = nn.Parameter(torch.empty(token))
        nn.init.normal_(self.gate, std=_SPREAD)
        names = ("species", "item", "ability", "base_species", "last_item", "base_ability")
        self.numbers = Columns(PLACES.pokemon[..., _all(POKEMON, names)])
        species, items, _ = (len(table.facts) for table in tables)
        offset = torch.tensor([0, species, species + items], dtype=torch.int32)
        self.register_buffer("offset", offset, persistent=False)

    def forward(self, view: Tensor) -> Tensor:
        """Return the sum for each Pokémon, (n, side, member, token)."""
        table = torch.cat([part() for part in self.tables])
        now, before = self.numbers(view).int().chunk(2, dim=-1)
        before = before * (before != now)  # what has not changed is not said again
        now, before = (embedding_bag((part + self.offset).flatten(0, 2), table, mode="sum") for part in (now, before))
        return torch.addcmul(now, before, self.gate).view(-1, 2, TEAM, table.shape[1])


class NumberReader(nn.Module):
    """What is known of each Pokémon in numbers and choices, and whose it is."""

    scale: Tensor
    offset: Tensor
    side: Tensor

    def __init__(self, token: int) -> None:
        super().__init__()
        numbers = {"level": 0.01, "status_turns": 0.25, "active": 1.0, "fainted": 1.0, "terastallized": 1.0}
        numbers |= {"seen": 1.0, "item_revealed": 1.0, "ability_revealed": 1.0}
        self.numbers = Columns(PLACES.pokemon[..., _all(POKEMON, numbers)])
        self.register_buffer("scale", torch.from_numpy(_scales(POKEMON, numbers)), persistent=False)
        types = 1 + len(vocabulary().types)
        choices = {
            "types": types,
            "tera_type": types,
            "status": len(layout.STATUSES),
            "gender": len(layout.GENDERS),
            "item_state": len(layout.ITEM_STATES),
            "brought": len(layout.BROUGHT),
        }
        self.chosen = Columns(PLACES.pokemon[..., _all(POKEMON, choices)])
        self.choices = sum(choices.values())
        starts = dict(zip(choices, np.cumsum([0, *choices.values()]), strict=False))
        offset = [starts[name] for name in choices for _ in _columns(POKEMON, name)]
        self.register_buffer("offset", torch.tensor(offset), persistent=False)
        self.register_buffer("side", torch.tensor([1.0, 0.0]).view(2, 1, 1).expand(2, TEAM, 1), persistent=False)
        self.read = nn.Linear(1 + len(numbers) + 2 + 6 + self.choices, token)

    def forward(self, view: Tensor, standing: Standing, matchups: Matchups) -> Tensor:
        """Return (n, side, member, token)."""
        numbers = (self.numbers(view) * self.scale).clamp_(max=1)
        chosen = self.chosen(view).long().add_(self.offset)
        choices = numbers.new_zeros(*numbers.shape[:3], self.choices).scatter_(-1, chosen, 1.0)
        share = standing.share.unsqueeze(-1)
        side = self.side.expand(len(view), -1, -1, -1)
        features = torch.cat((side, numbers, share, share >= 1, matchups.stats.clamp(max=4), choices), dim=-1)
        read: Tensor = self.read(features)
        return read


class ConditionReader(nn.Module):
    """The position and the conditions of both sides, as each side sees them."""

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
        self.numbers = Columns(np.stack([np.concatenate((common, own, foe)), np.concatenate((common, foe, own))]))
        scale = np.concatenate((_scales(POSITION, position), _scales(SIDE, side), _scales(SIDE, side)))
        self.register_buffer("scale", torch.from_numpy(scale), persistent=False)
        choices = {"phase": len(layout.PHASES), "weather": len(layout.WEATHERS), "terrain": len(layout.TERRAINS)}
        self.chosen = Columns(PLACES.position[_all(POSITION, choices)])
        offset = np.cumsum([0, *choices.values()])[:-1].astype(np.int32)
        self.register_buffer("offset", torch.from_numpy(offset), persistent=False)
        self.choices = nn.Parameter(torch.empty(sum(choices.values()), token))
        self.read = nn.Linear(len(scale), token)
        nn.init.normal_(self.choices, std=_SPREAD)

    def forward(self, view: Tensor) -> Tensor:
        """Return (n, side, token)."""
        numbers = (self.numbers(view) * self.scale).clamp_(max=4)
        chosen = embedding_bag(self.chosen(view).int() + self.offset, self.choices, mode="sum")
        conditions: Tensor = self.read(numbers) + chosen.unsqueeze(1)
        return conditions


class SlotReader(nn.Module):
    """What befell whoever stands in a slot, what it may do now, and what was done there last."""

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
        self.waiting = Columns(
            _of_slots(PLACES.side, SIDE, ("wish", "future_move", "healing_wish", "last_order"), slots)
        )
        self.done = Columns(_of_slots(PLACES.side, SIDE, ("last_outcome", "last_kind", "last_move"), slots))
        allowed = ("must_switch", "reviving", "trapped", "maybe_trapped", "gimmick")
        self.allowed = Columns(_of_slots(PLACES.position, POSITION, allowed, slots))
        self.aimed = Columns(PLACES.side[:, SIDE.columns("last_target")])
        self.register_buffer("bits", 1 << torch.arange(16, dtype=torch.int32), persistent=False)
        self.register_buffer("gimmicks", torch.arange(1, len(layout.GIMMICKS)), persistent=False)
        self.register_buffer("kinds", torch.arange(1, len(layout.ACTION_KINDS)), persistent=False)
        self.register_buffer("positions", torch.arange(1, 5), persistent=False)
        numbers = len(self.scale) + 4 + len(layout.VOLATILES) + len(layout.OUTCOMES) + len(self.kinds)
        self.read = nn.Linear(numbers + (5 if slots > 1 else 0), token)
        self.read_allowed = nn.Linear(len(allowed) - 1 + len(self.gimmicks), token, bias=False)
        self.read_move = nn.Linear(move, token, bias=False)

    def forward(self, view: Tensor, move_table: Tensor, standing: Standing) -> Tensor:
        """Return (n, side, slot, token)."""
        member = self.member(view)
        member = member.gather(2, standing.place.unsqueeze(-1).expand(-1, -1, -1, member.shape[-1]))
        numbers, volatiles = torch.split(member, [len(self.scale), self.words], dim=-1)
        outcome, kind, move = self.done(view).int().chunk(3, dim=-1)  # (n, side, slot, 1)
        features = [
            numbers * self.scale,
            self._unfold(volatiles.int())[..., : len(layout.VOLATILES)],
            self.waiting(view) * 0.5,
            self._unfold(outcome)[..., : len(layout.OUTCOMES)],
            kind == self.kinds,
        ]
        if self.slots > 1:
            features.append(self._aimed(view))
        own = self.allowed(view)  # (n, slot, …)
        own = self.read_allowed(torch.cat((own[..., :-1], own[..., -1:] == self.gimmicks), dim=-1))
        last = self.read_move(embedding(move.squeeze(-1), move_table))
        befallen: Tensor = self.read(torch.cat(features, dim=-1)) + last
        return befallen + torch.stack((own, torch.zeros_like(own)), dim=1)

    def _unfold(self, words: Tensor) -> Tensor:
        """Return the bits of 16-bit words: (…, word) → (…, 16 · word)."""
        return ((words.unsqueeze(-1) & self.bits) != 0).flatten(-2)

    def _aimed(self, view: Tensor) -> Tensor:
        """Return whether a slot aimed at itself, its partner or the other side, and how often each aimed at it.

        (n, side, slot, 5)
        """
        at = (self.aimed(view).unsqueeze(-1) == self.positions).float()
        at = at.view(-1, 2, 2, 2, 2)  # (n, side, slot, side aimed at, slot aimed at)
        within = torch.stack((at[:, OWN, :, OWN], at[:, FOE, :, FOE]), dim=1)  # (n, side, slot, slot aimed at)
        across = torch.stack((at[:, OWN, :, FOE], at[:, FOE, :, OWN]), dim=1)
        itself = within.diagonal(dim1=-2, dim2=-1)
        aimed = (itself, within.sum(-1) - itself, across.sum(-1), within.sum(-2) - itself, across.sum(-2).flip(1))
        return torch.stack(aimed, dim=-1)


class MoveReader(nn.Module):
    """Tokens of all known moves, and what they add to the Pokémon that knows them."""

    def __init__(self, token: int, move: int) -> None:
        super().__init__()
        by_move = [_columns(POKEMON, name) for name in ("moves", "pp", "max_pp", "move_disabled", "move_revealed")]
        self.columns = Columns(PLACES.pokemon[..., np.stack(by_move, axis=-1)])
        marked = [POKEMON.column(name) for name in ("last_move", "disabled_move", "encored_move", "tera_type")]
        self.marked = Columns(PLACES.pokemon[..., marked])
        self.read = skinny_weight(3 + len(marked) + AIM_FEATURES, move)
        self.teach = nn.Linear(move, token, bias=False)

    def forward(self, view: Tensor, table: Tensor, matchups: Matchups) -> tuple[Tensor, Tensor]:
        """Return (n, side, member, move, move token) and (n, side, member, token)."""
        moves, left, most, marks = torch.split(self.columns(view), [1, 1, 1, 2], dim=-1)
        marked = self.marked(view).unsqueeze(3)  # (n, side, member, 1, mark)
        features = torch.cat(
            (
                left / most.clamp(min=1),
                marks,
                moves == marked[..., :-1],
                matchups.types.unsqueeze(-1) == marked[..., -1:],
                matchups.aims.amax(2),
            ),
            dim=-1,
        )
        tokens = (features @ self.read).add_(embedding(moves.squeeze(-1).int(), table)).relu_() * (moves > 0)
        return tokens, self.teach(tokens.sum(3))


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
    """Return where fields stand that have one column for each slot: (…, slot, field)."""
    return np.stack([places[..., _columns(block, name)[:slots]] for name in names], axis=-1)
