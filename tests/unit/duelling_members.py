"""Policies of the duel for tests of populations."""

from pathlib import Path

from duel import Duel

from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.policy_files import save_policy


def policy_file(path: Path, game: Duel, width: int = 8) -> str:
    """Write an untrained policy."""
    config = PolicyConfig(width=width, layers=1)
    save_policy(path, build_policy(game, config), config, game, {})
    return str(path)
