"""Trains with rlgym-ppo on the environment of rlgym_environment.py; `rocket_league_speed --peer` runs it.

    python -m benchmarks.peers.rlgym_ppo SETTINGS

SETTINGS are the arguments of its `Learner`, as JSON. The package has to be on the path.
"""

import json
import sys
from typing import Any

from benchmarks.peers.rlgym_environment import make_environment


def environment() -> Any:
    from rlgym_ppo.util import RLGymV2GymWrapper  # noqa: PLC0415  optional

    return RLGymV2GymWrapper(make_environment(1))


def main() -> None:
    from rlgym_ppo import Learner  # noqa: PLC0415  optional

    Learner(environment, **json.loads(sys.argv[1])).learn()


if __name__ == "__main__":
    main()
