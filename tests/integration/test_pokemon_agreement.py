"""Our tracking of battles agrees with that of poke-env, which reads the same messages, but where a named rule says why.

What is compared at every decision: species, HP, status, boosts, moves and items of both teams, weather and side
conditions. `NEMESIS_VIEW_BATTLES=10` compares ten times as many battles.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from poke_env.battle import Battle, DoubleBattle, Pokemon
from poke_env.data import to_id_str
from poke_env.teambuilder import Teambuilder
from traces import Entity, View, seeded, trace, with_teams

from nemesis.games.pokemon.dex.tables import tables, vocabulary
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.layout import FOE, OWN

IGNORED = {"t:", "uhtml", "uhtmlchange", "debug"}  # the player of poke-env keeps these from its battle
LAYERED = {"SPIKES", "TOXIC_SPIKES"}
TEAM_SETS = {"gen1ou", "gen9ou"}  # elsewhere, random teams, which hold more that is rare


@dataclass(frozen=True)
class Difference:
    """Something on which the two trackers do not agree."""

    what: str
    ours: Any
    theirs: Any
    which: int = OWN
    member: Entity | None = None  # as we know it
    mon: Pokemon | None = None  # as poke-env knows it
    name: str = ""
    lines: tuple[str, ...] = ()  # all that the seat has read

    def about(self) -> Iterator[list[str]]:
        """Yield the lines, split, that name the Pokémon first."""
        for line in self.lines:
            parts = line.split("|")
            if len(parts) > 2 and parts[2].partition(": ")[2] == self.name:
                yield parts


def keeps_first_forme(difference: Difference) -> bool:
    """poke-env keeps the forme in which it met a Pokémon until that comes in again; our species is the forme it has."""
    changed = {to_id_str(parts[3].split(",")[0]) for parts in difference.about() if parts[1] in _FORME_LINES}
    return difference.what == "species" and difference.ours in changed


def transformed(difference: Difference) -> bool:
    """For poke-env a Ditto stays a Ditto. We show what it turned into, with the moves that its owner knows it has."""
    here = difference.member is not None and "transform" in difference.member.volatiles
    return difference.what in {"species", "moves"} and here


def imposter_has_no_transform(difference: Difference) -> bool:
    """poke-env takes the ability Imposter for the move Transform. The move is not revealed by it."""
    imposter = any(parts[1] == "-transform" and parts[-1] == "[from] ability: Imposter" for parts in difference.about())
    return difference.what == "moves" and difference.theirs - difference.ours == {"transform"} and imposter


def named_as_cause(difference: Difference) -> bool:
    """poke-env reads `[from] item: …` of damage and healing only. It tells the item in other lines just as well."""
    causes = {
        to_id_str(part.partition("item: ")[2])
        for parts in difference.about()
        if parts[1] in {"-status", "-fail", "-block", "-start"}
        for part in parts[3:]
        if "item: " in part
    }
    return difference.what == "item" and difference.theirs == "unknown" and difference.ours in causes


def told_by_poltergeist(difference: Difference) -> bool:
    """Poltergeist says which item its target holds; poke-env does not read that."""
    revealed = {to_id_str(parts[4]) for parts in difference.about() if parts[3:4] == ["move: Poltergeist"]}
    return difference.what == "item" and difference.theirs == "unknown" and difference.ours in revealed


def named_but_not_used(difference: Difference) -> bool:
    """A move that is announced, or that Taunt or Disable forbids, is revealed; poke-env reads only what is used."""
    if difference.what != "moves" or difference.theirs - difference.ours:
        return False
    named = {to_id_str(parts[4]) for parts in difference.about() if parts[1] in {"cant", "-start"} and len(parts) > 4}
    named |= {to_id_str(parts[3].removeprefix("move: ")) for parts in difference.about() if parts[1] == "-singleturn"}
    return difference.ours - difference.theirs <= named


def in_disguise(difference: Difference) -> bool:
    """When a disguise falls, poke-env gives its wearer no more than HP and status; we move all that it did to it."""
    fallen = any(line.startswith("|replace|") for line in difference.lines)
    wearer = difference.mon is not None and difference.mon.ability == "illusion"
    return difference.which == FOE and difference.what != "species" and (fallen or wearer)


def fifth_move(difference: Difference) -> bool:
    """Five moves mean that one of them was used by another in disguise. We show four; poke-env shows all."""
    ours, theirs = difference.ours, difference.theirs
    return difference.what == "moves" and len(ours) == layout.MOVES < len(theirs) and ours < theirs


def own_disguise(difference: Difference) -> bool:
    """poke-env gives what happens to a disguised own Pokémon to the one it looks like. Its owner knows better."""
    wearer = difference.mon is not None and difference.mon.ability == "illusion"
    return difference.which == OWN and difference.what == "boosts" and wearer


def passed_on(difference: Difference) -> bool:
    """Baton Pass hands boosts on; poke-env lets them go with the Pokémon that leaves."""
    passed = any("[from] Baton Pass" in parts for parts in difference.about() if parts[1] == "switch")
    return difference.what == "boosts" and passed


def regenerated(difference: Difference) -> bool:
    """Regenerator heals a third as its owner leaves; poke-env forgets it where another line than its own named it."""
    if difference.what != "hp" or difference.member is None:
        return False
    (ours, full), (theirs, _) = difference.ours, difference.theirs
    known = difference.member.id("abilities", "base_ability") == "regenerator"
    return known and not difference.member["active"] and ours == min(full, theirs + full // 3)


def not_seen_yet(difference: Difference) -> bool:
    """Who has not been on the field yet is unhurt. poke-env has no HP for it."""
    hidden = difference.member is not None and not difference.member["seen"]
    return difference.what == "hp" and hidden and difference.theirs == (0, 0)


_FORME_LINES = {"-formechange", "detailschange"}
RULES: list[Callable[[Difference], bool]] = [
    keeps_first_forme,
    transformed,
    imposter_has_no_transform,
    named_as_cause,
    told_by_poltergeist,
    named_but_not_used,
    in_disguise,
    fifth_move,
    own_disguise,
    passed_on,
    regenerated,
    not_seen_yet,
]


class PokeEnv:
    """poke-env's battle, fed as its player feeds it."""

    def __init__(self, seat: int, doubles: bool, generation: int) -> None:
        kind = DoubleBattle if doubles else Battle
        self.battle: Any = kind("battle", f"Seat {seat + 1}", logging.getLogger("poke-env"), gen=generation)
        self.battle.logger.setLevel(logging.CRITICAL)
        self.lines: list[str] = []

    def read(self, lines: list[str], request: dict[str, Any]) -> None:
        self.lines += lines
        for line in lines:
            parts = line.split("|")
            if len(parts) < 2 or parts[1] in IGNORED:
                continue
            if parts[1] == "showteam":
                self._read_sheet(parts[2], "|".join(parts[3:]))
            else:
                self.battle.parse_message(parts)
        self.battle.parse_request(request)

    def _read_sheet(self, role: str, packed: str) -> None:
        own = role == self.battle.player_role
        sheet = Teambuilder.parse_packed_team(packed)
        for shown in self.battle.teampreview_team if own else self.battle.teampreview_opponent_team:
            entry = next(entry for entry in sheet if entry.nickname and shown.identifies_as(entry.nickname))
            mon = self.battle.get_pokemon(f"{role}: {entry.nickname}", details=shown._last_details)
            mon._update_from_teambuilder(entry)


