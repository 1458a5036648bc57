"""Team sets: which teams are played, how often, and which are held out.

A set is a folder or file of teams, or the name of a set that ships with the package. The simulator's own validator
validates all teams. A folder may have a `set.yaml`:

    weights: {rain: 2, stall: 0.5}   # by file, or by the name of a team in a file; 1 by default
    held_out: 0.2                    # a fraction, or a list of such names

A fraction is held out by a hash of each team's content, so that the split of a team does not depend on the other teams.
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field

from nemesis.core.config import ConfigError, build_config
from nemesis.core.files import cache_folder
from nemesis.core.progress import report
from nemesis.core.settings import Settings
from nemesis.games.pokemon.node import HOST
from nemesis.games.pokemon.teams.team_files import (
    MAX_TEAM_BYTES,
    TeamError,
    WrittenTeam,
    printable,
    read_teams,
    read_text,
)
from nemesis.presets import parse_yaml

_log = logging.getLogger(__name__)

Split: TypeAlias = Literal["train", "held_out", "all"]
Validator: TypeAlias = Callable[[str, list[str]], Sequence[Mapping[str, Any]]]
"""(format, texts of teams) → for each, {"packed": team} or {"problems": [sentence, …]}; see `host/battle/teams.js`."""

_Validation: TypeAlias = tuple[str | None, tuple[str, ...]]  # packed team, problems

_SHIPPED = Path(__file__).with_name("sets")
_MEMBER_SEPARATOR = "]"  # between the Pokémon of a packed team
_TEAMS_PER_REQUEST = 200
CHECKING = "Checking teams"  # what a validator reports
_BAD_TEAMS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class TeamSet:
    """Valid teams of a format and how often each is played."""

    name: str
    format: str
    split: Split
    packed: tuple[str, ...]  # as the validator returned them
    sources: tuple[str, ...]  # file and position of each
    weights: tuple[float, ...]  # sum to 1
    skipped: int  # teams that are not valid

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Return the indices (count,) of teams drawn by weight."""
        return generator.choice(len(self.packed), size=count, p=np.array(self.weights))


@dataclass(frozen=True, slots=True)
class ValidatedTeam:
    """A team with the validator's result: the packed team, or its problems."""

    written: WrittenTeam
    packed: str | None
    problems: tuple[str, ...]


class _SetFile(Settings):
    """The content of `set.yaml`."""

    weights: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        {}, description="how often a team is played, 1 by default"
    )
    held_out: Annotated[float, Field(ge=0, lt=1)] | list[str] = Field(0.0, description="fraction or names of teams")


def shipped_sets() -> list[str]:
    """Return the names of the sets that ship with the package."""
    return sorted(folder.name for folder in _SHIPPED.iterdir() if folder.is_dir())


def load_team_set(
    battle_format: str,
    source: str | Path | None,
    split: Split,
    validator: Validator,
    *,
    held_out: float | None = None,
    skip_invalid: bool = False,
) -> TeamSet:
    """Return the teams of a split of a shipped set, a file or a folder; without a source, the format's own set.

    `held_out` is a fraction that overrides `set.yaml`. Invalid teams are an error, unless they are skipped.
    """
    if source is None:
        source = battle_format
        if source not in shipped_sets():
            raise TeamError(f"No team set ships for {battle_format}; name a file or folder of teams for it.")
    path = _path(source)
    settings = _settings(path)
    if held_out is not None:
        if not 0 <= held_out < 1:
            raise TeamError(f"The fraction of teams that is held out must be at least 0 and below 1, not {held_out}.")
        settings = _SetFile(weights=settings.weights, held_out=float(held_out))
    teams = validate_teams(battle_format, source, validator)
    valid = [(team.written, team.packed) for team in teams if team.packed is not None]
    if len(valid) < len(teams):
        _report_invalid(path, battle_format, teams, skip_invalid and bool(valid))
    _check_names(path, settings, teams)
    kept = [
        (written, packed)
        for written, packed in valid
        if split == "all" or _is_held_out(written, packed, settings.held_out) == (split == "held_out")
    ]
    if not kept:
        raise TeamError(f"No team of {path} is in the split {split}, with held_out: {settings.held_out}.")
    weights = np.array([_named(settings.weights, written, 1.0) for written, _ in kept])
    if not weights.any():
        raise TeamError(
            f"All teams of {path} in the split {split} have the weight 0; give at least one of them a positive weight."
        )
    return TeamSet(
        name=path.name,
        format=battle_format,
        split=split,
        packed=tuple(packed for _, packed in kept),
        sources=tuple(written.source for written, _ in kept),
        weights=tuple((weights / weights.sum()).tolist()),
        skipped=len(teams) - len(valid),
    )


