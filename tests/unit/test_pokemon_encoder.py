"""The encoder and the action head: equivariant to order, sensitive to every field, scores by what actions name."""

from functools import cache
from typing import get_args

import numpy as np
import numpy.typing as npt
import pytest
import torch
from pokemon_views import MOD, View, field, random_views
from torch import Tensor, nn

from nemesis.games.pokemon.network.encoder import PokemonEncoder
from nemesis.games.pokemon.network.pointer_head import Pointers, PokemonActionHead
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import OPTIONS, PASS, PICKS, SWITCH, TURNS, action_space
from nemesis.games.pokemon.views.layout import FOE, MOVES, OWN, POKEMON, POSITION, SIDE, TEAM, cut
from nemesis.policies.config import MemoryKind, PolicyConfig
from nemesis.policies.policy import Policy, parameter_count

torch.set_num_threads(1)

FORMATS = {"singles": (1, 6), "vgc": (2, 4), "doubles of six": (2, 6)}  # slots, brought
COUNT = 24


@pytest.fixture(params=FORMATS)
def battle(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def build(battle: str, **settings: object) -> Policy:
    slots, brought = FORMATS[battle]
    torch.manual_seed(0)
    return Policy(
        lambda width: PokemonEncoder(width, slots, MOD, brought),
        lambda width: PokemonActionHead(width, slots),
        PolicyConfig.model_validate(settings),
    )


def strengthen(policy: Policy) -> Policy:
    """Enlarge the initial weights of the heads, so that outputs depend on inputs."""
    for name, parameter in policy.heads.named_parameters():
        if "score" in name or name.startswith("value"):
            nn.init.normal_(parameter, std=0.3)
    return policy


@cache
def strong(battle: str) -> Policy:
    return strengthen(build(battle, width=64, layers=1))


def views(battle: str, count: int = COUNT, seed: int = 0) -> View:
    return random_views(count, *FORMATS[battle], seed=seed)


@torch.no_grad()
def evaluate(policy: Policy, view: View) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the logits of all actions, legal or not, (n, action), and the values (n,)."""
    vector, pointers = policy.encoder(torch.from_numpy(view))
    features = policy.heads.norm(policy.memory.step(vector, torch.zeros(len(view), 0))[0])
    return policy.heads.action(features, pointers).numpy(), policy.heads.value(features).squeeze(-1).numpy()


def assert_same(found: npt.NDArray[np.float32], expected: npt.NDArray[np.float32]) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def reordered(view: View, side: int, order: npt.NDArray[np.int64]) -> View:
    """Return records with the Pokémon at each place moved to its new place, order (n, place)."""
    moved = view.copy()
    rows = np.arange(len(view))[:, None]
    cut(moved).pokemon[rows, side, order] = cut(view).pokemon[:, side]
    return moved


def random_orders(count: int, kept: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """Return orders (n, place) that keep the first places."""
    order = np.argsort(np.random.default_rng(seed).random((count, TEAM - kept)), axis=1) + kept
    return np.concatenate([np.tile(np.arange(kept), (count, 1)), order], axis=1)


def switch_places(battle: str, view: View) -> npt.NDArray[np.int64]:
    fainted = cut(view).pokemon[:, OWN, :, POKEMON.column("fainted")] > 0
    reviving = (cut(view).position[:, POSITION.columns("reviving")] > 0).any(axis=1)
    return action_space(*FORMATS[battle]).switch_places(fainted, reviving)


def test_reordering_the_own_bench_permutes_its_actions_and_nothing_else(battle: str):
    view = views(battle)
    if battle == "vgc":  # the switches name the first four places, so only these keep their actions
        order = np.tile([0, 1, 3, 2, 5, 4], (COUNT, 1))
    else:
        order = random_orders(COUNT, kept=FORMATS[battle][0])
    logits, value = evaluate(strong(battle), view)
    moved_logits, moved_value = evaluate(strong(battle), reordered(view, OWN, order))
    places = switch_places(battle, view)
    index = action_space(*FORMATS[battle]).moved(order, places).astype(np.int64)
    named = np.ones_like(logits, dtype=bool)
    if FORMATS[battle] == (2, 6):  # a revival of the k-th fainted Pokémon where there are fewer names no one
        named[(places < 0).any(axis=1)] = False
    assert named.any(axis=1).sum() > COUNT / 2
    assert_same(np.take_along_axis(moved_logits, index, axis=1)[named], logits[named])
    assert_same(moved_value, value)
    assert np.abs(moved_logits - logits).max() > 0.1


def test_the_order_of_the_foes_does_not_matter(battle: str):
    view = views(battle)
    logits, value = evaluate(strong(battle), view)
    moved_logits, moved_value = evaluate(strong(battle), reordered(view, FOE, random_orders(COUNT, kept=0)))
    assert_same(moved_logits, logits)
    assert_same(moved_value, value)


def test_reordering_moves_permutes_their_logits(battle: str):
    slots, _ = FORMATS[battle]
    view, order = views(battle), np.array([2, 0, 3, 1])
    moved = view.copy()
    for name in ("moves", "pp", "max_pp", "move_disabled", "move_revealed"):
        for member in (0, TEAM - 1):  # the last is on the bench, where the order of moves does not matter
            field(moved, OWN, member, name)[...] = field(view, OWN, member, name)[:, order]
    logits, value = evaluate(strong(battle), view)
    moved_logits, moved_value = evaluate(strong(battle), moved)
    options = np.arange(SWITCH).reshape(MOVES, -1)[order].ravel()  # of the first slot in doubles
    expected = logits.copy()
    if slots == 1:
        expected[:, : 2 * MOVES] = logits[:, : 2 * MOVES].reshape(-1, 2, MOVES)[:, :, order].reshape(-1, 2 * MOVES)
    else:
        turns = logits[:, :TURNS].reshape(-1, OPTIONS, OPTIONS)
        expected[:, :TURNS].reshape(-1, OPTIONS, OPTIONS)[:, :SWITCH] = turns[:, options]
    assert_same(moved_logits, expected)
    assert_same(moved_value, value)
    assert np.abs(moved_logits - logits).max() > 0.1


@pytest.mark.parametrize("side", [OWN, FOE])
@pytest.mark.parametrize("battle", ["vgc", "doubles of six"])
def test_the_two_slots_of_doubles_are_equivalent(battle: str, side: int):
    view = views(battle)
    exchanged = view.copy()
    parts = cut(exchanged)
    parts.pokemon[:, side, :, POKEMON.column("active")] = [0, 2, 1] @ (
        cut(view).pokemon[:, side, None, :, POKEMON.column("active")] == np.arange(3)[:, None]
    )
    for name in (
        "wish",
        "future_move",
        "healing_wish",
        "last_kind",
        "last_move",
        "last_target",
        "last_outcome",
        "last_order",
    ):
        columns = parts.side[:, side, SIDE.columns(name)]
        columns[...] = columns[:, ::-1].copy()
    targets = parts.side[..., SIDE.columns("last_target")]
    targets[...] = (np.array([0, 2, 1, 3, 4]) if side == OWN else np.array([0, 1, 2, 4, 3]))[targets]
    if side == OWN:
        for name in ("must_switch", "reviving", "trapped", "maybe_trapped", "gimmick"):
            columns = parts.position[:, POSITION.columns(name)]
            columns[...] = columns[:, ::-1].copy()
    logits, value = evaluate(strong(battle), view)
    moved_logits, moved_value = evaluate(strong(battle), exchanged)
    turns, moved = (array[:, :TURNS].reshape(-1, OPTIONS, OPTIONS) for array in (logits, moved_logits))
    target = [1, 0, 2, 3, 4] if side == OWN else [0, 1, 2, 4, 3]
    mirrored = np.arange(OPTIONS)
    mirrored[:SWITCH] = np.arange(SWITCH).reshape(-1, 5)[:, target].ravel()
    moved = moved[:, mirrored][:, :, mirrored]
    assert_same(moved.swapaxes(1, 2) if side == OWN else moved, turns)
    assert_same(moved_logits[:, TURNS:], logits[:, TURNS:])
    assert_same(moved_value, value)


def changed(battle: str, side: int, name: str, written: int) -> npt.NDArray[np.bool_]:
    """Return for each record whether outputs change with a field of a side's active Pokémon in the first slot."""
    view = views(battle)
    other = view.copy()
    rows = cut(view).pokemon[:, side, :, POKEMON.column("active")] == 1
    cut(other).pokemon[:, side][rows, POKEMON.columns(name)] = written
    (logits, value), (other_logits, other_value) = evaluate(strong(battle), view), evaluate(strong(battle), other)
    differs = (np.abs(logits - other_logits).max(axis=1) > 1e-3) | (np.abs(value - other_value) > 1e-3)
    return differs[(view != other).any(axis=1)]


@pytest.mark.parametrize("side", [OWN, FOE])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("species", 25), ("level", 1), ("hp", 3), ("fainted", 1), ("status", 3), ("status_turns", 4), ("types", 7),
        ("tera_type", 3), ("terastallized", 1), ("item", 30), ("item_state", 2), ("last_item", 41), ("ability", 77),
        ("base_ability", 99), ("boosts", 2), ("moves", 500), ("pp", 1), ("move_disabled", 1), ("move_revealed", 1),
        ("item_revealed", 1), ("ability_revealed", 1), ("brought", 2), ("seen", 1), ("turns_active", 9), ("streak", 3),
        ("paradox_stat", 5), ("volatiles", -1), ("counters", 4), ("gender", 2), ("base_species", 60),
    ],
)  # fmt: skip
def test_every_field_of_an_active_pokemon_affects_the_output(side: int, name: str, value: int):
    differs = changed("singles", side, name, value)
    assert len(differs) > 0
    assert differs.mean() > 0.9


