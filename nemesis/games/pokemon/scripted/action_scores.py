"""Scores of the moves and switches of all slots, for scripted players.

A move is simulated for one turn: it hits, the foe attacks before or after it, stats and status conditions change, and a
duel from there on gives the rest of the score (`position_estimates.py`). A switch takes the foe's attack and starts a
duel after that. All scores are fractions of a Pokémon's HP.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nemesis.core.game import BoolArray
from nemesis.games.pokemon.damage.formula import knock_out
from nemesis.games.pokemon.damage.moves import STATUS
from nemesis.games.pokemon.damage.pokemon_batch import (
    ATTACK,
    DEFENCE,
    SPECIAL_ATTACK,
    SPECIAL_DEFENCE,
    SPEED,
    Floats,
)
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.scripted.move_effects import BRN, FRZ, PAR, PSN, SLP, TOX, MoveEffects
from nemesis.games.pokemon.scripted.position_estimates import SURVIVAL_BONUS, PositionEstimates, duel
from nemesis.games.pokemon.views.layout import (
    BOOSTS,
    FOE,
    GIMMICKS,
    OWN,
    PHASES,
    POSITION,
    SIDE,
    SIDE_CONDITIONS,
    TEAM,
    VOLATILES,
)

_YAWN = 1 + VOLATILES.index("yawn")
_HAZARDS = {"spikes": 3, "toxicspikes": 2, "stealthrock": 1, "stickyweb": 1}  # with their maximum of layers
_STATUS_MOVE_COST = 0.1  # a turn without an attack gives the foe time
_DUEL_WEIGHT = {1: 0.7, 2: 0.2}  # of the duel after this turn, by slots: with more foes it is a poorer prediction
_NOT_PRESENT = -2
_NEVER = -9
# The cost of using a gimmick, by index in GIMMICKS; mega evolution is better early.
_GIMMICK_COST = np.array(
    [{"terastallize": 0.12, "zmove": 0.15, "dynamax": 0.15}.get(name, -0.1) for name in GIMMICKS], np.float32
)


@dataclass(frozen=True)
class ActionScores:
    """Scores of the actions of all slots."""

    estimates: PositionEstimates

    @cached_property
    def effects(self) -> MoveEffects:
        return MoveEffects(self.estimates)

    @cached_property
    def moves(self) -> Floats:
        """The score of each move at each foe: (n, slot, variant, move, foe)."""
        estimates, effects, present = self.estimates, self.effects, self.estimates.present[:, None, None, None]
        hp = effects.of_variants(estimates.own.hp)[..., None, None]
        foe_hp = effects.foe_hp
        knocks_out, damage = effects.knock_out, effects.damage
        reply_each = effects.of_variants(np.swapaxes(self._reply, 1, 2))[..., None, :]  # (n, slot, variant, 1, foe)
        reply = reply_each.sum(-1, keepdims=True)
        priority = effects.fact("priority")[..., None]
        faster = effects.of_variants(estimates.faster)[..., None, :]
        first = np.where(priority != 0, priority > 0, faster)
        flinch = effects.fact("flinch")[..., None] / np.float32(100) * effects.hit_probability
        prevented = reply_each * np.maximum(knocks_out, np.where(effects.hit_damage > 0, flinch, 0))
        protected = effects.fact("protects")[..., None] > 0
        taken = np.where(protected, 0, np.where(first, reply - prevented, reply))
        faints_first = np.where(first | protected, 0, knock_out(reply, hp))
        acts = 1 - faints_first
        gained = np.minimum(damage * acts, foe_hp) + SURVIVAL_BONUS * knocks_out * acts
        change = effects.own_hp_change(damage * acts, hp)
        left = np.minimum(hp - taken + change * acts, 1) + self._turn_advantage * acts
        healed_hp = np.minimum(hp + np.maximum(change, 0), 1)
        faints = np.where(first, knock_out(taken, healed_hp) * (1 - knocks_out), faints_first)
        faints = np.maximum(faints, (effects.fact("cost")[..., None] >= 100) * acts)
        lost = hp - np.maximum(left, 0) + SURVIVAL_BONUS * faints
        duels = self._duel_after(np.maximum(left, 0), np.maximum(foe_hp - damage * acts, 0.01))
        continues = (1 - knocks_out * acts) * (1 - faints)
        score = gained - lost + continues * duels * self._duel_weight + self._bonus[..., None] * acts
        if self._pivots.any():
            score = np.where(self._pivots, self._pivot(gained, first, taken, faints), score)
        score -= self._gimmick_cost[..., None, None]
        return np.where(present, score, _NOT_PRESENT)

    @cached_property
    def switches(self) -> Floats:
        """The score of switching to each Pokémon now: (n, place)."""
        turn = self.estimates.views.position[:, POSITION.column("phase")] == PHASES.index("turn")
        return self._switch_in(np.where(turn[:, None], self._reply.sum(1)[:, :TEAM], 0))

    def _switch_in(self, damage: Floats) -> Floats:
        """Return the score of Pokémon that take damage (n, place) as they switch in: (n, place)."""
        estimates = self.estimates
        hp = estimates.team.hp
        taken = damage + self._entry_hazards
        left = np.maximum(hp - taken, 0)
        duels = duel(
            left[..., None],
            estimates.foes.hp[:, None],
            np.maximum(*estimates.hits)[:, :TEAM],
            self._threat[:, :TEAM, None],
            estimates.faster[:, :TEAM],
        )  # (n, place, foe)
        present = estimates.present[:, None]
        mean = (duels * present).sum(-1) / np.maximum(present.sum(-1), 1)
        faints = knock_out(taken, hp)
        return np.asarray((1 - faints) * mean * self._duel_weight - np.minimum(taken, hp) - SURVIVAL_BONUS * faints)

    @property
    def _target_probability(self) -> np.float32:
        """The probability that a foe's move targets a given slot."""
        return np.float32(1.0 if self.estimates.slots == 1 else 0.6)

    @property
    def _duel_weight(self) -> np.float32:
        return np.float32(_DUEL_WEIGHT[self.estimates.slots])

    @cached_property
    def _threat(self) -> Floats:
        """The damage of all foes together to each own Pokémon in a later turn: (n, own)."""
        physical, special = self.estimates.threats
        worst = np.maximum(physical, special) * self.estimates.foe_acts[1][..., None]
        return np.asarray(worst.sum(1) * self._target_probability)

    @cached_property
    def _reply(self) -> Floats:
        """The damage of each foe to each own Pokémon in this turn: (n, foe, own)."""
        physical, special = self.estimates.threats
        return np.maximum(physical, special) * self.estimates.foe_acts[0][..., None] * self._target_probability

    @cached_property
    def _entry_hazards(self) -> Floats:
        """The damage of hazards to each Pokémon of the team that switches in: (n, place)."""
        team = self.estimates.team
        rock = dex.vocabulary().number("types", "rock")
        chart = self.estimates.estimator.tables.chart[rock][team.types].prod(-1)
        stealth_rock = np.where(team.has_condition("stealthrock"), chart / 8, 0)
        layers = team.conditions[:, SIDE_CONDITIONS.index("spikes"), None]
        spikes = np.where(team.grounded, np.array([0, 1 / 8, 1 / 6, 1 / 4])[np.clip(layers, 0, 3)], 0)
        poisoned = team.has_condition("toxicspikes") & team.grounded & (team.column("status") == 0)
        immune = team.has_item("heavydutyboots") | team.has_ability("magicguard")
        return np.where(immune, 0, stealth_rock + spikes + np.where(poisoned, 0.1, 0))

    @cached_property
    def _gimmick_cost(self) -> Floats:
        """The cost of a variant: (n, slot, variant)."""
        cost = _GIMMICK_COST[self.estimates.gimmick]
        return np.stack([np.zeros_like(cost), cost], -1)[..., : self.effects.variants]

    @cached_property
    def _turn_advantage(self) -> Floats:
        """HP saved by turns in which the foe cannot act, minus HP lost by turns in which the user cannot.

        (n, slot, variant, move, foe)
        """
        effects = self.effects
        turns = np.zeros(6, np.float32)
        turns[SLP], turns[FRZ] = (3, 6) if not effects.since(2) else (1.8, 2)
        threat = effects.of_variants(self._threat)[..., None, None]
        saved = np.minimum((effects.status @ turns), 6) * threat
        yawns = (effects.fact("volatile") == _YAWN)[..., None] * np.float32(0.8) * threat
        confusion = effects.fact("confusion")[..., None] / np.float32(100) * effects.hit_probability
        confused = confusion * effects.reaches * 0.8 * threat
        recharges = effects.has_flag("recharge")[..., None] * (1 - effects.knock_out) * threat
        charges = effects.has_flag("charge")[..., None] * threat
        return np.asarray(np.minimum(saved + yawns + confused, 0.8) - recharges - charges)

    def _duel_after(self, left: Floats, foe_left: Floats) -> Floats:
        """Return the score of the duel after a move: (n, slot, variant, move, foe)."""
        estimates, effects = self.estimates, self.effects
        own, foe, status = effects.self_stages, effects.foe_stages, effects.status
        physical, other = (effects.of_variants(hits)[..., None, :] for hits in estimates.hits)
        hit = np.maximum(
            physical * own[..., None, ATTACK - 1] / foe[..., DEFENCE - 1],
            other * own[..., None, SPECIAL_ATTACK - 1] / foe[..., SPECIAL_DEFENCE - 1],
        )
        hit = hit + 0.06 * status[..., BRN] + 0.12 * status[..., TOX] + 0.08 * status[..., PSN]
        before = [effects.of_variants(np.swapaxes(threats, 1, 2)) for threats in estimates.threats]
        physical, other = (threats[..., None, :] for threats in before)
        physical = physical * (1 - 0.5 * status[..., BRN]) * foe[..., ATTACK - 1] / own[..., None, DEFENCE - 1]
        other = other * foe[..., SPECIAL_ATTACK - 1] / own[..., None, SPECIAL_DEFENCE - 1]
        foe_acts = estimates.foe_acts[1][:, None, None, None]
        acts = foe_acts * (1 - 0.25 * status[..., PAR])
        threat = np.maximum(physical, other) * acts * self._target_probability
        if estimates.slots > 1:  # the other foe's threat does not change
            all_foes = effects.of_variants(self._threat)[..., None, None]
            threat = threat + all_foes - np.maximum(*before)[..., None, :] * foe_acts * self._target_probability
        seeds = effects.leech_seed
        hit, threat = np.where(seeds, hit + 0.1, hit), np.where(seeds, np.maximum(threat - 0.06, 0), threat)
        speed = effects.of_variants(estimates.own.speed)[..., None] * own[..., SPEED - 1]
        foe_speed = estimates.foes.speed[:, None, None, None] * foe[..., SPEED - 1]
        foe_speed = np.where(status[..., PAR] > 0.5, foe_speed / 2, foe_speed)
        trick_room = estimates.field.trick_room[:, None, None, None, None]
        faster = np.where(trick_room, speed[..., None] < foe_speed, speed[..., None] > foe_speed)
        return duel(left, foe_left, hit, threat, faster)

    @cached_property
    def _bonus(self) -> Floats:
        """The score of a move's effects beyond the duel: (n, slot, variant, move)."""
        effects, side = self.effects, self.estimates.views.side
        layers = side[..., SIDE.columns("layers")]  # (n, side, condition)
        left = side[..., SIDE.column("left")].astype(np.float32)
        max_layers = np.array([_HAZARDS.get(name, 1) for name in SIDE_CONDITIONS])
        condition = np.maximum(effects.fact("side_condition") - 1, 0)
        sets = effects.fact("side_condition") > 0
        rows = np.arange(len(layers))[:, None, None, None]
        hazard = effects.fact("hazard") > 0
        stacks = np.where(hazard, layers[rows, FOE, condition], layers[rows, OWN, condition]) < max_layers[condition]
        foe_bench = np.maximum(left[:, FOE] - 1, 0)[:, None, None, None]
        own_bench = np.maximum(left[:, OWN] - 1, 0)[:, None, None, None]
        hazards = np.where(hazard & sets & stacks, 0.09 * foe_bench, 0)
        screens = np.where(~hazard & sets & stacks, 0.1 + 0.04 * own_bench, 0)
        own_hazards = (layers[:, OWN, [SIDE_CONDITIONS.index(name) for name in _HAZARDS]] > 0).sum(-1)
        clears = np.where(effects.fact("clears_hazards") > 0, 1, 0) * 0.06 * own_bench
        clears = clears * own_hazards[:, None, None, None]
        foe_boosts = np.maximum(self.estimates.foes["boosts"][..., : len(BOOSTS)], 0).sum(-1).max(-1)
        forces_out = np.where(effects.fact("force_switch") > 0, 0.12, 0) * foe_boosts[:, None, None, None]
        repeated = effects.of_variants(self.estimates.own.column("last_move"))[..., None] == effects.numbers
        protects = np.where(effects.fact("protects") > 0, np.where(repeated, -0.6, -0.12), 0)
        status_move = np.where(effects.fact("category") == STATUS, -_STATUS_MOVE_COST, 0)
        return np.asarray(hazards + screens + clears + forces_out + protects + status_move, np.float32)

    @cached_property
    def _pivots(self) -> BoolArray:
        """Which moves switch the user out: (n, slot, variant, move, 1)."""
        has_bench = np.asarray(self._bench.any(-1))
        return (self.effects.fact("self_switch") > 0)[..., None] & has_bench[:, None, None, None, None]

    @cached_property
    def _bench(self) -> BoolArray:
        """Which Pokémon can switch in: (n, place)."""
        return np.asarray(self.estimates.team.alive & (self.estimates.team.column("active") == 0))

    def _pivot(self, gained: Floats, first: BoolArray, taken: Floats, faints: Floats) -> Floats:
        """Return the score of a move that switches the user out: (n, slot, variant, move, foe)."""
        unavailable = np.where(self._bench, 0, _NEVER)
        unhurt, hurt = (
            (self._switch_in(damage) + unavailable).max(-1)[:, None, None, None, None]
            for damage in (np.zeros_like(self._entry_hazards), self._reply.sum(1)[:, :TEAM])
        )
        return np.asarray(gained + np.where(first, hurt, (1 - faints) * unhurt - taken - SURVIVAL_BONUS * faints))
