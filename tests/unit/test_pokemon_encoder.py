"""How a network reads battles: order means nothing, everything known counts, actions are scored by what they name."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from pokemon_views import MOD, View, field, random_views
from torch import Tensor, nn

from nemesis.games.pokemon import layout
from nemesis.games.pokemon.actions import OPTIONS, PASS, PICKS, SWITCH, TURNS, action_space
from nemesis.games.pokemon.encoder import PokemonEncoder
from nemesis.games.pokemon.layout import FOE, MOVES, OWN, POKEMON, POSITION, SIDE, TEAM, cut
from nemesis.games.pokemon.pointer_head import DoublesHead, Pointers, PokemonActionHead, token_widths
from nemesis.policies.config import PolicyConfig, Size
from nemesis.policies.policy import Policy, parameter_count

torch.set_num_threads(1)

FORMATS = {"singles": (1, 6), "vgc": (2, 4), "doubles of six": (2, 6)}  # slots, brought
DOUBLES = ["vgc", "doubles of six"]
COUNT = 24
WIDTH = 64


@pytest.fixture(params=FORMATS)
def battle(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def build(battle: str, **settings: object) -> Policy:
    """Return a policy in double precision whose scores are strong enough for differences to show."""
    slots, brought = FORMATS[battle]
    torch.manual_seed(0)
    config = PolicyConfig.model_validate({"width": WIDTH, "layers": 1} | settings)
    policy = Policy(
        lambda width: PokemonEncoder(width, slots, MOD, brought), lambda width: PokemonActionHead(width, slots), config
    )
    for name, parameter in policy.heads.named_parameters():
        if "score" in name or name.startswith("value"):
            nn.init.normal_(parameter, std=0.5)
    return policy.double()


@cache
def built(battle: str) -> Policy:
    return build(battle)


def views(battle: str, count: int = COUNT, seed: int = 0) -> View:
    return random_views(count, *FORMATS[battle], seed=seed)


@torch.no_grad()
def judge(policy: Policy, view: View) -> tuple[Tensor, Tensor]:
    """Return the logits (n, action), unmasked, and the values (n,)."""
    with full_precision(policy):
        vector, pointers = policy.encoder(torch.from_numpy(view))
        features = policy.heads.norm(policy.memory.sequence(vector.unsqueeze(1), torch.zeros(len(view), 0)).squeeze(1))
        return policy.heads.action(features, pointers), policy.heads.value(features).squeeze(-1)
