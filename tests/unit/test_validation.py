"""Accuracy and calibration on the validation split."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from episodes import CPU, LEDUC, build_policy, opened, play

from nemesis.core.game import BoolArray, FloatArray
from nemesis.core.masks import unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.evaluation.validation import SCORE, policy_predictor, validate

torch.set_num_threads(1)
ACTIONS = opened(LEDUC).spec.actions


def battles(seed: int = 0) -> Trajectories:
    return play(opened(LEDUC), build_policy(opened(LEDUC)), 600, seed=seed)


def has_choice(part: Trajectories) -> BoolArray:
    return np.asarray(unpack_mask(part.mask, ACTIONS).sum(axis=1) > 1)


def perfect(part: Trajectories) -> tuple[FloatArray, FloatArray]:
    """Predict everything correctly."""
    log_probs = np.full((part.decisions, ACTIONS), -20.0, dtype=np.float32)
    log_probs[np.arange(part.decisions), part.action] = 0.0
    return log_probs, np.repeat(np.sign(part.result), part.lengths)


def wrong(part: Trajectories) -> tuple[FloatArray, FloatArray]:
    log_probs, value = perfect(part)
    return -20 - log_probs, -value


def won_or_lost(part: Trajectories) -> Trajectories:
    return replace(part, result=np.where(part.result > 0, 1.0, -1.0).astype(np.float32))


def test_perfect_predictions_have_no_error():
    measured = validate(perfect, [won_or_lost(battles()), won_or_lost(battles(1))], opened(LEDUC))
    assert measured.loss == 0
    assert measured.accuracy["all"] == {1: 1.0, 3: 1.0, 5: 1.0}
    assert measured.brier_error == 0
    assert measured.calibration_error == 0
    assert measured.decisions["all"] == sum(has_choice(part).sum() for part in (battles(), battles(1)))
    assert measured.accuracy_interval() == (1.0, 1.0)


def test_wrong_predictions_have_the_largest_error():
    part = won_or_lost(battles())
    measured = validate(wrong, [part], opened(LEDUC))
    assert measured.accuracy["all"][1] == 0
    assert measured.brier_error == 1
    assert measured.calibration_error == 1


def test_unknown_actions_do_not_count():
    part = battles()
    known = np.arange(part.decisions) % 2 == 0
    mixed = replace(part, known=known, action=np.where(known, part.action, -1))
    measured = validate(perfect, [mixed], opened(LEDUC))
    assert measured.decisions["all"] == (known & has_choice(part)).sum()
    assert measured.accuracy["all"][1] == 1.0


@pytest.mark.filterwarnings("error")
def test_what_has_nothing_to_measure_is_not_a_number_and_no_metric():
    part = won_or_lost(battles())
    unlabelled = replace(part, known=np.zeros(part.decisions, np.bool_), action=np.full_like(part.action, -1))
    measured = validate(perfect, [unlabelled], opened(LEDUC))
    assert measured.decisions == {"all": 0}
    assert np.isnan([measured.loss, *measured.accuracy["all"].values(), *measured.accuracy_interval()]).all()
    assert measured.metrics().keys() == {"validation_brier_error", "validation_calibration_error"}
    unfinished = replace(part, terminated=np.zeros(part.episodes, np.bool_))
    measured = validate(perfect, [unfinished], opened(LEDUC))
    assert np.isnan([measured.brier_error, measured.calibration_error]).all()
    assert measured.metrics().keys() == {"validation_loss", SCORE, f"{SCORE}_top3", f"{SCORE}_top5"}


def test_values_are_read_as_probabilities():
    part = won_or_lost(battles())
    share = float((np.repeat(part.result, part.lengths) > 0).mean())

    def even(part: Trajectories) -> tuple[FloatArray, FloatArray]:
        return perfect(part)[0], np.zeros(part.decisions, dtype=np.float32)

    measured = validate(even, [part], opened(LEDUC))
    assert measured.brier_error == pytest.approx(0.25)
    assert measured.calibration_error == pytest.approx(abs(share - 0.5))


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_a_policy_is_measured_by_its_own_probabilities(memory: str):
    part = battles()
    policy = build_policy(opened(LEDUC), 4, memory=memory)
    measured = validate(policy_predictor(policy, CPU, sequence_length=2), [part], opened(LEDUC))
    log_probs, _ = policy_predictor(policy, CPU, sequence_length=64)(part)
    choice = np.flatnonzero(has_choice(part))
    expected = -log_probs[choice, part.action[choice]].mean()
    assert measured.loss == pytest.approx(float(expected), rel=1e-4)
    accuracy = (log_probs[choice].argmax(axis=1) == part.action[choice]).mean()
    assert measured.metrics()[SCORE] == pytest.approx(float(accuracy))


def test_intervals_are_wider_if_the_decisions_of_a_battle_are_alike():
    part = battles()

    def interval(correct: BoolArray) -> tuple[float, float]:
        def predict(part: Trajectories) -> tuple[FloatArray, FloatArray]:
            right, value = perfect(part)
            return np.where(correct[:, None], right, -20 - right), value

        return validate(predict, [part], opened(LEDUC)).accuracy_interval()

    generator = np.random.default_rng(0)
    low, high = interval(generator.random(part.decisions) < 0.5)
    assert 0.4 < low < high < 0.6
    battle = np.repeat(part.match, part.lengths)
    clustered = interval(np.isin(battle, np.unique(battle)[::2]))
    assert clustered[1] - clustered[0] > 1.3 * (high - low)


def test_results_of_battles_that_were_not_played_to_their_end_do_not_count():
    part = won_or_lost(battles())
    terminated = np.arange(part.episodes) % 3 != 0
    turned = replace(part, result=np.where(terminated, part.result, -part.result), terminated=terminated)

    def fixed(_: Trajectories) -> tuple[FloatArray, FloatArray]:
        return perfect(part)

    assert validate(fixed, [turned], opened(LEDUC)).brier_error == 0
    assert validate(fixed, [replace(turned, terminated=None)], opened(LEDUC)).brier_error > 0.2
