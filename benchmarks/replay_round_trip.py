"""Whether public logs are read correctly: battles are written as replays, read back and compared with the truth.

Random and scripted players play in process, and the views and actions of their seats are recorded. Each battle is then
written as the replay that a spectator would save, and read back in three ways: as the log tells it (`told`), completed
with common values from all logs (`completed`), and completed without the time stamps (`untimed`). An action that is
read as known must be the one that was chosen, and a set of possible actions must contain it. Views and masks must be
equal except for what a spectator cannot know. The table shows the compared share of the legal actions and of the
nonzero numbers in views. What cannot be known is not compared:

- exact HP and stats: own HP may differ by the rounding to per cent;
- item, ability, tera type, moves, species and forme of own Pokémon that the log never shows; each is marked as guessed;
- their consequences, if there are any: moves that a choice item, Assault Vest or Gorilla Tactics forbids, HP and status
  that Regenerator and Natural Cure heal on the bench for Pokémon that do not return, the moves of an opponent that
  transformed into one of them; for weather and screens that a hidden item may extend, the duration that a spectator
  expects must contain the true one;
- which Pokémon were not brought, if not all brought ones are seen, and forme changes that depend on it; also marked;
- the order of moves and, without a team preview, of Pokémon: both are matched by name before they are compared;
- the holder of a Sticky Barb, which changes without a log line;
- seats with a Zoroark in formats without a team preview, since the log may never show it;
- PP that Pressure may have cost in doubles, where a line does not name all targets, and the maximum PP of a transformed
  Pokémon before the fifth generation, which depends on the order of moves;
- whether Outrage and similar moves continue, and whether a hidden ability traps, if the log does not show it: such
  requests are marked as unsure, and their masks and restrictions are not compared;
- choices that were refused for hidden reasons and repeated: only the last one is public.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.replay_comparison import Comparison, Row
from benchmarks.report import MeasurementError, option_parser, print_table, run, write_json
from nemesis.core.game import BoolArray
from nemesis.core.masks import unpack_mask
from nemesis.core.replays import ReplayError
from nemesis.games import open_game
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.pool import BattlePool
from nemesis.games.pokemon.replays.reading import Read, ReplayBattle, ReplayReader, SeatDecisions
from nemesis.games.pokemon.replays.usage import total_usage
from nemesis.games.pokemon.settings import PokemonSettings
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import action_space
from nemesis.games.pokemon.views.layout import POKEMON, POSITION

FORMATS = ("gen1ou", "gen9ou", "gen9vgc2025regi")
BATTLES, QUICK_BATTLES = 1000, 10
_SLOTS = 32
_MAX_EXAMPLES = 20
_TIME_STAMPS = re.compile(r"^\|t:\|.*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Variant:
    """A kind of battles that are read back."""

    format: str
    kind: str = ""
    share: float = 1.0  # of the number of battles of a format
    settings: Mapping[str, Any] = field(default_factory=dict)


VARIANTS = (
    *(Variant(name) for name in FORMATS),
    Variant("gen9vgc2025regi", "closed sheets", 0.3, {"open_team_sheets": False}),
    # It has no shipped teams, but many singles teams are legal in it, and its sides have six Pokémon instead of four.
    Variant("gen9doublesou", "teams of gen9ou", 0.1, {"teams": "gen9ou", "invalid_teams": "skip"}),
    Variant("gen9randombattle", share=0.1),
    Variant("gen9randomdoublesbattle", share=0.1),
    Variant("gen1randombattle", share=0.1),
)


@dataclass(frozen=True, slots=True)
class Truth:
    """A decision as it was in the battle."""

    view: Row
    mask: BoolArray
    action: int  # the last one, if earlier ones were refused for hidden reasons


@dataclass
class Tally:
    """What was compared, and what differed."""

    battles: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    unfollowed: int = 0  # seats that were not read
    decisions: int = 0
    known: int = 0
    wrong: int = 0
    possible: int = 0  # decisions whose action is known in part
    impossible: int = 0  # of those, decisions with another action
    contradictions: Counter[str] = field(default_factory=Counter)
    legal: int = 0  # actions, as read or in the battle
    legal_compared: int = 0
    masks_wrong: int = 0
    numbers: int = 0  # of true views that are not zero
    numbers_compared: int = 0
    views_wrong: Counter[str] = field(default_factory=Counter)  # by field
    examples: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Sentences about what differed and what could not be measured."""
        measured = {"decision": self.decisions, "known choice": self.known, "mask": self.legal_compared}
        return self.examples + [f"no {name} was compared." for name, count in measured.items() if not count]

    def note(self, text: str) -> None:
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(text)


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--battles", type=int, metavar="N", help=f"battles of each format (default: {BATTLES})")
    parser.add_argument(
        "--formats",
        nargs="+",
        metavar="F",
        help=f"Showdown format ids (default: several; quick: {', '.join(FORMATS)})",
    )
    options = parser.parse_args()
    battles = options.battles or (QUICK_BATTLES if options.quick else BATTLES)
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    for variant in _chosen(options.formats or (FORMATS if options.quick else None)):
        name = f"{variant.format}, {variant.kind}" if variant.kind else variant.format
        tallies = round_trip(variant, max(1, round(variant.share * battles)), options.seed)
        table = [{"reading": reading, **figures(tally)} for reading, tally in tallies.items()]
        print_table(f"Battles of {name}, written as public replays and read back", table)
        rows += [{"format": name, **row} for row in table]
        for reading, tally in tallies.items():
            problems += [f"{name}, {reading}: {problem}" for problem in tally.problems]
    if options.json:
        write_json(options.json, rows)
    if problems:
        raise MeasurementError("Replays are not read correctly:\n" + "\n".join(problems))


