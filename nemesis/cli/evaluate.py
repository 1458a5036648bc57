"""`nemesis evaluate`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from cyclopts import Parameter

from nemesis.cli.options import (
    Flag,
    LogLevel,
    check_minimum,
    check_writable,
    log_at,
    remote_players,
    split_settings,
    write_json,
)
from nemesis.cli.status import output
from nemesis.core.errors import UserError
from nemesis.core.progress import report

if TYPE_CHECKING:
    from nemesis.evaluation.entrants import Entrants
    from nemesis.play.play_options import PlayOptions

_FOR_SEVERAL = (
    "--game, --temperature, --top-p, --ensemble, --last and --folder are for several players; list them as players."
)


class _Result(Protocol):
    def rows(self) -> list[tuple[str, str]]: ...

    def as_json(self) -> dict[str, Any]: ...


def evaluate(
    player: str,
    /,
    *others: str,
    game: str | None = None,
    matches: int | None = None,
    opponent: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    replays: int = 0,
    folder: Path | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    ensemble: int = 1,
    last: Flag = False,
    seed: int = 0,
    json: Path | None = None,
    allow_imports: Flag = False,
    log_level: LogLevel = None,
) -> None:
    """Measure a run or a checkpoint: exactly, or by matches.

    Several players play a round-robin tournament.

    Args:
        player: folder of a run or of one checkpoint, or a policy file
        others: more players, scripted players such as random or module:attribute, players over a server with the prefix
            of their game family; and settings of the game as FAMILY.KEY=VALUE
        game: FAMILY:GAME, if no run or policy determines it
        matches: number of matches per pair; by default the run's evaluation.matches, or 400 with several players
        opponent: scripted players of a single player, may be repeated; by default the run's evaluation.opponents
        replays: number of matches to save, to watch them, against the strongest opponent or per pair
        folder: folder of the saved matches of pairs, by default replays; those of a single run are saved in its own
        temperature: of the policies' sampling, with several players; 0 plays the most likely action. Unless this or
            top_p is given, policy files play as they were exported, and all others at temperature 1
        top_p: total probability of the most likely actions that are kept, with several players
        ensemble: number of a run's last checkpoints that play as an ensemble, with several players
        last: play with the last weights of runs instead of the averaged ones, with several players
        seed: of the matches
        json: also write the results to this file
        allow_imports: import the code that a run or policy file names as module:attribute
        log_level: what is shown of the log, by default warnings and errors
    """
    log_at(log_level)
    report(f"Opening {player}")
    check_minimum(seed=(seed, 0), replays=(replays, 0), matches=(matches, 2), ensemble=(ensemble, 1))
    if json:
        check_writable(json)
    opponents, settings = split_settings(others)
    if opponents and opponent:
        raise UserError("--opponent is for a single player; with several, list all of them as players.")
    result: _Result
    if not opponents and not _is_file(player):
        if game or last or (temperature, top_p, ensemble, folder) != (None, None, 1, None):
            raise UserError(_FOR_SEVERAL)
        result = _alone(Path(player), seed, matches, opponent, replays, settings, allow_imports)
    else:
        options = _play_options(temperature, top_p, ensemble, last, allow_imports)
        entrants = _open_entrants([player, *opponents], game, settings, opponent, options)
        result = _tournament(entrants, matches, replays, folder or Path("replays"), seed)
    _print(result, json)


def _is_file(player: str) -> bool:
    from nemesis.storage.policies import policy_path

    return policy_path(player).is_file()


def _alone(
    path: Path,
    seed: int,
    matches: int | None,
    opponents: Sequence[str],
    replays: int,
    settings: Sequence[str],
    allow_imports: bool,
) -> _Result:
    from nemesis.evaluation.subject import open_subject

    subject = open_subject(path, matches, opponents or None, settings, allow_imports=allow_imports)
    report("Importing PyTorch")
    from nemesis.evaluation import strength

    return strength.evaluate(subject, seed, replays)


def _play_options(
    temperature: float | None, top_p: float | None, ensemble: int, last: bool, allow_imports: bool
) -> "PlayOptions":
    from nemesis.play.play_options import PlayOptions
    from nemesis.policies.play_style import PlayStyle
    from nemesis.storage.policies import DEFAULT_WEIGHTS

    style = PlayStyle.from_options(temperature, top_p)
    return PlayOptions(style, ensemble, "last" if last else DEFAULT_WEIGHTS, allow_imports)


def _open_entrants(
    players: Sequence[str],
    game: str | None,
    settings: Sequence[str],
    opponents: Sequence[str],
    options: "PlayOptions",
) -> "Entrants":
    """Open the entrants; a single policy file plays against the game's scripted players."""
    from nemesis.evaluation.entrants import open_entrants
    from nemesis.play.scripted import opponent_names

    entrants = open_entrants(players, game, settings, options, remote_players())
    if len(players) > 1:
        return entrants
    return replace(entrants, names=[*players, *opponent_names(entrants.game, opponents or None)])


def _tournament(entrants: "Entrants", matches: int | None, replays: int, folder: Path, seed: int) -> _Result:
    report("Importing PyTorch")
    import torch

    from nemesis.evaluation import tournament

    torch.set_num_threads(1)
    return tournament.run_tournament(
        entrants,
        matches=matches or tournament.MATCHES,
        seed=seed,
        replays=replays,
        folder=folder,
        report=lambda sentence: output(sentence, error=True),
    )


def _print(result: _Result, json: Path | None) -> None:
    rows = result.rows()
    width = max(len(label) for label, _ in rows)
    for label, figure in rows:
        output(f"{label:{width}}  {figure}")
    if json:
        write_json(json, result.as_json())