@pytest.mark.parametrize("battle", ["singles", "vgc"])
@pytest.mark.parametrize("block", ["position", "side"])
def test_every_field_of_position_and_sides_affects_the_output(battle: str, block: str):
    fields = {"position": POSITION, "side": SIDE}[block]
    left_out = {"generation", "slots"}  # never change within a format
    if battle == "singles":
        left_out.add("last_target")  # there is only one
    view = views(battle)
    logits, value = evaluate(strong(battle), view)
    for name in {entry.name for entry in fields.fields} - left_out:
        other = view.copy()
        columns = getattr(cut(other), block)[..., fields.columns(name)]
        columns[...] = np.where(columns == 0, 1, 0)
        other_logits, other_value = evaluate(strong(battle), other)
        assert np.abs(other_logits - logits).max() + np.abs(other_value - value).max() > 1e-3, name


@pytest.mark.parametrize("absence", ["unknown", "fainted foe", "not brought"])
def test_a_pokemon_that_cannot_battle_does_not_affect_the_output(battle: str, absence: str):
    view = views(battle)
    bench = cut(view).pokemon[:, FOE, :, POKEMON.column("active")] == 0
    member = bench.argmax(axis=1)
    rows = cut(view).pokemon[np.arange(COUNT), FOE, member]  # a copy
    name, value = {"unknown": ("species", 0), "fainted foe": ("fainted", 1), "not brought": ("brought", 2)}[absence]
    rows[:, POKEMON.column(name)] = value
    others = rows.copy()
    for field_name in ("hp", "item", "ability", "moves", "boosts", "status", "types"):
        others[:, POKEMON.columns(field_name)] = 3
    results = []
    for written in (rows, others):
        cut(view).pokemon[np.arange(COUNT), FOE, member] = written
        results.append(evaluate(strong(battle), view))
    assert_same(results[1][0], results[0][0])
    assert_same(results[1][1], results[0][1])