def _chosen(formats: Sequence[str] | None) -> list[Variant]:
    if formats is None:
        return list(VARIANTS)
    others = [Variant(name) for name in formats if name not in {variant.format for variant in VARIANTS}]
    return [variant for variant in VARIANTS if variant.format in formats] + others


def figures(tally: Tally) -> dict[str, Any]:
    """Return a row of the table."""
    return {
        "battles": tally.battles,
        "unread": sum(tally.unread.values()),
        "seats_left_out": tally.unfollowed,
        "decisions": tally.decisions,
        "known": tally.known / max(tally.decisions, 1),
        "wrong": tally.wrong,
        "possible": tally.possible / max(tally.decisions, 1),
        "impossible": tally.impossible,
        "contradictions": sum(tally.contradictions.values()),
        "masks_compared": tally.legal_compared / max(tally.legal, 1),
        "masks_wrong": tally.masks_wrong,
        "views_compared": tally.numbers_compared / max(tally.numbers, 1),
        "views_wrong": sum(tally.views_wrong.values()),
    }


def round_trip(variant: Variant, battles: int, seed: int) -> dict[str, Tally]:
    """Play battles, write them as replays, and compare each way of reading with the truth."""
    game = open_game(f"pokemon:{variant.format}", {"pokemon": PokemonSettings(split="all", **variant.settings)})
    assert isinstance(game, PokemonGame)  # noqa: S101
    with tempfile.TemporaryDirectory() as folder:
        truths, logs = play(game, battles, seed, Path(folder))
    untimed = {match: _TIME_STAMPS.sub("", log) for match, log in logs.items()}
    with closing(game.replay_reader()) as reader:
        told = _read_back(reader, logs, truths, game)
        reader.impute(total_usage([reader.usage(list(logs.values()))]))
        completed = _read_back(reader, logs, truths, game)
        return {"told": told, "completed": completed, "untimed": _read_back(reader, untimed, truths, game)}


