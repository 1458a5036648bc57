"""Accuracy and calibration of a policy on the validation split, which it never learned from.

Actions: top-1, top-3 and top-5 accuracy, over all decisions and by kind of decision, and the cross-entropy. The best
policy of a run is the one with the highest top-1 accuracy. Decisions with one legal action do not count. What has no
decision to measure is nan, and is not among the metrics.

Results, of episodes that were played to their end: the value is read as a probability of winning. The Brier score is
its mean squared error. The calibration error is the mean distance between it and the observed share of wins, by bins.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from nemesis.core.game import BoolArray, FloatArray, Game, IntArray, PhasedGame
from nemesis.core.masks import unpack_mask
from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories
from nemesis.learners.batch import to_batch
from nemesis.policies.policy import Policy

ALL = "all"
TOP = (1, 3, 5)
BINS = 10
PREFIX = "validation_"
SCORE = f"{PREFIX}accuracy"
_RESAMPLES = 1000

Predictor: TypeAlias = Callable[[Trajectories], tuple[FloatArray, FloatArray]]
"""(episodes) → log-probabilities (decision, action) and values (decision,) in [−1, 1]."""


class CalibrationBin(NamedTuple):
    """Decisions with a similar predicted probability of winning."""

    predicted: float  # mean probability
    observed: float  # share of wins
    decisions: int


@dataclass(frozen=True, slots=True)
class Validation:
    """What was measured on the validation split."""

    loss: float  # mean cross-entropy of the known actions
    accuracy: dict[str, dict[int, float]]  # by kind of decision, and by k of top-k
    decisions: dict[str, int]  # of each kind, with a known action
    brier_error: float
    calibration: list[CalibrationBin] = field(repr=False)
    matches: dict[str, tuple[FloatArray, FloatArray]] = field(repr=False)  # correct, all decisions of each, by kind

    @property
    def calibration_error(self) -> float:
        """The mean distance of predicted from observed."""
        total = sum(one.decisions for one in self.calibration)
        distance = sum(abs(one.predicted - one.observed) * one.decisions for one in self.calibration)
        return distance / total if total else math.nan

    def accuracy_interval(self, kind: str = ALL) -> tuple[float, float]:
        """Return the 95 % interval of the top-1 accuracy, by a bootstrap over matches."""
        correct, decisions = self.matches[kind]
        count = len(correct)
        if not count:
            return math.nan, math.nan
        drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
        low, high = np.quantile(drawn @ correct / np.maximum(drawn @ decisions, 1), (0.025, 0.975))
        return float(low), float(high)

    def metrics(self) -> dict[str, float]:
        accuracies = {
            SCORE + (f"_top{top}" if top > 1 else "") + (f"_{kind}" if kind != ALL else ""): by_top[top]
            for top in TOP
            for kind, by_top in self.accuracy.items()
        }
        values = {
            f"{PREFIX}loss": self.loss,
            f"{PREFIX}brier_error": self.brier_error,
            f"{PREFIX}calibration_error": self.calibration_error,
            **accuracies,
        }
        return {name: value for name, value in values.items() if not math.isnan(value)}


def policy_predictor(policy: Policy, device: torch.device, sequence_length: int) -> Predictor:
    """Return the predictions of a policy, which starts each sequence with its own memory."""

    def predict(trajectories: Trajectories) -> tuple[FloatArray, FloatArray]:
        batch = to_batch(trajectories, sequence_length, policy, device).with_states_of(policy)
        output = batch.run_all(policy)
        return output.log_probs.float().cpu().numpy(), output.value.float().cpu().numpy()

    return predict


def validate(predict: Predictor, parts: Sequence[Trajectories], game: Game, activity: str = "Validating") -> Validation:
    """Measure predictions on episodes; progress is reported as `activity`."""
    measured: list[_Actions] = []
    probability: list[FloatArray] = []
    won: list[FloatArray] = []
    matches = 0
    for number, part in enumerate(parts):
        report(activity, number, len(parts))
        log_probs, value = predict(part)
        measured.append(_measure_actions(part, log_probs, game, matches))
        matches += int(part.match.max()) + 1
        terminated = np.ones(part.episodes, np.bool_) if part.terminated is None else part.terminated
        counted = np.repeat(terminated, part.lengths)
        probability.append(np.clip((value[counted] + 1) / 2, 0, 1))
        won.append(np.repeat((part.result + 1) / 2, part.lengths)[counted])
    rank = np.concatenate([one.rank for one in measured])
    match = np.concatenate([one.match for one in measured])
    kinds = {name: np.concatenate([one.kinds[name] for one in measured]) for name in measured[0].kinds}
    kinds = {ALL: np.ones(len(rank), dtype=np.bool_)} | {name: own for name, own in kinds.items() if own.any()}
    predicted, observed = np.concatenate(probability), np.concatenate(won)
    return Validation(
        loss=_mean(np.concatenate([one.loss for one in measured])),
        accuracy={name: {top: _mean(rank[own] < top) for top in TOP} for name, own in kinds.items()},
        decisions={name: int(own.sum()) for name, own in kinds.items()},
        brier_error=_mean(np.square(predicted - observed)),
        calibration=_calibration(predicted, observed),
        matches={name: _by_match(rank[own] == 0, match[own]) for name, own in kinds.items()},
    )


class _Actions(NamedTuple):
    """The decisions with a known action and more than one legal action."""

    rank: IntArray  # (n,) number of actions with a higher probability
    loss: npt.NDArray[np.float64]  # (n,)
    match: IntArray  # (n,)
    kinds: dict[str, BoolArray]  # each (n,)


def _measure_actions(part: Trajectories, log_probs: FloatArray, game: Game, first_match: int) -> _Actions:
    legal = unpack_mask(part.mask, game.spec.actions)
    choice = legal.sum(axis=1) > 1
    rows = np.flatnonzero(choice if part.known is None else choice & part.known)
    scores, action = np.where(legal[rows], log_probs[rows], -np.inf), part.action[rows]
    chosen = scores[np.arange(len(rows)), action]
    return _Actions(
        rank=(scores > chosen[:, None]).sum(axis=1),
        loss=-chosen.astype(np.float64),
        match=first_match + np.repeat(part.match, part.lengths)[rows],
        kinds=dict(game.phases(part.view[rows], action)) if isinstance(game, PhasedGame) else {},
    )


def _mean(values: npt.NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else math.nan


def _by_match(correct: BoolArray, match: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return how many decisions (n,) of each match are correct, and how many there are."""
    _, place = np.unique(match, return_inverse=True)
    return np.bincount(place, correct).astype(np.float32), np.bincount(place).astype(np.float32)


def _calibration(predicted: FloatArray, observed: FloatArray) -> list[CalibrationBin]:
    number = np.minimum((predicted * BINS).astype(int), BINS - 1)
    return [
        CalibrationBin(float(predicted[own].mean()), float(observed[own].mean()), int(own.sum()))
        for bin_number in range(BINS)
        if (own := number == bin_number).any()
    ]