def test_an_unknown_move_does_not_affect_the_output(battle: str):
    view = views(battle)
    for side, member in ((FOE, 0), (OWN, TEAM - 1)):
        field(view, side, member, "moves")[:, 2] = 0
    other = view.copy()
    for side, member in ((FOE, 0), (OWN, TEAM - 1)):
        for name in ("pp", "max_pp", "move_disabled", "move_revealed"):
            field(other, side, member, name)[:, 2] = 9
    (logits, value), (other_logits, other_value) = evaluate(strong(battle), view), evaluate(strong(battle), other)
    assert_same(other_logits, logits)
    assert_same(other_value, value)


def test_switches_name_the_members_of_the_action_space(battle: str):
    view = views(battle, 300)
    cut(view).pokemon[:, OWN, :, POKEMON.column("fainted")] = np.random.default_rng(0).random((300, TEAM)) < 0.6
    _, pointers = strong(battle).encoder(torch.from_numpy(view))
    expected = switch_places(battle, view)
    assert ((pointers.switches.numpy() == expected) | (expected < 0)).all()
    assert len(np.unique(expected)) > (6 if battle == "doubles of six" else 3)  # −1 where too few have fainted


def test_doubles_scores_equal_the_unvectorised_formula():
    """Score every action of one record separately with the layers of the head."""
    policy = strong("vgc")
    head = policy.heads.action.head
    with torch.no_grad():
        vector, pointers = policy.encoder(torch.from_numpy(views("vgc", 1)))
        features = policy.heads.norm(policy.memory.step(vector, torch.zeros(1, 0))[0])
        logits = head(features, pointers)[0]
        reference = UnvectorisedDoubles(head, features[0], Pointers(*(part[0] for part in pointers)))
        expected = [reference.turn(*divmod(action, OPTIONS)) for action in range(TURNS)] + [
            reference.preview(*p) for p in PICKS
        ]
    torch.testing.assert_close(logits, torch.stack(expected), rtol=1e-4, atol=1e-4)