def _read_back(
    reader: ReplayReader, logs: dict[int, str], truths: dict[tuple[int, int], list[Truth]], game: PokemonGame
) -> Tally:
    tally = Tally()
    for battle in reader.read([(str(match), log) for match, log in logs.items()]):
        compare(battle, truths, game, tally)
    return tally


def play(
    game: PokemonGame, battles: int, seed: int, folder: Path
) -> tuple[dict[tuple[int, int], list[Truth]], dict[int, str]]:
    """Play random against scripted play; returns the decisions by match and seat, and the public logs by match."""
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
                if returns.any():  # it was completed
                    page = pool.save_replay(match, folder, ("One", "Other"))
                    logs[match] = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["log"]
            mask = unpack_mask(waiting.mask, game.spec.actions)
            actions = np.argmax(generator.random(mask.shape) * mask, axis=1)
            is_scripted = (waiting.match % 2 == 0) & (waiting.seat == waiting.match // 2 % 2)
            if is_scripted.any():
                actions[is_scripted] = scripted(waiting.view[is_scripted], mask[is_scripted], generator)
            for row, action in enumerate(actions.tolist()):
                decisions = truths.setdefault((int(waiting.match[row]), int(waiting.seat[row])), [])
                if waiting.view[row, refusals]:
                    decisions[-1] = replace(decisions[-1], action=action)
                else:
                    decisions.append(Truth(waiting.view[row].copy(), mask[row].copy(), action))
            pool.send(actions)
    return truths, logs


def compare(
    battle: ReplayBattle | ReplayError, truths: dict[tuple[int, int], list[Truth]], game: PokemonGame, tally: Tally
) -> None:
    """Compare a battle as read with the truth."""
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
        # Without a team preview, the log may never show that a Pokémon was disguised.
        disguised = not game.format.preview and _has_illusion(truth[0].view)
        if read is None or disguised:
            tally.unfollowed += 1
        elif len(read.action) != len(truth):
            tally.unread["decisions"] += 1
            tally.note(
                f"match {battle.id}, seat {seat}: {len(read.action)} decisions were read instead of {len(truth)}"
            )
        else:
            for number, true in enumerate(truth):
                where = f"match {battle.id}, seat {seat}, turn {true.view[POSITION.column('turn')]}, decision {number}"
                _compare_decision(read, number, true, game, tally, where)


def _compare_decision(
    read: SeatDecisions, number: int, true: Truth, game: PokemonGame, tally: Tally, where: str
) -> None:
    tally.decisions += 1
    space = action_space(game.format.slots, game.format.brought)
    unsure = bool(read.read[number] & Read.REQUEST_UNSURE)
    pair = Comparison(read.view[number], true.view, read.guessed[number], unsure, space, game.format.mod)
    index = pair.index
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
        # A move that the log never reveals may be missing among the actions.
        if pair.revealed[true.action] and true.action not in index[np.flatnonzero(possible)]:
            tally.impossible += 1
            tally.note(f"{where}: {space.describe(true.action)} is not possible as read")
    mask = np.zeros_like(true.mask)
    mask[index[np.flatnonzero(read.mask[number])]] = True
    tally.legal += int((mask | true.mask).sum())
    tally.legal_compared += int(((mask | true.mask) & pair.comparable).sum())
    differing = np.flatnonzero((mask != true.mask) & pair.comparable)
    if len(differing):
        tally.masks_wrong += 1
        tally.note(f"{where}: masks differ at {[space.describe(int(action)) for action in differing[:3]]}")
    tally.numbers, tally.numbers_compared = np.add((tally.numbers, tally.numbers_compared), pair.numbers).tolist()
    for name, difference in pair.differences():
        tally.views_wrong[name] += 1
        tally.note(f"{where}: {name} {difference}")


def _has_illusion(view: Row) -> bool:
    own = layout.cut(view).pokemon[layout.OWN]
    return bool((own[:, POKEMON.column("base_ability")] == vocabulary().number("abilities", "illusion")).any())


if __name__ == "__main__":
    run(main)
