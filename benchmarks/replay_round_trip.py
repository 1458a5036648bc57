"""Whether public logs are read as the battles were: battles are written as replays and read back.

They are read twice: as the logs tell it, and with what they do not tell drawn from what is usual among them.

Random and scripted players meet in process, and what their seats saw and chose is kept. Each battle is then written as
the replay that a spectator would save, and read back. Every action that the reading calls known must be the one that
was chosen, and where it calls some possible it must be among them; views must be equal but for what a spectator cannot
know, and masks wherever the moves, the item and the ability of the active Pokémon are known; switches in all masks.
What cannot be known, and is not compared:

- exact HP and stats, in any case: own HP may differ by what rounding to per cent hides;
- item, ability, tera type, moves, species and forme of own Pokémon that the log never shows; each is marked as guessed;
- what follows from these: which moves an item disables, how long an item makes a weather last, what an ability heals on
  the bench of Pokémon that do not come back, and which moves a foe has that turned into one of them;
- who stayed at home, if not all that were brought are seen; also marked;
- the order of moves and, without a team preview, of Pokémon: both are matched by name before they are compared;
- who holds a Sticky Barb, which goes from one to another without a line;
- PP that Pressure may have cost where a line does not name the target;
- whether Outrage and its like go on, and whether a hidden ability traps, where nothing shows it; such requests are
  marked as unsure;
- decisions that were refused for hidden reasons and made again: only the last choice is public.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.report import MeasurementError, option_parser, print_table, run, write_json
from nemesis.core.game import BoolArray, IntArray
from nemesis.games import open_game
from nemesis.games.pokemon import layout
from nemesis.games.pokemon.actions import OPTIONS, PASS, SWITCH, TARGETS, TURNS, ActionSpace, action_space
from nemesis.games.pokemon.dex import vocabulary
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.layout import MOVES, POKEMON, POSITION, TEAM
from nemesis.games.pokemon.pool import BattlePool
from nemesis.games.pokemon.replay_reading import Guessed, Read, ReplayBattle, ReplayError, SeatDecisions
from nemesis.games.pokemon.replay_usage import Usage

FORMATS = ("gen1ou", "gen9ou", "gen9vgc2025regi")
BATTLES, QUICK_BATTLES = 1000, 60
_SLOTS = 32
_MOST_EXAMPLES = 20
_ROUNDING = 0.016  # of HP that are shown in per cent, where 99 may be anything from 98 to almost all
_BY_MOVE = ("moves", "pp", "max_pp", "move_disabled", "move_revealed")
_UNSURE = {  # fields of an own Pokémon that a guess takes out of the comparison
    "item": Guessed.ITEM, "item_state": Guessed.ITEM, "item_revealed": Guessed.ITEM,
    "ability": Guessed.ABILITY, "base_ability": Guessed.ABILITY, "ability_revealed": Guessed.ABILITY,
    "species": Guessed.FORME, "base_species": Guessed.FORME, "types": Guessed.FORME,
    "move_disabled": Guessed.ITEM | Guessed.ABILITY, "tera_type": Guessed.TERA, "stats": Guessed.STATS,
}  # fmt: skip
_LENGTHS = ("weather_least", "weather_most", "terrain_least", "terrain_most", "turns_least", "turns_most")

_STICKY_BARB = 1 + vocabulary().items.index("stickybarb")
_PRESSURE = 1 + vocabulary().abilities.index("pressure")
_CHOICE = np.array(layout.VOLATILES) == "choicelock"  # told by an item that may not be known

Row = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Truth:
    """A decision as it was in the battle."""

    view: Row
    mask: BoolArray
    action: int
    refused: bool  # whether it was asked before, and what was chosen was refused


@dataclass
class Tally:
    """What was compared, and what differed."""

    battles: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    unfollowed: int = 0  # seats
    decisions: int = 0
    known: int = 0
    wrong: int = 0
    possible: int = 0  # decisions of whose choice something is known
    impossible: int = 0  # of those, where it was another
    contradictions: Counter[str] = field(default_factory=Counter)
    masks: int = 0  # compared
    masks_wrong: int = 0
    views_wrong: Counter[str] = field(default_factory=Counter)  # by field
    examples: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, text: str) -> None:
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append(text)


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--battles", type=int, metavar="N", help=f"battles of each format (default: {BATTLES})")
    parser.add_argument("--formats", nargs="+", metavar="F", default=FORMATS, help="Showdown format ids")
    options = parser.parse_args()
    battles = options.battles or (QUICK_BATTLES if options.quick else BATTLES)
    rows, problems = [], []
    for name in options.formats:
        for completion, tally in round_trip(name, battles, options.seed).items():
            rows.append({"format": name, "completion": completion, **figures(tally)})
            problems += [f"{name}, completion {completion}: {example}" for example in tally.examples]
    print_table("Battles written as public replays and read back", rows)
    if options.json:
        write_json(options.json, rows)
    if problems:
        raise MeasurementError("Replays are not read as the battles were:\n" + "\n".join(problems))


def figures(tally: Tally) -> dict[str, Any]:
    """Return one row of the table."""
    return {
        "battles": tally.battles,
        "unread": sum(tally.unread.values()),
        "decisions": tally.decisions,
        "known": tally.known / max(tally.decisions, 1),
        "wrong": tally.wrong,
        "possible": tally.possible / max(tally.decisions, 1),
        "impossible": tally.impossible,
        "contradictions": sum(tally.contradictions.values()),
        "masks_compared": tally.masks / max(tally.decisions, 1),
        "masks_wrong": tally.masks_wrong,
        "views_wrong": sum(tally.views_wrong.values()),
        "battles_per_second": tally.battles / tally.seconds if tally.seconds else 0.0,
    }


def round_trip(name: str, battles: int, seed: int) -> dict[str, Tally]:
    """Play, write, read back and compare battles of a format, without and with completion."""
    game = open_game(f"pokemon:{name}")
    assert isinstance(game, PokemonGame)  # noqa: S101
    with tempfile.TemporaryDirectory() as folder:
        truths, logs = play(game, battles, seed, Path(folder))
    space = action_space(game.format.slots, game.format.brought)
    tallies = {"off": Tally(), "on": Tally()}
    with closing(game.replay_reader()) as reader:
        for completion, tally in tallies.items():
            if completion == "on":
                usage = Usage()
                usage.add(reader.usage(list(logs.values())))
                reader.complete(usage.usual())
            begun = perf_counter()
            read = reader.read([(str(match), log) for match, log in logs.items()])
            tally.seconds = perf_counter() - begun
            for battle in read:
                compare(battle, truths, space, tally)
    return tallies


def play(
    game: PokemonGame, battles: int, seed: int, folder: Path
) -> tuple[dict[tuple[int, int], list[Truth]], dict[int, str]]:
    """Let a random and a scripted player meet; returns the decisions of each match and seat, and the public logs."""
    generator = np.random.default_rng(seed)
    scripted = game.scripted["greedy"]
    refusals = POSITION.column("refusals")
    truths: dict[tuple[int, int], list[Truth]] = {}
    logs: dict[int, str] = {}
    pool = game.pool(_SLOTS, seed)
    assert isinstance(pool, BattlePool)  # noqa: S101
    with closing(pool):
        while len(logs) < battles:
            waiting, results = pool.recv()
            for match, returns in zip(results.match.tolist(), results.returns, strict=True):
                if returns.any():  # it was played to its end
                    page = pool.save_replay(match, folder, ("One", "Other"))
                    logs[match] = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["log"]
            actions = np.argmax(generator.random(waiting.mask.shape) * waiting.mask, axis=1)
            cunning = (waiting.match % 2 == 0) & (waiting.seat == waiting.match // 2 % 2)
            if cunning.any():
                actions[cunning] = scripted(waiting.view[cunning], waiting.mask[cunning], generator)
            for row, action in enumerate(actions.tolist()):
                decisions = truths.setdefault((int(waiting.match[row]), int(waiting.seat[row])), [])
                refused = bool(waiting.view[row, refusals])
                if refused:
                    decisions.pop()
                decisions.append(Truth(waiting.view[row].copy(), waiting.mask[row].copy(), action, refused))
            pool.send(actions)
    return truths, logs


def compare(
    battle: ReplayBattle | ReplayError, truths: dict[tuple[int, int], list[Truth]], space: ActionSpace, tally: Tally
) -> None:
    """Compare a battle that was read with what it was."""
    tally.battles += 1
    if isinstance(battle, ReplayError):
        tally.unread[battle.reason] += 1
        tally.note(str(battle))
        return
    for problem, count in battle.problems.items():
        tally.contradictions[problem] += count
        tally.note(f"match {battle.id}: {problem}")
    for seat, read in enumerate(battle.seats):
        truth = truths[int(battle.id), seat]
        if read is None:
            tally.unfollowed += 1
        elif len(read.action) != len(truth):
            tally.unread["decisions"] += 1
            tally.note(f"match {battle.id}, seat {seat}: {len(read.action)} decisions were read, but {len(truth)} made")
        else:
            for number, true in enumerate(truth):
                where = f"match {battle.id}, seat {seat}, turn {true.view[POSITION.column('turn')]}, decision {number}"
                _compare_decision(read, number, true, space, tally, where)


def _compare_decision(
    read: SeatDecisions, number: int, true: Truth, space: ActionSpace, tally: Tally, where: str
) -> None:
    tally.decisions += 1
    view, guessed = read.view[number], read.guessed[number]
    places = _places(view, true.view, guessed)
    moves = _moves(view, true.view, places)
    index = _indices(space, places, moves, view)
    action = int(read.action[number])
    if action >= 0:
        tally.known += 1
        mapped = int(index[action])
        if mapped != true.action:
            tally.wrong += 1
            tally.note(f"{where}: read as {space.describe(mapped)}, but it was {space.describe(true.action)}")
    possible = np.unpackbits(read.possible[number], count=space.size)
    if possible.any():
        tally.possible += 1
        # Where moves are guessed, what was chosen may not even be offered.
        guessing = (guessed[: space.slots] & Guessed.MOVES).any()
        offered = not guessing or true.action in index[np.flatnonzero(read.mask[number])]
        if offered and true.action not in index[np.flatnonzero(possible)]:
            tally.impossible += 1
            tally.note(f"{where}: {space.describe(true.action)} is not possible as read")
    if true.refused or read.read[number] & Read.REQUEST_UNSURE:
        return
    mask = np.zeros_like(true.mask)
    mask[index[np.flatnonzero(read.mask[number])]] = True
    doubtful = Guessed.MOVES | Guessed.ITEM | Guessed.ABILITY
    sure = not (guessed[: space.slots] & doubtful).any()
    tally.masks += sure
    if sure and (mask != true.mask).any():
        tally.masks_wrong += 1
        differing = [space.describe(int(one)) for one in np.flatnonzero(mask != true.mask)[:3]]
        tally.note(f"{where}: masks differ at {differing}")
    elif _switches(mask, space) != _switches(true.mask, space):
        tally.masks_wrong += 1
        tally.note(f"{where}: the switches of the masks differ")
    for name, told in _differences(view, true.view, guessed, places, moves):
        tally.views_wrong[name] += 1
        tally.note(f"{where}: {name} {told}")


def _places(view: Row, truth: Row, guessed: npt.NDArray[np.uint16]) -> IntArray:
    """Return, for each place of an own Pokémon as read, its place in the battle."""
    column = POKEMON.column("base_species")
    own, true = (layout.cut(one).pokemon[layout.OWN][:, column] for one in (view, truth))
    places = np.full(TEAM, -1)
    for place in range(TEAM):
        matches = np.flatnonzero(true == own[place])
        sure = own[place] and not guessed[place] & Guessed.BROUGHT
        if sure and len(matches):
            places[place] = matches[0]
    left = iter(np.setdiff1d(np.arange(TEAM), places))
    return np.array([next(left) if place < 0 else place for place in places])


def _moves(view: Row, truth: Row, places: IntArray) -> IntArray:
    """Return, for each own Pokémon as read, the place in the battle of each of its moves: (place, move)."""
    columns = POKEMON.columns("moves")
    own, true = (layout.cut(one).pokemon[layout.OWN][:, columns] for one in (view, truth))
    order = np.zeros((TEAM, MOVES), dtype=np.int64)
    for place in range(TEAM):
        found = [np.flatnonzero(true[places[place]] == move) for move in own[place]]
        matched = [int(one[0]) if move and len(one) else -1 for move, one in zip(own[place], found, strict=True)]
        left = iter([move for move in range(MOVES) if move not in matched])
        order[place] = [next(left) if move < 0 else move for move in matched]
    return order


def _indices(space: ActionSpace, places: IntArray, moves: IntArray, view: Row) -> IntArray:
    """Return which index each action, as read, has in the battle: (action,)."""
    only = layout.cut(view).position[POSITION.columns("only_move")]
    moves = np.where(only[:, None] != 0, np.arange(MOVES), moves[: layout.SLOTS])
    if space.slots == 1:
        return np.concatenate([moves[0], MOVES + moves[0], 2 * MOVES + places, 2 * MOVES + TEAM + np.arange(TEAM)])
    per_move = 2 * len(TARGETS)
    aims = np.arange(per_move)
    switches = np.searchsorted(space.places, places[space.places])
    option = np.stack(
        [
            np.concatenate([(per_move * moves[slot][:, None] + aims).ravel(), SWITCH + switches, [PASS]])
            for slot in range(space.slots)
        ]
    )
    turn = option[0][:, None] * OPTIONS + option[1][None, :]
    return np.concatenate([turn.ravel(), np.arange(TURNS, space.size)])


def _switches(mask: BoolArray, space: ActionSpace) -> set[tuple[int, int]]:
    """Return which switches each slot may make, whatever the other one does."""
    legal = np.flatnonzero(mask)
    return {(slot, int(one)) for slot in range(space.slots) for one in np.unique(space.switch[legal, slot]) if one >= 0}


def _differences(
    view: Row, truth: Row, guessed: npt.NDArray[np.uint16], places: IntArray, moves: IntArray
) -> Iterator[tuple[str, str]]:
    """Yield the fields that differ though the log tells them, and how."""
    read, true = layout.cut(view), layout.cut(truth)
    for block, names, own, others in (
        (POSITION, "position", read.position[None], true.position[None]),
        (layout.SIDE, "side", read.side, true.side),
        (POKEMON, "foe", read.pokemon[layout.FOE], true.pokemon[layout.FOE]),
    ):
        for one in block.fields:
            columns = block.columns(one.name)
            if one.name in _LENGTHS and (guessed & Guessed.ITEM).any():
                continue
            if (
                names == "foe"
                and one.name in _BY_MOVE
                and (guessed & Guessed.MOVES).any()
                and _transformed(others).any()
            ):
                continue
            if (own[:, columns] != others[:, columns]).any():
                where = np.argwhere(own[:, columns] != others[:, columns])[0]
                yield f"{names} {one.name}", f"{own[where[0], columns]} not {others[where[0], columns]}"
    for place in range(TEAM):
        row, other = read.pokemon[layout.OWN][place], true.pokemon[layout.OWN][places[place]]
        if guessed[place] & (Guessed.SPECIES | Guessed.BROUGHT) or not other.any():
            continue
        for name, told in _own_differences(row, other, int(guessed[place]), moves[place]):
            if name != "own pp" or not (read.pokemon[layout.FOE][:, POKEMON.column("base_ability")] == _PRESSURE).any():
                yield name, told


def _transformed(pokemon: npt.NDArray[np.int16]) -> BoolArray:
    bits = layout.volatile_bits(pokemon[:, POKEMON.columns("volatiles")])
    return bits[:, layout.VOLATILES.index("transform")]


def _own_differences(row: Row, other: Row, guessed: int, moves: IntArray) -> Iterator[tuple[str, str]]:
    for one in POKEMON.fields:
        columns = POKEMON.columns(one.name)
        mine, theirs = row[columns], other[columns]
        if one.name in _UNSURE and guessed & _UNSURE[one.name]:
            continue
        if one.name.startswith("item") and other[POKEMON.column("item")] == _STICKY_BARB:
            continue
        if one.name == "max_hp":
            continue
        if one.name in {"status", "status_turns"} and guessed & Guessed.ABILITY and not row[POKEMON.column("active")]:
            continue
        if one.name == "hp":
            if guessed & Guessed.ABILITY and not row[POKEMON.column("active")]:
                continue
            part = [
                float(values[columns][0]) / max(int(values[POKEMON.column("max_hp")]), 1) for values in (row, other)
            ]
            if abs(part[0] - part[1]) > _ROUNDING or (part[0] > 0) != (part[1] > 0):
                yield "own hp", f"{part[0]:.3f} not {part[1]:.3f}"
            continue
        if one.name in _BY_MOVE:
            theirs = theirs[moves]
            known = guessed & (Guessed.MOVE << np.arange(MOVES)) == 0
            mine, theirs = mine[known], theirs[known]
        if one.name == "volatiles" and guessed & Guessed.ITEM:
            mine, theirs = (layout.volatile_bits(words) & ~_CHOICE for words in (mine, theirs))
        if (mine != theirs).any():
            yield f"own {one.name}", f"{mine} not {theirs} of species {other[0]}"


if __name__ == "__main__":
    run(main)
