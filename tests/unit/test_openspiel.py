"""OpenSpiel games: exact NashConv, two kinds of pools that play the same game, and refusals in one sentence."""

import logging
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel
import pytest
import torch

from nemesis.core.errors import UserError
from nemesis.core.game import Arrays, Decisions, EndReason, ExactGame, IntArray, MatchPool, Results, StepPolicy
from nemesis.core.masks import PackedMask, packed_size, unpack_mask
from nemesis.core.random import generator_state, restore_generator
from nemesis.games.openspiel.game import OpenSpielGame, TabulatedGame, open_game
from nemesis.games.openspiel.stepping_pool import SteppingPool
from nemesis.games.openspiel.tree import count_nodes
from nemesis.play.policy_players import as_step_policy
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy

torch.set_num_threads(1)

KUHN = "kuhn_poker"
LEDUC = "leduc_poker"
LEDUC_BY_RANK = "leduc_poker(suit_isomorphism=True)"  # its chance is not uniform
GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending)"  # simultaneous moves
STANDARD_ERRORS = 4.5  # a bound that a fixed seed passes once and for all

opened = cache(open_game)


def stepping(name: str) -> OpenSpielGame:
    return opened(name, node_limit=1)


def random_actions(generator: np.random.Generator, mask: PackedMask) -> IntArray:
    actions = 8 * mask.shape[1]
    return np.argmax(unpack_mask(mask, actions) * generator.random((len(mask), actions)), axis=1)


def play(pool: MatchPool, steps: int, seed: int = 0) -> list[tuple[Decisions, Results]]:
    """Answer every decision at random for so many steps, and return all that the pool gave."""
    generator = np.random.default_rng(seed)
    received = []
    for _ in range(steps):
        received.append(pool.recv())
        pool.send(random_actions(generator, received[-1][0].mask))
    return received


def uniform_policy() -> StepPolicy:
    return StepPolicy(0, lambda _, mask, state: ((mask / mask.sum(axis=1, keepdims=True)).astype(np.float32), state))


@pytest.fixture(params=["tabulated", "stepping"])
def open_any(request: pytest.FixtureRequest):
    return opened if request.param == "tabulated" else stepping


@pytest.mark.parametrize(
    ("name", "nash_conv"),
    [(KUHN, 0.9167), (LEDUC, 4.7472), ("liars_dice(dice_sides=4)", 1.3101), (GOOFSPIEL, 1.4167)],
)
def test_the_uniform_policy_has_its_known_nash_conv(name: str, nash_conv: float):
    game = opened(name)
    assert isinstance(game, ExactGame)
    assert round(game.nash_conv(uniform_policy()), 4) == nash_conv


@pytest.mark.parametrize(
    "name",
    [KUHN, LEDUC_BY_RANK, GOOFSPIEL, "liars_dice(dice_sides=3)", "dark_hex(board_size=2)", "nim(pile_sizes=1;2;3)"],
)
def test_the_nash_conv_of_any_policy_is_that_of_openspiel(name: str):
    game, reference = opened(name), pyspiel.load_game(name)
    if reference.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        reference = pyspiel.convert_to_turn_based(reference)
    keys, masks = game._tree.key, game._tree.mask
    chances = np.random.default_rng(0).exponential(size=masks.shape) ** 3 * masks
    chances = (chances / chances.sum(axis=1, keepdims=True)).astype(np.float32)
    rows = iter(np.concatenate(list(game._tree.levels())))

    def step(view: npt.NDArray[Any], _mask: npt.NDArray[np.bool_], state: npt.NDArray[np.float32]):
        return chances[[next(rows) for _ in view]], state

    table = {
        key: [(int(action), float(chances[row, action])) for action in np.flatnonzero(masks[row])]
        for row, key in enumerate(keys)
    }
    expected = pyspiel.nash_conv(reference, pyspiel.TabularPolicy(table))
    assert game.nash_conv(StepPolicy(0, step)) == pytest.approx(expected, abs=1e-6)


def test_an_equilibrium_of_kuhn_poker_has_nash_conv_zero():
    third = 1 / 3
    bet = {"0": third, "0pb": 0.0, "1": 0.0, "1pb": 2 * third, "2": 1.0, "2pb": 1.0}  # the first seat, by card
    bet |= {"0b": 0.0, "0p": third, "1b": third, "1p": 0.0, "2b": 1.0, "2p": 1.0}

    def step(view: npt.NDArray[Any], mask: npt.NDArray[np.bool_], state: npt.NDArray[np.float32]):
        chance = np.array([bet[kuhn_history(row)] for row in view])
        return np.stack([1 - chance, chance], axis=1).astype(np.float32) * mask, state

    assert opened(KUHN).nash_conv(StepPolicy(0, step)) == pytest.approx(0, abs=1e-6)


