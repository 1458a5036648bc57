"""A run or checkpoint that is measured on its own, and how: all that can be refused before it is loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.game import ExactGame, Game
from nemesis.core.plugins import ImportPermission, check_imports, is_import
from nemesis.evaluation.config import EvaluationConfig
from nemesis.play.scripted import anchors_of, opponent_names
from nemesis.storage.policies import SavedPolicy, find_policy


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured, and the settings of it."""

    path: Path
    saved: SavedPolicy
    game: Game
    opponents: Sequence[str]
    anchors: Mapping[str, float]  # ratings of opponents
    matches: int  # against each opponent
    slots: int  # concurrent matches
    threads: int

    @property
    def replays(self) -> Path:
        """The folder of saved matches."""
        return self.path / "replays"


def open_subject(
    path: Path,
    matches: int | None = None,
    opponents: Sequence[str] | None = None,
    overrides: Sequence[str] = (),
    *,
    allow_imports: ImportPermission = False,
) -> Subject:
    """Find a checkpoint, or the newest valid one of a run.

    Settings that are not given are those of the run, with the overrides of its game on top.
    """
    saved = find_policy(path, allow_imports=allow_imports)
    config = saved.training_config()
    settings = build_config(EvaluationConfig, config["evaluation"])
    if not opponents:
        check_imports(path, filter(is_import, settings.opponents or ()), allowed=allow_imports)
    game = saved.game_config(overrides).open_game()
    if isinstance(game, ExactGame) and (matches or opponents):
        raise UserError(f"{game.spec.name} is measured exactly, without matches; leave out --matches and --opponent.")
    saved.check(game)
    return Subject(
        path=path,
        saved=saved,
        game=game,
        opponents=opponent_names(game, opponents or settings.opponents),
        anchors=anchors_of(game, settings.anchors),
        matches=matches or settings.matches,
        slots=config["collection"]["slots"],
        threads=config["threads"],
    )
