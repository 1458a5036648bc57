"""How strong a policy is: exactly where the game allows it, else by matches against random play."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch

from nemesis.core.game import SEATS, ExactGame, Game
from nemesis.games import open_game
from nemesis.policies.policy import Policy
from nemesis.runtime.actor import Actor, RandomActor, as_step_policy
from nemesis.runtime.assembly import build_policy, config_of, find_checkpoint
from nemesis.runtime.matches import Score, play, slots_for


@dataclass(frozen=True, slots=True)
class NashConv:
    """What best responses gain against a policy in an exact game, summed over the seats."""

    value: float

    def metrics(self) -> dict[str, float]:
        return {"nash_conv": self.value}

    def rows(self, who: str) -> list[tuple[str, str]]:
        return [
            (f"NashConv, {who}", f"{self.value:.4f}"),
            (f"exploitability, {who}", f"{self.value / SEATS:.4f} a seat"),
        ]

    def as_json(self) -> dict[str, float | None]:
        return {"nashconv": self.value}


@dataclass(frozen=True, slots=True)
class AgainstRandom:
    """What a policy earns against random play."""

    score: Score

    def metrics(self) -> dict[str, float]:
        return {"return_against_random": self.score.mean, "win_rate_against_random": self.score.win_rate}

    def rows(self, who: str) -> list[tuple[str, str]]:
        score = self.score
        if not score.matches:
            return [(f"against random, {who}", f"no match ended by play, {score.voided} voided")]
        low, high = score.win_rate_interval
        rate = f"{score.win_rate:.1%} (95 % interval {low:.1%} to {high:.1%}), {score.voided} voided"
        return [
            (f"return against random, {who}", f"{score.mean:+.4f} ± {score.margin:.4f} ({score.matches} matches)"),
            (f"win rate against random, {who}", rate),
        ]

    def as_json(self) -> dict[str, float | None]:
        score = self.score
        low, high = score.win_rate_interval
        figures = {
            "return": score.mean,
            "return_margin": score.margin,
            "win_rate": score.win_rate,
            "win_rate_low": low,
            "win_rate_high": high,
            "matches": score.matches,
            "voided": score.voided,
        }
        return {name: value if math.isfinite(value) else None for name, value in figures.items()}  # JSON has no nan


Strength: TypeAlias = NashConv | AgainstRandom


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a checkpoint's two sets of weights are worth."""

    game: str
    checkpoint: Path
    update: int
    last: Strength
    average: Strength

    def rows(self) -> list[tuple[str, str]]:
        about = [("game", self.game), ("checkpoint", str(self.checkpoint)), ("update", str(self.update))]
        return about + self.last.rows("last weights") + self.average.rows("averaged weights")

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "checkpoint": str(self.checkpoint),
            "update": self.update,
            **{f"{name}_last": value for name, value in self.last.as_json().items()},
            **{f"{name}_average": value for name, value in self.average.as_json().items()},
        }


def measure(game: Game, policy: Policy, device: torch.device, matches: int, seed: int) -> Strength:
    """Measure one policy."""
    if isinstance(game, ExactGame):
        return NashConv(game.nash_conv(as_step_policy(policy, device)))
    actor = Actor(policy, slots_for(matches), device, seed)
    return AgainstRandom(play(game, actor, RandomActor(seed + 1), matches, seed + 2))


def evaluate(path: Path, matches: int, seed: int) -> Evaluation:
    """Measure the policy of a checkpoint, or of a run's newest valid checkpoint, whatever device it was trained on."""
    checkpoint = find_checkpoint(path)
    config = config_of(checkpoint)
    torch.set_num_threads(config.threads)
    game = open_game(config.game)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    strengths = []
    for name in ("weights", "average"):
        policy = build_policy(config, game)
        policy.load_state_dict(checkpoint.tensors(name))
        strengths.append(measure(game, policy.to(device).eval(), device, matches, seed))
    return Evaluation(config.game, checkpoint.path, checkpoint.update, *strengths)
