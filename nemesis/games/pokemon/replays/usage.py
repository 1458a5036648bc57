"""Usage statistics of replays: how often each species is seen with each move, item, ability, tera type and team mate.

Hosts count what logs show, and sample what logs do not show from the totals. Totals do not depend on the order of the
replays or on which host counted them, so neither do the samples.
"""

from collections import Counter
from collections.abc import Iterable

from nemesis.core.replays import UsageCounts

_MOST_COMMON = 64  # values that are kept of a species and a kind of fact; rarer ones are mistakes and jokes


def total_usage(counts: Iterable[UsageCounts]) -> UsageCounts:
    """Return the sum of counts by species, kind of fact (moves, item, ability, tera, team) and value."""
    totals: dict[tuple[str, str], Counter[str]] = {}
    for part in counts:
        for species, kinds in part.items():
            for kind, values in kinds.items():
                totals.setdefault((species, kind), Counter()).update(values)
    usage: dict[str, dict[str, dict[str, int]]] = {}
    for (species, kind), values in sorted(totals.items()):
        ranked = sorted(values, key=lambda value: (-values[value], value))[:_MOST_COMMON]
        usage.setdefault(species, {})[kind] = {value: values[value] for value in ranked}
    return usage