def kuhn_history(view: npt.NDArray[Any]) -> str:
    """Read a Kuhn view: seat (2), card (3), then pass or bet of each move (3 × 2)."""
    moves = ("" if not move.any() else "pb"[move.argmax()] for move in view[5:].reshape(3, 2))
    return str(view[2:5].argmax()) + "".join(moves)


def test_the_nash_conv_of_a_policy_with_memory_is_that_of_playing_it_along_the_tree():
    game = opened(LEDUC_BY_RANK)
    config = PolicyConfig(memory="lstm", width=16)
    torch.manual_seed(0)
    policy = Policy(game.encoder, game.action_head, config)
    torch.nn.init.normal_(policy.heads.action.linear.weight)
    play_step = as_step_policy(policy, torch.device("cpu"))
    table: dict[str, list[tuple[int, float]]] = {}

    def visit(state: Any, memories: tuple[npt.NDArray[np.float32], ...]) -> None:
        if state.is_terminal():
            return
        if not state.is_chance_node():
            seat = state.current_player()
            view = np.array([state.information_state_tensor(seat)], dtype=np.float32)
            mask = np.array([state.legal_actions_mask()], dtype=np.bool_)
            probabilities, memory = play_step.step(view, mask, memories[seat])
            memories = (memory, memories[1]) if seat == 0 else (memories[0], memory)
            legal = state.legal_actions()
            answer = list(zip(legal, probabilities[0, legal].astype(float), strict=True))
            known = table.setdefault(state.information_state_string(seat), answer)
            np.testing.assert_allclose(answer, known, rtol=1e-5)  # whatever the opponent holds
        for action in state.legal_actions():
            visit(state.child(action), memories)

    reference = pyspiel.load_game(LEDUC_BY_RANK)
    nothing = np.zeros((1, policy.state_size), dtype=np.float32)
    visit(reference.new_initial_state(), (nothing, nothing))
    by_hand = pyspiel.nash_conv(reference, pyspiel.TabularPolicy(table))
    assert game.nash_conv(play_step) == pytest.approx(by_hand, abs=1e-4)

    def forgetful(view: npt.NDArray[Any], mask: npt.NDArray[np.bool_], state: npt.NDArray[np.float32]):
        return play_step.step(view, mask, np.zeros_like(state))

    assert abs(game.nash_conv(StepPolicy(policy.state_size, forgetful)) - by_hand) > 0.01


@pytest.mark.parametrize("name", [KUHN, GOOFSPIEL, LEDUC_BY_RANK])
def test_both_pools_show_the_same_positions(name: str):
    seen = []
    for game, steps in ((opened(name), 600), (stepping(name), 60)):
        rows = [decisions for decisions, _ in play(game.pool(100, seed=1), steps)]
        assert rows[0].view.dtype == np.float32
        assert rows[0].view.shape == (100, game.spec.view_size)
        assert rows[0].mask.shape == (100, packed_size(game.spec.actions))
        seen.append({row for each in rows for row in positions(each)})
    tabulated, stepped = seen
    assert stepped <= tabulated
    assert len(stepped) > 0.8 * len(tabulated)  # the rarest are not met in so few steps


def positions(decisions: Decisions) -> list[tuple[int, bytes, bytes]]:
    return [
        (seat, view.tobytes(), mask.tobytes())
        for seat, view, mask in zip(decisions.seat.tolist(), decisions.view, decisions.mask, strict=True)
    ]


def test_kuhn_poker_has_twelve_positions(open_any):
    received = play(open_any(KUHN).pool(50, seed=0), 50)
    assert len({row for decisions, _ in received for row in positions(decisions)}) == 12


@pytest.mark.parametrize(("name", "expected"), [(KUHN, 0.125), (LEDUC, -0.0781), (GOOFSPIEL, 0.0)])
def test_random_play_earns_what_it_must(open_any, name: str, expected: float):
    received = play(open_any(name).pool(100, seed=2), 250)
    returns = np.concatenate([results.returns for _, results in received])
    np.testing.assert_array_equal(returns[:, 0], -returns[:, 1])
    error = returns[:, 0].std() / np.sqrt(len(returns))
    assert len(returns) > 1000
    assert abs(returns[:, 0].mean() - expected) < STANDARD_ERRORS * error


