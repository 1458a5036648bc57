"""What a slot's moves and switches are worth, for scripted players.

A move is played out: it hits, the foe answers or did so before, stats and ailments change, and a duel from there gives
the rest (see `prospects.py`). A switch takes the answer of the foe and duels after that. All worths are shares of a
Pokémon's HP.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray
from nemesis.games.pokemon.damage.battlers import ATTACK, DEFENCE, SPECIAL_ATTACK, SPECIAL_DEFENCE, SPEED, Floats, Ints
from nemesis.games.pokemon.damage.formula import knock_out
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.scripted.prospects import STANDING, Prospects, duel
from nemesis.games.pokemon.views.layout import (
    BOOSTS,
    FOE,
    GIMMICKS,
    OWN,
    PHASES,
    POSITION,
    SIDE,
    SIDE_CONDITIONS,
    STATUSES,
    TEAM,
    TERRAINS,
    VOLATILES,
)

_BLOCK = dex.BLOCKS["moves"]
_STATUS = dex.CATEGORIES.index("status")
_FLAG = {name: _BLOCK.columns("flags").start + dex.FLAGS.index(name) for name in ("charge", "recharge", "powder")}
_BRN, _PAR, _SLP, _FRZ, _PSN, _TOX = range(6)  # places in status_chances
_LEECH_SEED = 1 + VOLATILES.index("leechseed")
_YAWN = 1 + VOLATILES.index("yawn")
_HAZARDS = {"spikes": 3, "toxicspikes": 2, "stealthrock": 1, "stickyweb": 1}
_IMMUNE_TYPES = {_BRN: ("fire",), _FRZ: ("ice",), _PSN: ("poison", "steel"), _TOX: ("poison", "steel")}
_IMMUNE_ABILITIES = {
    _BRN: ("waterveil", "waterbubble", "thermalexchange"),
    _PAR: ("limber",),
    _SLP: ("insomnia", "vitalspirit", "sweetveil"),
    _FRZ: ("magmaarmor",),
    _PSN: ("immunity", "pastelveil"),
    _TOX: ("immunity", "pastelveil"),
}
_IMMUNE_TO_ALL = ("comatose", "purifyingsalt", "goodasgold", "shieldsdown")
_IDLE = 0.1  # what a turn without an attack costs, for it gives the foe time
_FORESIGHT = {1: 0.7, 2: 0.2}  # what the duel to come counts, by slots: with more foes it is a poorer prophecy
# What using up a gimmick costs, by place in GIMMICKS; a mega evolution is better early.
_GIMMICK_COST = np.array(
    [{"terastallize": 0.12, "zmove": 0.15, "dynamax": 0.15}.get(name, -0.1) for name in GIMMICKS], np.float32
)


@dataclass(frozen=True)
class CriticOutput:
    """Judges the options of all slots. A *variant* is a slot's Pokémon as it is, or as its gimmick makes it."""

    prospects: Prospects

    @cached_property
    def attention(self) -> float:
        """How likely a foe's move aims at a given slot."""
        return 1.0 if self.prospects.slots == 1 else 0.6

    @property
    def _opponent_model(self) -> np.float32:
        return np.float32(_FORESIGHT[self.prospects.slots])

    @cached_property
    def _fighter(self) -> Ints:
        """The places of the variants among the fighters: (n, slot, variant)."""
        plain = self.prospects.place
        if self.prospects.fighters == TEAM:
            return plain[..., None]
        transformed = np.broadcast_to(TEAM + np.arange(self.prospects.slots), plain.shape)
        return np.stack([plain, transformed], -1)

    def _variants(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Pick what belongs to the variants: (n, fighter, …) → (n, slot, variant, …)."""
        return np.asarray(values[np.arange(len(values))[:, None, None], self._fighter])

    @cached_property
    def _facts(self) -> npt.NDArray[np.int16]:
        """The dex's facts about the moves: (n, slot, variant, move, column)."""
        return np.asarray(self.prospects.estimator.tables.moves.values[self._numbers])

    @cached_property
    def _numbers(self) -> npt.NDArray[np.int16]:
        return self._variants(self.prospects.own["moves"])

    def fact(self, name: str) -> npt.NDArray[np.int16]:
        """Return one fact about the moves: (n, slot, variant, move)."""
        return self._facts[..., _BLOCK.column(name)]

    def _several(self, name: str) -> npt.NDArray[np.int16]:
        return self._facts[..., _BLOCK.columns(name)]

    @cached_property
    def share(self) -> Floats:
        """What a hit of each move takes of each foe: (n, slot, variant, move, foe)."""
        return self._variants(self.prospects.attacks.share) * self.prospects.present[:, None, None, None]

    @cached_property
    def chance(self) -> Floats:
        return self._variants(self.prospects.attacks.chance)

    @cached_property
    def damage(self) -> Floats:
        """The expected damage of each move to each foe: (n, slot, variant, move, foe)."""
        shielded = self.prospects.foes.has_volatile("substitute")[:, None, None, None]
        return self.share * self.chance * np.where(shielded, 0.3, 1)

    @cached_property
    def knock_out(self) -> Floats:
        """How likely each move fells each foe: (n, slot, variant, move, foe)."""
        foes = self.prospects.foes
        saved = (foes.hp >= 1) & (foes.has_item("focussash") | (foes.has_ability("sturdy") & self._since(5)))
        saved |= foes.has_volatile("substitute")
        return knock_out(self.share, self._foe_hp) * self.chance * ~saved[:, None, None, None]

    def _since(self, generation: int) -> bool:
        return self.prospects.estimator.generation >= generation

    @cached_property
    def _foe_hp(self) -> Floats:
        return self.prospects.foes.hp[:, None, None, None]  # (n, 1, 1, 1, foe)

    @cached_property
    def threat(self) -> Floats:
        """What the foes do to each fighter in a turn to come, all together: (n, fighter)."""
        physical, special = self.prospects.threats
        worst = np.maximum(physical, special) * self.prospects.foe_acts[1][..., None]
        return np.asarray(worst.sum(1) * np.float32(self.attention))

    @cached_property
    def reply(self) -> Floats:
        """What the foes do to each fighter in this turn, each on its own: (n, foe, fighter)."""
        physical, special = self.prospects.threats
        return np.maximum(physical, special) * self.prospects.foe_acts[0][..., None] * np.float32(self.attention)

    @cached_property
    def switches(self) -> Floats:
        """What it is worth to send in each Pokémon now: (n, place)."""
        turn = self.prospects.views.position[:, POSITION.column("phase")] == PHASES.index("turn")
        return self._entering(np.where(turn[:, None], self.reply.sum(1)[:, :TEAM], 0))

    def _entering(self, answer: Floats) -> Floats:
        """Return what it is worth to send in Pokémon that take an answer (n, place) as they enter: (n, place)."""
        prospects = self.prospects
        hp = prospects.team.hp
        taken = answer + self._hazards
        left = np.maximum(hp - taken, 0)
        fights = duel(
            left[..., None],
            prospects.foes.hp[:, None],
            np.maximum(*prospects.hits)[:, :TEAM],
            self.threat[:, :TEAM, None],
            prospects.faster[:, :TEAM],
        )  # (n, place, foe)
        there = prospects.present[:, None]
        mean = (fights * there).sum(-1) / np.maximum(there.sum(-1), 1)
        falls = knock_out(taken, hp)
        return np.asarray((1 - falls) * mean * self._opponent_model - np.minimum(taken, hp) - STANDING * falls)

    @cached_property
    def _hazards(self) -> Floats:
        """What entering costs each Pokémon of the team: (n, place)."""
        team = self.prospects.team
        rock = dex.vocabulary().number("types", "rock")
        chart = self.prospects.estimator.tables.chart[rock][team.types].prod(-1)
        stones = np.where(team.condition("stealthrock"), chart / 8, 0)
        layers = team.conditions[:, SIDE_CONDITIONS.index("spikes"), None]
        spikes = np.where(team.grounded, np.array([0, 1 / 8, 1 / 6, 1 / 4])[np.clip(layers, 0, 3)], 0)
        poison = np.where(team.condition("toxicspikes") & team.grounded & (team.one("status") == 0), 0.1, 0)
        booted = team.has_item("heavydutyboots") | team.has_ability("magicguard")
        return np.where(booted, 0, stones + spikes + poison)

    @cached_property
    def _self_stages(self) -> Floats:
        """By what factor a move changes the user's stats: (n, slot, variant, move, stat)."""
        change = self._several("self_boosts") + self._several("secondary_self_boosts") / np.float32(100)
        ghost = self._variants(self.prospects.own.has_type("ghost"))[..., None, None]
        cursed = self._is("curse")[..., None] & ghost
        now = self._variants(self.prospects.own["boosts"])[..., None, :]
        return _stage_ratio(now[..., :5], np.where(cursed, 0, change)[..., :5])

    @cached_property
    def _foe_stages(self) -> Floats:
        """By what factor a move changes a foe's stats: (n, slot, variant, move, foe, stat)."""
        change = self._several("target_boosts") + self._several("secondary_target_boosts") / np.float32(100)
        foes = self.prospects.foes
        steady = foes.has_ability("clearbody", "whitesmoke", "fullmetalbody", "mirrorarmor", "goodasgold")
        steady |= foes.has_volatile("substitute") | foes.condition("mist")
        applied = change[..., None, :5] * self.chance[..., None] * ~steady[:, None, None, None, :, None]
        return _stage_ratio(foes["boosts"][:, None, None, None, :, :5], applied)

    @cached_property
    def ailing(self) -> Floats:
        """How likely a move gives each status to each foe: (n, slot, variant, move, foe, status)."""
        foes = self.prospects.foes
        open_to = np.ones((*foes.hp.shape, 6), np.bool_)  # (n, foe, status)
        for status, names in _IMMUNE_TYPES.items():
            for name in names:
                open_to[..., status] &= ~foes.has_type(name)
        if self._since(6):
            open_to[..., _PAR] &= ~foes.has_type("electric")
        for status, abilities in _IMMUNE_ABILITIES.items():
            open_to[..., status] &= ~foes.has_ability(*abilities)
        safe = (foes.one("status") > 0) | foes.has_volatile("substitute") | foes.condition("safeguard")
        safe |= foes.has_ability(*_IMMUNE_TO_ALL)
        terrain = self.prospects.field.terrain[:, None]
        safe |= (terrain == TERRAINS.index("mistyterrain")) & foes.grounded
        open_to &= ~safe[..., None]
        open_to[..., _SLP] &= ~((terrain == TERRAINS.index("electricterrain")) & foes.grounded)
        open_to[..., _SLP] &= ~self._one_sleeps[:, None]
        chances = self._several("status_chances")[..., None, :] / np.float32(100) * self.chance[..., None]
        reached = self._reaches[..., None]
        return chances * open_to[:, None, None, None] * reached

    @cached_property
    def _one_sleeps(self) -> BoolArray:
        """Whether a foe sleeps already, so that putting another to sleep breaks the usual rule: (n,)."""
        foes = self.prospects.foe_team
        return np.asarray(((foes.one("status") == STATUSES.index("slp")) & foes.alive).any(-1))

    @cached_property
    def _reaches(self) -> BoolArray:
        """Whether a move's effects reach each foe: (n, slot, variant, move, foe)."""
        foes = self.prospects.foes
        harmless = (self.fact("category")[..., None] != _STATUS) & (self.share <= 0)
        wave = (
            self._is("thunderwave")[..., None]
            & (foes.has_type("ground") | foes.has_type("electric"))[:, None, None, None]
        )
        unpowdered = foes.has_ability("overcoat") | (foes.has_type("grass") if self._since(6) else False)
        powder = (self._facts[..., _FLAG["powder"]] > 0)[..., None] & np.asarray(unpowdered)[:, None, None, None]
        return np.asarray(~(harmless | wave | powder) & self.prospects.present[:, None, None, None])

    def _is(self, name: str) -> BoolArray:
        """Tell which moves are a certain one: (n, slot, variant, move)."""
        return np.asarray(self._numbers == dex.vocabulary().number("moves", name))

    @cached_property
    def moves(self) -> Floats:
        """What each move is worth, aimed at each foe: (n, slot, variant, move, foe)."""
        prospects, present = self.prospects, self.prospects.present[:, None, None, None]
        hp = self._variants(prospects.own.hp)[..., None, None]
        foe_hp = self._foe_hp
        fells, damage = self.knock_out, self.damage
        reply_each = self._variants(np.swapaxes(self.reply, 1, 2))[..., None, :]  # (n, slot, variant, 1, foe)
        reply = reply_each.sum(-1, keepdims=True)
        priority = self.fact("priority")[..., None]
        faster = self._variants(prospects.faster)[..., None, :]
        first = np.where(priority != 0, priority > 0, faster)
        flinch = self.fact("flinch")[..., None] / np.float32(100) * self.chance
        spared = reply_each * np.maximum(fells, np.where(self.share > 0, flinch, 0))
        guarded = self.fact("protects")[..., None] > 0
        answer = np.where(guarded, 0, np.where(first, reply - spared, reply))
        falls_first = np.where(first | guarded, 0, knock_out(reply, hp))
        acts = 1 - falls_first
        gained = np.minimum(damage * acts, foe_hp) + STANDING * fells * acts
        change = self._own_change(damage * acts, hp)
        left = np.minimum(hp - answer + change * acts, 1) + self._delay * acts
        falls = np.where(first, knock_out(answer, np.minimum(hp + np.maximum(change, 0), 1)) * (1 - fells), falls_first)
        falls = np.maximum(falls, (self.fact("cost")[..., None] >= 100) * acts)
        lost = hp - np.maximum(left, 0) + STANDING * falls
        rest = self._rest(np.maximum(left, 0), np.maximum(foe_hp - damage * acts, 0.01))
        going_on = (1 - fells * acts) * (1 - falls)
        worth = gained - lost + going_on * rest * self._opponent_model + self._bonus[..., None] * acts
        if self._pivots.any():
            worth = np.where(self._pivots, self._pivot(gained, first, answer, falls), worth)
        worth -= self._gimmick_cost[..., None, None]
        return np.where(present, worth, -2)

    @cached_property
    def _gimmick_cost(self) -> Floats:
        """What a variant costs: (n, slot, variant)."""
        cost = _GIMMICK_COST[self.prospects.gimmick]
        variants = self._fighter.shape[2]
        return np.stack([np.zeros_like(cost), cost], -1)[..., :variants]

    def _own_change(self, damage: Floats, hp: Floats) -> Floats:
        """Return what a move itself does to its user's HP: (n, slot, variant, move, foe)."""
        drained = (self.fact("drain") - self.fact("recoil"))[..., None] / np.float32(100) * damage
        heals = np.where(self.fact("target") == dex.TARGETS.index("self"), self.fact("heal"), 0)
        paid = (heals - np.minimum(self.fact("cost"), 100))[..., None] / np.float32(100)
        paid = np.where(self.fact("cost")[..., None] >= 100, -hp, paid)
        burdened = self._variants(self.prospects.own.item_fact("recoil"))[..., None, None] / np.float32(100)
        return drained + paid - np.where(damage > 0, burdened, 0)

    @cached_property
    def _delay(self) -> Floats:
        """HP that is saved because the foe sleeps, is frozen or confused, or lost because the user has to rest."""
        turns = np.zeros(6, np.float32)
        turns[_SLP], turns[_FRZ] = (3, 6) if not self._since(2) else (1.8, 2)
        threat = self._variants(self.threat)[..., None, None]
        saved = np.minimum((self.ailing @ turns), 6) * threat
        yawns = (self.fact("volatile") == _YAWN)[..., None] * np.float32(0.8) * threat
        confused = self.fact("confusion")[..., None] / np.float32(100) * self.chance * self._reaches * 0.8 * threat
        rests = (self._facts[..., _FLAG["recharge"]] > 0)[..., None] * (1 - self.knock_out) * threat
        charges = (self._facts[..., _FLAG["charge"]] > 0)[..., None] * threat
        return np.asarray(np.minimum(saved + yawns + confused, 0.8) - rests - charges)

    def _rest(self, left: Floats, foe_left: Floats) -> Floats:
        """Return what the duel after a move is worth: (n, slot, variant, move, foe)."""
        prospects = self.prospects
        own, foe, ailing = self._self_stages, self._foe_stages, self.ailing
        physical, other = (self._variants(hits)[..., None, :] for hits in prospects.hits)
        hit = np.maximum(
            physical * own[..., None, ATTACK - 1] / foe[..., DEFENCE - 1],
            other * own[..., None, SPECIAL_ATTACK - 1] / foe[..., SPECIAL_DEFENCE - 1],
        )
        hit = hit + 0.06 * ailing[..., _BRN] + 0.12 * ailing[..., _TOX] + 0.08 * ailing[..., _PSN]
        physical, other = (self._variants(np.swapaxes(one, 1, 2))[..., None, :] for one in prospects.threats)
        physical = physical * (1 - 0.5 * ailing[..., _BRN]) * foe[..., ATTACK - 1] / own[..., None, DEFENCE - 1]
        other = other * foe[..., SPECIAL_ATTACK - 1] / own[..., None, SPECIAL_DEFENCE - 1]
        acts = prospects.foe_acts[1][:, None, None, None] * (1 - 0.25 * ailing[..., _PAR])
        threat = np.maximum(physical, other) * acts * np.float32(self.attention)
        if prospects.slots > 1:  # the other foe is as dangerous as before
            before = self._variants(self.threat)[..., None, None]
            alone = np.maximum(*(self._variants(np.swapaxes(one, 1, 2)) for one in prospects.threats))[..., None, :]
            threat = threat + before - alone * prospects.foe_acts[1][:, None, None, None] * np.float32(self.attention)
        seeds = (self.fact("volatile") == _LEECH_SEED)[..., None] & self._seedable[:, None, None, None]
        hit, threat = np.where(seeds, hit + 0.1, hit), np.where(seeds, np.maximum(threat - 0.06, 0), threat)
        speed = self._variants(prospects.own.speed)[..., None] * own[..., SPEED - 1]
        foe_speed = prospects.foes.speed[:, None, None, None] * foe[..., SPEED - 1]
        foe_speed = np.where(ailing[..., _PAR] > 0.5, foe_speed / 2, foe_speed)
        slow_first = prospects.field.trick_room[:, None, None, None, None]
        faster = np.where(slow_first, speed[..., None] < foe_speed, speed[..., None] > foe_speed)
        return duel(left, foe_left, hit, threat, faster)

    @cached_property
    def _seedable(self) -> BoolArray:
        foes = self.prospects.foes
        return ~(foes.has_type("grass") | foes.has_volatile("leechseed") | foes.has_volatile("substitute"))

    @cached_property
    def _bonus(self) -> Floats:
        """What a move does beyond the duel: (n, slot, variant, move)."""
        side = self.prospects.views.side
        layers = side[..., SIDE.columns("layers")]  # (n, side, condition)
        left = side[..., SIDE.column("left")].astype(np.float32)
        most = np.array([_HAZARDS.get(name, 1) for name in SIDE_CONDITIONS])
        condition = np.maximum(self.fact("side_condition") - 1, 0)
        sets = self.fact("side_condition") > 0
        rows = np.arange(len(layers))[:, None, None, None]
        hazard = self.fact("hazard") > 0
        room = np.where(hazard, layers[rows, FOE, condition], layers[rows, OWN, condition]) < most[condition]
        foes_to_come = np.maximum(left[:, FOE] - 1, 0)[:, None, None, None]
        allies_to_come = np.maximum(left[:, OWN] - 1, 0)[:, None, None, None]
        lays = np.where(hazard & sets & room, 0.09 * foes_to_come, 0)
        shields = np.where(~hazard & sets & room, 0.1 + 0.04 * allies_to_come, 0)
        own_hazards = (layers[:, OWN, [SIDE_CONDITIONS.index(name) for name in _HAZARDS]] > 0).sum(-1)
        clears = (
            np.where(self.fact("clears_hazards") > 0, 1, 0) * 0.06 * allies_to_come * own_hazards[:, None, None, None]
        )
        raised = np.maximum(self.prospects.foes["boosts"][..., : len(BOOSTS)], 0).sum(-1).max(-1)
        drives_out = np.where(self.fact("force_switch") > 0, 0.12, 0) * raised[:, None, None, None]
        repeated = self._variants(self.prospects.own.one("last_move"))[..., None] == self._numbers
        protects = np.where(self.fact("protects") > 0, np.where(repeated, -0.6, -0.12), 0)
        idle = np.where(self.fact("category") == _STATUS, -_IDLE, 0)
        return np.asarray(lays + shields + clears + drives_out + protects + idle, np.float32)

    @cached_property
    def _pivots(self) -> BoolArray:
        """Which moves bring somebody else in: (n, slot, variant, move, 1)."""
        someone = np.asarray(self._bench.any(-1))
        return (self.fact("self_switch") > 0)[..., None] & someone[:, None, None, None, None]

    @cached_property
    def _bench(self) -> BoolArray:
        """Who could come in: (n, place)."""
        return np.asarray(self.prospects.team.alive & (self.prospects.team.one("active") == 0))

    def _pivot(self, gained: Floats, first: BoolArray, answer: Floats, falls: Floats) -> Floats:
        """Return what a move that brings somebody else in is worth: (n, slot, variant, move, foe)."""
        hidden = np.where(self._bench, 0, -9)
        spared, hurt = (
            (self._entering(taken) + hidden).max(-1)[:, None, None, None, None]
            for taken in (np.zeros_like(self._hazards), self.reply.sum(1)[:, :TEAM])
        )
        return np.asarray(gained + np.where(first, hurt, (1 - falls) * spared - answer - STANDING * falls))


def _stage_ratio(now: npt.NDArray[Any], change: npt.NDArray[Any]) -> Floats:
    """Return by what factor a change of stages, perhaps an expected one, changes stats."""
    return _stage(np.clip(now + change, -6, 6)) / _stage(now)


def _stage(stage: npt.NDArray[Any]) -> Floats:
    return np.where(stage >= 0, 1 + stage / np.float32(2), 2 / (2 - np.minimum(stage, 0))).astype(np.float32)
