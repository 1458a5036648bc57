"""Opponent models: the opponent's action of the same moment is stored, and a policy learns to predict it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from duel import BREATH, VIEW, Duel
from episodes import CPU, LEDUC, opened
from torch import Tensor, nn

from nemesis.core.errors import UserError
from nemesis.core.game import IntArray
from nemesis.core.trajectory import Trajectories, concatenate
from nemesis.learners.config import PortfolioConfig, PPOConfig, RNaDConfig
from nemesis.learners.learner import Learner
from nemesis.learners.portfolio import Portfolio
from nemesis.learners.ppo import PPO
from nemesis.learners.rnad import RNaD
from nemesis.play.collector import Collector
from nemesis.play.experience import Clock
from nemesis.play.pairings import MAIN, SELF_PLAY
from nemesis.play.policy_players import PolicyPlayer
from nemesis.play.seating import Seating
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy

torch.set_num_threads(1)

CLASSES = 6


class OpenDuel(Duel):
    """A duel in which the class of a strike is two above how hard it is; catching breath is none."""

    def action_classes(self, view: np.ndarray, action: IntArray) -> np.ndarray:
        return np.where(view[:, 3:] > 0, -1, action[:, None] + 2).astype(np.int16)

    def opponent_model_head(self, width: int) -> nn.Module:
        return DuelOpponentModel(width)


class DuelOpponentModel(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, 8)
        self.logits = nn.Linear(8, CLASSES)

    def forward(self, features: Tensor, context: None) -> Tensor:  # noqa: ARG002
        return torch.relu(self.hidden(features)).unsqueeze(-2)


def new_policy(**settings: Any) -> Policy:
    torch.manual_seed(0)
    config = PolicyConfig.model_validate({"width": 32, "layers": 1, "opponent_model": True} | settings)
    return build_policy(OpenDuel(), config)


def played(policy: Policy, decisions: int = 400, *, opponent_model: bool = True) -> Trajectories:
    game = OpenDuel()
    player = PolicyPlayer(policy, game.spec, 32, CPU, 0)
    seating = Seating(32, SELF_PLAY, lambda *_: player, 0)
    stride = 2 if policy.state_size else None
    collector = Collector(game, game.pool(32, 0), seating, stride, Clock(), opponent_model=opponent_model)
    return collector.collect(decisions).episodes[MAIN]


def new_learner(algorithm: str, policy: Policy, **settings: Any) -> Learner:
    settings = {"learning_rate": 0.01, "minibatch": 128, "sequence_length": 2, "opponent_model_weight": 2.0} | settings
    if algorithm == "ppo":
        return PPO(policy, PPOConfig.model_validate(settings), CPU, seed=0)
    if algorithm == "portfolio":
        return Portfolio(policy, PortfolioConfig.model_validate(settings), CPU, seed=0, rate=lambda _: [])
    return RNaD(policy, RNaDConfig.model_validate(settings | {"form": algorithm}), CPU, seed=0)


def striking_by_hit_points(trajectories: Trajectories) -> Trajectories:
    """Return the episodes as if every opponent struck the harder the more hit points it has left, which a seat sees."""
    left = trajectories.view[:, 1:2]
    opponent_action = np.where(trajectories.opponent_action >= 0, 2 + (left > 3) + (left > 5), -1)
    return replace(trajectories, opponent_action=opponent_action.astype(np.int16))


def test_a_decision_is_stored_with_the_opponent_action_of_that_moment():
    trajectories = played(new_policy())
    episode = np.repeat(np.arange(trajectories.episodes), trajectories.lengths)
    done = {}  # rows by match, seat, round, and whether it caught breath
    for row, of in enumerate(episode):
        breath = trajectories.action[row] == BREATH
        done[trajectories.match[of], trajectories.seat[of], trajectories.view[row, 2], breath] = row
    known = 0
    for (match, seat, rounds, breath), row in done.items():
        other = done.get((match, 1 - seat, rounds, False))
        expected = -1 if breath or other is None else trajectories.action[other] + 2
        assert trajectories.opponent_action[row].tolist() == [expected]
        known += expected >= 0
    assert 0.5 < known / trajectories.decisions < 1


def test_opponent_actions_are_stored_only_on_request():
    assert played(new_policy(), opponent_model=False).opponent_action is None


def test_opponent_actions_stay_with_their_decisions():
    trajectories = played(new_policy())
    sent = Trajectories.from_arrays(trajectories.arrays())
    np.testing.assert_array_equal(sent.opponent_action, trajectories.opponent_action)
    again = concatenate(list(trajectories.portions(50)))
    np.testing.assert_array_equal(again.opponent_action, trajectories.opponent_action)
    aged = replace(trajectories, version=np.arange(trajectories.decisions))
    fresh = aged.without_stale(trajectories.decisions // 2, recurrent=False)
    np.testing.assert_array_equal(fresh.opponent_action, trajectories.opponent_action[fresh.version])


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize("algorithm", ["ppo", "reference", "reward", "magnet", "portfolio"])
def test_a_policy_learns_to_predict_the_opponent(algorithm: str, memory: str):
    policy = new_policy(memory=memory)
    learner = new_learner(algorithm, policy)
    trajectories = striking_by_hit_points(played(policy))
    metrics = [learner.update(trajectories, progress=0.0) for _ in range(25)]
    assert metrics[-1]["opponent_model_accuracy"] > metrics[0]["opponent_model_accuracy"] + 0.2
    assert metrics[-1]["opponent_model_loss"] < 0.6 * metrics[0]["opponent_model_loss"]


def test_the_opponent_model_trains_the_shared_encoder_by_its_weight():
    def encoder_after(weight: Any, progress: float = 0.0) -> Tensor:
        policy = new_policy()
        learner = new_learner("ppo", policy, opponent_model_weight=weight)
        learner.update(played(policy), progress)
        return policy.encoder.linear.weight.detach()

    middle = encoder_after({"start": 0.0, "end": 2.0}, progress=0.5)
    assert torch.equal(middle, encoder_after(1.0))
    assert not torch.equal(middle, encoder_after(0.0))
    assert torch.equal(encoder_after({"start": 0.0, "end": 2.0}), encoder_after(0.0))


def test_a_batch_without_known_opponent_actions_still_trains_the_policy():
    policy = new_policy()
    trajectories = played(policy)
    unknown = replace(trajectories, opponent_action=np.full_like(trajectories.opponent_action, -1))
    metrics = new_learner("ppo", policy).update(unknown, progress=0.0)
    assert metrics["opponent_model_loss"] == 0
    assert metrics["skipped_steps"] == 0


def test_without_a_weight_the_head_is_not_trained():
    policy = new_policy()
    before = policy.opponent_model.logits.weight.clone()
    metrics = new_learner("ppo", policy, opponent_model_weight=0.0).update(played(policy), progress=0.0)
    assert torch.equal(policy.opponent_model.logits.weight, before)
    assert "opponent_model_loss" not in metrics


def test_an_opponent_model_adds_only_its_own_weights():
    names = set(new_policy(opponent_model=False).state_dict())
    assert names == {name for name in new_policy().state_dict() if not name.startswith("opponent_model.")}


def test_a_game_whose_actions_have_no_classes_has_no_opponent_model():
    with pytest.raises(UserError, match=r"policy\.opponent_model needs a game"):
        build_policy(opened(LEDUC), PolicyConfig(opponent_model=True))


def test_a_weight_without_a_head_is_an_error_that_names_both_settings():
    with pytest.raises(UserError, match=r"learner\.opponent_model_weight needs .* policy\.opponent_model=true"):
        new_learner("ppo", new_policy(opponent_model=False))


def test_playing_does_not_run_the_opponent_model(monkeypatch: pytest.MonkeyPatch):
    policy = new_policy()
    view, mask = torch.zeros(2, VIEW, dtype=torch.int16), torch.ones(2, 4, dtype=torch.bool)
    expected = policy.step(view, mask, torch.zeros(2, 0))
    monkeypatch.setattr(policy.opponent_model, "forward", None)
    assert torch.equal(policy.step(view, mask, torch.zeros(2, 0)).log_probs, expected.log_probs)
