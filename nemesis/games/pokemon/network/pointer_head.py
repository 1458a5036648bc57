"""The action head: a pointer network that scores actions by the tokens of the moves and Pokémon that they name.

The score of an option of a slot is additive attention (Vinyals et al. 2015, https://arxiv.org/abs/1506.03134),

    score = w · relu(query + Σ keys),

with a query from the policy's features and keys from the tokens that the option names. In doubles, an action is a pair
of options, i of one slot and j of the other, with

    score(i, j) = a_i + a_j + Σ_r s_r u_ir u_jr,   s_r = ±1,

a symmetric interaction of low rank. Team preview in doubles is scored the same way: a score for each of the two leads
and two backs, plus an interaction for each pair of the four.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from nemesis.games.pokemon.damage.matchups import EDGE_FEATURES, EFFECT_FEATURES
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import PICKS
from nemesis.games.pokemon.views.layout import TEAM

_RANK = 15  # of the interaction; with the score, one matrix has 16 outputs


class Pointers(NamedTuple):
    """Tokens and features of what actions name. All are of the own side unless said otherwise."""

    members: Tensor  # (…, member, token) in the order of the request
    matchups: Tensor  # (…, member, EDGE_FEATURES) against the foe's active Pokémon, averaged
    slots: Tensor  # (…, slot, token) of the slot and its active Pokémon
    foe_slots: Tensor  # (…, slot, token)
    moves: Tensor  # (…, slot, move, move token) of the active Pokémon
    effects: Tensor  # (…, slot, move, foe slot, EFFECT_FEATURES)
    gimmick: Tensor  # (…, slot) index in layout.GIMMICKS
    switches: Tensor  # (…, 4) members that the switch actions of doubles name


def token_widths(width: int) -> tuple[int, int]:
    """Return the widths of Pokémon tokens and of move tokens: about a half and a quarter of the policy's width."""
    move = 8 * max(1, round(width / 32))
    return 2 * move, move


def skinny_weight(features: int, width: int) -> nn.Parameter:
    """Return a weight (feature, width) for few features of very many entities.

    On a CPU its gradient takes a quarter of the time that the transposed layout of `nn.Linear` takes.
    """
    return nn.Parameter(torch.empty(features, width).uniform_(-(features**-0.5), features**-0.5))


class PokemonActionHead(nn.Module):
    """Features (…, width) and pointers → logits (…, action): 20 in singles, 2025 + 90 in doubles."""

    def __init__(self, width: int, slots: int) -> None:
        super().__init__()
        self.head = SinglesHead(width) if slots == 1 else DoublesHead(width)

    def forward(self, features: Tensor, pointers: Pointers) -> Tensor:
        logits: Tensor = self.head(features, pointers)
        return logits


class SinglesHead(nn.Module):
    """4 moves, 4 moves with the gimmick, 6 switches, 6 leads."""

    def __init__(self, width: int) -> None:
        super().__init__()
        token, move = token_widths(width)
        hidden = move
        self.query = nn.Linear(width, 3 * hidden)
        self.slot = nn.Linear(token, 2 * hidden, bias=False)
        self.move = nn.Linear(move + EFFECT_FEATURES, hidden, bias=False)
        self.gimmick = nn.Embedding(len(layout.GIMMICKS), hidden)
        self.member = nn.Linear(token, 2 * hidden, bias=False)
        self.matchup = skinny_weight(EDGE_FEATURES, hidden)
        self.move_score, self.switch_score, self.lead_score = (_score(hidden, rank=0) for _ in range(3))

    def forward(self, features: Tensor, pointers: Pointers) -> Tensor:
        move, switch, lead = self.query(features).unsqueeze(-2).chunk(3, dim=-1)
        from_move, from_switch = self.slot(pointers.slots).chunk(2, dim=-1)  # (…, 1, token)
        move_features = torch.cat((pointers.moves, pointers.effects.squeeze(-2)), dim=-1).squeeze(-3)
        plain = self.move(move_features) + (move + from_move)  # (…, move, hidden)
        moves = torch.cat((plain, plain + self.gimmick(pointers.gimmick)), dim=-2)
        to_switch, to_lead = self.member(pointers.members).chunk(2, dim=-1)
        scores = (
            self.move_score(relu(moves)),
            self.switch_score(relu(to_switch + pointers.matchups @ self.matchup + (switch + from_switch))),
            self.lead_score(relu(to_lead + lead)),
        )
        return torch.cat(scores, dim=-2).squeeze(-1)


