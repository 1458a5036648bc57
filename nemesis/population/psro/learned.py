"""A learned best response: a run with the mixture as its only opponents.

Each piece of work finds what an interrupted one has left: a finished member, a run with checkpoints, or nothing.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from rich.console import Console

from nemesis.core.game import Game
from nemesis.population.league import open_league
from nemesis.population.meta_game.solution import Floats
from nemesis.population.psro.config import NEWEST, SCRATCH, PSROConfig, response_config
from nemesis.population.psro.state import MEMBERS, RESPONSES, PSROMember, PSROState
from nemesis.storage.checkpoints import checkpoint_paths
from nemesis.storage.policies import find_policy
from nemesis.storage.policy_files import save_policy
from nemesis.training.loop import resume, train

_LEAST = 1e-4  # share of the matches; members with less are left out


def train_response(
    config: PSROConfig,
    game: Game,
    state: PSROState,
    iteration: int,
    mixture: Floats,
    console: Console | None,
    *,
    allow_imports: bool,
) -> PSROMember:
    """Train a best response to a mixture (member,), and save it as a member."""
    name = f"response-{iteration}"
    folder = state.folder / RESPONSES / f"{iteration:04d}"
    member = PSROMember(name, "policy", f"{MEMBERS}/{name}.safetensors", iteration, f"{RESPONSES}/{folder.name}")
    if state.path(member).exists():
        return member
    if not (folder / "config.yaml").exists() or not checkpoint_paths(folder / "checkpoints"):
        shutil.rmtree(folder, ignore_errors=True)  # begun, but nothing to continue from
        run = response_config(config, iteration, opponents_of(config, state, mixture), _first_weights(config, state))
        train(run, folder, console, open_league, allow_imports=allow_imports)
    elif find_policy(folder, allow_imports=True).update != config.updates:
        resume(folder, (), console, open_league, allow_imports=allow_imports)
    saved = find_policy(folder, allow_imports=True)
    about = {"update": saved.update, "decisions": saved.decisions, "config": saved.config}
    save_policy(state.path(member), saved.load(game, config.weights), saved.policy, game, about)
    return member


def opponents_of(config: PSROConfig, state: PSROState, mixture: Floats) -> Mapping[str, float]:
    """Return the members of the mixture with their shares of the matches, a part of them uniform."""
    met = np.flatnonzero(mixture > _LEAST)
    share = (1 - config.alpha) * mixture[met] / mixture[met].sum() + config.alpha / len(met)
    names = [_player(state, state.members[member]) for member in met]
    return dict(zip(names, share.tolist(), strict=True))


def _player(state: PSROState, member: PSROMember) -> str:
    return member.name if member.file is None else str(state.path(member).absolute())


def _first_weights(config: PSROConfig, state: PSROState) -> str | None:
    if config.start == SCRATCH:
        return None
    if config.start != NEWEST:
        return config.start
    made = [member for member in state.members if member.kind == "policy" and member.iteration]
    return str(Path(state.path(made[-1])).absolute()) if made else None
