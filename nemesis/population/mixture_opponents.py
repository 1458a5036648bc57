"""Matchmaking against a mixture: the opponent of each match is drawn from policies and scripted players.

The run learns a best response to the mixture. It keeps copies of the policies, so that it can be resumed without them.
"""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission
from nemesis.play.experience import Experience
from nemesis.play.named_players import check_scripted, is_policy
from nemesis.play.pairings import MAIN, Pairing, Pairings, PlayerSource
from nemesis.policies.policy import Policy
from nemesis.population.exploiters import MEMBERS
from nemesis.storage.policies import SavedPolicy, find_policy
from nemesis.storage.policy_files import save_policy

_LEARNER = PlayerSource("learning", MAIN)


class AgainstMixture:
    """Matchmaking with the members of a mixture as the only opponents, each with its share of the matches."""

    learners: Mapping[str, tuple[Policy, int]] = {}

    def __init__(
        self, mixture: Mapping[str, float], game: Game, folder: Path, imports: ImportPermission = False
    ) -> None:
        self._game = game
        self._folder = folder
        self._names = {
            PlayerSource("frozen", _file(number)) if is_policy(name) else PlayerSource("scripted", name): name
            for number, name in enumerate(mixture)
        }
        pairings = zip(self._names, mixture.values(), strict=True)
        self.pairings = Pairings(tuple(Pairing(_LEARNER, source, share) for source, share in pairings))
        self.members: Set[PlayerSource] = set(self._names)
        self._opened: dict[str, tuple[SavedPolicy, Policy]] = {}  # what is not in the folder yet, by file
        for source, name in self._names.items():
            if source.kind == "scripted":
                check_scripted(game, name)
            elif not (folder / source.name).exists():
                saved = find_policy(name, allow_imports=imports)
                self._opened[source.name] = (saved, saved.load(game))

    def begin(self) -> None:
        for file, (saved, policy) in self._opened.items():
            about = {"from": str(saved.path), "config": saved.config}
            save_policy(self._folder / file, policy, saved.policy, self._game, about, saved.style)

    def remove_unused(self, needed: set[str]) -> None:
        """Remove nothing: every member is always needed."""

    def update(self, experience: Experience, *_: object) -> dict[str, float]:
        """Return the policy's mean returns as metrics: against the mixture, and against each member."""
        outcomes, scale = experience.outcomes, self._game.spec.utility_scale
        if _LEARNER not in outcomes.players:
            return {}
        own = (outcomes.player == outcomes.players.index(_LEARNER)) & outcomes.counted[:, None]  # (match, side)
        figures = {"opponents/return": float(outcomes.returns[own].mean() / scale)} if own.any() else {}
        for source, name in self._names.items():
            if source not in outcomes.players:
                continue
            met = own & (outcomes.player[:, ::-1] == outcomes.players.index(source))
            if met.any():
                figures[f"opponents/member_return/{name}"] = float(outcomes.returns[met].mean() / scale)
        return figures

    def conclude(self, *_: object) -> None:
        """Measure nothing: PSRO plays the new member's matches."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore nothing: the mixture does not change."""

    def continue_from(self, state: Mapping[str, Any]) -> None:
        """Take over nothing: the members are in the run's folder."""


def _file(number: int) -> str:
    return (MEMBERS / f"mixture-{number}.safetensors").as_posix()
