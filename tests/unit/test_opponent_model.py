"""Foresight: what the opponent does at the same moment is kept, and a policy learns to tell it."""

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
from nemesis.core.trajectory import Trajectories, joined
from nemesis.learners.learner import Learner
from nemesis.learners.portfolio import Portfolio, PortfolioConfig
from nemesis.learners.ppo import PPO, PPOConfig
from nemesis.learners.rnad import RNaD, RNaDConfig
from nemesis.play.collector import Clock, Collector
from nemesis.play.pairings import MAIN, SELF_PLAY
from nemesis.play.players import Actor
from nemesis.play.seating import Cast
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy
from nemesis.storage import policy_files as policies

torch.set_num_threads(1)

CLASSES = 6


class OpenDuel(Duel):
    """A duel in which the class of a strike is two above how hard it is; catching breath is none."""

    def deeds(self, view: np.ndarray, action: IntArray) -> np.ndarray:
        return np.where(view[:, 3:] > 0, -1, action[:, None] + 2).astype(np.int16)

    def foresight_head(self, width: int) -> nn.Module:
        return DuelForesight(width)


class DuelForesight(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.think = nn.Linear(width, 8)
        self.logits = nn.Linear(8, CLASSES)

    def forward(self, features: Tensor, context: None) -> Tensor:  # noqa: ARG002
        return torch.relu(self.think(features)).unsqueeze(-2)


def new_policy(**settings: Any) -> Policy:
    torch.manual_seed(0)
    config = PolicyConfig.model_validate({"width": 32, "layers": 1, "foresight": True} | settings)
    return policies.new_policy(OpenDuel(), config)


def played(policy: Policy, decisions: int = 400, *, foresight: bool = True) -> Trajectories:
    game = OpenDuel()
    actor = Actor(policy, 32, CPU, 0)
    cast = Cast(32, SELF_PLAY, lambda *_: actor, 0)
    stride = 2 if policy.state_size else None
    collector = Collector(game, game.pool(32, 0), cast, stride, Clock(), foresight=foresight)
    return collector.collect(decisions).episodes[MAIN]


def new_learner(algorithm: str, policy: Policy, **settings: Any) -> Learner:
    settings = {"learning_rate": 0.01, "minibatch": 128, "sequence_length": 2, "foresight_weight": 2.0} | settings
    if algorithm == "ppo":
        return PPO(policy, PPOConfig.model_validate(settings), CPU, seed=0)
    if algorithm == "portfolio":
        return Portfolio(policy, PortfolioConfig.model_validate(settings), CPU, seed=0, rate=lambda _: [])
    return RNaD(policy, RNaDConfig.model_validate(settings | {"form": algorithm}), CPU, seed=0)


def striking_by_hit_points(trajectories: Trajectories) -> Trajectories:
    """Return the episodes as if every opponent struck the harder the more hit points it has left, which a seat sees."""
    left = trajectories.view[:, 1:2]
    rival = np.where(trajectories.rival >= 0, 2 + (left > 3) + (left > 5), -1)
    return replace(trajectories, rival=rival.astype(np.int16))


def test_a_decision_is_kept_with_what_the_opponent_did_at_that_moment():
    trajectories = played(new_policy())
    episode = np.repeat(np.arange(trajectories.episodes), trajectories.lengths)
    done = {}  # by match, seat and round, whoever had breath
    for row, of in enumerate(episode):
        breath = trajectories.action[row] == BREATH
        done[trajectories.match[of], trajectories.seat[of], trajectories.view[row, 2], breath] = row
    known = 0
    for (match, seat, rounds, breath), row in done.items():
        other = done.get((match, 1 - seat, rounds, False))
        expected = -1 if breath or other is None else trajectories.action[other] + 2
        assert trajectories.rival[row].tolist() == [expected]
        known += expected >= 0
    assert 0.5 < known / trajectories.decisions < 1


def test_what_nobody_wants_to_foresee_is_not_kept():
    assert played(new_policy(), foresight=False).rival is None


def test_what_the_opponent_did_stays_with_its_decision_on_every_way():
    trajectories = played(new_policy())
    sent = Trajectories.from_arrays(trajectories.arrays(), trajectories.mask.shape[1])
    np.testing.assert_array_equal(sent.rival, trajectories.rival)
    again = joined(list(trajectories.portions(50)))
    np.testing.assert_array_equal(again.rival, trajectories.rival)
    aged = replace(trajectories, version=np.arange(trajectories.decisions))
    fresh = aged.without_stale(trajectories.decisions // 2, remembers=False)
    np.testing.assert_array_equal(fresh.rival, trajectories.rival[fresh.version])


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize("algorithm", ["ppo", "reference", "reward", "magnet", "portfolio"])
def test_a_policy_learns_to_foresee(algorithm: str, memory: str):
    policy = new_policy(memory=memory)
    learner = new_learner(algorithm, policy)
    trajectories = striking_by_hit_points(played(policy))
    metrics = [learner.update(trajectories, progress=0.0) for _ in range(25)]
    assert metrics[-1]["foresight_accuracy"] > metrics[0]["foresight_accuracy"] + 0.2
    assert metrics[-1]["foresight_loss"] < 0.6 * metrics[0]["foresight_loss"]


def test_foresight_teaches_what_all_heads_share_by_its_weight():
    def encoder_after(weight: Any, progress: float = 0.0) -> Tensor:
        policy = new_policy()
        learner = new_learner("ppo", policy, foresight_weight=weight)
        learner.update(played(policy), progress)
        return policy.encoder.linear.weight.detach()

    middle = encoder_after({"start": 0.0, "end": 2.0}, progress=0.5)
    assert torch.equal(middle, encoder_after(1.0))
    assert not torch.equal(middle, encoder_after(0.0))
    assert torch.equal(encoder_after({"start": 0.0, "end": 2.0}), encoder_after(0.0))


def test_a_batch_in_which_nothing_is_known_of_the_opponent_is_learned_from_all_the_same():
    policy = new_policy()
    trajectories = played(policy)
    unknown = replace(trajectories, rival=np.full_like(trajectories.rival, -1))
    metrics = new_learner("ppo", policy).update(unknown, progress=0.0)
    assert metrics["foresight_loss"] == 0
    assert metrics["skipped_steps"] == 0


def test_without_a_weight_a_head_stays_as_it_is():
    policy = new_policy()
    before = policy.foresight.logits.weight.clone()
    metrics = new_learner("ppo", policy, foresight_weight=0.0).update(played(policy), progress=0.0)
    assert torch.equal(policy.foresight.logits.weight, before)
    assert "foresight_loss" not in metrics


def test_a_policy_without_foresight_has_the_weights_that_it_always_had():
    names = set(new_policy(foresight=False).state_dict())
    assert names == {name for name in new_policy().state_dict() if not name.startswith("foresight.")}


def test_a_game_whose_deeds_have_no_names_gives_no_foresight():
    with pytest.raises(UserError, match=r"policy\.foresight needs a game"):
        policies.new_policy(opened(LEDUC), PolicyConfig(foresight=True))


def test_a_weight_without_a_head_is_an_error_that_names_both_settings():
    with pytest.raises(UserError, match=r"learner\.foresight_weight needs .* policy\.foresight=true"):
        new_learner("ppo", new_policy(foresight=False))


def test_play_does_not_pay_for_foresight(monkeypatch: pytest.MonkeyPatch):
    policy = new_policy()
    monkeypatch.setattr(policy.foresight, "forward", None)
    output = policy.step(torch.zeros(2, VIEW, dtype=torch.int16), torch.ones(2, 4, dtype=torch.bool), torch.zeros(2, 0))
    assert torch.isfinite(output.log_probs).all()
