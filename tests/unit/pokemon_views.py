"""Random view records that could come from battles, for tests of code that reads them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.dex.tables import tables, vocabulary
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, SIDE, TEAM, Block, Views, cut

View = npt.NDArray[np.int16]
MOD = "gen9"


class Writer:
    """Fills fields of one block with random numbers."""

    def __init__(self, rows: npt.NDArray[np.int16], block: Block, generator: np.random.Generator) -> None:
        self.rows, self.block, self.generator = rows, block, generator

    def __call__(self, name: str, low: int, high: int, chance: float = 1.0) -> None:
        """Draw from low to high, both included, with some chance, else leave zero."""
        columns = self.rows[..., self.block.columns(name)]
        drawn = self.generator.integers(low, high, columns.shape, endpoint=True)
        columns[...] = np.where(self.generator.random(columns.shape) < chance, drawn, 0)


def random_views(count: int, slots: int, brought: int = TEAM, seed: int = 0) -> View:
    """Return records of turns, forced switches and team previews with random values in all fields."""
    generator = np.random.default_rng(seed)
    view = np.zeros((count, layout.VIEW_SIZE), np.int16)
    parts = cut(view)
    _fill_position(Writer(parts.position, POSITION, generator), slots)
    _fill_sides(Writer(parts.side, SIDE, generator), brought)
    _fill_pokemon(parts.pokemon, generator)
    _place(parts, slots, generator)
    return view


def field(view: View, side: int, member: int, name: str) -> npt.NDArray[np.int16]:
    """Return a writable field of one Pokémon in all records: (n, column)."""
    columns: npt.NDArray[np.int16] = cut(view).pokemon[:, side, member, POKEMON.columns(name)]
    return columns


def _fill_position(write: Writer, slots: int) -> None:
    write("phase", 1, 3)
    write("turn", 0, 60)
    write("slots", slots, slots)
    for name in ("must_switch", "reviving", "trapped", "maybe_trapped"):
        write(name, 1, 1, 0.1)
    write("gimmick", 0, len(layout.GIMMICKS) - 1)
    write("refusals", 1, 2, 0.1)
    write("weather", 1, len(layout.WEATHERS) - 1, 0.5)
    write("terrain", 1, len(layout.TERRAINS) - 1, 0.5)
    for name in ("weather_least", "weather_most", "terrain_least", "terrain_most"):
        write(name, -1, 8, 0.5)
    write("rooms", 1, 5, 0.2)


def _fill_sides(write: Writer, brought: int) -> None:
    write("team_size", TEAM, TEAM)
    write("brought_size", brought, brought)
    write("left", 1, brought)
    write("gimmick_used", 0, 1)
    write("layers", 1, 1, 0.2)
    write("turns_least", 1, 4, 0.2)
    write("turns_most", 1, 8, 0.2)
    for name in ("wish", "future_move", "healing_wish"):
        write(name, 1, 1, 0.1)
    write("last_kind", 0, len(layout.ACTION_KINDS) - 1)
    write("last_move", 1, len(vocabulary().moves), 0.8)
    write("last_target", 0, 4)
    write("last_outcome", 0, (1 << len(layout.OUTCOMES)) - 1, 0.5)
    write("last_order", 1, 4)


def _fill_pokemon(pokemon: npt.NDArray[np.int16], generator: np.random.Generator) -> None:
    write = Writer(pokemon, POKEMON, generator)
    ids = vocabulary()
    write("species", 1, len(ids.species))
    write("base_species", 1, len(ids.species))
    write("level", 50, 100)
    write("gender", 0, len(layout.GENDERS) - 1)
    write("hp", 1, 100)
    write("max_hp", 100, 100)
    write("status", 1, len(layout.STATUSES) - 1, 0.3)
    write("status_turns", 1, 3, 0.2)
    types = tables(MOD).species["types"][pokemon[..., POKEMON.column("species")]]
    pokemon[..., POKEMON.columns("types").start : POKEMON.columns("types").start + 2] = types
    write("tera_type", 1, len(ids.types), 0.5)
    write("terastallized", 1, 1, 0.1)
    for name, kind in (("item", ids.items), ("last_item", ids.items), ("ability", ids.abilities)):
        write(name, 1, len(kind), 0.6)
    write("base_ability", 1, len(ids.abilities), 0.6)
    write("item_state", 0, len(layout.ITEM_STATES) - 1)
    write("nature", 1, len(layout.NATURES) - 1, 0.5)
    write("boosts", -6, 6, 0.2)
    write("moves", 1, len(ids.moves), 0.9)
    write("pp", 0, 16)
    write("max_pp", 16, 16)
    for name in ("move_disabled", "move_revealed", "item_revealed", "ability_revealed", "seen"):
        write(name, 0, 1)
    write("brought", 0, 1)
    write("turns_active", 0, 9)
    write("streak", 0, 3)
    write("paradox_stat", 1, len(layout.STATS), 0.1)
    write("volatiles", -(1 << 15), (1 << 15) - 1, 0.3)
    write("counters", 1, 4, 0.2)
    chosen = pokemon[..., POKEMON.columns("moves").start + generator.integers(layout.MOVES)]
    for name in ("last_move", "disabled_move", "encored_move"):
        present = generator.random(chosen.shape) < 0.3
        pokemon[..., POKEMON.column(name)] = np.where(present, chosen, 0)


def _place(parts: Views, slots: int, generator: np.random.Generator) -> None:
    """Make the first own Pokémon and random foes active, and let one of each bench be fainted."""
    pokemon: Any = parts.pokemon
    count = len(pokemon)
    own = Writer(pokemon[:, OWN], POKEMON, generator)
    own("stats", 60, 400)
    own("hp", 1, 300)
    own("max_hp", 300, 300)
    order = np.argsort(generator.random((count, TEAM)), axis=1)
    active, fainted = POKEMON.column("active"), POKEMON.column("fainted")
    for slot in range(slots):
        pokemon[:, OWN, slot, active] = slot + 1
        pokemon[np.arange(count), FOE, order[:, slot], active] = slot + 1
    pokemon[:, OWN, slots, fainted] = generator.random(count) < 0.5
    pokemon[np.arange(count), FOE, order[:, slots], fainted] = generator.random(count) < 0.5
    pokemon[..., POKEMON.column("hp")] *= 1 - pokemon[..., fainted]
