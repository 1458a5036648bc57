"""Public logs read as decisions: views and actions are exact or marked, and no log can do harm."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from replay_logs import NAMES, SPACE, done, possible, read, switch, vgc_log, vgc_reader

from benchmarks.replay_fuzz import fuzz
from benchmarks.replay_round_trip import Variant, play, round_trip
from nemesis.core.errors import UserError
from nemesis.core.replays import ReplayError
from nemesis.games import open_game
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.replays.reading import Guessed, ReplayBattle, ReplayReader
from nemesis.games.pokemon.replays.usage import total_usage
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, STATUSES, cut


@pytest.fixture(scope="module")
def reader() -> Iterator[ReplayReader]:
    with closing(vgc_reader()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("variant", "battles", "known", "compared"),
    [
        (Variant("gen1ou"), 4, 0.9, 0.6),
        (Variant("gen9ou"), 4, 0.9, 0.6),
        (Variant("gen9vgc2025regi"), 24, 0.65, 0.99),
        (Variant("gen9vgc2025regi", settings={"open_team_sheets": False}), 8, 0.5, 0.15),
        (Variant("gen9randomdoublesbattle"), 2, 0.5, 0.15),
    ],
    ids=["gen1ou", "gen9ou", "vgc", "vgc with closed sheets", "random doubles"],
)
def test_battles_written_as_replays_are_read_as_they_were(
    variant: Variant, battles: int, known: float, compared: float
):
    tallies = round_trip(variant, battles, seed=11)
    for count_reasons in tallies.values():
        assert count_reasons.problems == []
        assert count_reasons.battles >= battles
        assert count_reasons.known / count_reasons.decisions > known
        assert count_reasons.legal_compared / count_reasons.legal > compared
        assert count_reasons.numbers_compared / count_reasons.numbers > 0.5
        assert count_reasons.possible > 0
    assert tallies["told"].known == tallies["completed"].known == tallies["untimed"].known


@pytest.mark.parametrize(("cure", "shown"), [(True, ["par", "par", "par", ""]), (False, ["par", "", "", ""])])
def test_a_status_lasts_until_it_is_cured_on_the_bench(reader: ReplayReader, cure: bool, shown: list[str]):
    turns = [
        done("|-status|p1b: Rillaboom|par"),
        done(switch("p1b", "Whimsicott")),
        done(),
        done("|-cureteam|p1a: Incineroar|[from] move: Heal Bell") if cure else done(),
        done(switch("p1b", "Rillaboom")),
    ]
    decisions = read(reader, vgc_log(*turns)).seats[0]
    assert decisions is not None
    own = cut(decisions.view).pokemon[:, OWN]
    species = own[0, 1, POKEMON.column("base_species")]
    statuses = own[own[:, :, POKEMON.column("base_species")] == species][:, POKEMON.column("status")]
    assert [STATUSES[one] for one in statuses[2:].tolist()] == shown


def test_leads_are_known_though_not_all_were_seen(reader: ReplayReader):
    decisions = read(reader, vgc_log(done())).seats[0]
    assert decisions is not None
    assert decisions.action[0] == -1
    fitting = [SPACE.describe(int(one)) for one in np.flatnonzero(possible(decisions)[0])]
    assert fitting == [f"lead 1 and 2, back {one} and {other}" for one, other in combinations(range(3, 7), 2)]
    assert (decisions.guessed[1] & Guessed.BROUGHT > 0).tolist() == [False, False, True, True, True, True]
    swapped = done(switch("p1a", "Whimsicott"), switch("p1b", "Pawmot"))
    seen = read(reader, vgc_log(swapped)).seats[0]
    assert seen is not None
    assert SPACE.describe(int(seen.action[0])) == "lead 1 and 2, back 5 and 6"
    assert not (seen.guessed & Guessed.BROUGHT).any()


def test_the_others_that_were_brought_are_sampled(reader: ReplayReader):
    logs = [("one", vgc_log(done()).replace("One", f"One {number}")) for number in range(60)]
    brought = Counter[int]()
    for battle in reader.read(logs):
        assert isinstance(battle, ReplayBattle)
        for seat in battle.seats:
            assert seat is not None
            own = cut(seat.view[1]).pokemon[OWN]
            brought.update(own[: SPACE.brought, POKEMON.column("base_species")].tolist())
    assert len(brought) == len(NAMES)
    assert min(brought.values()) > 40  # a Pokémon that leads neither team is brought by each in half of 60


def test_hp_are_as_the_public_saw_them_in_any_notation(reader: ReplayReader):
    for shown, expected in (
        ("50/100", (50, 100)),
        ("24/48", (24, 48)),
        ("242/484", (50, 100)),
        ("502/1004", (50, 100)),
        ("1/489", (1, 100)),
    ):
        seat = read(reader, vgc_log(done(f"|-damage|p2a: Amoonguss|{shown}"), done())).seats[0]
        assert seat is not None
        foe = cut(seat.view[2]).pokemon[FOE]
        hurt = foe[foe[:, POKEMON.column("hp")] != foe[:, POKEMON.column("max_hp")]]
        assert [tuple(row) for row in hurt[:, [POKEMON.column("hp"), POKEMON.column("max_hp")]].tolist()] == [expected]


SINGLES = [
    "|gametype|singles", "|player|p1|One|1|1500", "|player|p2|Other|2|1600", "|gen|9", "|tier|TIER", "|clearpoke",
    "|poke|p1|Garchomp, M|", "|poke|p2|Skarmory, M|", "|teampreview", "|", "|t:|1", "|start",
    "|switch|p1a: Garchomp|Garchomp, M|100/100", "|switch|p2a: Skarmory|Skarmory, M|100/100", "|turn|1", "|", "|t:|2",
    "|move|p1a: Garchomp|Earthquake|p2a: Skarmory", "|move|p2a: Skarmory|Roost|p2a: Skarmory", "|", "|upkeep",
    "|turn|2", "|", "|t:|3", "|win|One",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "tier", "allowed"), [("gen9ou", "[Gen 9] OU", True), ("gen9monotype", "[Gen 9] Monotype", False)]
)
def test_terastallizing_is_illegal_where_the_format_forbids_it(name: str, tier: str, allowed: bool):
    game = open_game(f"pokemon:{name}")
    assert isinstance(game, PokemonGame)
    with closing(game.replay_reader()) as opened:
        decisions = read(opened, "\n".join(SINGLES).replace("TIER", tier)).seats[0]
    assert decisions is not None
    assert decisions.action[1] >= 0
    plain, gimmick = decisions.mask[1, :4], decisions.mask[1, 4:8]
    assert plain.any()
    assert gimmick.any() == allowed


@pytest.mark.parametrize(
    ("name", "obstacle"),
    [
        ("gen9nationaldex", "mega evolutions and Z-moves"),
        ("gen9natdexdraft", "mega evolutions and Z-moves"),
        ("gen9almostanyability", "abilities"),
        ("gen9balancedhackmons", "abilities"),
        ("gen8ou", "Dynamax"),
    ],
)
def test_formats_whose_rules_cannot_be_followed_are_refused(name: str, obstacle: str):
    game = open_game(f"pokemon:{name}")
    assert isinstance(game, PokemonGame)
    with pytest.raises(UserError) as refused:
        game.replay_reader()
    assert f"Replays of {name} cannot be read: " in str(refused.value)
    assert obstacle in str(refused.value)


def test_an_item_that_is_lost_unseen_does_not_reveal_how_long_the_weather_lasts(reader: ReplayReader):
    first = ["|move|p1b: Rillaboom|Sunny Day|p1b: Rillaboom", "|-weather|SunnyDay"]
    trick = ["|move|p2a: Amoonguss|Trick|p1b: Rillaboom", "|-activate|p2a: Amoonguss|move: Trick|[of] p1b: Rillaboom"]
    trick.append("|-item|p1b: Rillaboom|Sticky Barb|[from] move: Trick")
    lasting = ["|", "|-weather|SunnyDay|[upkeep]", "|upkeep"]
    log = vgc_log([*first, *lasting], [*trick, *lasting], *([lasting] * 5))
    battle = read(reader, "\n".join(line for line in log.split("\n") if not line.startswith("|showteam|")))
    decisions = battle.seats[0]
    assert decisions is not None
    position = cut(decisions.view).position
    least, most = (position[:, POSITION.columns(f"weather_{end}")][:, 0].tolist() for end in ("least", "most"))
    assert least == [0, 0, 4, 3, 2, 1, 3, 2]
    assert most == [0, 0, 7, 6, 5, 4, 3, 2]


def test_a_forme_that_the_team_preview_hides_is_known_once_it_is_seen(reader: ReplayReader):
    coming = switch("p1a", "Pawmot").replace("Pawmot", "Urshifu-Rapid-Strike")
    for turn, hidden in ((done(), True), (done(coming), False)):
        lines = [line for line in vgc_log(turn).split("\n") if not line.startswith("|showteam|")]
        log = "\n".join(line.replace("Pawmot", "Urshifu-*") if "|poke|" in line else line for line in lines)
        decisions = read(reader, log).seats[0]
        assert decisions is not None
        assert (decisions.guessed[0] & Guessed.FORME > 0).tolist() == [False] * 5 + [hidden]


@pytest.fixture(scope="module")
def imputing() -> Iterator[ReplayReader]:
    """A reader that knows what Incineroar usually has."""
    game = open_game("pokemon:gen9vgc2025regi")
    assert isinstance(game, PokemonGame)
    moves = {"fakeout": 9, "flareblitz": 8, "knockoff": 6, "partingshot": 6, "taunt": 2, "willowisp": 1}
    with closing(game.replay_reader()) as opened:
        opened.impute({"incineroar": {"moves": moves, "item": {"safetygoggles": 3, "sitrusberry": 1}}})
        yield opened


def without_sheets(log: str, name: str = "One") -> str:
    lines = [line for line in log.split("\n") if not line.startswith("|showteam|")]
    return "\n".join(lines).replace("One", name)


def test_guesses_are_sampled_by_usage(imputing: ReplayReader):
    logs = [without_sheets(vgc_log(done()), f"One {number}") for number in range(200)]
    battles = imputing.read([("one", log) for log in logs])
    again = imputing.read([("other", log) for log in logs[::-1]])[::-1]
    items, moves = [], []
    for battle, other in zip(battles, again, strict=True):
        assert isinstance(battle, ReplayBattle)
        assert isinstance(other, ReplayBattle)
        for seat, same in zip(battle.seats, other.seats, strict=True):
            assert seat is not None
            assert same is not None
            np.testing.assert_array_equal(seat.view, same.view)
        assert battle.seats[0] is not None
        own = cut(battle.seats[0].view[1]).pokemon[OWN][0]
        items.append(vocabulary().items[own[POKEMON.column("item")] - 1])
        moves.append(frozenset(own[POKEMON.columns("moves")].tolist()))
    assert set(items) == {"safetygoggles", "sitrusberry"}
    assert 0.65 < items.count("safetygoggles") / len(items) < 0.85
    assert len(set(moves)) > 4
    assert all(len(four) == 4 for four in moves)


def test_guessed_moves_are_disabled_like_shown_ones(imputing: ReplayReader):
    used = "|move|p1a: Incineroar|Flare Blitz|p2a: Amoonguss"
    forbidden = 0
    for number in range(8):
        log = without_sheets(vgc_log(done(used, "|-start|p1a: Incineroar|move: Taunt"), done(used)), f"One {number}")
        decisions = read(imputing, log).seats[0]
        assert decisions is not None
        own = cut(decisions.view[2]).pokemon[OWN][0]
        disabled = own[POKEMON.columns("move_disabled")] > 0
        names = [vocabulary().moves[move - 1] for move in own[POKEMON.columns("moves")].tolist()]
        assert disabled.tolist() == [name in {"partingshot", "taunt", "willowisp"} for name in names]
        forbidden += int(disabled.sum())
    assert forbidden


def test_unseen_pokemon_are_guessed_without_a_team_preview():
    game = open_game("pokemon:gen1ou")
    assert isinstance(game, PokemonGame)
    with TemporaryDirectory() as folder, closing(game.replay_reader()) as opened:
        _, logs = play(game, 6, 4, Path(folder))
        usage = total_usage([opened.usage(list(logs.values()))])
        plain = opened.read([(str(match), log) for match, log in logs.items()])
        opened.impute(usage)
        full = opened.read([(str(match), log) for match, log in logs.items()])
    blank = 0
    for one, other in zip(plain, full, strict=True):
        assert isinstance(one, ReplayBattle)
        assert isinstance(other, ReplayBattle)
        for before, after in zip(one.seats, other.seats, strict=True):
            assert before is not None
            assert after is not None
            views = cut(np.stack([before.view[0], after.view[0]])).pokemon[:, OWN]
            species, filled = views[:, :, POKEMON.column("base_species")]
            blank += int((species == 0).sum())
            assert (filled > 0).all()
            assert len(set(filled.tolist())) == 6
            assert set(species.tolist()) - {0} <= set(filled.tolist())
            assert (after.guessed[0] & Guessed.SPECIES > 0).sum() == (species == 0).sum()
            assert (views[1, :, POKEMON.column("max_hp")] > 0).all()
    assert blank > 0


def test_a_forme_change_before_the_first_request_sets_the_ability_from_the_start():
    lines = [
        "|gametype|singles", "|player|p1|One|1|", "|player|p2|Other|2|", "|teamsize|p1|6", "|teamsize|p2|6", "|gen|9",
        "|tier|[Gen 9] Random Battle", "|", "|t:|1", "|start", "|switch|p1a: Terapagos|Terapagos, L76, M|100/100",
        "|switch|p2a: Mudsdale|Mudsdale, L84, M|100/100", "|-activate|p1a: Terapagos|ability: Tera Shift",
        "|detailschange|p1a: Terapagos|Terapagos-Terastal, L76, M", "|turn|1", "|", "|t:|2",
        "|move|p1a: Terapagos|Rapid Spin|p2a: Mudsdale", "|", "|upkeep", "|turn|2", "|", "|t:|3", "|", "|win|One",
    ]  # fmt: skip
    game = open_game("pokemon:gen9randombattle")
    assert isinstance(game, PokemonGame)
    with closing(game.replay_reader()) as opened:
        decisions = read(opened, "\n".join(lines)).seats[0]
    assert decisions is not None
    ability = cut(decisions.view).pokemon[:, OWN, 0, POKEMON.column("base_ability")]
    assert (ability == vocabulary().number("abilities", "terashell")).all()


def test_the_head_of_a_log_is_read(reader: ReplayReader):
    battle = read(reader, vgc_log(done()))
    assert (battle.winner, battle.ending, battle.rated, battle.ratings) == (0, "played", True, (1500, 1600))
    forfeited = read(reader, vgc_log(done(), end="|-message|One forfeited.\n|\n|win|Other"))
    assert (forfeited.winner, forfeited.ending) == (1, "forfeit")


@pytest.mark.parametrize(
    ("turn", "end", "ending"),
    [
        ([], "|-message|One lost due to inactivity.\n|\n|win|Other", "timer"),
        ([], "|-message|All players are inactive.\n|\n|tie", "timer"),
        ([], "|tie", "forfeit"),  # both agreed to it
        (["|faint|p1a: Incineroar"], "|tie", "forfeit"),
        (["|faint|p1a: Incineroar", "|faint|p2a: Amoonguss"], "|tie", "played"),
        (["|message|It is turn 1000. You have hit the turn limit!"], "|tie", "played"),
        ([], "|win|One", "played"),
    ],
)
def test_the_ending_of_a_battle_is_read(reader: ReplayReader, turn: list[str], end: str, ending: str):
    assert read(reader, vgc_log(done(*turn), end=end)).ending == ending


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("", "empty log"),
        (" \n", "empty log"),
        ("|gen|9", "no winner"),
        (vgc_log(done(), end="|win|Somebody"), "no winner"),
        (vgc_log(done()).replace("Reg I", "Reg G"), "wrong format"),
        (vgc_log(done("|split|p1", "|-damage|p1a: Incineroar|88/202")), "not public"),
        (vgc_log(done("|switch|p7a: Incineroar|Incineroar|100/100")), "unreadable line"),
        (vgc_log(done("|c|" + "x" * 30_000)), "too long"),
        ("|\n" * 30_000, "too long"),
    ],
)
def test_what_cannot_be_read_has_a_named_reason(reader: ReplayReader, log: str, reason: str):
    bad, good = reader.read([("bad", log), ("good", vgc_log(done()))])
    assert isinstance(bad, ReplayError)
    assert bad.reason == reason
    assert str(bad).startswith("bad")
    assert isinstance(good, ReplayBattle)


def test_the_seat_of_a_disguise_is_left_out(reader: ReplayReader):
    seen = vgc_log(done(switch("p2a", "Pawmot")))
    shown = read(reader, seen.replace("Pawmot", "Zoroark")).seats
    assert [seat is None for seat in shown] == [True, True]
    # Nobody hides among those of whom as many were seen as were brought.
    others = done(switch("p1a", "Whimsicott"), switch("p1b", "Amoonguss"), switch("p2a", "Incineroar"))
    clear = read(reader, vgc_log(others).replace("Pawmot", "Zoroark")).seats
    assert [seat is None for seat in clear] == [False, True]


def test_no_log_can_do_harm():
    figures = fuzz("gen9vgc2025regi", 100, seed=5)
    assert 0 < int(str(figures["read"])) < 100
