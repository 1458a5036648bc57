"""Checks a config before its run starts, so that no stage of a curriculum fails after days of training."""

# ruff: noqa: PLC0415 (torch is slow to import, and much can be refused without it)

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nemesis.core.config import override_paths
from nemesis.core.errors import UserError
from nemesis.core.game import ExactGame, Game
from nemesis.core.plugins import ImportPermission
from nemesis.learners.config import BehaviourCloningConfig
from nemesis.learners.reward_check import check_rewards
from nemesis.play.scripted import anchors_of, opponent_names
from nemesis.storage.metrics import check_tracking
from nemesis.storage.policies import check_shapes, find_policy
from nemesis.training.config import ExploiterConfig, RunConfig, stage_config
from nemesis.training.curriculum_config import StageConfig

_OF_EXPLOITERS = ExploiterConfig.model_fields.keys() - {"interval", "matches", "start", "learner"}  # of `exploit` too
_OF_MATCHES = ("evaluation.matches", "evaluation.opponents")


def check_config(config: RunConfig, *, allow_imports: bool = False) -> None:
    """Raise a sentence if a new run with the config would fail, as far as can be told without torch."""
    check_tracking(config.tracking)
    check_sources(config)
    imports: ImportPermission = allow_imports or frozenset(config.imports())
    for name in (config.policy.init, *config.opponents.cloned, config.opponents.target):
        if name is not None:
            find_policy(name, allow_imports=imports)
    if config.curriculum.stages:
        _games_of_stages(config)
    else:
        _check_game(config.open_game(), config)


def check_effect(config: RunConfig, overrides: Sequence[str]) -> None:
    """Raise if an override would change nothing in the run, or in one that exploits it."""
    for path in override_paths(overrides):
        group, _, name = path.partition(".")
        reason = ""
        if group == "exploiter" and not config.exploiter.interval and name in _OF_EXPLOITERS:
            reason = "without exploiters; set exploiter.interval"
        elif group == "data" and not config.data.sources and name:
            reason = "without a dataset; name one by data.sources=FOLDER"
        elif path in _OF_MATCHES and not config.curriculum.stages and isinstance(config.open_game(), ExactGame):
            reason = f"on {config.game}, which is measured exactly, without matches; leave it out"
        if reason:
            raise UserError(f"{path} has no effect {reason}.")


def check_stages(config: RunConfig) -> None:
    """Raise a sentence that names the stage if one cannot be played, measured or passed."""
    games = _games_of_stages(config)
    for name, game in games.items():
        with _named(name):
            _check_policy(games[next(iter(games))], game, stage_config(config, name))


def check_sources(config: RunConfig) -> None:
    """Raise if a learner has nothing to learn from."""
    if isinstance(config.learner, BehaviourCloningConfig) and not config.data.sources:
        raise UserError(
            f"learner.algorithm={config.learner.algorithm} learns from datasets; name one by data.sources=FOLDER."
        )


def _games_of_stages(config: RunConfig) -> dict[str, Game]:
    """Return the game of every stage, or raise why one does not fit its settings or the game of the first."""
    games: dict[str, Game] = {}
    for name, stage in config.curriculum.stages.items():
        with _named(name):
            staged = stage_config(config, name)
            game = games[name] = staged.open_game()
            _check_group(games[next(iter(games))], game)
            _check_game(game, staged)
            _check_evaluation(game, staged, stage)
    return games


@contextmanager
def _named(stage: str) -> Iterator[None]:
    """Name the stage of the curriculum in errors."""
    try:
        yield
    except UserError as error:
        raise UserError(f"Stage {stage} of the curriculum: {error}") from error


def _check_game(game: Game, config: RunConfig) -> None:
    """Raise unless the game has what the config names."""
    check_rewards(config.reward, game)
    opponent_names(game, config.opponents.scripted)
    opponent_names(game, config.evaluation.opponents)
    anchors_of(game, config.evaluation.anchors)


def _check_group(first: Game, game: Game) -> None:
    """Raise unless the games share policies."""
    spec, known = game.spec, first.spec
    if not spec.plays_policies_of(known.name, known.policy_group):
        raise UserError(f"A policy of {known.name} does not play {spec.name}; only games of one group share policies.")
    if spec.view_version != known.view_version:
        raise UserError(f"The view records of {spec.name} have another version than those of {known.name}.")


def _check_policy(first: Game, game: Game, config: RunConfig) -> None:
    """Raise unless a policy of the first stage plays this one."""
    import torch

    from nemesis.policies.build import build_policy

    with torch.device("meta"):
        ours, theirs = (build_policy(one, config.policy).state_dict() for one in (first, game))
    check_shapes(f"The policy of {game.spec.name}", ours, theirs)


def _check_evaluation(game: Game, config: RunConfig, stage: StageConfig) -> None:
    """Raise unless evaluations measure what the rule of the stage needs."""
    if isinstance(game, ExactGame):
        raise UserError(f"{game.spec.name} is measured exactly, without matches, so it has no win rate.")
    opponents = opponent_names(game, config.evaluation.opponents)
    rated = anchors_of(game, config.evaluation.anchors).keys() & set(opponents)
    if stage.advance and stage.advance.rating is not None and not rated:
        raise UserError(
            f"advance.rating={stage.advance.rating:g} needs an opponent with a known rating, and none of "
            f"{', '.join(opponents)} has one; give it in evaluation.anchors, or set advance.rating=null."
        )
