"""How strong a policy is: exactly where the game allows it, else by matches against random play."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nemesis.core.game import ExactGame, Game
from nemesis.games import open_game
from nemesis.policies.policy import Policy
from nemesis.runtime.actor import Actor, RandomActor, as_step_policy
from nemesis.runtime.assembly import build_policy, choose_device, config_of, find_checkpoint
from nemesis.runtime.matches import Score, play, slots_for


@dataclass(frozen=True, slots=True)
class Strength:
    """One policy's measure: NashConv of an exact game, or a score against random play."""

    nash_conv: float | None
    against_random: Score | None

    def metrics(self) -> dict[str, float]:
        if self.nash_conv is not None:
            return {"nash_conv": self.nash_conv}
        assert self.against_random is not None  # noqa: S101  one of the two is always there
        return {
            "return_against_random": self.against_random.mean,
            "win_rate_against_random": self.against_random.win_rate,
        }

    def rows(self, who: str) -> list[tuple[str, str]]:
        if self.nash_conv is not None:
            return [
                (f"NashConv, {who}", f"{self.nash_conv:.4f}"),
                (f"exploitability, {who}", f"{self.nash_conv / 2:.4f} a seat"),
            ]
        score = self.against_random
        assert score is not None  # noqa: S101
        return [
            (f"return against random, {who}", f"{score.mean:+.4f} ± {score.margin:.4f} ({score.matches} matches)"),
            (f"win rate against random, {who}", f"{score.win_rate:.1%}, {score.voided} voided"),
        ]

    def as_json(self) -> dict[str, Any]:
        if self.nash_conv is not None:
            return {"nashconv": self.nash_conv}
        score = self.against_random
        assert score is not None  # noqa: S101
        return {
            "return": score.mean,
            "return_margin": score.margin,
            "win_rate": score.win_rate,
            "matches": score.matches,
            "voided": score.voided,
        }


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
        return Strength(game.nash_conv(as_step_policy(policy, device)), None)
    actor = Actor(policy, slots_for(matches), device, seed)
    return Strength(None, play(game, actor, RandomActor(seed + 1), matches, seed + 2))


def evaluate(path: Path, matches: int, seed: int) -> Evaluation:
    """Measure the policy of a checkpoint, or of a run's newest valid checkpoint."""
    checkpoint = find_checkpoint(path)
    config = config_of(checkpoint)
    torch.set_num_threads(config.threads)
    game, device = open_game(config.game), choose_device(config)
    strengths = []
    for name in ("weights", "average"):
        policy = build_policy(config, game)
        policy.load_state_dict(checkpoint.tensors(name))
        strengths.append(measure(game, policy.to(device).eval(), device, matches, seed))
    return Evaluation(config.game, checkpoint.path, checkpoint.update, *strengths)
