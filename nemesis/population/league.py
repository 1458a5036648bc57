"""The matchmaking of a run with a population: turns its opponent pool and its exploiters into pairings.

The population is also written to `population.json` in the run's folder.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nemesis.core.files import replace_file
from nemesis.core.game import Game
from nemesis.core.interrupts import Stop, StoppedError, never
from nemesis.core.plugins import ImportPermission
from nemesis.play.experience import Experience
from nemesis.play.matchmaking import Matchmaker, SelfPlay
from nemesis.play.pairings import EXPLOITER, Pairings, PlayerSource
from nemesis.play.scripted import opponent_names
from nemesis.policies.policy import Policy
from nemesis.population.exploitation import AgainstTarget
from nemesis.population.exploiters import MEMBERS, Exploiters
from nemesis.population.members import Member
from nemesis.population.mixture_opponents import AgainstMixture
from nemesis.population.opponent_pool import FIRST_RATING, OpponentPool
from nemesis.storage.policies import SavedPolicy, find_policy
from nemesis.storage.policy_files import save_policy
from nemesis.training.config import RunConfig

REGISTRY = "population.json"
_GENERATED = ("past-*.safetensors", "target-*.safetensors")  # exploiters that passed are kept


def open_league(config: RunConfig, game: Game, folder: Path, imports: ImportPermission = False) -> Matchmaker:
    """Return the matchmaker that the config selects."""
    if config.opponents.target:
        return AgainstTarget(config, config.opponents.target, game, folder, imports)
    if config.opponents.mixture:
        return AgainstMixture(config.opponents.mixture, game, folder, imports)
    # In a curriculum, members outlive a stage of self-play.
    if config.opponents.only_self and not config.exploiter.interval and not config.curriculum.stages:
        return SelfPlay()
    return League(config, game, folder, imports)


class League:
    """Chooses opponents for the policy, and trains exploiters against it."""

    def __init__(self, config: RunConfig, game: Game, folder: Path, imports: ImportPermission = False) -> None:
        self._config = config
        self._imports = imports
        self._game = game
        self._folder = folder
        self._pool = OpponentPool(config.opponents, config.seed)
        self._exploiters = Exploiters(config, game, folder, config.seed, imports) if config.exploiter.interval else None
        self._cloned = self._open_cloned()
        if config.opponents.shares.scripted:
            for name in opponent_names(game, config.opponents.scripted):
                self._pool.add(Member(name, "scripted", PlayerSource("scripted", name), FIRST_RATING, 0))
        for number, path in enumerate(config.opponents.cloned):
            source = PlayerSource("frozen", (MEMBERS / f"cloned-{number}.safetensors").as_posix())
            self._pool.add(Member(f"cloned-{number}", "cloned", source, FIRST_RATING, 0, parent=path))
        self._pool.draw()

    @property
    def pairings(self) -> Pairings:
        pairs = self._pool.pairings()
        exploiting = self._exploiters.pairing if self._exploiters else None
        if exploiting is None:
            return Pairings(pairs)
        rest = 1.0 - exploiting.share
        return Pairings((*(replace(pair, share=rest * pair.share) for pair in pairs), exploiting))

    @property
    def learners(self) -> Mapping[str, tuple[Policy, int]]:
        return {EXPLOITER: (self._exploiters.policy, self._exploiters.version)} if self._exploiters else {}

    @property
    def members(self) -> set[PlayerSource]:
        target = self._exploiters.target if self._exploiters else None
        return {member.source for member in self._pool.members.values()} | ({target} if target else set())

    def remove_unused(self, needed: set[str]) -> None:
        for pattern in _GENERATED:
            for file in (self._folder / MEMBERS).glob(pattern):
                if (MEMBERS / file.name).as_posix() not in needed:
                    file.unlink(missing_ok=True)

    def begin(self) -> None:
        """Write what a new run needs on disk."""
        for number, (saved, policy) in enumerate(self._cloned):
            file = self._folder / MEMBERS / f"cloned-{number}.safetensors"
            about = {"from": self._config.opponents.cloned[number], "config": saved.config}
            save_policy(file, policy, saved.policy, self._game, about, saved.style)
        self._register()

    def update(
        self, experience: Experience, policy: Policy, average: Policy, update: int, stop: Stop = never
    ) -> dict[str, float]:
        self._pool.add_outcomes(experience.outcomes)
        self._pool.advance(update)
        changed = self._freeze(policy, update)
        metrics: dict[str, float] = {}
        if self._exploiters:
            metrics = self._exploiters.learn(experience.episodes.get(EXPLOITER))
            if self._exploiters.ready:
                metrics |= self._evaluate_exploiter(update, stop)
                changed = True
            if self._exploiters.target is None and update % self._config.exploiter.interval == 0:
                target = average if self._config.exploiter.weights == "average" else policy
                self._exploiters.begin(target, update)
        if changed or update % self._config.opponents.rotation == 0:
            self._register()
        return metrics | self._pool.metrics()

    def conclude(self, *_: object) -> None:
        """Measure nothing: evaluations and exploiters have measured all."""

    def state(self) -> dict[str, Any]:
        return {"pool": self._pool.state()} | ({"exploiters": self._exploiters.state()} if self._exploiters else {})

    def restore(self, state: Mapping[str, Any]) -> None:
        self._pool.restore(state["pool"])
        if self._exploiters:
            self._exploiters.restore(state["exploiters"])
        self._register()

    def continue_from(self, state: Mapping[str, Any]) -> None:
        self._pool.continue_from(state["pool"])
        if self._exploiters:
            self._exploiters.continue_from(state["exploiters"])
        self._register()

    def _open_cloned(self) -> list[tuple[SavedPolicy, Policy]]:
        """Open the policies of the category cloned; a resumed run has its own copies."""
        if (self._folder / MEMBERS / "cloned-0.safetensors").exists():
            return []
        saved = [find_policy(name, allow_imports=self._imports) for name in self._config.opponents.cloned]
        return [(one, one.load(self._game)) for one in saved]

    def _freeze(self, policy: Policy, update: int) -> bool:
        """Add a frozen copy of the policy to the pool, every `past_interval` updates."""
        settings = self._config.opponents
        if not settings.shares.past or update % settings.past_interval:
            return False
        name = f"past-{update:08d}"
        file = MEMBERS / f"{name}.safetensors"
        about = {"update": update, "config": self._config.model_dump(mode="json")}
        save_policy(self._folder / file, policy, self._config.policy, self._game, about)
        source = PlayerSource("frozen", file.as_posix())
        self._pool.add(Member(name, "past", source, self._pool.rating, update, parent=f"update {update}"))
        return True

    def _evaluate_exploiter(self, update: int, stop: Stop) -> dict[str, float]:
        """Evaluate the exploiter and, if it passed, use it as an opponent at once. If stopped, this is postponed."""
        assert self._exploiters is not None  # noqa: S101
        try:
            result = self._exploiters.evaluate(stop)
        except StoppedError:
            return {}
        if result.file is not None and self._config.opponents.shares.exploiter:
            name = f"exploiter-{result.update:08d}"
            source = PlayerSource("frozen", result.file)
            member = Member(name, "exploiter", source, self._pool.rating, update, parent=f"update {result.update}")
            self._pool.add(member)
            self._pool.draw(wanted=member)
        return {
            "exploiter/win_rate": result.win_rate,
            "exploiter/win_rate_low": result.low,
            "exploiter/win_rate_high": result.high,
            "exploiter/matches": float(result.matches),
            "exploiter/target_update": float(result.update),
            "exploiter/decisions": float(result.decisions),
            "exploiter/added": float(result.added),
        }

    def _register(self) -> None:
        results = self._exploiters.results if self._exploiters else []
        registry = {
            "rating": self._pool.rating,
            "members": [member.as_json() for member in self._pool.members.values()],
            "exploiters": [asdict(result) for result in results],
        }
        replace_file(self._folder / REGISTRY, json.dumps(registry, indent=2) + "\n")
