"""The evaluation of a run's policy: its strength, and its accuracy on validation data."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch

from nemesis.core.game import Game
from nemesis.core.interrupts import Stop
from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories
from nemesis.data.config import DataConfig
from nemesis.data.validation_data import read_split
from nemesis.evaluation.config import EvaluationConfig
from nemesis.evaluation.replays import NoReplaysError, save_replays
from nemesis.evaluation.strength import measure
from nemesis.evaluation.validation import SCORE, policy_predictor, validate
from nemesis.play.matches import play
from nemesis.play.policy_players import PolicyPlayer
from nemesis.play.scripted import anchors_of, opponent_names
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy
from nemesis.storage.policy_files import save_policy

History: TypeAlias = Sequence[tuple[int, Mapping[str, float]]]
"""Evaluations by update, oldest first."""

BEST = "best.safetensors"
_AVERAGE = "_average"
_RATING_MATCHES = 512  # per pair of references
_REPLAYS = 4  # saved at the end of a run
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EvaluatorSettings:
    """The settings of a run that its evaluation needs."""

    evaluation: EvaluationConfig
    data: DataConfig
    policy: PolicyConfig
    slots: int
    sequence_length: int
    seed: int
    rating_seed: int
    config: Mapping[str, Any]  # of the whole run, to store with a policy


@dataclass(frozen=True, slots=True)
class Standing:
    """How a policy stands against all opponents of an evaluation."""

    win_rate: float  # over all matches
    matches: int
    rating: float | None = None  # None if no opponent is an anchor
    rating_low: float | None = None  # of its 95 % interval
    rating_high: float | None = None

    def metrics(self) -> dict[str, float]:
        """Return the win rate and its matches; the rating is a metric of every evaluation."""
        return {"win_rate": self.win_rate, "matches": float(self.matches)}


class RunEvaluator:
    """Measures the last and the averaged weights of a run's policy; long work stops when `stop` returns true."""

    def __init__(self, settings: EvaluatorSettings, game: Game, device: torch.device, stop: Stop) -> None:
        self._settings = settings
        self._game = game
        self._device = device
        self._stop = stop
        self.opponents = opponent_names(game, settings.evaluation.opponents)
        self.anchors = anchors_of(game, settings.evaluation.anchors)

    def evaluate(self, last: Policy, average: Policy) -> dict[str, float]:
        """Measure the last weights, the averaged ones, or both, as configured."""
        wanted = self._settings.evaluation.weights
        values: dict[str, float] = {}
        if wanted != "average":
            values |= self._measure(last, "the last weights")
        if wanted != "last":
            values |= {name + _AVERAGE: value for name, value in self._measure(average, "the averaged weights").items()}
        return values

    def standing(self, values: Mapping[str, float]) -> Standing | None:
        """Return how the policy stands by an evaluation; None if no match counted.

        It is that of the averaged weights, unless only the last ones were measured.
        """
        suffix = "" if self._settings.evaluation.weights == "last" else _AVERAGE
        matches = {name: values[f"matches_against_{name}{suffix}"] for name in self.opponents}
        total = sum(matches.values())
        if not total:
            return None
        points = sum(values[f"win_rate_against_{name}{suffix}"] * count for name, count in matches.items() if count)
        rating = {name: values.get(f"{name}{suffix}") for name in ("rating", "rating_low", "rating_high")}
        return Standing(points / total, int(total), **rating)

    def keep_best(self, folder: Path, last: Policy, average: Policy, update: int, history: History) -> None:
        """Save the policy if its validation accuracy at this update is the best so far."""
        policies = {SCORE: last, SCORE + _AVERAGE: average}
        scores = [{name: values[name] for name in policies if name in values} for _, values in history]
        if not scores or history[-1][0] != update or not scores[-1]:  # not measured, or interrupted
            return
        name, score = max(scores[-1].items(), key=lambda item: item[1])
        if any(max(before.values(), default=0.0) >= score for before in scores[:-1]):
            return
        about = {"update": update, SCORE: score, "config": dict(self._settings.config)}
        save_policy(folder / BEST, policies[name], self._settings.policy, self._game, about)

    def save_replays(self, last: Policy, average: Policy, folder: Path) -> Path | None:
        """Save some matches against the strongest opponent; returns the one with the best result, if any."""
        settings = self._settings
        policy = last if settings.evaluation.weights == "last" else average
        try:
            saved = save_replays(
                self._game,
                policy,
                self._device,
                opponent=opponent_names(self._game)[-1],
                matches=_REPLAYS,
                seed=settings.seed,
                folder=folder,
            )
        except NoReplaysError:
            return None
        return max(saved, key=lambda replay: replay.earned).path if saved else None

    def rate(self, policies: Sequence[Policy]) -> list[float]:
        """Rate policies by their mean return against each other; raises `StoppedError` if the run is stopped."""
        rating = np.zeros(len(policies))
        slots, seed = min(self._settings.slots, _RATING_MATCHES), self._settings.rating_seed
        for first in range(len(policies)):
            for second in range(first):
                one, other = (
                    PolicyPlayer(policies[number], self._game.spec, slots, self._device, seed + number)
                    for number in (first, second)
                )
                (score,) = play(
                    self._game,
                    one,
                    [other],
                    matches=_RATING_MATCHES,
                    slots=slots,
                    seed=seed,
                    stop=self._stop,
                    activity="Rating the reference policies",
                )
                rating[first] += score.mean
                rating[second] -= score.mean
        return rating.tolist()

    def _measure(self, policy: Policy, who: str) -> dict[str, float]:
        """Measure the strength of a policy and, if there is validation data, its accuracy."""
        settings = self._settings
        strength = measure(
            self._game,
            policy,
            self._device,
            opponents=self.opponents,
            matches=settings.evaluation.matches,
            slots=settings.slots,
            seed=settings.seed,
            anchors=self.anchors,
            stop=self._stop,
            who=who,
        )
        if not self._validation_data:
            return strength.metrics()
        predictor = policy_predictor(policy, self._device, settings.sequence_length)
        validation = validate(predictor, self._validation_data, self._game, f"Validating {who}")
        return strength.metrics() | validation.metrics()

    @cached_property
    def _validation_data(self) -> list[Trajectories]:
        """The episodes of the validation split, read when they are first needed."""
        data = self._settings.data
        report("Reading the validation split")
        parts = read_split(data, self._game) if data.sources and data.validation else []
        if parts and not any(part.known is None or part.known.any() for part in parts):
            _log.warning(
                "The validation split has no labelled decisions, so no accuracy is measured and no best policy is kept."
            )
        return parts
