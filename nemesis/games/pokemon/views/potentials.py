"""How far a seat is ahead in a position: the potentials that dense rewards are made of.

    potential = own worth − foe's worth, each worth the mean over the Pokémon that take part

`hp` counts the share of HP that is left, `faint` whether it stands, `status` how little an ailment hampers it; a
fainted Pokémon has no ailment, the other two have counted its loss. Unseen Pokémon of the foe are whole, which is
the truth: what has not been on the field has not been hurt. Both seats therefore see the same position, and the
potentials of the two sum to zero but for what is hidden: the rounding of the foe's HP to per cent or 48ths, healing on
the bench (Regenerator) until the Pokémon is seen again, and what a disguise (Illusion) makes a seat believe. At team
preview everything is zero.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import FloatArray
from nemesis.games.pokemon.views.layout import FOE, OWN, PHASES, POKEMON, POSITION, SIDE, STATUSES, cut

POTENTIALS = {"hp": 0.5, "faint": 0.4, "status": 0.1}  # with the weights that they have unless a run gives others

# How much of a Pokémon an ailment takes away.
_SEVERITY = {"": 0.0, "brn": 0.5, "par": 0.5, "slp": 1.0, "frz": 1.0, "psn": 0.3, "tox": 0.6}
_HAMPERED = np.array([_SEVERITY[status] for status in STATUSES], np.float32)


def potentials(view: npt.NDArray[Any]) -> FloatArray:
    """Judge positions (n, view) in each of POTENTIALS, from −1 to 1: (n, potential)."""
    views = cut(view)
    pokemon = views.pokemon  # (n, side, member, column)
    known = pokemon[..., POKEMON.column("max_hp")]
    hp = pokemon[..., POKEMON.column("hp")] / np.maximum(known, 1, dtype=np.float32)
    fainted = (pokemon[..., POKEMON.column("fainted")] > 0) | ((known > 0) & (hp <= 0))
    # What a Pokémon has lost; those not yet known have lost nothing, so only the losses need to be summed.
    lost = np.stack(
        [
            np.where(fainted, 1, np.where(known > 0, 1 - hp, 0)),
            fainted,
            np.where(fainted, 0, _HAMPERED[pokemon[..., POKEMON.column("status")]]),
        ],
        axis=-1,
    )  # (n, side, member, potential)
    part = np.maximum(views.side[..., SIDE.column("brought_size")], 1)[..., None]  # (n, side, 1)
    share = lost.sum(axis=2) / part
    started = views.position[..., POSITION.column("phase")] != PHASES.index("preview")
    return np.asarray((share[:, FOE] - share[:, OWN]) * started[:, None], np.float32)
