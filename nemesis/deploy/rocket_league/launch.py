"""What the bot.py of an exported bot calls. It says in a sentence if the bot cannot start."""

# ruff: noqa: PLC0415 (the package of RLBot may be missing)

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nemesis.core.errors import UserError

if TYPE_CHECKING:
    from nemesis.deploy.rocket_league.bot import NemesisBot

_USAGE = 2


def run_bot(folder: Path) -> None:
    """Play with the policy of a folder until the match ends."""
    try:
        bot = open_bot(folder)
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(_USAGE)
    bot.run(wants_match_communications=False, wants_ball_predictions=False)


def open_bot(folder: Path) -> "NemesisBot":
    """Return the bot of a folder."""
    try:
        from nemesis.deploy.rocket_league.bot import NemesisBot
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("rlbot"):
            raise
        raise UserError("The bot needs the package rlbot; install it with `pip install 'nemesis-rl[rlbot]'`.") from None
    return NemesisBot(folder)
