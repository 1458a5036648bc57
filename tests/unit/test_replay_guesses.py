"""What a replay does not show: which numbers of a view are marked as guessed, and what remains when they are hidden."""

import numpy as np
import numpy.typing as npt
import pytest

from nemesis.core.game import BoolArray
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.replays.reading import Guessed, guessed_numbers, without_guesses
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.layout import OWN, POKEMON, STATUSES, TEAM, VIEW_SIZE, cut

ON_FIELD, ON_BENCH = 0, 1


def view(**numbers: int) -> npt.NDArray[np.int16]:
    """Return a view whose own Pokémon all have these numbers, the first of them on the field."""
    made = np.zeros((1, VIEW_SIZE), np.int16)
    own = cut(made).pokemon[0, OWN]
    for name, number in numbers.items():
        own[:, POKEMON.columns(name)] = number
    own[ON_FIELD, POKEMON.column("active")] = 1
    return made


def marks(record: npt.NDArray[np.int16], bits: int) -> BoolArray:
    """Return which numbers of own Pokémon are marked: (Pokémon, column)."""
    packed = guessed_numbers(record, np.full((1, TEAM), bits, np.uint16))
    return np.asarray(cut(np.unpackbits(packed, axis=1, count=VIEW_SIZE).view(np.bool_)).pokemon[0, OWN])


def marked_fields(record: npt.NDArray[np.int16], bits: int, place: int) -> set[str]:
    own = marks(record, bits)[place]
    return {field.name for field in POKEMON.fields if own[POKEMON.columns(field.name)].any()}


@pytest.mark.parametrize(
    ("bits", "on_field", "on_bench"),
    [
        pytest.param(
            Guessed.ITEM, {"item", "item_state", "move_disabled", "volatiles"}, {"item", "item_state"}, id="item"
        ),
        pytest.param(
            Guessed.ABILITY,
            {"ability", "base_ability", "move_disabled"},
            {"ability", "base_ability", "status", "status_turns"},
            id="ability",
        ),
        pytest.param(Guessed.STATS, {"stats", "hp", "max_hp"}, {"stats", "hp", "max_hp"}, id="stats"),
    ],
)
def test_numbers_that_depend_on_a_guess_are_marked_too(bits: int, on_field: set[str], on_bench: set[str]):
    record = view(status=STATUSES.index("par"))
    assert marked_fields(record, bits, ON_FIELD) == on_field
    assert marked_fields(record, bits, ON_BENCH) == on_bench


def test_a_healthy_pokemon_on_the_bench_is_not_marked_as_cured():
    assert "status" not in marked_fields(view(), Guessed.ABILITY, ON_BENCH)


def test_the_forme_of_zacian_is_guessed_if_it_may_not_have_been_brought():
    royal = view(base_species=vocabulary().number("species", "zacian"))
    assert {"brought", "species", "types", "moves"} <= marked_fields(royal, Guessed.BROUGHT, ON_BENCH)
    assert marked_fields(view(base_species=1), Guessed.BROUGHT, ON_BENCH) == {"brought"}


@pytest.mark.parametrize(
    ("hp", "max_hp", "shown"), [(341, 341, 100), (338, 341, 99), (170, 341, 50), (1, 341, 1), (0, 341, 0)]
)
def test_hidden_stats_leave_the_share_of_hp(hp: int, max_hp: int, shown: int):
    record = view(hp=hp, max_hp=max_hp, stats=200)
    own = cut(without_guesses(record, everywhere(marks(record, Guessed.STATS)))).pokemon[0, OWN]
    assert (own[:, POKEMON.column("hp")] == shown).all()
    assert (own[:, POKEMON.column("max_hp")] == 100).all()
    assert (own[:, POKEMON.columns("stats")] == 0).all()


def test_shown_hp_and_volatiles_stay():
    confusion = 1 << layout.VOLATILES.index("confusion")
    record = view(hp=170, max_hp=341, item=3)
    cut(record).pokemon[0, OWN, ON_FIELD, POKEMON.columns("volatiles").start] = confusion
    own = cut(without_guesses(record, everywhere(marks(record, Guessed.ITEM)))).pokemon[0, OWN]
    assert (own[:, POKEMON.column("hp")] == 170).all()
    assert (own[:, POKEMON.column("max_hp")] == 341).all()
    assert (own[:, POKEMON.column("item")] == 0).all()
    assert own[ON_FIELD, POKEMON.columns("volatiles").start] == confusion


def everywhere(own: BoolArray) -> BoolArray:
    """Return marks of own Pokémon as those of a whole view: (1, view)."""
    whole = np.zeros((1, VIEW_SIZE), np.bool_)
    cut(whole).pokemon[0, OWN] = own
    return whole
