"""How a network reads a battle: view records → a token for every Pokémon, move and slot → one vector.

What is known of an id comes from two sources that are added up, a learned embedding and what the dex says of it; both
become one table per forward pass, so that an entity costs one look-up. A Pokémon's token is the sum of its ids, its
numbers, its moves, its side's conditions and, if it is active, of what befell it there. Then the tokens hear from
all Pokémon of the other side, through what the two could do to each other (`matchups.py`), and from their own side:
once where the policy is about 200 wide, and once more with every doubling.

The order of Pokémon, of moves and of the two slots of doubles means nothing: tokens move along with their entities, and
the vector is made of sums. Pokémon that have fainted, were left at home or are not known yet are in no sum.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from nemesis.games.pokemon.damage.matchups import EDGE_FEATURES, MatchupEstimator, Matchups, Standing
from nemesis.games.pokemon.network.pointer_head import Pointers, skinny_weight, token_widths
from nemesis.games.pokemon.network.readers import (
    ConditionReader,
    FactTable,
    IdentityReader,
    MoveReader,
    NumberReader,
    SlotReader,
)
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import SWITCHES, action_space
from nemesis.games.pokemon.views.columns import PLACES, Columns
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION

_ABSENT = -1e4  # drives a relu to zero


class PokemonEncoder(nn.Module):
    """Views (…, view) to vectors (…, width) and pointers.

    Args:
        width: of the vector; tokens are narrower.
        slots: active places of a side.
        mod: whose dex is right.
        brought: Pokémon of a full team that take part.
    """

    def __init__(self, width: int, slots: int, mod: str, brought: int) -> None:
        super().__init__()
        token, move = token_widths(width)
        self.offers = OfferWriter(slots)
        self.standing = StandingReader(slots)
        self.matchups = MatchupEstimator(slots, mod)
        self.move_table = FactTable("moves", move, mod)
        self.identities = IdentityReader(token, mod)
        self.conditions = ConditionReader(token)
        self.befallen = SlotReader(slots, token, move)
        self.moves = MoveReader(token, move)
        self.numbers = NumberReader(token)
        self.hearings = nn.ModuleList(Hearing(token) for _ in range(max(1, width.bit_length() - 7)))
        self.norm = nn.LayerNorm(token)
        self.dropout = nn.Dropout(0.0)
        self.member_sum = nn.Linear(token, token // 2)
        self.slot_sum = nn.Linear(token, token)
        self.vector = nn.Linear(4 * token, width)
        self.gimmick = Columns(PLACES.position[POSITION.columns("gimmick")][:slots])
        self.switches = SwitchReader(slots, brought)

    def forward(self, view: Tensor) -> tuple[Tensor, Pointers]:
        lead = view.shape[:-1]
        view = self.offers(view.reshape(-1, layout.VIEW_SIZE).to(torch.float32, copy=True))
        standing: Standing = self.standing(view)
        matchups: Matchups = self.matchups(view, standing)
        move_table = self.move_table()
        moves, taught = self.moves(
            view, move_table, matchups
        )  # (n, side, member, move, move token), (…, member, token)
        moves, taught = self.dropout(moves), self.dropout(taught)
        conditions = self.conditions(view)  # (n, side, token)
        tokens = self.identities(view) + self.numbers(view, standing, matchups) + taught + conditions.unsqueeze(2)
        present = standing.present.unsqueeze(-1)
        befallen = self.befallen(view, move_table, standing) * present  # (n, side, slot, token)
        rows = standing.place.unsqueeze(-1).expand_as(befallen)
        tokens = tokens.scatter_add(2, rows, befallen.to(tokens.dtype))  # (n, side, member, token)
        absent = ((standing.able - 1) * -_ABSENT).unsqueeze(-1)
        for hear in self.hearings:
            tokens = hear(tokens, matchups.edges, absent)
        tokens = self.dropout(self.norm(tokens))

        slots = tokens.gather(2, rows) * present + befallen
        member_sum = relu(self.member_sum(tokens) + absent).sum(2) / 2
        slot_sum = relu(self.slot_sum(slots)).sum(2)
        parts = (member_sum.flatten(1), slot_sum.flatten(1), relu(conditions[:, OWN]))
        vector = self.vector(self.dropout(torch.cat(parts, dim=1)))
        pointers = Pointers(
            members=tokens[:, OWN],
            slots=slots[:, OWN],
            foe_slots=slots[:, FOE],
            moves=_of_active(moves[:, OWN], standing),
            duels=_duels(matchups.edges[:, OWN], standing),
            aims=_of_active(matchups.aims[:, OWN].permute(0, 2, 3, 1, 4), standing),
            gimmick=self.gimmick(view).int(),
            switches=self.switches(view),
        )
        return vector.view(*lead, -1), Pointers(*(part.view(*lead, *part.shape[1:]) for part in pointers))


class Hearing(nn.Module):
    """Each Pokémon hears from every one of the other side and from its own side, in a residual layer."""

    def __init__(self, token: int) -> None:
        super().__init__()
        heard = token // 2
        self.norm = nn.LayerNorm(token)
        self.speak = nn.Linear(token, 3 * heard)
        self.relate = skinny_weight(EDGE_FEATURES, heard)
        self.hear = nn.Linear(2 * heard, token)

    def forward(self, tokens: Tensor, edges: Tensor, absent: Tensor) -> Tensor:
        """Take tokens (n, side, member, token), edges (n, side, member, other, …) and absent (n, side, member, 1)."""
        listener, other, mate = self.speak(self.norm(tokens)).chunk(3, dim=-1)
        other = (other + absent).flip(1).unsqueeze(2)
        # In place, since this is by far the largest tensor: (n, side, member, other, heard).
        across = (edges @ self.relate).add_(listener.unsqueeze(3)).add_(other).relu_().sum(3)
        within = relu(mate + absent).sum(2, keepdim=True).expand_as(across)
        heard: Tensor = self.hear(torch.cat((across, within), dim=-1))
        return tokens + heard


class OfferWriter(nn.Module):
    """Where a request offers but one move (locked, Struggle, recharge), the first action stands for that one."""

    def __init__(self, slots: int) -> None:
        super().__init__()
        self.only = Columns(PLACES.position[POSITION.columns("only_move")][:slots])
        self.first = Columns(PLACES.pokemon[OWN, :slots, POKEMON.columns("moves").start])

    def forward(self, view: Tensor) -> Tensor:
        """Write it into the records in place of the first move of whoever stands in the slot."""
        only = self.only(view)
        return view.index_copy_(1, self.first.index, torch.where(only > 0, only, self.first(view)))


class StandingReader(nn.Module):
    """Who can still fight, and where."""

    slot: Tensor

    def __init__(self, slots: int) -> None:
        super().__init__()
        names = ("species", "fainted", "brought", "hp", "max_hp", "active")
        self.columns = Columns(PLACES.pokemon[..., [POKEMON.column(name) for name in names]])
        self.register_buffer("slot", torch.arange(1.0, slots + 1).unsqueeze(-1), persistent=False)

    def forward(self, view: Tensor) -> Standing:
        species, fainted, brought, hp, max_hp, active = self.columns(view).unbind(-1)  # (n, side, member)
        here = (active.unsqueeze(2) == self.slot).float()  # (n, side, slot, member)
        present, place = here.max(-1)
        able = (species > 0) & (fainted == 0) & (brought != layout.BROUGHT.index("no"))
        return Standing(share=hp / max_hp.clamp(min=1), able=able.float(), place=place, present=present)


class SwitchReader(nn.Module):
    """The members that the switches of doubles name."""

    usual: Tensor

    def __init__(self, slots: int, brought: int) -> None:
        super().__init__()
        space = action_space(slots, brought)
        self.revives = slots > 1 and brought > SWITCHES
        self.register_buffer("usual", torch.from_numpy(space.places), persistent=False)
        self.reviving = Columns(PLACES.position[POSITION.columns("reviving")])
        self.fainted = Columns(PLACES.pokemon[OWN][:, POKEMON.column("fainted")])

    def forward(self, view: Tensor) -> Tensor:
        """Return them, (n, switch)."""
        usual = self.usual.expand(len(view), -1)
        if not self.revives:
            return usual
        fainted = self.fainted(view).argsort(dim=-1, descending=True, stable=True)[:, :SWITCHES]
        return torch.where(self.reviving(view).any(-1, keepdim=True), fainted, usual)


def _duels(edges: Tensor, standing: Standing) -> Tensor:
    """Return how own members relate to those who stand in the foe's slots, on average: (n, member, EDGE_FEATURES)."""
    place, present = (part[:, FOE, None, :, None] for part in (standing.place, standing.present))
    return (edges.gather(2, place.expand(-1, edges.shape[1], -1, EDGE_FEATURES)) * present).mean(2)


def _of_active(values: Tensor, standing: Standing) -> Tensor:
    """Of each own member's values (n, member, move, …), take those of the members in the slots: (n, slot, move, …)."""
    place, present = standing.place[:, OWN].unsqueeze(-1), standing.present[:, OWN].unsqueeze(-1)
    flat = values.flatten(2)
    taken = flat.gather(1, place.expand(-1, -1, flat.shape[-1])) * present
    return taken.view(*taken.shape[:2], *values.shape[2:])
