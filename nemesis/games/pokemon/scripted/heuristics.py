"""Scripted opponents: fixed players that read view records, many at once.

From weak to strong: `max_power` uses the move of the greatest power. `greedy` plays every move and switch out in its
mind, one exchange of blows and the duel that follows (see `judgement.py`). In doubles `greedy` judges its slots on
their own, while `focus_fire` also counts what their attacks do together: another style, as strong as `greedy`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, IntArray, Scripted
from nemesis.games.pokemon.damage.battlers import Floats, active_places
from nemesis.games.pokemon.damage.formula import Estimator
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.scripted.prospects import STANDING, Prospects, duel
from nemesis.games.pokemon.scripted.scoring import CriticOutput
from nemesis.games.pokemon.views import actions
from nemesis.games.pokemon.views.actions import ActionSpace, action_space
from nemesis.games.pokemon.views.layout import FOE, OWN, PHASES, POKEMON, POSITION, TEAM, cut

_AIMLESS, _FIRST_FOE, _SECOND_FOE = 2, 3, 4  # places among the targets of a doubles option
_NEVER = np.float32(-9)
_NOISE = 0.02  # so that equal options are chosen equally often
_PREVIEW_NOISE = 0.1
_SWITCH_MARGIN = {1: 0.4, 2: 0.4}  # by which a switch must be better, by number of slots
_SPREAD = np.array([name in dex.SPREAD_TARGETS for name in dex.TARGETS])
_HITS_ALLY = dex.TARGETS.index("allAdjacent")
_HELPS_ALLY = np.array([name in {"adjacentAlly", "adjacentAllyOrSelf"} for name in dex.TARGETS])
_STATUS = dex.CATEGORIES.index("status")
_PREVIEW = PHASES.index("preview")

Judge = Callable[[npt.NDArray[Any], np.random.Generator], Floats]
"""(view (n, view), generator) → worth (n, action)."""


def scripted(slots: int, mod: str, brought: int = TEAM) -> dict[str, Scripted]:
    """Return the scripted players of a kind of battle, from weak to strong.

    Args:
        slots: active places of a side.
        mod: whose rules are played.
        brought: Pokémon of a full team that take part.
    """
    space, estimator = action_space(slots, brought), Estimator(mod)
    if slots == 1:
        players: dict[str, Judge] = {
            "max_power": partial(_strongest_alone, estimator),
            "greedy": partial(_greedy_alone, estimator),
        }
    else:
        players = {
            "max_power": partial(_strongest_pair, estimator),
            "greedy": partial(_greedy_pair, estimator, space, together=False),
            "focus_fire": partial(_greedy_pair, estimator, space, together=True),
        }
    return {
        name: partial(_play, judge, None if name == "max_power" else partial(_preview, estimator, space), space)
        for name, judge in players.items()
    }


def _play(
    judge: Judge, preview: Judge | None, space: ActionSpace, view: npt.NDArray[Any], mask: BoolArray,
    generator: np.random.Generator,
) -> IntArray:  # fmt: skip
    """Take the legal action of the greatest worth."""
    chosen = np.zeros(len(view), np.int64)
    previewing = view[:, POSITION.column("phase")] == _PREVIEW
    for rows, part, worth_of in (
        (np.flatnonzero(~previewing), slice(0, space.previews.start), judge),
        (np.flatnonzero(previewing), space.previews, preview),
    ):
        if len(rows):
            size = part.stop - part.start
            worth = worth_of(view[rows], generator) if worth_of else generator.random((len(rows), size), np.float32)
            legal = mask[rows, part]
            chosen[rows] = part.start + np.where(legal, worth, -np.inf).argmax(axis=1)
    return chosen


def _noise(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.float32(_NOISE) * generator.random(shape, np.float32)


def _strongest_alone(estimator: Estimator, view: npt.NDArray[Any], generator: np.random.Generator) -> Floats:
    power = estimator.tables.moves["power"][_own_moves(view, 1)][:, 0]  # (n, move)
    worth = np.concatenate([power, power - 1, np.full((len(view), TEAM), -2)], axis=1)
    return worth + _noise(generator, worth.shape)


def _own_moves(view: npt.NDArray[Any], slots: int) -> npt.NDArray[Any]:
    """Return the moves of the active Pokémon: (n, slot, move)."""
    pokemon = cut(view).pokemon[:, OWN]
    place, _ = active_places(pokemon, slots)
    return np.asarray(pokemon[np.arange(len(view))[:, None], place][..., POKEMON.columns("moves")])


def _greedy_alone(estimator: Estimator, view: npt.NDArray[Any], generator: np.random.Generator) -> Floats:
    judgement = CriticOutput(Prospects(estimator, cut(view), 1))
    moves = judgement.moves[:, 0, :, :, 0]  # (n, variant, move)
    gimmick = moves[:, 1] if moves.shape[1] > 1 else np.full_like(moves[:, 0], _NEVER)
    worth = np.concatenate([moves[:, 0], gimmick, judgement.switches - _SWITCH_MARGIN[1]], axis=1)
    return worth + _noise(generator, worth.shape)


def _strongest_pair(estimator: Estimator, view: npt.NDArray[Any], generator: np.random.Generator) -> Floats:
    numbers = _own_moves(view, 2)
    power = estimator.tables.moves["power"][numbers][..., None]  # (n, slot, move, 1)
    _, there = active_places(cut(view).pokemon[:, FOE], 2)  # (n, foe)
    both = (there[:, 0] & there[:, 1])[:, None, None]
    spread = _SPREAD[estimator.tables.moves["target"][numbers]] & both
    aimless = np.where(spread[..., None], 1.5 * power, power)
    foes = np.where(there[:, None, None], power, -3)
    allies = np.full((*numbers.shape, 2), -4)
    plain = np.concatenate([allies, aimless, foes], axis=-1)  # (n, slot, move, target)
    moves = np.stack([plain, plain - 1], axis=3).reshape(len(view), 2, actions.SWITCH)
    others = np.full((len(view), 2, actions.OPTIONS - actions.SWITCH), -2)
    slots = np.concatenate([moves, others], axis=-1)
    return _joint(slots + _noise(generator, slots.shape))


def _joint(slots: Floats) -> Floats:
    """Return what pairs of options are worth that do not know of each other: (n, slot, option) → (n, turn)."""
    return (slots[:, 0, :, None] + slots[:, 1, None, :]).reshape(len(slots), actions.TURNS)


def _greedy_pair(
    estimator: Estimator, space: ActionSpace, view: npt.NDArray[Any], generator: np.random.Generator, together: bool
) -> Floats:
    judgement = CriticOutput(Prospects(estimator, cut(view), 2))
    slots = _pair_options(judgement, space)
    joint = _joint(slots + _noise(generator, slots.shape))
    if together:
        joint += _combined(judgement)
    return joint


def _pair_options(judgement: CriticOutput, space: ActionSpace) -> Floats:
    """Return what each option of each slot is worth on its own: (n, slot, option)."""
    prospects = judgement.prospects
    worth = judgement.moves  # (n, slot, variant, move, foe)
    best = worth.max(-1)
    target = judgement.fact("target")
    spread = _SPREAD[target]
    foe_hp = prospects.foes.hp[:, None, None, None]
    gains = np.minimum(judgement.damage, foe_hp) + STANDING * judgement.knock_out
    others = gains.sum(-1) - np.take_along_axis(gains, worth.argmax(-1)[..., None], -1)[..., 0]
    aimless = np.where(spread, best + others, best) - _friendly_fire(judgement)
    helps = _HELPS_ALLY[target] | ((judgement.fact("category") == _STATUS) & (judgement.fact("heal") > 0))
    allies = np.where(helps, best + 0.15, _NEVER)[..., None].repeat(2, -1)
    options = np.concatenate([allies, aimless[..., None], worth], -1)  # (n, slot, variant, move, target)
    if options.shape[2] == 1:
        options = np.concatenate([options, np.full_like(options, _NEVER)], axis=2)
    moves = np.swapaxes(options, 2, 3).reshape(len(worth), 2, actions.SWITCH)
    return np.concatenate([moves, _pair_switches(judgement, space), np.zeros((len(worth), 2, 1))], -1)


def _pair_switches(judgement: CriticOutput, space: ActionSpace) -> Floats:
    """Return what the switches of each slot are worth: (n, slot, switch)."""
    prospects = judgement.prospects
    columns = POSITION.columns("reviving")
    reviving = prospects.views.position[:, columns].any(-1)
    places = space.switch_places(prospects.team.one("fainted") > 0, reviving)
    worth = np.take_along_axis(judgement.switches, np.maximum(places, 0), axis=1) - _SWITCH_MARGIN[2]
    return worth[:, None].repeat(2, 1)


def _friendly_fire(judgement: CriticOutput) -> Floats:
    """Return what moves that hit all around cost by hitting the ally: (n, slot, variant, move)."""
    prospects = judgement.prospects
    around = judgement.fact("target") == _HITS_ALLY
    if not around.any():
        return np.zeros(around.shape, np.float32)
    pair = prospects.team.members(prospects.place)
    damage = prospects.estimator.estimate(pair, prospects.estimator.moves(pair["moves"]), pair, spread=True)
    hp = pair.hp
    worth = np.minimum(damage.expected, hp[:, None, None]) + STANDING * damage.knock_out(hp)  # (n, slot, move, slot)
    on_ally = np.stack([worth[:, 0, :, 1], worth[:, 1, :, 0]], axis=1)  # (n, slot, move)
    return np.where(around, 1.2 * on_ally[:, :, None], 0)


def _combined(judgement: CriticOutput) -> Floats:
    """Return what two attacks on the same foe do beyond what they do alone, overkill included: (n, turn)."""
    prospects = judgement.prospects
    damage = judgement.damage.astype(np.float32)  # (n, slot, variant, move, foe)
    if damage.shape[2] == 1:
        damage = np.concatenate([damage, damage], axis=2)
    spread = _SPREAD[judgement.fact("target")]
    aims = np.zeros((*damage.shape[:4], len(actions.TARGETS), 2), np.float32)
    aims[..., _AIMLESS, :] = np.where(spread[..., None], damage, 0)
    aims[..., _FIRST_FOE, 0], aims[..., _SECOND_FOE, 1] = damage[..., 0], damage[..., 1]
    hits = np.zeros((len(damage), 2, actions.OPTIONS, 2), np.float32)
    hits[:, :, : actions.SWITCH] = np.swapaxes(aims, 2, 3).reshape(len(damage), 2, actions.SWITCH, 2)
    worth = np.zeros((len(damage), actions.OPTIONS, actions.OPTIONS), np.float32)
    for foe in range(2):
        hp = np.maximum(prospects.foes.hp[:, foe], 0.01).astype(np.float32)[:, None]
        one, other = hits[:, 0, :, foe], hits[:, 1, :, foe]
        both = one[:, :, None] + other[:, None, :]
        alone = _felling(one, hp)[:, :, None] + _felling(other, hp)[:, None, :]
        worth += _felling(both, hp[..., None]) - alone
    return worth.reshape(len(damage), actions.TURNS)


def _felling(damage: Floats, hp: Floats) -> Floats:
    """Return what damage is worth against HP that is left."""
    felled = np.clip((damage - np.float32(0.9) * hp) / (np.float32(0.2) * hp), 0, 1)
    return np.asarray(np.minimum(damage, hp) + np.float32(2 * STANDING) * felled)


def _preview(
    estimator: Estimator, space: ActionSpace, view: npt.NDArray[Any], generator: np.random.Generator
) -> Floats:
    """Judge the choices of team preview by how each Pokémon does against those of the foe: (n, choice)."""
    prospects = Prospects(estimator, cut(view), space.slots)
    team, foes = prospects.team, prospects.foe_team
    hits = estimator.estimate(team, estimator.moves(team["moves"]), foes).expected.max(2)  # (n, own, foe)
    threats = estimator.estimate(foes, estimator.guesses(foes), team).expected.max(2)  # (n, foe, own)
    faster = team.speed[:, :, None] > foes.speed[:, None, :]
    fights = duel(1, 1, hits, np.swapaxes(threats, 1, 2), faster)
    there = foes.alive[:, None]
    worth = (fights * there).sum(-1) / np.maximum(there.sum(-1), 1)
    worth = worth + np.float32(_PREVIEW_NOISE) * generator.standard_normal(worth.shape, np.float32)
    picks = space.picks[space.previews].astype(np.int64)  # (choice, pick)
    weights = np.where(np.arange(picks.shape[1]) < space.slots, 1, 0.8)
    return np.asarray((worth[:, picks] * weights).sum(-1))
