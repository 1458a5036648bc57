"""Parts of the encoder that read one kind of thing out of view records (n, view) as floats."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag, relu

from nemesis.games.pokemon import layout
from nemesis.games.pokemon.columns import PLACES, Columns
from nemesis.games.pokemon.dex import vocabulary
from nemesis.games.pokemon.dex_features import dex_features
from nemesis.games.pokemon.layout import FOE, OWN, POKEMON, POSITION, SIDE, TEAM
from nemesis.games.pokemon.matchups import AIM_FEATURES, Matchups, Standing

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
        nn.init.normal_(self.learned, std=0.1)

    def forward(self) -> Tensor:
        """Return the table (number, width)."""
        return self.learned + self.read(self.facts)


class IdentityReader(nn.Module):
    """All that a Pokémon is one of: what it is now, and through a gate what it was or may become."""

    offset: Tensor

    def __init__(self, token: int, mod: str) -> None:
        super().__init__()
        choices = {
            "status": len(layout.STATUSES),
            "gender": len(layout.GENDERS),
            "item_state": len(layout.ITEM_STATES),
            "brought": len(layout.BROUGHT),
            "nature": len(layout.NATURES),
        }
        kinds = ("species", "items", "abilities")
        self.tables = nn.ModuleList(FactTable(kind, token, mod) for kind in kinds)
        self.types = nn.Parameter(torch.empty(1 + len(vocabulary().types), token))
        self.choices = nn.Parameter(torch.empty(sum(choices.values()), token))
        self.gate = nn.Parameter(torch.empty(token))
        for parameter in (self.types, self.choices, self.gate):
            nn.init.normal_(parameter, std=_SPREAD)
        sizes = {kind: 1 + len(getattr(vocabulary(), kind)) for kind in (*kinds, "types")} | choices
        start = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
        species, items, abilities, types = (start[kind] for kind in (*kinds, "types"))
        now = [
            ("species", species),
            ("item", items),
            ("ability", abilities),
            *((name, start[name]) for name in choices),
        ]
        now += [("types", types)]
        once = [("base_species", species), ("last_item", items), ("base_ability", abilities), ("tera_type", types)]
        columns = [_columns(POKEMON, name) for name, _ in (*now, *once)]
        self.numbers = Columns(PLACES.pokemon[..., np.concatenate(columns)])
        offset = [first for (_, first), part in zip((*now, *once), columns, strict=True) for _ in part]
        self.register_buffer("offset", torch.tensor(offset, dtype=torch.int32), persistent=False)
        self.split = (len(offset) - len(once), len(once))

    def forward(self, view: Tensor) -> Tensor:
        """Return the sum for each Pokémon, (n, side, member, token)."""
        table = torch.cat((*(part() for part in self.tables), self.types, self.choices))
        numbers = self.numbers(view).int()
        now, once = numbers.split(self.split, dim=-1)
        once[..., :3] *= once[..., :3] != now[..., :3]  # what has not changed is not said again
        numbers += self.offset
        now, once = (embedding_bag(part.flatten(0, 2), table, mode="sum") for part in (now, once))
        return torch.addcmul(now, once, self.gate).view(-1, 2, TEAM, table.shape[1])


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
        numbers, volatiles = member.split((len(self.scale), self.words), dim=-1)
        outcome, kind, move = self.done(view).int().split(1, dim=-1)  # (n, side, slot, 1)
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
        return self.read(torch.cat(features, dim=-1)) + last + torch.stack((own, torch.zeros_like(own)), dim=1)

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
        self.read = nn.Linear(3 + len(marked) + AIM_FEATURES + 1, move)
        self.teach = nn.Linear(move, token, bias=False)

    def forward(self, view: Tensor, table: Tensor, matchups: Matchups) -> tuple[Tensor, Tensor]:
        """Return (n, side, member, move, move token) and (n, side, member, token)."""
        moves, left, most, marks = self.columns(view).split((1, 1, 1, 2), dim=-1)
        marked = self.marked(view).unsqueeze(3)  # (n, side, member, 1, mark)
        features = torch.cat(
            (
                left / most.clamp(min=1),
                marks,
                moves == marked[..., :-1],
                matchups.types.unsqueeze(-1) == marked[..., -1:],
                matchups.aims.amax(2),
                matchups.reach.unsqueeze(-1),
            ),
            dim=-1,
        )
        tokens = relu(embedding(moves.squeeze(-1).int(), table) + self.read(features)) * (moves > 0)
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
