"""The payoff of a population from scored matches: only the cells that are missing are played."""

import numpy as np

from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission
from nemesis.play.matches import play
from nemesis.play.named_players import open_player
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player
from nemesis.population.meta_game.payoffs import Estimate, Payoffs, exploitability
from nemesis.population.meta_game.solution import Floats, Solution
from nemesis.population.psro.config import PSROConfig
from nemesis.population.psro.payoff_log import PayoffLog
from nemesis.population.psro.state import PSROMember, PSROState


class SampledMetaGame:
    """Wins and losses of members against each other, each side alike often."""

    def __init__(self, config: PSROConfig, game: Game, state: PSROState, imports: ImportPermission) -> None:
        self._config = config
        self._game = game
        self._state = state
        self._log = PayoffLog(state.folder)
        self._options = PlayOptions(allow_imports=imports)

    def complete(self) -> None:
        """Play the missing matches, pair by pair."""
        members = self._state.members
        missing = self._config.matches - self._log.played(self._names)
        for second in range(len(members)):
            for first in range(second):
                if missing[first, second] > 0:
                    self._play(first, second, int(missing[first, second]))

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

    @property
    def _names(self) -> list[str]:
        return [member.name for member in self._state.members]

    @property
    def _payoffs(self) -> Payoffs:
        return self._log.payoffs(self._names)

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self._config.seed)

    def _play(self, first: int, second: int, matches: int) -> None:
        """Play matches of two members and log their score."""
        names = (self._names[first], self._names[second])
        seeds = np.random.SeedSequence([self._config.seed, first, second]).generate_state(3).tolist()
        slots = min(self._config.training.collection.slots, matches)
        one, other = (
            self._open(self._state.members[member], slots, seed)
            for member, seed in zip((first, second), seeds, strict=False)
        )
        activity = f"Playing {names[0]} against {names[1]}"
        (score,) = play(self._game, one, [other], matches=matches, slots=slots, seed=seeds[2], activity=activity)
        self._log.add(*names, score)

    def _open(self, member: PSROMember, slots: int, seed: int) -> Player:
        name = member.name if member.file is None else str(self._state.path(member))
        return open_player(self._game, name, slots, seed, self._options)
