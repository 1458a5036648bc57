"""The payoff of a population in a game whose policies are tables: computed, without matches.

With exact best responses, each side has a mixture of its own, as in the double oracle method (McMahan et al. 2003,
Planning in the Presence of Cost Functions Controlled by an Adversary). Learned ones play both sides, and so does the
mixture that they are trained against; the payoff is then the mean over the sides, which is antisymmetric.
"""

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.files import replacement
from nemesis.core.game import SIDES, Game
from nemesis.core.plugins import ImportPermission
from nemesis.core.tables import TabularGame, TabularPolicy
from nemesis.play.policy_players import as_step_policy
from nemesis.play.scripted import RANDOM
from nemesis.policies.build import choose_device
from nemesis.population.meta_game.payoffs import Estimate
from nemesis.population.meta_game.solution import Floats, Solution
from nemesis.population.psro.config import PSROConfig
from nemesis.population.psro.state import MEMBERS, PSROMember, PSROState
from nemesis.storage.policies import find_policy

_DIGITS = 12


class ComputedMetaGame:
    """Exact payoffs, best responses and NashConv."""

    def __init__(self, config: PSROConfig, game: Game, state: PSROState, imports: ImportPermission) -> None:
        if not isinstance(game, TabularGame):
            raise UserError(f"{game.spec.name} is too large for exact best responses; set best_response=learned.")
        self._game = game
        self._state = state
        self._imports = imports
        self._both_sides = config.best_response == "learned"
        self._tables = game.tables()
        self._policies: list[TabularPolicy] = []
        self._payoff = np.zeros((0, 0))  # of side 0

    def complete(self) -> None:
        """Compute the rows and columns of new members."""
        known = len(self._policies)
        new = [self._open(member) for member in self._state.members[known:]]
        if not new:
            return
        everyone = [*self._policies, *new]
        payoff = np.zeros((len(everyone), len(everyone)))
        payoff[:known, :known] = self._payoff
        payoff[:, known:] = self._tables.payoff(everyone, new)
        payoff[known:, :known] = self._tables.payoff(new, self._policies) if known else 0.0
        # Sums of another order differ in the last digit, so that a PSRO that was interrupted could go another way.
        self._policies, self._payoff = everyone, np.round(payoff, _DIGITS)

    @property
    def payoff(self) -> Floats:
        return (self._payoff - self._payoff.T) / SIDES if self._both_sides else self._payoff

    def gain(self, member: int, solution: Solution) -> Estimate:
        payoff = self.payoff
        gain = float(payoff[member] @ solution.column - solution.row @ payoff[:, member])
        return Estimate(gain, gain, gain)

    def loss(self, solution: Solution) -> Estimate:
        loss = solution.nash_conv(self.payoff)
        return Estimate(loss, loss, loss)

    def exact(self, solution: Solution) -> float:
        return self._tables.nash_conv(self._mixture(solution))

    def intervals(self) -> tuple[Floats, Floats]:
        return self.payoff, self.payoff

    def respond(self, iteration: int, solution: Solution) -> PSROMember:
        """Compute best responses of both sides to the mixture, and save them as one member."""
        name = f"response-{iteration}"
        member = PSROMember(name, "table", f"{MEMBERS}/{name}.npy", iteration, f"iteration {iteration}")
        response = self._tables.best_response(self._mixture(solution))
        path = self._state.path(member)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacement(path) as temporary, temporary.open("wb") as file:
            np.save(file, response.table, allow_pickle=False)
        return member

    def _mixture(self, solution: Solution) -> TabularPolicy:
        """Return the table of a mixture of the first members."""
        present = np.flatnonzero((solution.row > 0) | (solution.column > 0))
        sides = (solution.row[present], solution.column[present])
        return self._tables.mixture([self._policies[member] for member in present], sides)

    def _open(self, member: PSROMember) -> TabularPolicy:
        if member.kind == "table":
            return self._tables.open(np.load(self._state.path(member), allow_pickle=False))
        if member.kind == "scripted":
            if member.name != RANDOM:
                raise UserError(f"{member.name} is a function, so its payoff cannot be computed; leave it out.")
            return self._tables.uniform()
        saved = find_policy(self._state.path(member), allow_imports=self._imports)
        device = choose_device()
        return self._tables.of(as_step_policy(saved.load(self._game).to(device), device))
