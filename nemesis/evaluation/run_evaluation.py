"""How a run measures its policies as it goes: by matches or exactly, and by the battles that are held out."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import torch

from nemesis.core.game import Game
from nemesis.core.interrupts import Stop
from nemesis.core.trajectory import Trajectories
from nemesis.data.validation import read_validation
from nemesis.evaluation.replays import NoReplaysError, record
from nemesis.evaluation.strength import measure
from nemesis.evaluation.validation import SCORE, policy_predictor, validate
from nemesis.learners.learner import PolicyModule
from nemesis.play.matches import play
from nemesis.play.players import PolicyPlayer
from nemesis.play.scripted import opponent_names
from nemesis.policies.policy import Policy
from nemesis.storage.policy_files import save_policy
from nemesis.training.config import RunConfig

History: TypeAlias = Sequence[tuple[int, Mapping[str, float]]]
"""What was measured, by update, oldest first."""

BEST = "best.safetensors"
_AVERAGE = "_average"
_RATING_MATCHES = 512  # per pair of references
_REPLAYS = 4  # saved at the end of a run


class RunEvaluator:
    """Measures the last weights of a run's policy and the averaged ones; whatever takes long heeds `stop`."""

    def __init__(self, config: RunConfig, game: Game, device: torch.device, rating_seed: int, stop: Stop) -> None:
        self._config = config
        self._game = game
        self._device = device
        self._rating_seed = rating_seed
        self._stop = stop
        self._opponents = opponent_names(game, config.evaluation.opponents)

    def evaluate(self, last: Policy, average: Policy) -> dict[str, float]:
        """Measure the last weights, the averaged ones, or both, as the run is configured to."""
        wanted = self._config.evaluation.weights
        values: dict[str, float] = {}
        if wanted != "average":
            values |= self._measure(last)
        if wanted != "last":
            values |= {name + _AVERAGE: value for name, value in self._measure(average).items()}
        return values

    def keep_best(self, folder: Path, last: Policy, average: Policy, update: int, history: History) -> None:
        """Write whichever foretold held-out battles best at this update, if none did so well before."""
        policies = {SCORE: last, SCORE + _AVERAGE: average}
        told = [{name: values[name] for name in policies if name in values} for _, values in history]
        if not told or history[-1][0] != update or not told[-1]:  # nothing was measured, or it was left off
            return
        name, score = max(told[-1].items(), key=lambda item: item[1])
        if any(max(before.values(), default=0.0) >= score for before in told[:-1]):
            return
        about = {"update": update, SCORE: score, "config": self._config.model_dump(mode="json")}
        save_policy(folder / BEST, policies[name], self._config.policy, self._game, about)

    def record(self, last: Policy, average: Policy, folder: Path) -> Path | None:
        """Save some matches against the strongest opponent, and return the one that went best; None if none can be."""
        opponent = opponent_names(self._game)[-1]
        policy = last if self._config.evaluation.weights == "last" else average
        seed = self._config.seed
        try:
            saved = record(
                self._game, policy, self._device, opponent=opponent, matches=_REPLAYS, seed=seed, folder=folder
            )
        except NoReplaysError:
            return None
        return max(saved, key=lambda replay: replay.earned).path if saved else None

    def rate(self, policies: Sequence[PolicyModule]) -> list[float]:
        """Rate policies by their mean return against each other; raises if the run is stopped meanwhile."""
        rating = np.zeros(len(policies))
        slots, seed = min(self._config.collection.slots, _RATING_MATCHES), self._rating_seed
        for first in range(len(policies)):
            for second in range(first):
                one, other = (
                    PolicyPlayer(cast("Policy", policies[number]), slots, self._device, seed + number)
                    for number in (first, second)
                )
                (score,) = play(
                    self._game, one, [other], matches=_RATING_MATCHES, slots=slots, seed=seed, stop=self._stop
                )
                rating[first] += score.mean
                rating[second] -= score.mean
        return rating.tolist()

    def _measure(self, policy: Policy) -> dict[str, float]:
        """Measure how strong a policy is and, where battles are held out, how well it foretells them."""
        strength = measure(
            self._game,
            policy,
            self._device,
            opponents=self._opponents,
            matches=self._config.evaluation.matches,
            slots=self._config.collection.slots,
            seed=self._config.seed,
            stop=self._stop,
        )
        if not self._validation_data:
            return strength.metrics()
        predict = policy_predictor(policy, self._device, self._config.learner.sequence_length)
        return strength.metrics() | validate(predict, self._validation_data, self._game).metrics()

    @cached_property
    def _validation_data(self) -> list[Trajectories]:
        """The battles that are never learned from, read when they are first asked for."""
        data = self._config.data
        return read_validation(data, self._game) if data.sources and data.validation else []
