"""How well held-out battles are foretold."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from episodes import CPU, LEDUC, build_policy, opened, play

from nemesis.core.game import FloatArray
from nemesis.core.trajectory import Trajectories
from nemesis.evaluation.validation import SCORE, policy_predictor, validate

torch.set_num_threads(1)


def battles(seed: int = 0) -> Trajectories:
    return play(opened(LEDUC), build_policy(opened(LEDUC)), 600, seed=seed)


def knowing(part: Trajectories) -> tuple[FloatArray, FloatArray]:
    """Foretell everything rightly."""
    log_probs = np.full(part.mask.shape, -20.0, dtype=np.float32)
    log_probs[np.arange(part.decisions), part.action] = 0.0
    return log_probs, np.repeat(np.sign(part.result), part.lengths)


def wrong(part: Trajectories) -> tuple[FloatArray, FloatArray]:
    log_probs, value = knowing(part)
    return -20 - log_probs, -value


def won_or_lost(part: Trajectories) -> Trajectories:
    return replace(part, result=np.where(part.result > 0, 1.0, -1.0).astype(np.float32))


def test_who_knows_all_is_always_right():
    told = validate(knowing, [won_or_lost(battles()), won_or_lost(battles(1))], opened(LEDUC))
    assert told.loss == 0
    assert told.top["all"] == {1: 1.0, 3: 1.0, 5: 1.0}
    assert told.brier == 0
    assert told.calibration_error == 0
    assert told.known["all"] == sum((part.mask.sum(axis=1) > 1).sum() for part in (battles(), battles(1)))
    assert told.top1_interval() == (1.0, 1.0)


def test_who_is_always_wrong_is_told_so():
    part = won_or_lost(battles())
    told = validate(wrong, [part], opened(LEDUC))
    assert told.top["all"][1] == 0
    assert told.brier == 1
    assert told.calibration_error == 1


def test_unknown_actions_do_not_count():
    part = battles()
    known = np.arange(part.decisions) % 2 == 0
    mixed = replace(part, known=known, action=np.where(known, part.action, -1))
    told = validate(knowing, [mixed], opened(LEDUC))
    assert told.known["all"] == (known & (part.mask.sum(axis=1) > 1)).sum()
    assert told.top["all"][1] == 1.0


def test_values_are_read_as_chances():
    part = won_or_lost(battles())
    share = float((np.repeat(part.result, part.lengths) > 0).mean())

    def even(part: Trajectories) -> tuple[FloatArray, FloatArray]:
        return knowing(part)[0], np.zeros(part.decisions, dtype=np.float32)

    told = validate(even, [part], opened(LEDUC))
    assert told.brier == pytest.approx(0.25)
    assert told.calibration_error == pytest.approx(abs(share - 0.5))


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_a_policy_foretells_what_it_says(memory: str):
    part = battles()
    policy = build_policy(opened(LEDUC), 4, memory=memory)
    told = validate(policy_predictor(policy, CPU, sequence_length=2), [part], opened(LEDUC))
    log_probs, _ = policy_predictor(policy, CPU, sequence_length=64)(part)
    choice = np.flatnonzero(part.mask.sum(axis=1) > 1)
    expected = -log_probs[choice, part.action[choice]].mean()
    assert told.loss == pytest.approx(float(expected), rel=1e-4)
    hits = (log_probs[choice].argmax(axis=1) == part.action[choice]).mean()
    assert told.metrics()[SCORE] == pytest.approx(float(hits))


def test_intervals_are_wider_where_battles_agree_with_themselves():
    part = battles()

    def told(lucky: FloatArray) -> tuple[float, float]:
        def predict(part: Trajectories) -> tuple[FloatArray, FloatArray]:
            right, value = knowing(part)
            return np.where(lucky[:, None], right, -20 - right), value

        return validate(predict, [part], opened(LEDUC)).top1_interval()

    generator = np.random.default_rng(0)
    low, high = told(generator.random(part.decisions) < 0.5)
    assert 0.4 < low < high < 0.6
    battle = np.repeat(part.match, part.lengths)
    clustered = told(np.isin(battle, np.unique(battle)[::2]))
    assert clustered[1] - clustered[0] > 1.3 * (high - low)


def test_results_that_did_not_come_by_play_do_not_count():
    part = won_or_lost(battles())
    terminated = np.arange(part.episodes) % 3 != 0
    turned = replace(part, result=np.where(terminated, part.result, -part.result), terminated=terminated)

    def stubborn(_: Trajectories) -> tuple[FloatArray, FloatArray]:
        return knowing(part)

    assert validate(stubborn, [turned], opened(LEDUC)).brier == 0
    assert validate(stubborn, [replace(turned, terminated=None)], opened(LEDUC)).brier > 0.2
