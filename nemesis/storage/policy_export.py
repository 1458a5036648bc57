"""A policy that is exported: as a policy file, or by a game family in a format of its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nemesis.policies.play_style import PlayStyle
from nemesis.storage.policies import SavedPolicy, Weights
from nemesis.storage.policy_files import save_policy

if TYPE_CHECKING:
    from nemesis.core.game import Game
    from nemesis.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class PolicyExport:
    """A policy with its weights, and how it plays by default where it is opened again."""

    saved: SavedPolicy
    policy: "Policy"
    game: "Game"
    weights: Weights
    style: PlayStyle

    def save(self, file: Path) -> None:
        """Write it as a policy file."""
        saved = self.saved
        about = {
            "update": saved.update,
            "decisions": saved.decisions,
            "weights": self.weights,
            "config": dict(saved.training_config()),
        }
        save_policy(file, self.policy, saved.policy, self.game, about, self.style, world=saved.world)