def validate_teams(battle_format: str, source: str | Path, validator: Validator) -> list[ValidatedTeam]:
    """Return every team of a shipped set, a file or a folder with the validator's result, or why it cannot be read."""
    written = read_teams(_path(source), battle_format)
    validations = _validate(battle_format, written, validator)
    return [ValidatedTeam(team, *validation) for team, validation in zip(written, validations, strict=True)]


def shuffled(team: str, generator: np.random.Generator) -> str:
    """Return a packed team with its members in random order."""
    members = team.split(_MEMBER_SEPARATOR)
    return _MEMBER_SEPARATOR.join(members[place] for place in generator.permutation(len(members)))


def problem_lines(teams: Iterable[ValidatedTeam]) -> list[str]:
    """Return the source of each invalid team and, indented, its problems."""
    return [
        line
        for team in teams
        if team.problems
        for line in (team.written.source, *(f"  {problem}" for problem in team.problems))
    ]


def _path(source: str | Path) -> Path:
    if str(source) in shipped_sets():
        return _SHIPPED / source
    try:
        if Path(source).exists():
            return Path(source)
    except OSError as error:
        raise TeamError(f"{source} cannot be read: {error.strerror}.") from error
    shipped = ", ".join(shipped_sets())
    raise TeamError(f"'{source}' is neither a file or folder of teams nor a shipped set: {shipped}.")


def _settings(path: Path) -> _SetFile:
    file = path / "set.yaml"
    try:
        if not file.is_file():
            return _SetFile()
        text = read_text(file)
    except OSError as error:
        raise TeamError(f"{path} cannot be read: {error.strerror}.") from error
    except TeamError as error:
        raise TeamError(f"{file}: {error}") from error
    content = parse_yaml(text, file)
    if not isinstance(content, Mapping):
        raise TeamError(f"{file} must be a mapping of settings, such as held_out: 0.2.")
    try:
        return build_config(_SetFile, content)
    except ConfigError as error:
        raise TeamError(f"{file}: {error}") from error


def _check_names(path: Path, settings: _SetFile, teams: Sequence[ValidatedTeam]) -> None:
    known = {name for team in teams for name in (team.written.label, team.written.file)}
    held_out = settings.held_out if isinstance(settings.held_out, list) else []
    unknown = [name for name in (*settings.weights, *held_out) if name not in known]
    if unknown:
        raise TeamError(f"{path / 'set.yaml'} names {', '.join(unknown)}, but no team has that name.")


def _report_invalid(path: Path, battle_format: str, teams: Sequence[ValidatedTeam], skip: bool) -> None:
    """Raise an error with all invalid teams, or log a short warning if they are skipped."""
    bad = [team for team in teams if team.problems]
    count = f"{len(bad)} of {len(teams)} teams of {path} cannot be used in {battle_format}"
    if skip:
        _log.warning("%s and are skipped; the first: %s: %s", count, bad[0].written.source, bad[0].problems[0])
        return
    more = [f"… and {len(bad) - _BAD_TEAMS_SHOWN} more."] if len(bad) > _BAD_TEAMS_SHOWN else []
    raise TeamError("\n".join([f"{count}:", *problem_lines(bad[:_BAD_TEAMS_SHOWN]), *more]))


