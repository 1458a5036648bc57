"""Measures the strength of a policy: exact NashConv for small games, else matches against scripted players."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch

from nemesis.core.game import SIDES, ExactGame, Game
from nemesis.core.interrupts import Stop, never
from nemesis.core.progress import report
from nemesis.evaluation.ratings import Rating, rate_against
from nemesis.evaluation.replays import SavedReplay, save_replays
from nemesis.evaluation.subject import Subject
from nemesis.play.matches import Score, play
from nemesis.play.policy_players import PolicyPlayer, as_step_policy
from nemesis.play.scripted import open_opponent
from nemesis.policies.build import choose_device
from nemesis.policies.policy import Policy

_POLICY = "policy"  # the name of what is measured, in its rating


@dataclass(frozen=True, slots=True)
class NashConv:
    """The gain of best responses against a policy in an exact game, summed over the sides."""

    value: float

    def metrics(self) -> dict[str, float]:
        return {"nash_conv": self.value}

    def rows(self, who: str) -> list[tuple[str, str]]:
        return [
            (f"NashConv, {who}", f"{self.value:.4f}"),
            (f"exploitability, {who}", f"{self.value / SIDES:.4f} per side"),
        ]

    def as_json(self) -> dict[str, Any]:
        return {"nash_conv": self.value}


@dataclass(frozen=True, slots=True)
class AgainstOpponents:
    """The scores of a policy against scripted players, and its rating if some of them are anchors."""

    scores: Mapping[str, Score]
    rating: Rating | None = None

    def metrics(self) -> dict[str, float]:
        win_rates = {f"win_rate_against_{name}": score.win_rate for name, score in self.scores.items()}
        returns = {f"return_against_{name}": score.mean for name, score in self.scores.items()}
        matches = {f"matches_against_{name}": float(score.matches) for name, score in self.scores.items()}
        rating = self.rating
        rated = {"rating": rating.elo, "rating_low": rating.low, "rating_high": rating.high} if rating else {}
        return win_rates | rated | returns | matches

    def rows(self, who: str) -> list[tuple[str, str]]:
        against = [(f"against {name}, {who}", score.summary()) for name, score in self.scores.items()]
        rating = self.rating
        if rating is None:
            return against
        return [*against, (f"rating, {who}", f"{rating.elo:.0f} ± {rating.margin:.0f} Elo, {rating.matches} matches")]

    def as_json(self) -> dict[str, Any]:
        against = {"against": {name: score.as_json() for name, score in self.scores.items()}}
        return against | ({"rating": self.rating.as_json()} if self.rating else {})


Strength: TypeAlias = NashConv | AgainstOpponents


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The strength of a checkpoint's two sets of weights."""

    game: str
    checkpoint: Path
    update: int
    last: Strength
    average: Strength
    replays: Sequence[SavedReplay] = ()
    world: str = ""  # if the game has several

    def rows(self) -> list[tuple[str, str]]:
        about = [("game", self.game), ("checkpoint", str(self.checkpoint)), ("update", str(self.update))]
        about += [("world", self.world)] if self.world else []
        figures = self.last.rows("last weights") + self.average.rows("averaged weights")
        return about + figures + [("replay", str(replay.path)) for replay in self.replays]

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "world": self.world or None,
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
    anchors: Mapping[str, float] | None = None,
    stop: Stop = never,
    who: str = "the policy",
) -> Strength:
    """Measure one policy: exactly, or by `matches` matches against each opponent, at most `slots` at once.

    With `anchors`, the ratings of some opponents, the policy is rated too.
    """
    if isinstance(game, ExactGame):
        report(f"Computing the exact NashConv of {who}")
        return NashConv(game.nash_conv(as_step_policy(policy, device)))
    if not matches:
        return AgainstOpponents({})
    player = PolicyPlayer(policy, game.spec, slots, device, seed)
    scripted = [open_opponent(game, name, seed + 1) for name in opponents]
    activity = f"Evaluating {who} against {', '.join(opponents)}"
    scores = play(game, player, scripted, matches=matches, slots=slots, seed=seed + 2, stop=stop, activity=activity)
    against = dict(zip(opponents, scores, strict=True))
    results = {name: (score.wins + score.draws / 2, score.matches) for name, score in against.items()}
    return AgainstOpponents(against, rate_against(_POLICY, results, anchors or {}))


def evaluate(subject: Subject, seed: int, replays: int = 0) -> Evaluation:
    """Measure the last and the averaged weights of a checkpoint.

    `replays` matches of the averaged weights against the strongest opponent are saved below its path.
    """
    saved, game, names = subject.saved, subject.game, subject.opponents
    torch.set_num_threads(subject.threads)
    device = choose_device()
    last, average = saved.load(game, "last").to(device), saved.load(game, "average").to(device)
    watched: Sequence[SavedReplay] = ()
    if replays:  # first, because it is refused for some games
        folder = subject.path / "replays" / f"update-{saved.update:08d}"
        watched = save_replays(game, average, device, opponent=names[-1], matches=replays, seed=seed, folder=folder)
    of_last, of_average = (
        measure(
            game,
            policy,
            device,
            opponents=names,
            matches=subject.matches,
            slots=subject.slots,
            seed=seed,
            anchors=subject.anchors,
            who=who,
        )
        for policy, who in ((last, "the last weights"), (average, "the averaged weights"))
    )
    return Evaluation(saved.game, saved.path, saved.update or 0, of_last, of_average, watched, game.spec.world)
