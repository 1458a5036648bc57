"""The 90 actions: combinations of the controller's inputs that are worth having, as bots of the community use them.

On the ground a car throttles, steers, boosts and slides. In the air it turns about three axes, jumps, dodges and
boosts. Combinations that do the same as another are left out.
"""

from itertools import product

import numpy as np

from nemesis.core.game import FloatArray

CONTROLS = ("throttle", "steer", "pitch", "yaw", "roll", "jump", "boost", "handbrake")


def _table() -> FloatArray:
    rows = [
        (throttle, steer, 0, steer, 0, 0, boost, handbrake)
        for throttle, steer, boost, handbrake in product((-1, 0, 1), (-1, 0, 1), (0, 1), (0, 1))
        if throttle == 1 or not boost  # boosting throttles fully
    ]
    for pitch, yaw, roll, jump, boost in product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1), (0, 1), (0, 1)):
        if jump and yaw:  # a sideways dodge needs roll only
            continue
        if pitch == roll == jump == 0:  # the same as on the ground
            continue
        dodges = jump and (pitch or roll)
        rows.append((boost, yaw, pitch, yaw, roll, jump, boost, 1 if dodges else 0))
    return np.array(rows, dtype=np.float32)


ACTIONS = _table()  # (action, control)
NEUTRAL = int(np.flatnonzero(~ACTIONS.any(axis=1))[0])  # no input at all
