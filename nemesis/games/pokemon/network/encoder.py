"""The encoder: view records → a token for every Pokémon, move and slot → one vector.

An id is represented by the sum of a learned embedding and a projection of its dex features. Both are combined into one
table per forward pass, so that an entity costs one look-up. A Pokémon's token is the sum of the encodings of its ids,
its attributes, its moves, its side's conditions and, if it is active, its slot. Message-passing layers then exchange
information between the Pokémon of both sides, with their matchups (`matchups.py`) as edge features: one layer at a
policy width of about 200, and one more for every doubling.

The encoder is equivariant to the order of Pokémon, of moves and of the two slots of doubles: tokens move with their
entities, and the vector is made of sums. Pokémon that have fainted, were not brought or are unknown are in no sum.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from nemesis.games.pokemon.damage.matchups import EDGE_FEATURES, MatchupEstimator, Matchups, TeamState
from nemesis.games.pokemon.network.entity_encoders import (
    AttributeEncoder,
    ConditionEncoder,
    DexEmbedding,
    IdentityEncoder,
    MoveEncoder,
    SlotEncoder,
)
from nemesis.games.pokemon.network.pointer_head import Pointers, skinny_weight, token_widths
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import SWITCHES, action_space
from nemesis.games.pokemon.views.columns import PLACES, Columns
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION

_MASKED = -1e4  # a relu after it gives zero


class PokemonEncoder(nn.Module):
    """Views (…, view) → vectors (…, width) and pointers.

    Args:
        width: of the vector; tokens are narrower.
        slots: active Pokémon of a side.
        mod: the mod of the simulator whose dex is used.
        brought: Pokémon of a full team that take part.
    """

    def __init__(self, width: int, slots: int, mod: str, brought: int) -> None:
        super().__init__()
        token, move = token_widths(width)
        self.only_move = OnlyMoveWriter(slots)
        self.team_state = TeamStateReader(slots)
        self.matchups = MatchupEstimator(slots, mod)
        self.move_table = DexEmbedding("moves", move, mod)
        self.identities = IdentityEncoder(token, mod)
        self.conditions = ConditionEncoder(token)
        self.slot_states = SlotEncoder(slots, token, move)
        self.moves = MoveEncoder(token, move)
        self.attributes = AttributeEncoder(token)
        self.message_layers = nn.ModuleList(MessagePassing(token) for _ in range(max(1, width.bit_length() - 7)))
        self.norm = nn.LayerNorm(token)
        self.dropout = nn.Dropout(0.0)
        self.member_sum = nn.Linear(token, token // 2)
        self.slot_sum = nn.Linear(token, token)
        self.vector = nn.Linear(4 * token, width)
        self.gimmick = Columns(PLACES.position[POSITION.columns("gimmick")][:slots])
        self.switches = SwitchReader(slots, brought)

    def forward(self, view: Tensor) -> tuple[Tensor, Pointers]:
        lead = view.shape[:-1]
        view = self.only_move(view.reshape(-1, layout.VIEW_SIZE).to(torch.float32, copy=True))
        state: TeamState = self.team_state(view)
        matchups: Matchups = self.matchups(view, state)
        move_table = self.move_table()
        # (n, side, member, move, move token), (n, side, member, token)
        moves, move_sum = self.moves(view, move_table, matchups)
        moves, move_sum = self.dropout(moves), self.dropout(move_sum)
        conditions = self.conditions(view)  # (n, side, token)
        tokens = self.identities(view) + self.attributes(view, state, matchups) + move_sum + conditions.unsqueeze(2)
        occupied = state.occupied.unsqueeze(-1)
        slot_states = self.slot_states(view, move_table, state) * occupied  # (n, side, slot, token)
        rows = state.active.unsqueeze(-1).expand_as(slot_states)
        tokens = tokens.scatter_add(2, rows, slot_states.to(tokens.dtype))  # (n, side, member, token)
        mask = ((state.able - 1) * -_MASKED).unsqueeze(-1)
        for layer in self.message_layers:
            tokens = layer(tokens, matchups.edges, mask)
        tokens = self.dropout(self.norm(tokens))

        slots = tokens.gather(2, rows) * occupied + slot_states
        member_sum = relu(self.member_sum(tokens) + mask).sum(2) / 2
        slot_sum = relu(self.slot_sum(slots)).sum(2)
        parts = (member_sum.flatten(1), slot_sum.flatten(1), relu(conditions[:, OWN]))
        vector = self.vector(self.dropout(torch.cat(parts, dim=1)))
        pointers = Pointers(
            members=tokens[:, OWN],
            slots=slots[:, OWN],
            foe_slots=slots[:, FOE],
            moves=_of_active(moves[:, OWN], state),
            matchups=_mean_matchups(matchups.edges[:, OWN], state),
            effects=_of_active(matchups.effects[:, OWN].permute(0, 2, 3, 1, 4), state),
            gimmick=self.gimmick(view).int(),
            switches=self.switches(view),
        )
        return vector.view(*lead, -1), Pointers(*(part.view(*lead, *part.shape[1:]) for part in pointers))


class MessagePassing(nn.Module):
    """A residual layer: each Pokémon sums messages from the other side, by edge features, and from its own side."""

    def __init__(self, token: int) -> None:
        super().__init__()
        message = token // 2
        self.norm = nn.LayerNorm(token)
        self.project = nn.Linear(token, 3 * message)
        self.edge = skinny_weight(EDGE_FEATURES, message)
        self.update = nn.Linear(2 * message, token)

    def forward(self, tokens: Tensor, edges: Tensor, mask: Tensor) -> Tensor:
        """Take tokens (n, side, member, token), edges (n, side, member, other, …) and a mask (n, side, member, 1)."""
        receiver, other, ally = self.project(self.norm(tokens)).chunk(3, dim=-1)
        other = (other + mask).flip(1).unsqueeze(2)
        # In place, since this is by far the largest tensor: (n, side, member, other, message).
        across = (edges @ self.edge).add_(receiver.unsqueeze(3)).add_(other).relu_().sum(3)
        within = relu(ally + mask).sum(2, keepdim=True).expand_as(across)
        update: Tensor = self.update(torch.cat((across, within), dim=-1))
        return tokens + update


class OnlyMoveWriter(nn.Module):
    """Where a request offers only one move (locked, Struggle, recharge), the first move action stands for it."""

    def __init__(self, slots: int) -> None:
        super().__init__()
        self.only = Columns(PLACES.position[POSITION.columns("only_move")][:slots])
        self.first = Columns(PLACES.pokemon[OWN, :slots, POKEMON.columns("moves").start])

    def forward(self, view: Tensor) -> Tensor:
        """Replace the first move of the slot's active Pokémon, in place."""
        only = self.only(view)
        return view.index_copy_(1, self.first.index, torch.where(only > 0, only, self.first(view)))