class UnvectorisedDoubles:
    """The formula of `pointer_head.py`, for one action at a time."""

    def __init__(self, head: nn.Module, features: Tensor, pointers: Pointers) -> None:
        self.head, self.pointers = head, pointers
        self.query = head.query(features).chunk(5)

    def turn(self, first: int, second: int) -> Tensor:
        (alone, together), (other_alone, other_together) = self.option(0, first), self.option(1, second)
        return alone + other_alone + (self.head.signs * together * other_together).sum()

    def option(self, slot: int, option: int) -> tuple[Tensor, Tensor]:
        head, pointers = self.head, self.pointers
        by_move, by_switch, by_pass = head.slot(pointers.slots[slot]).chunk(3)
        if option == PASS:
            score = head.pass_score(torch.relu(self.query[2] + by_pass))
        elif option >= SWITCH:
            place = pointers.switches[option - SWITCH]
            member = head.member(pointers.members[place]).chunk(3)[0] + pointers.matchups[place] @ head.matchup
            score = head.switch_score(torch.relu(self.query[1] + by_switch + member))
        else:
            move, rest = divmod(option, 10)
            gimmick, target = divmod(rest, 5)
            hidden = self.query[0] + by_move + head.move(pointers.moves[slot, move]) + self.target(slot, move, target)
            hidden = hidden + gimmick * head.gimmick(pointers.gimmick[slot])
            score = head.move_score(torch.relu(hidden))
        return score[0], score[1:]

    def target(self, slot: int, move: int, target: int) -> Tensor:
        head, pointers = self.head, self.pointers
        if target < 2:
            own = 1 - target  # the second slot comes first
            return head.ally(pointers.slots[own]) + (own == slot) * head.self_target
        if target == 2:
            return head.no_target + pointers.effects[slot, move].mean(0) @ head.effect
        return head.foe(pointers.foe_slots[target - 3]) + pointers.effects[slot, move, target - 3] @ head.effect

    def preview(self, *members: int) -> Tensor:
        head, rank = self.head, len(self.head.signs)
        _, to_lead, to_back = head.member(self.pointers.members).chunk(3, dim=-1)
        lead = head.lead_score(torch.relu(to_lead + self.query[3]))
        back = head.back_score(torch.relu(to_back + self.query[4]))
        leads, backs = members[:2], members[2:]
        score = lead[list(leads), 0].sum() + back[list(backs), 0].sum()
        for table, (one, other) in ((lead, leads), (back, backs)):
            score = score + (head.signs * table[one, 1 : 1 + rank] * table[other, 1 : 1 + rank]).sum()
        return score + sum((lead[i, 1 + rank :] * back[k, 1 + rank :]).sum() for i in leads for k in backs)


