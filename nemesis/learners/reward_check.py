"""Checks the settings of rewards against what a game has, without torch."""

from nemesis.core.errors import UserError
from nemesis.core.game import Game, RewardedGame, ShapedGame
from nemesis.core.plugins import is_import
from nemesis.learners.config import RewardConfig


def check_rewards(config: RewardConfig, game: Game) -> None:
    """Raise if a weight is of nothing that there is, or if there is nothing to be rewarded with."""
    components = game.reward_components if isinstance(game, RewardedGame) else {}
    potentials = game.potentials if isinstance(game, ShapedGame) else {}
    own = (*components, *potentials)
    for name in config.weights:
        if name not in own and not is_import(name):
            raise UserError(
                f"reward.weights.{name} is not a reward of {game.spec.name}; it has {', '.join(own) or 'none'}, and a "
                "potential of your own is written as module:attribute."
            )
    if config.kind != "sparse" and not own and not config.weights:
        raise UserError(
            f"reward.kind={config.kind} needs reward components or potentials, and {game.spec.name} has none; use "
            "reward.kind=sparse, or name a potential of your own in reward.weights as module:attribute."
        )
