"""What an action outside the legal mask does in an environment."""

from typing import Literal, TypeAlias, get_args

from nemesis.core.errors import UserError

IllegalAction: TypeAlias = Literal["raise", "random", "lose"]
"""`raise`: a ValueError, and nothing has happened, so that a legal action can follow.
`random`: a random legal action is played in its place, and `info["illegal_action"]` is True.
`lose`: the match is terminated, and the side of the seat loses it with the largest return that the game has;
`info["illegal_action"]` is True, and `info["end_reason"]` is `forfeit`."""


def check_option(illegal_action: str) -> None:
    """Raise unless this is one of the answers to an illegal action."""
    if illegal_action not in get_args(IllegalAction):
        raise UserError(f"illegal_action is one of {', '.join(get_args(IllegalAction))}, not '{illegal_action}'.")


def illegal_action_error(action: object, who: str) -> ValueError:
    """Return the error for an illegal action."""
    return ValueError(
        f"Action {action} of {who} is not legal; choose one where the action mask is 1, or set "
        "illegal_action to 'random' or 'lose'."
    )