class TeamStateReader(nn.Module):
    """Records (n, view) → the state of both teams."""

    slot: Tensor

    def __init__(self, slots: int) -> None:
        super().__init__()
        names = ("species", "fainted", "brought", "hp", "max_hp", "active")
        self.columns = Columns(PLACES.pokemon[..., [POKEMON.column(name) for name in names]])
        self.register_buffer("slot", torch.arange(1.0, slots + 1).unsqueeze(-1), persistent=False)

    def forward(self, view: Tensor) -> TeamState:
        species, fainted, brought, hp, max_hp, active = self.columns(view).unbind(-1)  # (n, side, member)
        in_slot = (active.unsqueeze(2) == self.slot).float()  # (n, side, slot, member)
        occupied, member = in_slot.max(-1)
        able = (species > 0) & (fainted == 0) & (brought != layout.BROUGHT.index("no"))
        return TeamState(hp=hp / max_hp.clamp(min=1), able=able.float(), active=member, occupied=occupied)


class SwitchReader(nn.Module):
    """Records (n, view) → the members that the switches of doubles name."""

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


def _mean_matchups(edges: Tensor, state: TeamState) -> Tensor:
    """Return the mean edge of own members to the foe's active Pokémon: (n, member, EDGE_FEATURES)."""
    active, occupied = (part[:, FOE, None, :, None] for part in (state.active, state.occupied))
    return (edges.gather(2, active.expand(-1, edges.shape[1], -1, EDGE_FEATURES)) * occupied).mean(2)


def _of_active(values: Tensor, state: TeamState) -> Tensor:
    """Select the values of active Pokémon from those of all own members: (n, member, move, …) → (n, slot, move, …)."""
    active, occupied = state.active[:, OWN].unsqueeze(-1), state.occupied[:, OWN].unsqueeze(-1)
    flat = values.flatten(2)
    selected = flat.gather(1, active.expand(-1, -1, flat.shape[-1])) * occupied
    return selected.view(*selected.shape[:2], *values.shape[2:])
