"""How strong a policy is: exactly where the game allows it, else by matches against fixed opponents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch

from nemesis.core.config import build_config
from nemesis.core.game import SIDES, ExactGame, Game
from nemesis.core.interrupts import Stop, never
from nemesis.evaluation.replays import Replay, record
from nemesis.play.matches import Score, play
from nemesis.play.players import PolicyPlayer, as_step_policy
from nemesis.play.scripted import open_opponent, opponent_names
from nemesis.policies.policy import Policy
from nemesis.training.assembly import build_policy, find_checkpoint, open_game_of
from nemesis.training.config import RunConfig


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

    def as_json(self) -> dict[str, Any]:
        return {"nashconv": self.value}


@dataclass(frozen=True, slots=True)
class AgainstOpponents:
    """What a policy earns against fixed opponents."""

    scores: Mapping[str, Score]

    def metrics(self) -> dict[str, float]:
        win_rates = {f"win_rate_against_{name}": score.win_rate for name, score in self.scores.items()}
        return win_rates | {f"return_against_{name}": score.mean for name, score in self.scores.items()}

    def rows(self, who: str) -> list[tuple[str, str]]:
        return [(f"against {name}, {who}", score.in_words()) for name, score in self.scores.items()]

    def as_json(self) -> dict[str, Any]:
        return {"against": {name: score.as_json() for name, score in self.scores.items()}}


Strength: TypeAlias = NashConv | AgainstOpponents


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a checkpoint's two sets of weights are worth."""

    game: str
    checkpoint: Path
    update: int
    last: Strength
    average: Strength
    replays: Sequence[Replay] = ()

    def rows(self) -> list[tuple[str, str]]:
        about = [("game", self.game), ("checkpoint", str(self.checkpoint)), ("update", str(self.update))]
        figures = self.last.rows("last weights") + self.average.rows("averaged weights")
        return about + figures + [("replay", str(replay.path)) for replay in self.replays]

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "checkpoint": str(self.checkpoint),
            "update": self.update,
            **{f"{name}_last": value for name, value in self.last.as_json().items()},
            **{f"{name}_average": value for name, value in self.average.as_json().items()},
            "replays": [str(replay.path) for replay in self.replays],
        }


def measure(
    game: Game,
    policy: Policy,
    device: torch.device,
    *,
    opponents: Sequence[str],
    matches: int,
    slots: int,
    seed: int,
    stop: Stop = never,
) -> Strength:
    """Measure one policy: exactly, or over so many matches against each opponent, at most `slots` at once."""
    if isinstance(game, ExactGame):
        return NashConv(game.nash_conv(as_step_policy(policy, device)))
    if not matches:
        return AgainstOpponents({})
    actor = PolicyPlayer(policy, slots, device, seed)
    players = [open_opponent(game, name, seed + 1) for name in opponents]
    scores = play(game, actor, players, matches=matches, slots=slots, seed=seed + 2, stop=stop)
    return AgainstOpponents(dict(zip(opponents, scores, strict=True)))


def evaluate(
    path: Path,
    seed: int,
    matches: int | None = None,
    opponents: Sequence[str] | None = None,
    replays: int = 0,
    overrides: Sequence[str] = (),
) -> Evaluation:
    """Measure the policy of a checkpoint, or of a run's newest valid checkpoint, whatever device it was trained on.

    What is not given is as in the settings of the run, with the overrides on top. So many `replays` of the averaged
    weights against the strongest of the opponents are saved at the path.
    """
    checkpoint = find_checkpoint(path)
    config = build_config(RunConfig, checkpoint.config, overrides)
    torch.set_num_threads(config.threads)
    game = open_game_of(config)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    names = opponent_names(game, opponents or config.evaluation.opponents)

    count, slots = matches or config.evaluation.matches, config.collection.slots
    policies = {weights: build_policy(config, game) for weights in ("weights", "average")}
    strengths = []
    for weights, policy in policies.items():
        policy.load_state_dict(checkpoint.tensors(weights))
        policy.to(device).eval()
        strengths.append(measure(game, policy, device, opponents=names, matches=count, slots=slots, seed=seed))
    saved: Sequence[Replay] = ()
    if replays:
        folder = path / "replays" / f"update-{checkpoint.update:08d}"
        saved = record(game, policies["average"], device, opponent=names[-1], matches=replays, seed=seed, folder=folder)
    last, average = strengths
    return Evaluation(config.game, checkpoint.path, checkpoint.update, last, average, saved)
