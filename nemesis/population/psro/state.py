"""What PSRO knows between two steps, on disk. Each step writes it once, atomically, when it is done.

    psro.yaml      the settings
    psro.json      members and iterations
    population/    the population with the log of all its matches        (sampled.py)
    members/       policies as files, tables as NumPy arrays
    responses/     one run for each learned best response                (learned.py)
    report.*       and pictures                                          (report.py)

Whatever follows from these, such as the payoff, is computed again when PSRO goes on.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.files import replace_file
from nemesis.population.meta_game.solution import Floats, Solution

SETTINGS, STATE, MEMBERS, RESPONSES = "psro.yaml", "psro.json", "members", "responses"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class PSROMember:
    """A member of the population: a scripted player by its name, or a policy or table in a file of the folder."""

    name: str
    kind: Literal["scripted", "policy", "table"]
    file: str | None  # relative to the folder
    iteration: int  # that added it, 0 for the first members
    origin: str  # what it was made from


@dataclass(frozen=True, slots=True)
class Iteration:
    """The mixture of an iteration, over the members that there were, and what it was answered with."""

    row: tuple[float, ...]
    column: tuple[float, ...]
    response: str | None = None  # name of the member, once there is one

    @staticmethod
    def of(solution: Solution) -> "Iteration":
        return Iteration(tuple(solution.row.tolist()), tuple(solution.column.tolist()))

    def solution(self, members: int) -> Solution:
        """Return the mixture over so many members, the later ones with weight zero."""
        return Solution(_padded(self.row, members), _padded(self.column, members))


@dataclass
class PSROState:
    """The members and iterations so far; the last iteration may lack its best response."""

    folder: Path
    members: list[PSROMember] = field(default_factory=list)
    iterations: list[Iteration] = field(default_factory=list)
    ended: str | None = None  # why

    @property
    def done(self) -> int:
        """Iterations that have their best response."""
        return sum(iteration.response is not None for iteration in self.iterations)

    def save(self) -> None:
        content = {
            "format": _FORMAT,
            "ended": self.ended,
            "members": [asdict(member) for member in self.members],
            "iterations": [asdict(iteration) for iteration in self.iterations],
        }
        replace_file(self.folder / STATE, json.dumps(content, indent=1) + "\n")

    @staticmethod
    def load(folder: Path) -> "PSROState":
        """Return the state in a folder; a new one if nothing was saved yet."""
        file = folder / STATE
        if not file.exists():
            return PSROState(folder)
        try:
            content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            members = [PSROMember(**one) for one in content["members"]]
            iterations = [
                Iteration(tuple(one["row"]), tuple(one["column"]), one["response"]) for one in content["iterations"]
            ]
            return PSROState(folder, members, iterations, content["ended"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise UserError(f"{file} cannot be read ({error}); put its original back.") from error

    def path(self, member: PSROMember) -> Path:
        """Return the file of a member that has one."""
        return self.folder / (member.file or "")


def unique_name(wanted: str, taken: Sequence[str]) -> str:
    """Return a name that is not taken."""
    number, name = 2, wanted
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    return name


def _padded(weights: Sequence[float], members: int) -> Floats:
    padded = np.zeros(members)
    padded[: len(weights)] = weights
    return padded
