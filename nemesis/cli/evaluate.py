"""`nemesis evaluate`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

import json as json_format
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from cyclopts import Parameter

from nemesis.core.errors import UserError

if TYPE_CHECKING:
    from nemesis.play.policy_players import PlayOptions

_SETTING = "pokemon."


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
    folder: Path = Path("replays"),
    temperature: float | None = None,
    top_p: float | None = None,
    ensemble: int = 1,
    last: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    seed: int = 0,
    json: Path | None = None,
) -> None:
    """Measure a run or a checkpoint: exactly, or by matches.

    With several players, everybody meets everybody.

    Args:
        player: folder of a run or of one checkpoint, or a policy file
        others: more of them, scripted players such as random, players of poke-env such as
            poke-env:SimpleHeuristicsPlayer; and settings of the game as KEY=VALUE, such as pokemon.split=held_out
        game: what is played, where no run or policy says it
        matches: how many to play of each pair; as in the run's evaluation.matches, or 400 with several players
        opponent: fixed opponents of a single player, may be repeated; as in the run's evaluation.opponents unless given
        replays: how many matches to save as replays, against the strongest opponent or of each pair
        folder: where the replays of pairs go; those of a single run go into its own folder
        temperature: of the policies' draws, where several players meet; 0 plays the likeliest action. Unless this or
            top_p is given, policy files play as they were exported, and all others at temperature 1
        top_p: probability of the likeliest actions that are kept, where several players meet
        ensemble: how many of a run's last checkpoints play as one, where several players meet
        last: play with the last weights of runs instead of the averaged ones, where several players meet
        seed: of those matches
        json: file to write the figures to as well
    """
    for name, number, least in (("seed", seed, 0), ("replays", replays, 0), ("matches", matches, 2)):
        if number is not None and number < least:
            raise UserError(f"--{name} must be a whole number of at least {least}, not {number}.")
    if json:
        _check_writable(json)
    from nemesis.evaluation import strength as evaluation
    from nemesis.play.players import PlayStyle
    from nemesis.play.policy_players import PlayOptions
    from nemesis.storage.policy_files import policy_path

    settings = [one for one in others if one.startswith(_SETTING) and "=" in one]
    opponents = [one for one in others if one not in settings]
    if opponents and opponent:
        raise UserError("--opponent is for a single player; with several, name all of them in a row.")
    alone = not opponents and not policy_path(player).is_file()
    if alone and (game or last or (temperature, top_p, ensemble) != (None, None, 1)):
        raise UserError(
            "--game, --temperature, --top-p, --ensemble and --last are for several players; name them in a row."
        )
    result: _Result
    if not alone:
        play_options = PlayOptions(PlayStyle.wanted(temperature, top_p), ensemble, "weights" if last else "average")
        result = _tournament(
            [player, *opponents], game, settings, matches, opponent, replays, folder, seed, play_options
        )
    else:
        result = evaluation.evaluate(Path(player), seed, matches, opponent or None, replays, settings)
    rows = result.rows()
    width = max(len(label) for label, _ in rows)
    for label, figure in rows:
        print(f"{label:{width}}  {figure}")
    if json:
        json.write_text(json_format.dumps(result.as_json(), indent=2) + "\n", encoding="utf-8")


def _tournament(
    players: Sequence[str],
    game: str | None,
    settings: Sequence[str],
    matches: int | None,
    opponents: Sequence[str],
    replays: int,
    folder: Path,
    seed: int,
    play_options: "PlayOptions",
) -> _Result:
    """Let several players meet; a policy file that stands alone meets the game's fixed opponents."""
    import torch

    from nemesis.evaluation import tournament
    from nemesis.play.scripted import opponent_names

    torch.set_num_threads(1)
    field = tournament.open_field(players, game, settings, play_options)
    if len(players) == 1:
        field = tournament.open_field(
            [*players, *opponent_names(field.game, opponents or None)], game, settings, play_options
        )
    return tournament.run_tournament(
        field,
        matches=matches or tournament.MATCHES,
        seed=seed,
        replays=replays,
        folder=folder,
        tell=lambda sentence: print(sentence, file=sys.stderr, flush=True),
    )


def _check_writable(file: Path) -> None:
    """Fail before the work is done, not after it, and leave no empty file should the work fail."""
    existed = file.exists()
    try:
        file.open("a").close()
        if not existed:
            file.unlink()
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error
