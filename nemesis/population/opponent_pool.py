"""The opponent pool: its members, the policy's win rate against each, and the sampling of opponents.

The category of an opponent is sampled by the categories' shares, the member within it by the sampling rule. With
`adaptation`, the shares move toward the categories that the policy loses to:

    share ← share + adaptation · (wanted − share),   wanted ∝ 1 − win rate against the category

Each category keeps a minimum share, `floor`, and self-play `least_self`.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import SIDES
from nemesis.core.random import generator_state, restore_generator
from nemesis.play.pairings import MAIN, Outcomes, Pairing, PlayerSource
from nemesis.population.members import CATEGORIES, DRAWN, LOST, WON, Category, Member, WinRate
from nemesis.population.sampling import chances
from nemesis.training.config import OpponentsConfig

FIRST_RATING = 1000.0
_ELO_STEP = 4.0  # the K-factor: points for a win with probability 0
_ELO_SCALE = 400.0
_BISECTION_STEPS = 40
_DROPPED: tuple[Category, ...] = ("past", "exploiter")  # categories that the run creates, and may drop

_SELF = PlayerSource("learning", MAIN)


class OpponentPool:
    """All members, and the policy's rating among them."""

    def __init__(self, config: OpponentsConfig, seed: int) -> None:
        self._config = config
        self._generator = np.random.default_rng(seed)
        self.members: dict[str, Member] = {}
        self.rating = FIRST_RATING  # of the policy
        self.win_rates: dict[Category, WinRate] = {category: WinRate() for category in CATEGORIES}
        start = config.shares.model_dump()
        self.shares: dict[Category, float] = {category: start[category] for category in CATEGORIES}
        self.met: dict[str, float] = {}  # member → share of the policy's matches that are against it
        self.matches = Counter(
            self=0, others=0, credited=0
        )  # matches that count; those against dropped members are not credited

    def add(self, member: Member) -> None:
        """Add a member. If there are too many, drop the weakest, but never the last of a category."""
        self.members[member.name] = member
        made = [one for one in self.members.values() if one.category in _DROPPED]
        if len(made) > self._config.members:
            others = [one for one in made if one is not member and len(self.of(one.category)) > 1]
            if others:
                self._drop(min(others, key=lambda one: one.rating))

    def of(self, category: Category) -> list[Member]:
        return [member for member in self.members.values() if member.category == category]

    def add_outcomes(self, outcomes: Outcomes) -> None:
        """Add the results of matches between the policy and members."""
        if _SELF not in outcomes.players:
            return
        policy = outcomes.players.index(_SELF)
        own = (outcomes.player == policy).sum(axis=1)[outcomes.counted]
        self.matches["self"] += int((own == SIDES).sum())
        self.matches["others"] += int((own == 1).sum())
        by_source = {member.source: member for member in self.members.values()}
        for number, source in enumerate(outcomes.players):
            member = by_source.get(source)
            if member is None:
                continue
            for side in range(SIDES):
                met = (outcomes.player[:, side] == policy) & (outcomes.player[:, 1 - side] == number) & outcomes.counted
                if met.any():
                    self._add_results(member, side, outcomes.returns[met, side])

    def advance(self, update: int) -> None:
        """Move the shares, drop members that are too weak, and at intervals draw new opponents."""
        self._move_shares()
        behind = [one for one in self.members.values() if self.rating - one.rating > self._config.rating_gap]
        for member in behind:
            if member.category in _DROPPED and len(self.of(member.category)) > 1:
                self._drop(member)
        if update % self._config.rotation == 0:
            self.draw()

    def draw(self, wanted: Member | None = None) -> None:
        """Draw the next opponents; `wanted` is always among them."""
        shares = self._possible_shares()
        others = {category: share for category, share in shares.items() if category != "self" and share > 0}
        self.met = {}
        for category, share in others.items():
            members = self.of(category)
            chance = chances(members, self.rating, self._config)
            quota = max(1, round(self._config.at_once * share / sum(others.values())))
            drawn = self._generator.choice(
                len(members), quota, p=chance
            )  # with replacement: two draws double the share
            if wanted in members:
                drawn[-1] = members.index(wanted)
            place, count = np.unique(drawn, return_counts=True)
            met = zip(place, count / quota, strict=True)
            self.met |= {members[one].name: share * float(part) for one, part in met}

    def pairings(self) -> tuple[Pairing, ...]:
        """Return the policy's pairings, self-play first; the shares sum to one."""
        others = [Pairing(_SELF, self.members[name].source, share) for name, share in self.met.items()]
        alone = 1.0 - sum(self.met.values())
        return (Pairing(_SELF, _SELF, alone), *others) if alone > 1e-9 else tuple(others)

    def metrics(self) -> dict[str, float]:
        figures = {"opponents/rating": self.rating, "opponents/members": float(len(self.members))}
        for category, share in self._possible_shares().items():
            if share > 0:
                figures[f"opponents/share/{category}"] = share
                if category != "self":
                    figures[f"opponents/win_rate/{category}"] = self.win_rates[category].rate
        for name, share in self.met.items():
            member = self.members[name]
            figures[f"opponents/member_share/{name}"] = share
            figures[f"opponents/member_win_rate/{name}"] = member.against.rate
            figures[f"opponents/member_rating/{name}"] = member.rating
        return figures

    def state(self) -> dict[str, Any]:
        return {
            "generator": [int(word) for word in generator_state(self._generator)],
            "members": [member.as_json() for member in self.members.values()],
            "rating": self.rating,
            "win_rates": {category: [rate.score, rate.weight] for category, rate in self.win_rates.items()},
            "shares": dict(self.shares),
            "met": dict(self.met),
            "matches": dict(self.matches),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        restore_generator(self._generator, np.array(state["generator"], dtype=np.uint64))
        self.members = {one["name"]: Member.from_json(one) for one in state["members"]}
        self.rating = state["rating"]
        self.win_rates = {category: WinRate(*rate) for category, rate in state["win_rates"].items()}
        self.shares = dict(state["shares"])
        self.met = dict(state["met"])
        self.matches = Counter(state["matches"])

    def continue_from(self, state: Mapping[str, Any]) -> None:
        """Take over the members of an earlier stage, from the state of its pool; shares are those of this stage.

        Scripted members are those of this stage; the ones that both have keep their ratings.
        """
        own, shares = self.members, self.shares
        self.restore(state)
        kept = {name: one for name, one in self.members.items() if one.category != "scripted" or name in own}
        self.members = {**own, **kept}
        self.shares = shares
        self.draw()

    def _add_results(self, member: Member, side: int, returns: npt.NDArray[np.float32]) -> None:
        """Add the policy's returns (n,) against a member from one side."""
        score = np.where(returns > 0, 1.0, np.where(returns < 0, 0.0, 0.5))
        member.record[side] += np.bincount(np.select([score == 1, score == 0], [WON, LOST], DRAWN), minlength=3)
        self.matches["credited"] += len(score)
        member.against.add(score, self._config.memory)
        self.win_rates[member.category].add(score, self._config.memory)
        points = elo_points(self.rating - member.rating, float(score.sum()), len(score))
        self.rating += points
        member.rating -= points

    def _move_shares(self) -> None:
        speed, available = self._config.adaptation, self._available()
        if not speed or len(available) < 2:
            return
        wanted = np.array([0.5 if category == "self" else 1 - self.win_rates[category].rate for category in available])
        share = np.array([self.shares[category] for category in available])
        moved = share / share.sum() + speed * (wanted / wanted.sum() - share / share.sum())
        self.shares |= dict(zip(available, self._floored(available, moved), strict=True))

    def _possible_shares(self) -> dict[Category, float]:
        """Return the shares, with those of empty categories distributed over the others."""
        available = self._available()
        share = np.array([self.shares[category] for category in available])
        if not share.any():
            return {"self": 1.0}
        share /= share.sum()
        return dict(
            zip(available, self._floored(available, share) if self._config.adaptation else share.tolist(), strict=True)
        )

    def _available(self) -> list[Category]:
        """Return the categories that have an initial share and a member."""
        start = self._config.shares.model_dump()
        return [
            category for category in CATEGORIES if start[category] > 0 and (category == "self" or self.of(category))
        ]

    def _floored(self, available: list[Category], share: npt.NDArray[np.float64]) -> list[float]:
        """Return the shares of some categories, none below its minimum."""
        least = np.array(
            [self._config.least_self if category == "self" else self._config.floor for category in available]
        )
        floored: list[float] = at_least(share, least).tolist()
        return floored

    def _drop(self, member: Member) -> None:
        del self.members[member.name]
        if member.name in self.met:
            self.draw()


def elo_points(lead: float, score: float, matches: int) -> float:
    """Return the Elo points that a player with that lead gains, and the other loses, by a score over some matches.

    The expected score uses the ratings after the step, so that a step over many matches does not overshoot. The gain
    is found by bisection.
    """
    low, high = -_ELO_STEP * matches, _ELO_STEP * matches
    for _ in range(_BISECTION_STEPS):
        points = (low + high) / 2
        expected = matches / (1 + 10 ** (-(lead + 2 * points) / _ELO_SCALE))
        if _ELO_STEP * (score - expected) > points:
            low = points
        else:
            high = points
    return (low + high) / 2


def at_least(share: npt.NDArray[np.float64], least: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return shares that sum to one, none below its minimum; shares above their minimum are reduced in proportion."""
    spare = np.maximum(share - least, 0.0)
    rest = spare / spare.sum() if spare.any() else np.full(len(share), 1 / len(share))
    total = max(float(least.sum()), 1.0)  # minimums that sum to more than one are scaled down
    result: npt.NDArray[np.float64] = least / total + (1.0 - least.sum() / total) * rest
    return result
