"""What is usual in a set of replays, by species, to fill in what a log does not tell of a team.

Hosts count what logs tell (`host/replay/usage.js`), and draw from the sums. Counts add up in any order, and have one
order themselves, so what is drawn does not depend on the order of the replays, or on who counted which.
"""

from collections import Counter
from collections.abc import Mapping

Counts = Mapping[
    str, Mapping[str, Mapping[str, int]]
]  # by species, kind of fact (moves, item, ability, tera, team), id

_MOST = 64  # ids of a kind that are told: the rest are mistakes and jokes


class Usage:
    """Counts that grow."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], Counter[str]] = {}

    def add(self, counts: Counts) -> None:
        for species, kinds in counts.items():
            for kind, ids in kinds.items():
                self._counts.setdefault((species, kind), Counter()).update(ids)

    def usual(self) -> Counts:
        """Return the sums, of each kind those of the likeliest ids."""
        usual: dict[str, dict[str, dict[str, int]]] = {}
        for (species, kind), ids in sorted(self._counts.items()):
            ranked = sorted(ids, key=lambda one: (-ids[one], one))[:_MOST]
            usual.setdefault(species, {})[kind] = {one: ids[one] for one in ranked}
        return usual