def differences(view: View, theirs: PokeEnv, generation: int, preview: bool) -> Iterator[Difference]:
    battle, lines = theirs.battle, tuple(theirs.lines)
    weather = next((name(weather) for weather in battle.weather), "")
    if view.weather != weather:
        yield Difference("weather", view.weather, weather, lines=lines)
    for which, conditions in ((OWN, battle.side_conditions), (FOE, battle.opponent_side_conditions)):
        layers = {name(key): value if key.name in LAYERED else 1 for key, value in conditions.items()}
        if view.conditions(which) != layers:
            yield Difference("conditions", view.conditions(which), layers, which, lines=lines)
    if preview:
        return
    for which, members, mons in ((OWN, view.team, battle.team), (FOE, view.foes, battle.opponent_team)):
        by_base = {base_species(member, generation): member for member in members}
        for ident, mon in mons.items():
            member = by_base[mon.base_species]
            for what, ours, said in facts(member, mon):
                if ours != said:
                    yield Difference(what, ours, said, which, member, mon, ident.partition(": ")[2], lines)


def facts(member: Entity, mon: Pokemon) -> Iterator[tuple[str, Any, Any]]:
    """Yield what, our value and poke-env's."""
    yield "species", member.species, mon.species
    if not (member["fainted"] and mon.fainted):
        yield "hp", (member["hp"], member["max_hp"]), (mon.current_hp, mon.max_hp)
    status = "fnt" if member["fainted"] else layout.STATUSES[member["status"]]
    yield "status", status, mon.status.name.lower() if mon.status else ""
    if member["active"]:
        yield "active", True, mon.active
        yield "boosts", member.boosts, {stat: stages for stat, stages in mon.boosts.items() if stages}
    yield "moves", set(member.moves), set(mon.moves)
    item = member.id("items", "item") or layout.ITEM_STATES[member["item_state"]]
    yield "item", item, "unknown" if mon.item == "unknown_item" else mon.item or "none"


def base_species(member: Entity, generation: int) -> str:
    number = member["base_species"]
    return vocabulary().species[int(tables(f"gen{generation}").species["base_species"][number]) - 1]


def name(value: Any) -> str:
    return str(value.name).lower().replace("_", "")


@pytest.mark.parametrize(
    ("battle_format", "generation", "doubles", "sheets", "count"),
    [
        ("gen1randombattle", 1, False, False, 8),
        ("gen1ou", 1, False, False, 6),
        ("gen9randombattle", 9, False, False, 12),
        ("gen9ou", 9, False, False, 10),
        ("gen9randomdoublesbattle", 9, True, False, 8),
        ("gen9vgc2025regi", 9, True, False, 8),
        ("gen9vgc2024regg", 9, True, True, 8),
    ],
)
def test_poke_env_agrees(battle_format: str, generation: int, doubles: bool, sheets: bool, count: int):
    plan = with_teams(battle_format, count) if battle_format in TEAM_SETS else seeded(count)
    battles = trace(battle_format, plan, sheets=sheets, prints=["lines", "request"])
    compared, unexplained = 0, []
    for battle in battles:
        theirs = [PokeEnv(seat, doubles, generation) for seat in (0, 1)]
        for decision in battle["decisions"]:
            seat, request = decision["seat"], decision["request"]
            theirs[seat].read(decision["lines"], request)
            preview = bool(request.get("teamPreview"))
            for difference in differences(View(decision["view"]), theirs[seat], generation, preview):
                if not any(rule(difference) for rule in RULES):
                    where = f"battle {battle['seed']}, seat {seat}, turn {decision['turn']}"
                    said = f"{difference.name} {difference.what}: {difference.ours}, not {difference.theirs}"
                    unexplained.append(f"{where}: {said}")
            compared += 1
    assert not unexplained, "\n".join(unexplained[:20])
    assert compared > 20 * len(battles)
