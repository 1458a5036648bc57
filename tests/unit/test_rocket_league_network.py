"""The network of Rocket League: any number of cars, in any order."""

import numpy as np
import pytest
import torch
from rocket_league_states import random_state

from nemesis.games.rocket_league.actions import ACTIONS, NEUTRAL
from nemesis.games.rocket_league.game import open_game
from nemesis.games.rocket_league.network import forecast
from nemesis.games.rocket_league.network.encoder import RocketLeagueEncoder
from nemesis.games.rocket_league.scripted import interception
from nemesis.games.rocket_league.views import CARS_AT, PADS_AT, TEAM, VIEW_SIZE, build_views, cars_of
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig


def some_views(cars: int, seats: int = 6, matches: int = 7):
    state = random_state(np.random.default_rng(cars), matches, seats, cars)
    view = build_views(state, ACTIONS[np.full((matches, seats), NEUTRAL)])
    return torch.from_numpy(view[:, :cars].reshape(matches * cars, -1))


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return RocketLeagueEncoder(64).eval()


def reordered(view, order):
    cars = torch.from_numpy(cars_of(view.numpy()).copy())
    other = view.clone()
    other[:, CARS_AT:PADS_AT] = cars[:, order].flatten(1)
    return other


@torch.inference_mode()
def test_the_order_of_team_mates_and_of_opponents_makes_no_difference(encoder):
    view = some_views(cars=6)
    vector = encoder(view)[0]
    torch.testing.assert_close(encoder(reordered(view, [0, 2, 1, 5, 3, 4]))[0], vector)
    swapped = encoder(reordered(view, [0, 3, 2, 1, 4, 5]))[0]  # a team mate for an opponent
    assert (swapped - vector).abs().max() > 1e-3


@torch.inference_mode()
def test_a_batch_of_several_sizes_gives_what_each_size_gives_alone(encoder):
    batches = [some_views(cars) for cars in (2, 4, 6)]
    together = encoder(torch.cat(batches))[0]
    torch.testing.assert_close(together, torch.cat([encoder(view)[0] for view in batches]))


@torch.inference_mode()
def test_an_empty_place_has_no_influence(encoder):
    view = some_views(cars=2)
    cars = cars_of(view.numpy()).copy()
    cars[:, 1, 1:] = 0.7  # of a team mate that does not take part
    other = view.clone()
    other[:, CARS_AT:PADS_AT] = torch.from_numpy(cars).flatten(1)
    mixed = torch.cat([other, some_views(cars=6)])
    torch.testing.assert_close(encoder(mixed)[0][: len(view)], encoder(view)[0])
    assert cars.shape[1] == 2 * TEAM


@torch.inference_mode()
def test_padded_rows_give_numbers(encoder):
    padding = torch.zeros(3, VIEW_SIZE)
    assert torch.isfinite(encoder(padding)[0]).all()
    assert torch.isfinite(encoder(torch.cat([padding, some_views(cars=6)]))[0]).all()


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
def test_the_same_weights_play_all_sizes_with_any_memory(memory):
    config = PolicyConfig(width=64, layers=1, memory=memory)
    small, large = (build_policy(open_game(size), config) for size in ("1v1", "3v3"))
    large.load_state_dict(small.state_dict())
    view = some_views(cars=6)
    mask = np.ones((len(view), len(ACTIONS)), dtype=np.bool_)
    action, state = large.act(view.numpy(), mask)
    assert action.shape == (len(view),)
    assert state.shape == (len(view), large.state_size)
    assert (large.state_size > 0) == (memory != "none")


def test_every_parameter_gets_a_gradient():
    policy = build_policy(open_game("3v3"), PolicyConfig(width=64, layers=1))
    view = some_views(cars=6)
    output = policy.sequence(
        view[:, None], torch.ones(len(view), 1, len(ACTIONS), dtype=torch.bool), torch.zeros(len(view), 0)
    )
    (output.log_probs[..., 0].sum() + output.value.sum()).backward()
    assert all(parameter.grad is not None for parameter in policy.parameters())


def test_the_forecast_agrees_with_the_finer_prediction_of_the_driver():
    """Away from corners and goals; it has steps twice as long, so that bounces come up to one step late."""
    generator = np.random.default_rng(3)
    ball = generator.uniform([-2500, -2500, 100], [2500, 2500, 1500], (300, 3)).astype(np.float32)
    velocity = generator.uniform(-800, 800, (300, 3)).astype(np.float32)
    steps = [round(step * forecast.STEP / interception.STEP) - 1 for step in forecast.FORECASTS]
    fine = interception.predict(ball, velocity)[steps].swapaxes(0, 1)
    coarse = forecast.forecast(torch.from_numpy(ball), torch.from_numpy(velocity)).numpy()
    distance = np.linalg.norm(coarse - fine, axis=-1)  # (ball, forecast)
    assert distance.max() < 400
    assert np.median(distance, axis=0).max() < 120
