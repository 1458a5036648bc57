"""Recordings of matches: a set-up and all choices, as Node hosts keep them, for the native engine and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES
from nemesis.games.pokemon.formats import Format
from nemesis.games.pokemon.native.arena_memory import SETUP, SETUP_BYTES
from nemesis.games.pokemon.native.formats import RULES, teams_from
from nemesis.games.pokemon.native.team_sheets import TeamSheetError, team_sheet
from nemesis.games.pokemon.views.layout import MOVES, TEAM

SEAT_SHIFT = 5  # of a recorded choice: the bits above are its seat, those below its action
_SEED_PREFIX = "gen5,"
_TEXTS = {move: f"move {move + 1}" for move in range(MOVES)} | {
    2 * MOVES + place: f"switch {place + 1}" for place in range(TEAM)
}
_ACTIONS = {text: action for action, text in _TEXTS.items()}
# What recordings have of each choice; the lists are shared by all of them.
_CHOICES = {seat << SEAT_SHIFT | action: [seat, text] for seat in range(SIDES) for action, text in _TEXTS.items()}


def recording(setup: dict[str, Any], choices: Sequence[int]) -> dict[str, Any]:
    """Return a recording of a match with these choices, as the library has them."""
    return {"setup": setup, "choices": [_CHOICES[choice] for choice in choices]}


def choice_bytes(choices: Sequence[Sequence[Any]]) -> bytes:
    """Return the choices of a recording as the library has them."""
    try:
        return bytes(int(seat) << SEAT_SHIFT | _ACTIONS[text] for seat, text in choices)
    except KeyError as error:
        raise UserError(
            f"A saved battle has the choice {error}, which is not one of Gen 1; set pokemon.engine=showdown."
        ) from None


def setup_bytes(battle_format: Format, slot: int, setup: Mapping[str, Any]) -> bytes:
    """Return the set-up of a match as the library has it."""
    source, teams = teams_from(battle_format), setup["teams"]
    seeds = [seed_number(team) for team in teams] if source else [0] * SIDES
    sheets = b"" if source else b"".join(_sheet(team) for team in teams)
    return SETUP.pack(seed_number(setup["seed"]), *seeds, slot, RULES, source, sheets).ljust(SETUP_BYTES, b"\0")


def seed_number(text: str) -> int:
    """Return the state of the generator that a seed such as `gen5,0123456789abcdef` names."""
    if not text.startswith(_SEED_PREFIX):
        raise UserError(f"The native engine takes seeds such as gen5,0123456789abcdef, not {text}.")
    return int(text[len(_SEED_PREFIX) :], 16)


def _sheet(team: str) -> bytes:
    try:
        return team_sheet(team)
    except TeamSheetError as error:
        raise UserError(f"{error} Set pokemon.engine=showdown.") from error
