"""How well a policy foretells what was done and who won, on battles that it never learned from.

Actions: how often the one that was chosen is the likeliest, by which a run's best policy is chosen, or among the three
or the five likeliest, of all and by the kind of decision; and the cross-entropy. Decisions with one legal action are
none. Results, of episodes that ended by play: the Brier score of the value read as a probability to win, and how far
that is from how often such positions were won.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from nemesis.core.game import BoolArray, FloatArray, Game, IntArray, PhasedGame
from nemesis.core.trajectory import Trajectories
from nemesis.learners.batch import to_batch
from nemesis.policies.policy import Policy

ALL = "all"
TOP = (1, 3, 5)
_DRAWS = 1000
BINS = 10
PREFIX = "foretold_"
SCORE = f"{PREFIX}top1"

Predictor: TypeAlias = Callable[[Trajectories], tuple[FloatArray, FloatArray]]
"""(episodes) → log-probabilities (decision, action) and values (decision,) in [−1, 1]."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What came of foretelling some decisions."""

    loss: float  # mean cross-entropy of the known actions
    top: dict[str, dict[int, float]]  # by kind of decision and by how many may be named
    known: dict[str, int]  # decisions of each kind
    brier: float  # mean squared distance of the probability to win from the result
    calibration: list[tuple[float, float, int]] = field(repr=False)  # told, true, decisions: by bins of what is told
    battles: dict[str, tuple[FloatArray, FloatArray]] = field(repr=False)  # hits and decisions of each, by kind

    @property
    def calibration_error(self) -> float:
        """The mean distance of told from true."""
        total = sum(count for _, _, count in self.calibration)
        return sum(abs(told - true) * count for told, true, count in self.calibration) / total

    def top1_interval(self, kind: str = ALL) -> tuple[float, float]:
        """Return the 95 % interval of the share that the likeliest action has, by drawing battles again."""
        hits, decisions = self.battles[kind]
        drawn = np.random.default_rng(0).multinomial(len(hits), np.full(len(hits), 1 / len(hits)), size=_DRAWS)
        low, high = np.quantile(drawn @ hits / np.maximum(drawn @ decisions, 1), (0.025, 0.975))
        return float(low), float(high)

    def metrics(self) -> dict[str, float]:
        tops = {
            f"{PREFIX}top{count}" + (f"_{kind}" if kind != ALL else ""): shares[count]
            for count in TOP
            for kind, shares in self.top.items()
        }
        return {
            f"{PREFIX}loss": self.loss,
            f"{PREFIX}brier_error": self.brier,
            f"{PREFIX}calibration_error": self.calibration_error,
            **tops,
        }


def policy_predictor(policy: Policy, device: torch.device, sequence_length: int) -> Predictor:
    """Return how a policy foretells, with the memory that it would have itself."""

    def predict(trajectories: Trajectories) -> tuple[FloatArray, FloatArray]:
        batch = to_batch(trajectories, sequence_length, policy, device).with_states_of(policy)
        output = batch.run_all(policy)
        return output.log_probs.float().cpu().numpy(), output.value.float().cpu().numpy()

    return predict


def validate(predict: Predictor, parts: Sequence[Trajectories], game: Game) -> Validation:
    """Measure a foreteller on battles."""
    rank: list[IntArray] = []
    loss: list[npt.NDArray[np.float64]] = []
    kinds: list[dict[str, BoolArray]] = []
    battle: list[IntArray] = []
    chance: list[FloatArray] = []
    result: list[FloatArray] = []
    for part in parts:
        log_probs, value = predict(part)
        choice = part.mask.sum(axis=1) > 1
        known = np.flatnonzero(choice if part.known is None else choice & part.known)
        scores, action = np.where(part.mask[known], log_probs[known], -np.inf), part.action[known]
        chosen = scores[np.arange(len(known)), action]
        rank.append((scores > chosen[:, None]).sum(axis=1))
        first = battle[-1].max() + 1 if battle else 0
        battle.append(first + np.repeat(part.match, part.lengths)[known])
        loss.append(-chosen.astype(np.float64))
        kinds.append(dict(game.phases(part.view[known], action)) if isinstance(game, PhasedGame) else {})
        terminated = np.ones(part.episodes, np.bool_) if part.terminated is None else part.terminated
        is_counted = np.repeat(terminated, part.lengths)
        chance.append(np.clip((value[is_counted] + 1) / 2, 0, 1))
        result.append(np.repeat((part.result + 1) / 2, part.lengths)[is_counted])
    battles = np.concatenate(battle)
    ranks, told, true = np.concatenate(rank), np.concatenate(chance), np.concatenate(result)
    groups = {name: np.concatenate([part[name] for part in kinds]) for name in kinds[0]}
    groups = {ALL: np.ones(len(ranks), dtype=np.bool_)} | {name: own for name, own in groups.items() if own.any()}
    return Validation(
        loss=float(np.concatenate(loss).mean()),
        top={name: {count: float((ranks[own] < count).mean()) for count in TOP} for name, own in groups.items()},
        known={name: int(own.sum()) for name, own in groups.items()},
        brier=float(np.square(told - true).mean()),
        calibration=_calibration(told, true),
        battles={name: _by_battle(ranks[own] == 0, battles[own]) for name, own in groups.items()},
    )


def _by_battle(hit: BoolArray, battle: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return how many decisions (n,) of each battle were hit, and how many there are."""
    _, place = np.unique(battle, return_inverse=True)
    return np.bincount(place, hit).astype(np.float32), np.bincount(place).astype(np.float32)


def _calibration(told: FloatArray, true: FloatArray) -> list[tuple[float, float, int]]:
    bins = np.minimum((told * BINS).astype(int), BINS - 1)
    return [
        (float(told[own].mean()), float(true[own].mean()), int(own.sum()))
        for number in range(BINS)
        if (own := bins == number).any()
    ]
