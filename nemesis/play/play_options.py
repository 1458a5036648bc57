"""How policies play when a command opens them."""

from dataclasses import dataclass

from nemesis.core.plugins import ImportPermission
from nemesis.policies.play_style import PlayStyle
from nemesis.storage.policies import DEFAULT_WEIGHTS, Weights


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """How a policy plays: its sampling, weights, and the size of its ensemble."""

    style: PlayStyle | None = None  # None: the style of the policy
    ensemble: int = 1
    weights: Weights = DEFAULT_WEIGHTS  # of checkpoints
    allow_imports: ImportPermission = False
