"""Policy-space response oracles: a population grows by best responses to its own mixture.

Lanctot et al. 2017, A Unified Game-Theoretic Approach to Multiagent Reinforcement Learning. Iteration t

    1. plays or computes the missing cells of the payoff A of the population Π,
    2. solves the meta-game for a mixture σ over Π,
    3. finds a best response to σ, by learning against it or exactly,
    4. adds the response to Π.

Within its own population a Nash mixture loses nothing by definition. What it loses to the newest best response is the
measure, a lower bound of its NashConv; later responses can only raise it. The state on disk changes once after each
step, so that a killed PSRO goes on with the step that it was in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from filelock import FileLock, Timeout
from rich.console import Console

from nemesis.core.errors import UserError
from nemesis.core.files import replace_file
from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission
from nemesis.core.progress import report
from nemesis.core.tables import TabularGame
from nemesis.play.named_players import check_player, is_policy
from nemesis.play.scripted import RANDOM, opponent_names
from nemesis.population.meta_game.solvers import SOLVERS
from nemesis.population.psro.computed import ComputedMetaGame
from nemesis.population.psro.config import PSROConfig
from nemesis.population.psro.learned import train_response
from nemesis.population.psro.meta import MetaGame
from nemesis.population.psro.report import write_report
from nemesis.population.psro.results import Results, results_of
from nemesis.population.psro.sampled import SampledMetaGame
from nemesis.population.psro.state import MEMBERS, SETTINGS, Iteration, PSROMember, PSROState, unique_name
from nemesis.storage.policies import find_policy
from nemesis.storage.policy_files import save_policy

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What every step needs."""

    config: PSROConfig
    game: Game
    state: PSROState
    meta: MetaGame
    console: Console | None
    allow_imports: bool


def run_psro(
    config: PSROConfig,
    folder: Path,
    say: Say = lambda _: None,
    console: Console | None = None,
    *,
    allow_imports: bool = False,
) -> Results:
    """Start PSRO in a new folder, or go on with the one in it, and take it to its end."""
    game = config.training.open_game()
    imports: ImportPermission = allow_imports or frozenset(config.imports())
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(f"{folder} is in use by another process; wait for it to end, or stop it.") from None
    with lock:
        state = PSROState.load(folder)
        exact = config.best_response == "exact"
        computed = exact or (isinstance(game, TabularGame) and _are_tables(config))
        meta: MetaGame = (ComputedMetaGame if computed else SampledMetaGame)(config, game, state, imports)
        if not state.members:
            state.members = list(_first_members(config, game, folder, imports))
        replace_file(folder / SETTINGS, yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False))
        state.ended = None  # a longer one may have been asked for
        state.save()
        results = _iterate(_Parts(config, game, state, meta, console, allow_imports), say)
        for line in write_report(folder, results):
            say(line)
    return results


def _iterate(parts: _Parts, say: Say) -> Results:
    """Take every step that is left."""
    config, state, meta = parts.config, parts.state, parts.meta
    while True:
        meta.complete()
        if len(state.iterations) == state.done:
            report("Solving the meta-game")
            state.iterations.append(Iteration.of(SOLVERS[config.solver](meta.payoff)))
            state.save()
        _keep_last_unanswered(parts)
        state.ended = _end(parts)
        if state.ended:
            state.save()
            say(state.ended)
            return results_of(config, state, meta)
        member = _respond(parts)
        state.members.append(member)
        state.iterations[-1] = replace(state.iterations[-1], response=member.name)
        state.save()
        meta.complete()
        say(_sentence(parts))


def _keep_last_unanswered(parts: _Parts) -> None:
    """Solve again if the population has grown or was measured again since the last mixture that has no response."""
    last, members = parts.state.iterations[-1], len(parts.state.members)
    if len(last.row) < members:
        parts.state.iterations[-1] = Iteration.of(SOLVERS[parts.config.solver](parts.meta.payoff))
        parts.state.save()


def _respond(parts: _Parts) -> PSROMember:
    """Find the best response to the newest mixture."""
    state = parts.state
    number, solution = len(state.iterations), state.iterations[-1].solution(len(state.members))
    if parts.config.best_response == "exact":
        assert isinstance(parts.meta, ComputedMetaGame)  # noqa: S101
        report("Computing best responses")
        return parts.meta.respond(number, solution)
    return train_response(
        parts.config, parts.game, state, number, solution.row, parts.console, allow_imports=parts.allow_imports
    )


def _end(parts: _Parts) -> str | None:
    """Return why there is no further iteration; None if there is one."""
    config, state, meta = parts.config, parts.state, parts.meta
    exact = meta.exact(state.iterations[-1].solution(len(state.members)))
    if exact is not None and exact <= config.nash_conv:
        return f"Ended after {state.done} iterations: NashConv of the mixture is {exact:.2e}."
    if config.patience and state.done >= config.patience:
        recent = [_gain(parts, number) for number in range(state.done - config.patience, state.done)]
        if all(low <= 0 for low in recent):
            return f"Ended after {state.done} iterations: the last {config.patience} best responses gained nothing."
    if state.done >= config.iterations:
        return f"Ended after {state.done} iterations."
    return None


def _gain(parts: _Parts, number: int) -> float:
    """Return the lower end of what the response of an iteration, counted from 0, wins against its mixture."""
    state = parts.state
    names = [member.name for member in state.members]
    iteration = state.iterations[number]
    assert iteration.response is not None  # noqa: S101
    return parts.meta.gain(names.index(iteration.response), iteration.solution(len(names))).low


def _sentence(parts: _Parts) -> str:
    """Return what the newest iteration has found."""
    state = parts.state
    solution = state.iterations[-1].solution(len(state.members))
    gain = parts.meta.gain(len(state.members) - 1, solution)
    present = int(((solution.row > 0) | (solution.column > 0)).sum())
    exact = parts.meta.exact(solution)
    told = f"{gain}" if exact is None else f"{gain.value:.4f}; its NashConv is {exact:.4f}"
    members = len(state.members) - 1
    return f"Iteration {state.done}: a mixture of {present} of {members} members loses to its best response {told}."


def _are_tables(config: PSROConfig) -> bool:
    return all(name == RANDOM or is_policy(name) for name in config.population or ())


def _first_members(config: PSROConfig, game: Game, folder: Path, imports: ImportPermission) -> "Sequence[PSROMember]":
    """Copy the first policies into the folder, and return the members."""
    members: list[PSROMember] = []
    chosen = config.population if config.population is not None else opponent_names(game)
    for name in chosen:
        check_player(game, name, imports)
    for name in chosen:
        if not is_policy(name):
            members.append(PSROMember(name, "scripted", None, 0, name))
            continue
        saved = find_policy(name, allow_imports=imports)
        short = unique_name(Path(name.rpartition(":")[2]).stem, [member.name for member in members])
        member = PSROMember(short, "policy", f"{MEMBERS}/{short}.safetensors", 0, name)
        about = {"from": name, "config": saved.config}
        save_policy(folder / f"{member.file}", saved.load(game), saved.policy, game, about, saved.style)
        members.append(member)
    return members