@pytest.mark.parametrize(
    ("name", "check", "chances"),
    [
        (KUHN, 0, 1 / 6 * (1 - np.eye(3))),
        (LEDUC_BY_RANK, 1, np.full((3, 3), 2 / 15) - np.eye(3) / 15),
    ],
)
def test_chance_deals_as_often_as_it_should(open_any, name: str, check: int, chances: npt.NDArray[np.float64]):
    count = 5000
    pool = open_any(name).pool(count, seed=3)
    first, _ = pool.recv()
    pool.send(np.full(count, check))
    second, _ = pool.recv()
    assert first.seat.max() == 0
    assert second.seat.min() == 1
    cards = [decisions.view[:, 2:5].argmax(axis=1) for decisions in (first, second)]
    dealt = np.zeros((3, 3))
    np.add.at(dealt, tuple(cards), 1)
    error = np.sqrt(chances * (1 - chances) / count)
    assert np.all(np.abs(dealt / count - chances) <= STANDARD_ERRORS * error)


def test_the_highest_random_number_stays_within_its_chance_node():
    """Chance nodes share one sorted array of edges; rounding must not carry a draw over to the next node's."""
    pool = opened(KUHN).pool(1, seed=0)
    steps_to_the_second_card = 2
    for seed in range(10):  # whatever cards these lead to
        generator = np.random.default_rng(seed)
        restore_generator(generator, before_the_highest(generator_state(generator), steps_to_the_second_card))
        pool.restore({**pool.snapshot(), "generator": generator_state(generator)})
        while not len(pool.recv()[1]):
            pool.send(np.array([0]))  # passing ends a match, and the next one is dealt with these numbers
        assert pool.recv()[0].seat.tolist() == [0]
        views = [pool.recv()[0].view[0]]
        pool.send(np.array([0]))
        views.append(pool.recv()[0].view[0])
        first, second = (view[2:5].argmax() for view in views)
        assert first != second
        assert second == max({0, 1, 2} - {first})  # the last of what is left


def before_the_highest(words: npt.NDArray[np.uint64], steps: int) -> npt.NDArray[np.uint64]:
    """Return the PCG64 state from which the given number of steps lead to the highest number there is."""
    modulus, multiplier = 1 << 128, 0x2360ED051FC65DA44385DF649FCCF645
    high, _, increment_high, increment_low, *rest = (int(word) for word in words)
    increment = increment_high << 64 | increment_low
    state = high << 64 | (high ^ (1 << 64) - 1)  # the output is a rotation of high xor low: all ones
    for _ in range(steps):
        state = (state - increment) * pow(multiplier, -1, modulus) % modulus
    return np.array([state >> 64, state & (1 << 64) - 1, increment_high, increment_low, *rest], dtype=np.uint64)


@pytest.mark.parametrize("name", [KUHN, LEDUC, GOOFSPIEL])
@pytest.mark.parametrize("steps", [0, 1, 37])
def test_a_restored_pool_continues_identically(open_any, name: str, steps: int):
    game = open_any(name)
    pool = game.pool(20, seed=4)
    play(pool, steps)
    snapshot = {key: np.array(array) for key, array in pool.snapshot().items()}
    expected = play(pool, 40, seed=9)
    assert any(len(results) for _, results in expected)
    other = game.pool(20, seed=5)
    play(other, 11)
    for _ in range(2):  # a snapshot can be used again
        other.restore(snapshot)
        assert_same(play(other, 40, seed=9), expected)
    assert_arrays_equal(other.snapshot(), pool.snapshot())


def test_a_snapshot_does_not_change_when_the_pool_continues(open_any):
    pool = open_any(LEDUC).pool(20, seed=4)
    play(pool, 10)
    snapshot = pool.snapshot()
    copy = {key: np.array(array) for key, array in snapshot.items()}
    play(pool, 10)
    assert_arrays_equal(snapshot, copy)