def _named(values: Mapping[str, float], written: WrittenTeam, default: float) -> float:
    return values.get(written.label, values.get(written.file, default))


def _is_held_out(written: WrittenTeam, packed: str, held_out: float | Sequence[str]) -> bool:
    if not isinstance(held_out, float):
        return written.label in held_out or written.file in held_out
    return _hash_to_unit_interval(packed) < held_out


def _hash_to_unit_interval(packed: str) -> float:
    """Hash the content of a team to [0, 1). Nicknames and the order of members do not matter."""
    members = []
    for member in packed.split(_MEMBER_SEPARATOR):
        nickname, species, *rest = member.split("|")
        members.append("|".join((species or nickname, *rest)))
    digest = hashlib.sha256(_MEMBER_SEPARATOR.join(sorted(members)).encode()).digest()
    return int.from_bytes(digest[:8]) / 2.0**64


def _validate(battle_format: str, teams: Sequence[WrittenTeam], validator: Validator) -> list[_Validation]:
    """Validate teams, or return the cached results of the same teams with the same simulator."""
    rejected = {index: (None, (problem,)) for index, team in enumerate(teams) if (problem := _unsendable(team))}
    indices = [index for index in range(len(teams)) if index not in rejected]
    sent = [teams[index].text for index in indices]
    cache = _cache_file(battle_format, sent)
    answers = _read_cache(cache, len(sent))
    if answers is None:
        parts = [sent[start : start + _TEAMS_PER_REQUEST] for start in range(0, len(sent), _TEAMS_PER_REQUEST)]
        answers = []
        for part in parts:
            report(CHECKING, len(answers), len(sent))
            answers += validator(battle_format, part)
        _write_cache(cache, answers)
    validations: dict[int, _Validation] = {**rejected, **dict(zip(indices, map(_parse_answer, answers), strict=True))}
    return [validations[index] for index in range(len(teams))]


def _unsendable(team: WrittenTeam) -> str | None:
    """Return why a team cannot be sent to the validator, or None."""
    if team.problem:
        return team.problem
    try:
        size = len(team.text.encode())
    except UnicodeEncodeError:
        return "The team has characters that are not valid Unicode."
    return f"The team is longer than {MAX_TEAM_BYTES >> 10} KB." if size > MAX_TEAM_BYTES else None


def _parse_answer(answer: Mapping[str, Any]) -> _Validation:
    packed, problems = answer.get("packed"), answer.get("problems")
    if isinstance(packed, str) and packed:
        return packed, ()
    if isinstance(problems, list) and problems and all(isinstance(problem, str) for problem in problems):
        return None, tuple(map(printable, problems))
    raise ValueError(f"this is not the validation of a team: {answer}")


def _cache_file(battle_format: str, texts: Sequence[str]) -> Path:
    version = [(HOST / name).read_bytes() for name in ("package-lock.json", "battle/teams.js")]
    request = json.dumps([battle_format, *texts]).encode()
    digest = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in (*version, request)))
    return cache_folder() / "teams" / f"{digest.hexdigest()}.json"


def _read_cache(file: Path, count: int) -> list[Mapping[str, Any]] | None:
    try:
        answers = json.loads(file.read_bytes())
        for answer in answers:
            _parse_answer(answer)
    except (OSError, ValueError, RecursionError, AttributeError, TypeError):
        return None  # missing or corrupt: the teams are validated again
    return answers if isinstance(answers, list) and len(answers) == count else None


def _write_cache(file: Path, answers: Sequence[Mapping[str, Any]]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(f".{os.getpid()}")  # other processes may validate the same teams
        temporary.write_text(json.dumps(list(answers)), encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        _log.info("The validation of the teams is not cached: %s.", error)
