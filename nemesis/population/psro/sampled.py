"""The payoff of a population from scored matches: only those that are missing are played.

The members are also a population on disk, in a folder of its own, with a log of all matches.
"""

import re

import numpy as np

from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission
from nemesis.evaluation.payoffs.play import Budget
from nemesis.games.config import game_config_of
from nemesis.population.meta_game.payoffs import Estimate, Payoffs, exploitability
from nemesis.population.meta_game.solution import Floats, Solution
from nemesis.population.psro.config import PSROConfig
from nemesis.population.psro.state import PSROMember, PSROState
from nemesis.population.store.directory import NewMember, add_members
from nemesis.population.store.payoff_log import read_log
from nemesis.population.store.play import PlayRequest, play_population
from nemesis.storage.populations import (
    MEMBERS,
    REGISTRY,
    PopulationRecord,
    matching_settings,
    read_population,
    write_population,
)

POPULATION = "population"


class SampledMetaGame:
    """Wins and losses of members against each other, each side alike often."""

    def __init__(self, config: PSROConfig, game: Game, state: PSROState, imports: ImportPermission) -> None:
        self._config = config
        self._game = game
        self._state = state
        self._folder = state.folder / POPULATION
        self._imports = imports
        self._payoffs = Payoffs(np.zeros((0, 0, 3), dtype=np.int64))

    def complete(self) -> None:
        """Play the missing matches, in as many processes as a run has actors, and count all."""
        record = self._grown()
        if len(record.members) > 1:
            collection = self._config.training.collection
            request = PlayRequest(
                matches=self._config.matches,
                order="round_robin",
                budget=Budget(),
                seed=self._config.seed,
                processes=collection.actors,
                imports=self._imports,
                slots=collection.slots,
            )
            play_population(self._folder, request)
        numbers = np.array([record.member(_name(member)).number for member in self._state.members], dtype=np.int64)
        counts = read_log(self._folder).counts(len(record.every_member)).of(numbers)
        self._payoffs = Payoffs(counts.results.sum(axis=2))

    @property
    def payoff(self) -> Floats:
        return self._payoffs.mean

    def gain(self, member: int, solution: Solution) -> Estimate:
        return self._payoffs.estimate(lambda payoff: 2 * float(payoff[member] @ solution.row), self._generator())

    def loss(self, solution: Solution) -> Estimate:
        return exploitability(self._payoffs, solution.row, self._generator())

    def exact(self, solution: Solution) -> None:
        """Return nothing: there are too many histories."""

    def intervals(self) -> tuple[Floats, Floats]:
        return self._payoffs.intervals(self._generator())

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self._config.seed)

    def _grown(self) -> PopulationRecord:
        """Return the population on disk, with the members that it lacked."""
        if not (self._folder / REGISTRY).exists():
            config = game_config_of(self._config.training.model_dump(mode="json"))
            (self._folder / MEMBERS).mkdir(parents=True, exist_ok=True)
            version = self._game.spec.view_version
            write_population(PopulationRecord(self._folder, config.game, matching_settings(config), version, ()))
        record = read_population(self._folder)
        known = {member.name for member in record.members}
        new = [self._new(member) for member in self._state.members if _name(member) not in known]
        return add_members(self._folder, new, imports=self._imports) if new else record

    def _new(self, member: PSROMember) -> NewMember:
        player = member.name if member.file is None else str(self._state.path(member))
        about = {"iteration": member.iteration, "origin": member.origin}
        return NewMember(player, _name(member), about=about)


def _name(member: PSROMember) -> str:
    """Return a member's name in the population on disk, which may have no colons."""
    return re.sub(r"[^\w.-]+", "_", member.name)