def assert_same(left: list[tuple[Decisions, Results]], right: list[tuple[Decisions, Results]]) -> None:
    for mine, theirs in zip(left, right, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert_arrays_equal(*({name: getattr(each, name) for name in each.__slots__} for each in (one, other)))


def assert_arrays_equal(left: Arrays, right: Arrays) -> None:
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


def test_a_match_is_numbered_once_and_its_slot_goes_to_the_next(open_any):
    received = play(open_any(LEDUC).pool(10, seed=0), 60)
    ended = np.concatenate([results.match for _, results in received])
    assert len(np.unique(ended)) == len(ended) > 50
    slot_of: dict[int, int] = {}
    for decisions, results in received:
        assert set(results.end_reason.tolist()) <= {EndReason.PLAYED}
        assert not set(results.match.tolist()) & set(decisions.match.tolist())
        for match, slot in zip(results.match.tolist(), results.slot.tolist(), strict=True):
            assert slot_of[match] == slot
        for match, slot in zip(decisions.match.tolist(), decisions.slot.tolist(), strict=True):
            assert slot_of.setdefault(match, slot) == slot


@pytest.mark.parametrize("illegal", [0, -1, 3])  # nothing to fold against yet; two that are no actions
def test_an_illegal_action_is_an_error_that_names_the_match(open_any, illegal: int):
    pool = open_any(LEDUC).pool(8, seed=0)
    pool.recv()
    actions = np.ones(8, dtype=np.int64)
    actions[5] = illegal
    with pytest.raises(ValueError, match=rf"^Action {illegal} is not legal in match 5\.$"):
        pool.send(actions)


def test_after_an_illegal_action_nothing_has_moved(open_any):
    pool = open_any(LEDUC).pool(8, seed=0)
    before = pool.snapshot()
    actions = np.ones(8, dtype=np.int64)
    actions[5] = 0
    with pytest.raises(ValueError, match="is not legal"):
        pool.send(actions)
    assert_arrays_equal(pool.snapshot(), before)


class FailingKuhn:
    """Kuhn poker whose simulator breaks down at every bet."""

    def __init__(self) -> None:
        self._game = pyspiel.load_game(KUHN)

    def get_type(self) -> Any:
        return self._game.get_type()

    def new_initial_state(self) -> Any:
        return FailingState(self._game.new_initial_state())


class FailingState:
    def __init__(self, state: Any) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def apply_action(self, action: int) -> None:
        if action == 1 and not self._state.is_chance_node():
            raise RuntimeError("The chips fell off the table.")
        self._state.apply_action(action)


def test_a_match_that_openspiel_fails_in_is_voided_with_a_warning(caplog: pytest.LogCaptureFixture):
    pool = SteppingPool(FailingKuhn(), 3, seed=0)
    pool.recv()
    with caplog.at_level(logging.WARNING):
        pool.send(np.array([0, 1, 0]))
    waiting, ended = pool.recv()
    assert waiting.match.tolist() == [0, 3, 2]
    assert ended.match.tolist() == [1]
    assert ended.end_reason.tolist() == [EndReason.SIMULATOR_FAILURE]
    assert [(record.name.partition(".")[0], record.getMessage()) for record in caplog.records] == [
        ("nemesis", "OpenSpiel failed in match 1, which is voided: The chips fell off the table.")
    ]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("kuhn_poker(players=3)", "'kuhn_poker(players=3)' is not a two-player zero-sum game"),
        ("matrix_pd", "'matrix_pd' is not a two-player zero-sum game"),
        ("catch", "'catch' is not a two-player zero-sum game"),
        ("coordinated_mp", "'coordinated_mp' has no observation tensor"),
        ("khun_poker", "OpenSpiel has no game called 'khun_poker'. Did you mean kuhn_poker?"),
        ("nonsense", "OpenSpiel has no game called 'nonsense'."),
        ("leduc_poker(playrs=2)", "OpenSpiel cannot open 'leduc_poker(playrs=2)': Unknown parameter 'playrs'"),
        ("liars_dice(dice_sides=4", "OpenSpiel cannot open 'liars_dice(dice_sides=4': Missing closing bracket"),
        ("nfg_game", "OpenSpiel cannot open 'nfg_game': "),
        ("misere", "OpenSpiel cannot open 'misere': Missing parameter game."),
    ],
)
def test_a_game_that_cannot_be_played_is_refused_in_a_sentence(name: str, sentence: str):
    with pytest.raises(UserError) as caught:
        open_game(name)
    message = str(caught.value)
    assert message.startswith(sentence)
    assert message.endswith((".", "?"))
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_error_without_a_text_is_a_sentence_too(text: str, monkeypatch: pytest.MonkeyPatch):
    def fail(_: str) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr(pyspiel, "load_game", fail)
    with pytest.raises(UserError, match=r"^OpenSpiel cannot open 'kuhn_poker': it gives no reason\.$"):
        open_game(KUHN)


