"""A Pokémon Showdown format as a `Game`."""

# ruff: noqa: PLC0415 (torch is slow to import, and only networks need it)

import hashlib
import json
from collections.abc import Collection, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, BoolArray, FloatArray, GameSpec, IntArray, MatchPool, Scripted
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.formats import Format, find_format
from nemesis.games.pokemon.hosts.host_process import HostError, Setting
from nemesis.games.pokemon.hosts.observer import Observer
from nemesis.games.pokemon.hosts.pool import BattlePool, Hosts, Teams, pair_generator
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
from nemesis.games.pokemon.native.engine import choose_hosts
from nemesis.games.pokemon.replays.reading import ReplayReader, without_guesses
from nemesis.games.pokemon.scripted import heuristics
from nemesis.games.pokemon.settings import PokemonSettings
from nemesis.games.pokemon.teams.team_sets import TeamSet, load_team_set, shuffled
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views import potentials as rewards
from nemesis.games.pokemon.views.actions import ActionSpace, Kind, action_space
from nemesis.games.pokemon.views.augmentation import AUGMENTATIONS, augment

if TYPE_CHECKING:
    from torch import nn


@cache
def _view_version() -> str:
    """Return a hash of the layout and the vocabulary, which determine the meaning of a view record."""
    text = json.dumps([layout.for_host(), vocabulary().for_host()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class GeneratedTeams:
    """Teams that the simulator generates, as in random battles."""

    def draw(self, generator: np.random.Generator) -> list[str]:
        return [f"gen5,{generator.bytes(8).hex()}" for _ in range(SIDES)]


class SampledTeams:
    """Teams of a set, drawn independently for each seat, with their members in shuffled order if wanted."""

    def __init__(self, teams: TeamSet, shuffle: bool) -> None:
        self._teams = teams
        self._shuffle = shuffle

    def draw(self, generator: np.random.Generator) -> list[str]:
        packed = [self._teams.packed[index] for index in self._teams.draw(generator, SIDES)]
        if not self._shuffle:
            return packed
        return [shuffled(team, generator) for team in packed]


class PokemonGame:
    """One format: its pools, scripted players and networks."""

    def __init__(self, battle_format: Format, settings: PokemonSettings) -> None:
        if settings.open_team_sheets and not battle_format.preview:
            raise UserError(f"{battle_format.id} has no team preview, so pokemon.open_team_sheets cannot be used.")
        if settings.open_team_sheets is False and battle_format.sheets == "forced":
            raise UserError(f"{battle_format.id} always shows the team sheets; remove pokemon.open_team_sheets.")
        self.format = battle_format
        self._settings = settings

    @cached_property
    def spec(self) -> GameSpec:
        return GameSpec(
            name=f"pokemon:{self.format.id}",
            view_size=layout.VIEW_SIZE,
            actions=self._space.size,
            utility_scale=1.0,
            view_bytes=2,
            view_version=_view_version(),
        )

    @cached_property
    def scripted(self) -> Mapping[str, Scripted]:
        return heuristics.scripted(self.format.slots, self.format.mod, self.format.brought)

    @property
    def potentials(self) -> Mapping[str, float]:
        return rewards.POTENTIALS

    def potential(self, view: npt.NDArray[Any]) -> FloatArray:
        return rewards.potentials(view)

    def pool(self, slots: int, seed: int) -> MatchPool:
        return BattlePool(self._pool_hosts, self._setting(slots), self._teams, self._settings.hosts, seed)

    def paired_pool(self, slots: int, seed: int) -> MatchPool:
        return BattlePool(self._pool_hosts, self._setting(slots), self._teams, self._settings.hosts, seed, paired=True)

    @cached_property
    def team_set(self) -> TeamSet | None:
        """The teams of the game, or None if the simulator generates them."""
        if self.format.generated:
            return None
        settings = self._settings
        return load_team_set(
            self.format.id,
            settings.teams,
            settings.split,
            self._hosts_ready.check_teams,
            held_out=settings.held_out,
            skip_invalid=settings.invalid_teams == "skip",
        )

    def pair_teams(self, seed: int, pair: int) -> tuple[str, str] | None:
        """Return the packed teams of both seats in a pair of matches, or None if the simulator generates them."""
        if self.format.generated:
            return None
        one, other = self._teams.draw(pair_generator(seed, pair))
        return one, other

    def turn(self, view: npt.NDArray[Any]) -> IntArray:
        turn: IntArray = layout.cut(view).position[:, layout.POSITION.column("turn")].astype(np.int64)
        return turn

    @property
    def sheets(self) -> bool:
        """Whether both seats accept open team sheets; some formats always show them."""
        chosen = self._settings.open_team_sheets
        return self.format.sheets == "offered" if chosen is None else chosen

    @property
    def turn_limit(self) -> int:
        return self._settings.turn_limit

    def observer(self) -> Observer:
        """Return an observer that converts battles on a server into views; it has its own host."""
        (host,) = self._hosts_ready.take([self._setting(slots=1)])
        return Observer(host, self._hosts_ready.give_back)

    def replay_reader(self) -> ReplayReader:
        """Return a reader of public logs of this format; it has its own host."""
        (reader,) = self.replay_readers(1)
        return reader

    def replay_readers(self, count: int) -> list[ReplayReader]:
        """Return several readers, whose hosts start in parallel."""
        hosts = self._hosts_ready.take([self._setting(slots=1)] * count)
        try:
            return [ReplayReader(host, self.format, self._hosts_ready.give_back) for host in hosts]
        except (HostError, UserError):  # for example, the format is not supported
            for host in hosts:
                self._hosts_ready.give_back(host)
            raise

    def encoder(self, width: int) -> "nn.Module":
        from nemesis.games.pokemon.network.encoder import PokemonEncoder

        return PokemonEncoder(width, self.format.slots, self.format.mod, self.format.brought)

    def action_head(self, width: int) -> "nn.Module":
        from nemesis.games.pokemon.network.pointer_head import PokemonActionHead

        return PokemonActionHead(width, self.format.slots)

    def action_classes(self, view: npt.NDArray[Any], action: IntArray) -> npt.NDArray[np.int16]:
        from nemesis.games.pokemon.network.opponent_model import action_classes, class_names

        return action_classes(view, action, self._space, class_names(self.format.mod))

    def opponent_model_head(self, width: int) -> "nn.Module":
        from nemesis.games.pokemon.network.opponent_model import PokemonOpponentModel, class_names

        return PokemonOpponentModel(width, class_names(self.format.mod).count)

    def phases(self, view: npt.NDArray[Any], action: IntArray) -> Mapping[str, BoolArray]:
        phase = layout.cut(view).position[:, layout.POSITION.column("phase")]
        turn = phase == layout.PHASES.index("turn")
        switch = turn & (self._space.kind[action] == Kind.SWITCH).any(axis=1)
        return {
            "preview": phase == layout.PHASES.index("preview"),
            "turn": turn,
            "move": turn & ~switch,
            "switch": switch,
            "replacement": phase == layout.PHASES.index("forced_switch"),
        }

    @property
    def augmentations(self) -> tuple[str, ...]:
        return AUGMENTATIONS

    def augment(
        self,
        names: Collection[str],
        view: npt.NDArray[Any],
        mask: BoolArray,
        action: IntArray,
        episode: IntArray,
        generator: np.random.Generator,
    ) -> tuple[npt.NDArray[Any], BoolArray, IntArray]:
        return augment(self._space, names, view, mask, action, episode, generator)

    def without_guesses(self, view: npt.NDArray[Any], guessed: BoolArray) -> npt.NDArray[Any]:
        return without_guesses(view, guessed)

    @property
    def _space(self) -> ActionSpace:
        return action_space(self.format.slots, self.format.brought)

    def _setting(self, slots: int) -> Setting:
        return Setting(self.format, slots, self.sheets, self._settings.turn_limit)

    @cached_property
    def _hosts_ready(self) -> WarmHosts:
        return WarmHosts(self._settings.node)

    @cached_property
    def _pool_hosts(self) -> Hosts:
        teams = self.team_set
        return choose_hosts(self.format, self._settings, self._hosts_ready, teams.packed if teams else ())

    @cached_property
    def _teams(self) -> Teams:
        teams = self.team_set
        return GeneratedTeams() if teams is None else SampledTeams(teams, self._settings.team_order == "shuffled")


def open_game(name: str, settings: PokemonSettings | None = None) -> PokemonGame:
    """Open a format by its Showdown id, such as `gen1ou` or `gen9vgc2025regi`."""
    return PokemonGame(find_format(name), settings or PokemonSettings())