@pytest.mark.parametrize("memory", get_args(MemoryKind))
def test_steps_and_sequence_agree(battle: str, memory: str):
    policy = strengthen(build(battle, width=32, layers=1, memory=memory, context=3))
    view = torch.from_numpy(views(battle, 12)).view(3, 4, -1)
    mask = torch.rand(3, 4, action_space(*FORMATS[battle]).size) < 0.5
    state = torch.zeros(3, policy.state_size)
    sequence = policy(view, mask, state)
    for time in range(4):
        output = policy.step(view[:, time], mask[:, time], state)
        torch.testing.assert_close(output.log_probs, sequence.log_probs[:, time], rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(output.value, sequence.value[:, time], rtol=1e-3, atol=1e-3)
        state = output.state


def test_gradients_reach_every_parameter(battle: str):
    policy = strengthen(build(battle, width=64, layers=1))
    view = torch.from_numpy(views(battle, 200)).unsqueeze(1)
    mask = torch.ones(200, 1, action_space(*FORMATS[battle]).size, dtype=torch.bool)
    output = policy(view, mask, torch.zeros(200, 0))
    (output.log_probs * torch.randn_like(output.log_probs)).sum().add(output.value.sum()).backward()
    for name, parameter in policy.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert (parameter.grad != 0).any(), name


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_empty_records_give_finite_outputs_and_gradients(battle: str, precision: torch.dtype):
    policy = build(battle)
    mask = torch.ones(3, 1, action_space(*FORMATS[battle]).size, dtype=torch.bool)
    view = torch.zeros(3, 1, layout.VIEW_SIZE, dtype=torch.int16)
    view[1] = torch.from_numpy(views(battle, 1))
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == torch.bfloat16):
        output = policy(view, mask, torch.zeros(3, 0))
    assert torch.isfinite(output.log_probs).all()
    assert torch.isfinite(output.value).all()
    (output.log_probs.square().sum() + output.value.sum()).backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in policy.parameters() if parameter.grad is not None)


def test_outputs_under_autocast_are_close(battle: str):
    policy = strengthen(build(battle, width=64, layers=1))
    view = torch.from_numpy(views(battle)).unsqueeze(1)
    mask = torch.ones(COUNT, 1, action_space(*FORMATS[battle]).size, dtype=torch.bool)
    exact = policy(view, mask, torch.zeros(COUNT, 0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = policy(view, mask, torch.zeros(COUNT, 0))
    assert rough.log_probs.dtype == torch.float32
    torch.testing.assert_close(rough.value, exact.value, rtol=0.1, atol=0.1)


def test_a_new_policy_is_near_uniform_with_values_near_zero(battle: str):
    policy = build(battle)
    mask = torch.rand(COUNT, action_space(*FORMATS[battle]).size) < 0.3
    mask[:, 0] = True
    output = policy.step(torch.from_numpy(views(battle)), mask, torch.zeros(COUNT, 0))
    uniform = -mask.sum(-1, keepdim=True).float().log()
    assert (output.log_probs - uniform)[mask].abs().max() < 0.3
    assert output.value.abs().max() < 0.1


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
def test_the_default_has_about_a_million_parameters(battle: str, memory: str):
    assert 0.7e6 < parameter_count(build(battle, memory=memory)) < 1.3e6


@pytest.mark.parametrize(
    ("size", "least", "most"), [("nano", 0.1e6, 0.3e6), ("large", 25e6, 45e6), ("giant", 180e6, 300e6)]
)
def test_the_size_setting_scales_the_whole_network(battle: str, size: str, least: float, most: float):
    with torch.device("meta"):
        assert least < parameter_count(build(battle, size=size)) < most
