"""Potentials for reward shaping: how far a seat is ahead in a position.

    potential = own value − foe's value, each the mean over the Pokémon that take part

`hp` is the fraction of HP that is left, `faint` whether the Pokémon has not fainted, `status` how little a status
condition weakens it. A fainted Pokémon has no status condition, since `hp` and `faint` already count its loss. Unseen
Pokémon of the foe have full HP, which is exact, as they have not been on the field yet. The potentials of the two seats
therefore sum to zero, except for hidden information: the foe's HP is rounded to per cent or 48ths, healing on the bench
(Regenerator) is unknown until the Pokémon is seen again, and Illusion shows a wrong Pokémon. At team preview all
potentials are zero.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import FloatArray
from nemesis.games.pokemon.views.layout import FOE, OWN, PHASES, POKEMON, POSITION, SIDE, STATUSES, cut

POTENTIALS = {"hp": 0.5, "faint": 0.4, "status": 0.1}  # with their default weights

# The loss of value by a status condition.
_SEVERITY = {"": 0.0, "brn": 0.5, "par": 0.5, "slp": 1.0, "frz": 1.0, "psn": 0.3, "tox": 0.6}
_STATUS_LOSS = np.array([_SEVERITY[status] for status in STATUSES], np.float32)


def potentials(view: npt.NDArray[Any]) -> FloatArray:
    """Return each of POTENTIALS in positions (n, view), from −1 to 1: (n, potential)."""
    views = cut(view)
    pokemon = views.pokemon  # (n, side, member, column)
    known = pokemon[..., POKEMON.column("max_hp")]
    hp = pokemon[..., POKEMON.column("hp")] / np.maximum(known, 1, dtype=np.float32)
    fainted = (pokemon[..., POKEMON.column("fainted")] > 0) | ((known > 0) & (hp <= 0))
    # Pokémon that are not known yet have lost nothing, so summing the losses is enough.
    lost = np.stack(
        [
            np.where(fainted, 1, np.where(known > 0, 1 - hp, 0)),
            fainted,
            np.where(fainted, 0, _STATUS_LOSS[pokemon[..., POKEMON.column("status")]]),
        ],
        axis=-1,
    )  # (n, side, member, potential)
    size = np.maximum(views.side[..., SIDE.column("brought_size")], 1)[..., None]  # (n, side, 1)
    loss = lost.sum(axis=2) / size
    started = views.position[..., POSITION.column("phase")] != PHASES.index("preview")
    return np.asarray((loss[:, FOE] - loss[:, OWN]) * started[:, None], np.float32)
