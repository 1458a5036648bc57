"""Scripted players: fixed players that choose actions from batches of view records.

From weak to strong: `max_power` uses the move with the highest power. `greedy` scores every move and switch by the
estimated result of this turn and of the duel after it (`action_scores.py`). In doubles, `greedy` scores each slot
separately, while `focus_fire` also scores combined attacks: a different style, as strong as `greedy`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, IntArray, Scripted
from nemesis.games.pokemon.damage.formula import Estimator
from nemesis.games.pokemon.damage.moves import STATUS
from nemesis.games.pokemon.damage.pokemon_batch import Floats, active_members
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.scripted.action_scores import ActionScores
from nemesis.games.pokemon.scripted.position_estimates import SURVIVAL_BONUS, PositionEstimates, duel
from nemesis.games.pokemon.views import actions
from nemesis.games.pokemon.views.actions import ActionSpace, action_space
from nemesis.games.pokemon.views.layout import FOE, OWN, PHASES, POKEMON, POSITION, TEAM, cut

_NO_TARGET, _FIRST_FOE, _SECOND_FOE = 2, 3, 4  # indices of the targets of a doubles option
_NEVER = np.float32(-9)
_NOISE = 0.02  # breaks ties at random
_PREVIEW_NOISE = 0.1
_SWITCH_MARGIN = 0.4  # by which a switch must be better than a move
_SPREAD = np.array([name in dex.SPREAD_TARGETS for name in dex.TARGETS])
_HITS_ALLY = dex.TARGETS.index("allAdjacent")
_HELPS_ALLY = np.array([name in {"adjacentAlly", "adjacentAllyOrSelf"} for name in dex.TARGETS])
_PREVIEW = PHASES.index("preview")

Scorer: TypeAlias = Callable[[npt.NDArray[Any], np.random.Generator], Floats]
"""(view (n, view), generator) → scores (n, action)."""


def scripted(slots: int, mod: str, brought: int = TEAM) -> dict[str, Scripted]:
    """Return the scripted players of a kind of battle, from weak to strong.

    Args:
        slots: active Pokémon of a side.
        mod: the mod of the simulator whose rules apply.
        brought: Pokémon of a full team that take part.
    """
    space, estimator = action_space(slots, brought), Estimator(mod)
    if slots == 1:
        players: dict[str, Scorer] = {
            "max_power": partial(_max_power_singles, estimator),
            "greedy": partial(_greedy_singles, estimator),
        }
    else:
        players = {
            "max_power": partial(_max_power_doubles, estimator),
            "greedy": partial(_greedy_doubles, estimator, space, combined=False),
            "focus_fire": partial(_greedy_doubles, estimator, space, combined=True),
        }
    return {
        name: partial(_play, scorer, None if name == "max_power" else partial(_preview, estimator, space), space)
        for name, scorer in players.items()
    }


def _play(
    scorer: Scorer, preview: Scorer | None, space: ActionSpace, view: npt.NDArray[Any], mask: BoolArray,
    generator: np.random.Generator,
) -> IntArray:  # fmt: skip
    """Choose the legal action with the highest score."""
    chosen = np.zeros(len(view), np.int64)
    previewing = view[:, POSITION.column("phase")] == _PREVIEW
    for rows, part, score in (
        (np.flatnonzero(~previewing), slice(0, space.previews.start), scorer),
        (np.flatnonzero(previewing), space.previews, preview),
    ):
        if len(rows):
            size = part.stop - part.start
            scores = score(view[rows], generator) if score else generator.random((len(rows), size), np.float32)
            legal = mask[rows, part]
            chosen[rows] = part.start + np.where(legal, scores, -np.inf).argmax(axis=1)
    return chosen


def _noise(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.float32(_NOISE) * generator.random(shape, np.float32)


def _max_power_singles(estimator: Estimator, view: npt.NDArray[Any], generator: np.random.Generator) -> Floats:
    power = estimator.tables.moves["power"][_own_moves(view, 1)][:, 0]  # (n, move)
    scores = np.concatenate([power, power - 1, np.full((len(view), TEAM), -2)], axis=1)
    return scores + _noise(generator, scores.shape)


def _own_moves(view: npt.NDArray[Any], slots: int) -> npt.NDArray[Any]:
    """Return the moves of the active Pokémon: (n, slot, move)."""
    pokemon = cut(view).pokemon[:, OWN]
    member, _ = active_members(pokemon, slots)
    return np.asarray(pokemon[np.arange(len(view))[:, None], member][..., POKEMON.columns("moves")])


def _greedy_singles(estimator: Estimator, view: npt.NDArray[Any], generator: np.random.Generator) -> Floats:
    action_scores = ActionScores(PositionEstimates(estimator, cut(view), 1))
    moves = action_scores.moves[:, 0, :, :, 0]  # (n, variant, move)
    gimmick = moves[:, 1] if moves.shape[1] > 1 else np.full_like(moves[:, 0], _NEVER)
    scores = np.concatenate([moves[:, 0], gimmick, action_scores.switches - _SWITCH_MARGIN], axis=1)
    return scores + _noise(generator, scores.shape)


def _max_power_doubles(estimator: Estimator, view: npt.NDArray[Any], generator: np.random.Generator) -> Floats:
    numbers = _own_moves(view, 2)
    power = estimator.tables.moves["power"][numbers][..., None]  # (n, slot, move, 1)
    _, present = active_members(cut(view).pokemon[:, FOE], 2)  # (n, foe)
    both = (present[:, 0] & present[:, 1])[:, None, None]
    spread = _SPREAD[estimator.tables.moves["target"][numbers]] & both
    no_target = np.where(spread[..., None], 1.5 * power, power)
    foes = np.where(present[:, None, None], power, -3)
    allies = np.full((*numbers.shape, 2), -4)
    plain = np.concatenate([allies, no_target, foes], axis=-1)  # (n, slot, move, target)
    moves = np.stack([plain, plain - 1], axis=3).reshape(len(view), 2, actions.SWITCH)
    others = np.full((len(view), 2, actions.OPTIONS - actions.SWITCH), -2)
    slots = np.concatenate([moves, others], axis=-1)
    return _joint(slots + _noise(generator, slots.shape))


def _joint(slots: Floats) -> Floats:
    """Return the sum of scores for all pairs of options: (n, slot, option) → (n, turn)."""
    return (slots[:, 0, :, None] + slots[:, 1, None, :]).reshape(len(slots), actions.TURNS)


def _greedy_doubles(
    estimator: Estimator, space: ActionSpace, view: npt.NDArray[Any], generator: np.random.Generator, combined: bool
) -> Floats:
    scores = ActionScores(PositionEstimates(estimator, cut(view), 2))
    slots = _doubles_options(scores, space)
    joint = _joint(slots + _noise(generator, slots.shape))
    if combined:
        joint += _combined_attacks(scores)
    return joint


def _doubles_options(scores: ActionScores, space: ActionSpace) -> Floats:
    """Return the score of each option of each slot: (n, slot, option)."""
    effects = scores.effects
    moves = scores.moves  # (n, slot, variant, move, foe)
    best = moves.max(-1)
    target = effects.fact("target")
    spread = _SPREAD[target]
    gains = np.minimum(effects.damage, effects.foe_hp) + SURVIVAL_BONUS * effects.knock_out
    others = gains.sum(-1) - np.take_along_axis(gains, moves.argmax(-1)[..., None], -1)[..., 0]
    no_target = np.where(spread, best + others, best) - _ally_damage(scores)
    helps = _HELPS_ALLY[target] | ((effects.fact("category") == STATUS) & (effects.fact("heal") > 0))
    allies = np.where(helps, best + 0.15, _NEVER)[..., None].repeat(2, -1)
    options = np.concatenate([allies, no_target[..., None], moves], -1)  # (n, slot, variant, move, target)
    if options.shape[2] == 1:
        options = np.concatenate([options, np.full_like(options, _NEVER)], axis=2)
    options = np.swapaxes(options, 2, 3).reshape(len(moves), 2, actions.SWITCH)
    return np.concatenate([options, _doubles_switches(scores, space), np.zeros((len(moves), 2, 1))], -1)


def _doubles_switches(scores: ActionScores, space: ActionSpace) -> Floats:
    """Return the score of the switches of each slot: (n, slot, switch)."""
    estimates = scores.estimates
    reviving = estimates.views.position[:, POSITION.columns("reviving")].any(-1)
    places = space.switch_places(estimates.team.column("fainted") > 0, reviving)
    switches = np.take_along_axis(scores.switches, np.maximum(places, 0), axis=1) - _SWITCH_MARGIN
    return switches[:, None].repeat(2, 1)


def _ally_damage(scores: ActionScores) -> Floats:
    """Return the cost of spread moves that also hit the ally: (n, slot, variant, move)."""
    estimates = scores.estimates
    hits_ally = scores.effects.fact("target") == _HITS_ALLY
    if not hits_ally.any():
        return np.zeros(hits_ally.shape, np.float32)
    pair = estimates.team.select(estimates.active)
    damage = estimates.estimator.estimate(pair, estimates.estimator.moves.read(pair["moves"]), pair, spread=True)
    # (n, slot, move, slot)
    cost = np.minimum(damage.expected, pair.hp[:, None, None]) + SURVIVAL_BONUS * damage.knock_out(pair.hp)
    on_ally = np.stack([cost[:, 0, :, 1], cost[:, 1, :, 0]], axis=1)  # (n, slot, move)
    return np.where(hits_ally, 1.2 * on_ally[:, :, None], 0)


def _combined_attacks(scores: ActionScores) -> Floats:
    """Return how much two attacks on one foe are worth more, or less if overkill, than separately: (n, turn)."""
    damage = scores.effects.damage.astype(np.float32)  # (n, slot, variant, move, foe)
    if damage.shape[2] == 1:
        damage = np.concatenate([damage, damage], axis=2)
    spread = _SPREAD[scores.effects.fact("target")]
    by_target = np.zeros((*damage.shape[:4], len(actions.TARGETS), 2), np.float32)
    by_target[..., _NO_TARGET, :] = np.where(spread[..., None], damage, 0)
    by_target[..., _FIRST_FOE, 0], by_target[..., _SECOND_FOE, 1] = damage[..., 0], damage[..., 1]
    hits = np.zeros((len(damage), 2, actions.OPTIONS, 2), np.float32)
    hits[:, :, : actions.SWITCH] = np.swapaxes(by_target, 2, 3).reshape(len(damage), 2, actions.SWITCH, 2)
    gain = np.zeros((len(damage), actions.OPTIONS, actions.OPTIONS), np.float32)
    for foe in range(2):
        hp = np.maximum(scores.estimates.foes.hp[:, foe], 0.01).astype(np.float32)[:, None]
        one, other = hits[:, 0, :, foe], hits[:, 1, :, foe]
        both = one[:, :, None] + other[:, None, :]
        separately = _damage_score(one, hp)[:, :, None] + _damage_score(other, hp)[:, None, :]
        gain += _damage_score(both, hp[..., None]) - separately
    return gain.reshape(len(damage), actions.TURNS)


def _damage_score(damage: Floats, hp: Floats) -> Floats:
    """Return the score of damage to a foe with this HP, with a bonus for a likely knock-out."""
    knocked_out = np.clip((damage - np.float32(0.9) * hp) / (np.float32(0.2) * hp), 0, 1)
    return np.asarray(np.minimum(damage, hp) + np.float32(2 * SURVIVAL_BONUS) * knocked_out)


def _preview(
    estimator: Estimator, space: ActionSpace, view: npt.NDArray[Any], generator: np.random.Generator
) -> Floats:
    """Score the choices of team preview by the duels of each Pokémon with those of the foe: (n, choice)."""
    estimates = PositionEstimates(estimator, cut(view), space.slots)
    team, foes = estimates.team, estimates.foe_team
    hits = estimator.estimate(team, estimator.moves.read(team["moves"]), foes).expected.max(2)  # (n, own, foe)
    threats = estimator.estimate(foes, estimator.moves.guesses(foes), team).expected.max(2)  # (n, foe, own)
    faster = team.speed[:, :, None] > foes.speed[:, None, :]
    duels = duel(1, 1, hits, np.swapaxes(threats, 1, 2), faster)
    present = foes.alive[:, None]
    scores = (duels * present).sum(-1) / np.maximum(present.sum(-1), 1)
    scores = scores + np.float32(_PREVIEW_NOISE) * generator.standard_normal(scores.shape, np.float32)
    picks = space.picks[space.previews].astype(np.int64)  # (choice, pick)
    weights = np.where(np.arange(picks.shape[1]) < space.slots, 1, 0.8)
    return np.asarray((scores[:, picks] * weights).sum(-1))