class DoublesHead(nn.Module):
    """45 · 45 pairs of options of the two slots, then 90 choices of leads and backs."""

    signs: Tensor
    is_self: Tensor
    choices: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        token, move = token_widths(width)
        hidden = move
        self.query = nn.Linear(width, 5 * hidden)
        self.slot = nn.Linear(token, 3 * hidden, bias=False)
        self.move = nn.Linear(move, hidden, bias=False)
        self.ally = nn.Linear(token, hidden, bias=False)
        self.foe = nn.Linear(token, hidden, bias=False)
        self.effect = skinny_weight(EFFECT_FEATURES, hidden)
        self.no_target, self.self_target = (nn.Parameter(torch.zeros(hidden)) for _ in range(2))
        self.gimmick = nn.Embedding(len(layout.GIMMICKS), hidden)
        self.member = nn.Linear(token, 3 * hidden, bias=False)
        self.matchup = skinny_weight(EDGE_FEATURES, hidden)
        self.move_score, self.switch_score, self.pass_score = (_score(hidden, _RANK) for _ in range(3))
        self.lead_score, self.back_score = (_score(hidden, 2 * _RANK) for _ in range(2))
        signs = torch.ones(_RANK).index_fill(0, torch.arange(0, _RANK, 2), -1.0)
        self.register_buffer("signs", signs, persistent=False)
        # 1 where the target −2 or −1 is the slot itself: (slot, target, 1).
        is_self = torch.tensor([[0.0, 1, 0, 0, 0], [1, 0, 0, 0, 0]]).unsqueeze(-1)
        self.register_buffer("is_self", is_self, persistent=False)
        self.register_buffer("choices", torch.from_numpy(_preview_choices()), persistent=False)

    def forward(self, features: Tensor, pointers: Pointers) -> Tensor:
        move, switch, passing, lead, back = self.query(features).unsqueeze(-2).chunk(5, dim=-1)  # (…, 1, hidden)
        from_move, from_switch, from_pass = self.slot(pointers.slots).chunk(3, dim=-1)  # (…, slot, hidden)
        to_switch, to_lead, to_back = self.member(pointers.members).chunk(3, dim=-1)  # (…, member, hidden)
        to_switch = to_switch + pointers.matchups @ self.matchup
        named = pointers.switches.unsqueeze(-1).expand(*pointers.switches.shape, to_switch.shape[-1])
        scores = (
            self.move_score(self._moves(move + from_move, pointers)),
            self.switch_score(relu(to_switch.gather(-2, named).unsqueeze(-3) + (switch + from_switch).unsqueeze(-2))),
            self.pass_score(relu(passing + from_pass)).unsqueeze(-2),
        )
        pairs = self._pairs(torch.cat(scores, dim=-2))
        preview = self._preview(self.lead_score(relu(to_lead + lead)), self.back_score(relu(to_back + back)))
        return torch.cat((pairs, preview), dim=-1)

    def _moves(self, query: Tensor, pointers: Pointers) -> Tensor:
        """Return the hidden layer of all combinations of move, gimmick and target: (…, slot, 40, hidden).

        The query is (…, slot, hidden). relu runs before stacking: in place on a view of the stack, autograd would copy
        the largest tensor three times.
        """
        allies = self.ally(pointers.slots).flip(-2)
        no_target = self.no_target.expand_as(allies[..., :1, :])
        targets = torch.cat((allies, no_target, self.foe(pointers.foe_slots)), dim=-2).unsqueeze(
            -3
        )  # (…, 1, 5, hidden)
        targets = targets + self.is_self * self.self_target + query.unsqueeze(-2)
        effects = pointers.effects  # (…, slot, move, foe slot, feature)
        effects = torch.cat((torch.zeros_like(effects), effects.mean(-2, keepdim=True), effects), dim=-2)
        plain = self.move(pointers.moves).unsqueeze(-2) + targets.unsqueeze(-3) + effects @ self.effect
        with_gimmick = (plain + self.gimmick(pointers.gimmick)[..., None, None, :]).relu_()
        return torch.stack((plain.relu_(), with_gimmick), dim=-3).flatten(-4, -2)

    def _pairs(self, scores: Tensor) -> Tensor:
        """Combine the scores (…, slot, 45, 1 + rank) of both slots into scores of pairs: (…, 2025)."""
        first, second = scores.unbind(-3)
        ones = torch.ones_like(first[..., :1])
        # The scores of the single options are part of the same product: a_i · 1 + 1 · a_j.
        left = torch.cat((first[..., :1], ones, first[..., 1:] * self.signs), dim=-1)
        right = torch.cat((ones, second), dim=-1)
        return (left @ right.transpose(-1, -2)).flatten(-2)

    def _preview(self, lead: Tensor, back: Tensor) -> Tensor:
        """Combine the scores (…, member, 1 + 2 · rank) of leads and backs into scores of choices: (…, 90)."""
        lead_alone, lead_pair, lead_cross = torch.split(lead, [1, _RANK, _RANK], dim=-1)
        back_alone, back_pair, back_cross = torch.split(back, [1, _RANK, _RANK], dim=-1)
        terms = (
            lead_alone,
            back_alone,
            (lead_pair * self.signs) @ lead_pair.transpose(-1, -2),
            (back_pair * self.signs) @ back_pair.transpose(-1, -2),
            lead_cross @ back_cross.transpose(-1, -2),
        )
        return torch.cat([term.flatten(-2) for term in terms], dim=-1) @ self.choices


def _score(hidden: int, rank: int) -> nn.Linear:
    """Return a linear layer to a score and to the factors of interactions; both start near zero."""
    score = nn.Linear(hidden, 1 + rank, bias=False)
    nn.init.normal_(score.weight[:1], std=0.01 / hidden**0.5)
    nn.init.normal_(score.weight[1:], std=0.1 / hidden**0.5)  # their products start near zero
    return score


def _preview_choices() -> npt.NDArray[np.float32]:
    """Return which terms are summed for each choice at team preview: (6 + 6 + 3 · 36, 90)."""
    alone = np.zeros((len(PICKS), 2, TEAM), dtype=np.float32)
    pairs = np.zeros((len(PICKS), 3, TEAM, TEAM), dtype=np.float32)
    for pick, (lead, partner, *backs) in enumerate(PICKS):
        alone[pick, 0, [lead, partner]], alone[pick, 1, backs] = 1, 1
        pairs[pick, 0, lead, partner], pairs[pick, 1, backs[0], backs[1]] = 1, 1
        pairs[pick, 2][np.ix_([lead, partner], backs)] = 1
    return np.concatenate((alone.reshape(len(PICKS), -1), pairs.reshape(len(PICKS), -1)), axis=1).T.copy()