@pytest.mark.parametrize(
    "name",
    [
        "backgammon",
        "battleship",
        "blotto",
        "breakthrough",
        "go_fish",
        "kriegspiel",
        "leduc_poker",
        "markov_soccer",  # simultaneous moves, then chance
        "matrix_rps",
        "oshi_zumo",
        "pig",
        "quoridor",
        "tic_tac_toe",
        "universal_poker",
    ],
)
def test_games_of_every_kind_play_within_their_shape(name: str):
    game = open_game(name, node_limit=1)
    for decisions, results in play(game.pool(2, seed=0), 20):
        assert decisions.view.shape == (2, game.spec.view_size)
        assert decisions.mask.shape == (2, packed_size(game.spec.actions))
        assert decisions.mask.any(axis=1).all()
        assert np.abs(results.returns).max(initial=0) <= game.spec.utility_scale


@pytest.mark.parametrize("name", ["phantom_ttt", "dark_hex(board_size=3)"])
def test_a_game_too_large_to_tabulate_is_stepped(name: str):
    game = open_game(name, node_limit=5000)
    assert not isinstance(game, ExactGame)
    received = play(game.pool(30, seed=0), 60)
    returns = np.concatenate([results.returns for _, results in received])
    assert len(returns) > 30
    np.testing.assert_array_equal(returns.sum(axis=1), 0)
    assert set(np.unique(returns)) <= {-1, 0, 1}


@pytest.mark.parametrize(("name", "nodes"), [(KUHN, 58), (LEDUC, 9457), ("liars_dice(dice_sides=4)", 8181)])
def test_the_nodes_of_a_game_are_counted_exactly(name: str, nodes: int):
    game = pyspiel.load_game(name)
    assert count_nodes(game, nodes - 1) is None
    assert count_nodes(game, nodes) == nodes
    assert isinstance(open_game(name, node_limit=nodes), ExactGame)
    assert not isinstance(open_game(name, node_limit=nodes - 1), ExactGame)


class Visited:
    """A game or a state of OpenSpiel that counts the states of which the legal actions were asked."""

    def __init__(self, wrapped: Any, visits: list[int]) -> None:
        self._wrapped, self._visits = wrapped, visits

    def new_initial_state(self) -> "Visited":
        return Visited(self._wrapped.new_initial_state(), self._visits)

    def child(self, action: int) -> "Visited":
        return Visited(self._wrapped.child(action), self._visits)

    def legal_actions(self) -> list[int]:
        self._visits.append(1)
        return self._wrapped.legal_actions()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


@pytest.mark.parametrize("name", ["chess", "go"])
def test_few_states_of_a_huge_game_are_visited_to_see_that_it_is_huge(name: str):
    visits: list[int] = []
    assert count_nodes(Visited(pyspiel.load_game(name), visits), 1000) is None
    assert len(visits) < 100  # each counts its children, which are not visited
    assert not isinstance(open_game(name), ExactGame)


def test_the_shape_of_a_game_is_known_without_its_tree(monkeypatch: pytest.MonkeyPatch):
    game = open_game(LEDUC)
    monkeypatch.setattr("nemesis.games.openspiel.game.tabulate", lambda _: pytest.fail("The tree was written out."))
    assert isinstance(game, ExactGame)
    vector, context = game.encoder(8)(torch.zeros(1, game.spec.view_size))
    assert vector.shape == (1, 8)
    assert game.action_head(8)(vector, context).shape == (1, game.spec.actions)


@pytest.mark.parametrize("name", [KUHN, LEDUC_BY_RANK, GOOFSPIEL])
def test_a_mixture_of_tables_is_one_table(name: str):
    """What it earns is the mean over its members, and its best responses gain what NashConv says."""
    game = opened(name)
    assert isinstance(game, TabulatedGame)
    tables = game.tables()
    uniform = tables.uniform()
    response = tables.best_response(uniform)
    members = [uniform, response, tables.best_response(response)]
    sides = (np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.0, 0.4]))
    mixture = tables.mixture(members, sides)
    np.testing.assert_allclose(mixture.table.sum(axis=1), 1)
    for opponent in members:
        ((earned,),) = tables.payoff([mixture], [opponent])
        assert earned == pytest.approx(sides[0] @ tables.payoff(members, [opponent])[:, 0])
        ((lost,),) = tables.payoff([opponent], [mixture])
        assert lost == pytest.approx(tables.payoff([opponent], members)[0] @ sides[1])
    best = tables.best_response(mixture)
    gains = tables.payoff([best], [mixture]) - tables.payoff([mixture], [best])
    assert gains.item() == pytest.approx(tables.nash_conv(mixture))
    assert tables.nash_conv(tables.of(uniform_policy())) == pytest.approx(tables.nash_conv(uniform), abs=1e-6)
