"""The games as standard environments, for those who bring their own learning code.

`aec_env` and `parallel_env` are PettingZoo environments with one agent per seat. `gymnasium_env` is one seat against an
opponent, and `gymnasium_vector_env` is the same over many matches in one pool. Gymnasium also finds the last two as
`nemesis/Match-v0`, with the game as an argument.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.environments.illegal_actions import IllegalAction

try:
    import gymnasium
    import pettingzoo  # noqa: F401 (only whether it is there)
except ModuleNotFoundError as error:
    raise UserError(
        f"nemesis.environments needs {error.name}, which is not installed; run `pip install nemesis-rl[environments]`."
    ) from error

if TYPE_CHECKING:
    from nemesis.environments.aec import MatchAECEnv
    from nemesis.environments.gymnasium_single import MatchEnv
    from nemesis.environments.gymnasium_vector import MatchVectorEnv
    from nemesis.environments.parallel import MatchParallelEnv
    from nemesis.play.players import Player

__all__ = ["IllegalAction", "aec_env", "gymnasium_env", "gymnasium_vector_env", "parallel_env"]


def aec_env(
    game: str | Game, *, illegal_action: IllegalAction = "raise", settings: Mapping[str, Any] | None = None
) -> "MatchAECEnv":
    """Return a PettingZoo AEC environment: seats that have to act are selected one by one.

    Args:
        game: a name such as `openspiel:leduc_poker`, or a game.
        illegal_action: what an action outside the mask does (`IllegalAction`).
        settings: settings of the game's family, if the game is given by name, for example `{"hosts": 1}`.
    """
    from nemesis.environments.aec import MatchAECEnv  # noqa: PLC0415

    return MatchAECEnv(game, illegal_action=illegal_action, settings=settings)


def parallel_env(
    game: str | Game, *, illegal_action: IllegalAction = "raise", settings: Mapping[str, Any] | None = None
) -> "MatchParallelEnv":
    """Return a PettingZoo parallel environment: all seats act in every step. The arguments are those of `aec_env`."""
    from nemesis.environments.parallel import MatchParallelEnv  # noqa: PLC0415

    return MatchParallelEnv(game, illegal_action=illegal_action, settings=settings)


def gymnasium_env(
    game: str | Game,
    opponent: "str | Path | Player" = "random",
    *,
    seat: int | None = 0,
    illegal_action: IllegalAction = "raise",
    settings: Mapping[str, Any] | None = None,
    allow_imports: bool = False,
) -> "MatchEnv":
    """Return a Gymnasium environment: one seat of a match, the others played by an opponent.

    Args:
        game: a name such as `openspiel:leduc_poker`, or a game.
        opponent: `random`, a scripted player of the game, a policy (file, checkpoint, run or `shipped:NAME`), or a
            player.
        seat: the seat of the agent; None gives it seats 0 and 1 in turn, match by match.
        illegal_action: what an action outside the mask does (`IllegalAction`).
        settings: settings of the game's family, if the game is given by name.
        allow_imports: import the code that a policy names as module:attribute.
    """
    from nemesis.environments.gymnasium_single import MatchEnv  # noqa: PLC0415

    return MatchEnv(
        game, opponent, seat=seat, illegal_action=illegal_action, settings=settings, allow_imports=allow_imports
    )


def gymnasium_vector_env(
    game: str | Game,
    num_envs: int,
    opponent: "str | Path | Player" = "random",
    *,
    seat: int | None = 0,
    illegal_action: IllegalAction = "raise",
    settings: Mapping[str, Any] | None = None,
    allow_imports: bool = False,
) -> "MatchVectorEnv":
    """Return a Gymnasium vector environment over so many matches of one pool.

    The other arguments are those of `gymnasium_env`.
    """
    from nemesis.environments.gymnasium_vector import MatchVectorEnv  # noqa: PLC0415

    return MatchVectorEnv(
        game,
        num_envs,
        opponent,
        seat=seat,
        illegal_action=illegal_action,
        settings=settings,
        allow_imports=allow_imports,
    )


gymnasium.register(
    id="nemesis/Match-v0",
    entry_point="nemesis.environments.gymnasium_single:MatchEnv",
    vector_entry_point="nemesis.environments.gymnasium_vector:MatchVectorEnv",
)
