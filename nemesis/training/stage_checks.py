"""Checks every stage of a curriculum before its run starts, so that none fails after days of training."""

import torch

from nemesis.core.errors import UserError
from nemesis.core.game import ExactGame, Game
from nemesis.learners.shaping import RewardShaping
from nemesis.play.scripted import anchors_of, opponent_names
from nemesis.policies.build import build_policy
from nemesis.storage.policies import check_shapes
from nemesis.training.config import RunConfig, stage_config
from nemesis.training.curriculum_config import StageConfig


def check_stages(config: RunConfig) -> None:
    """Raise a sentence that names the stage if one cannot be played, measured or passed."""
    first: Game | None = None
    for name, stage in config.curriculum.stages.items():
        staged = stage_config(config, name)
        try:
            game = staged.open_game()
            first = first or game
            _check_policy(first, game, staged)
            RewardShaping(staged.reward, game)
            opponent_names(game, staged.opponents.scripted)
            _check_evaluation(game, staged, stage)
        except UserError as error:
            raise UserError(f"Stage {name} of the curriculum: {error}") from error


def _check_policy(first: Game, game: Game, config: RunConfig) -> None:
    """Raise unless a policy of the first stage plays this one."""
    spec, known = game.spec, first.spec
    if not spec.plays_policies_of(known.name, known.policy_group):
        raise UserError(f"A policy of {known.name} does not play {spec.name}; only games of one group share policies.")
    if spec.view_version != known.view_version:
        raise UserError(f"The view records of {spec.name} have another version than those of {known.name}.")
    with torch.device("meta"):
        ours, theirs = (build_policy(one, config.policy).state_dict() for one in (first, game))
    check_shapes(f"The policy of {spec.name}", ours, theirs)


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
