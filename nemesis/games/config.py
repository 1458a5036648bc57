"""The settings that say which game is played: its name, and the settings of the families by their names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, create_model, model_validator

from nemesis.core.config import build_config
from nemesis.core.plugins import import_attribute
from nemesis.core.settings import Settings
from nemesis.games.registry import families, family_of, is_imported, open_game

if TYPE_CHECKING:
    from nemesis.core.game import Game


class _GameConfig(Settings):
    """Which game, and its settings."""

    game: str = Field(
        description="family:game, for example "
        + " or ".join(f"{family.name}:{family.example}" for family in families().values())
        + "; or module:attribute for a game outside the package"
    )
    game_settings: dict[str, Any] = Field({}, description="settings of a game that is named as module:attribute")

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        """Refuse settings that opening the game would ignore."""
        family = family_of(self.game)
        if family and self.game_settings:
            raise ValueError(f"game_settings are for games that are named as module:attribute, not for {self.game}")
        for name, model in family_settings().items():
            own, default = getattr(self, name), model()
            if own != default and (family is None or family.name != name):
                changed = [f"{name}.{key}" for key in model.model_fields if getattr(own, key) != getattr(default, key)]
                raise ValueError(f"{', '.join(changed)} has no effect on {self.game}; leave it out")
        return self

    def open_game(self) -> "Game":
        settings = {name: getattr(self, name) for name in family_settings()}
        return open_game(self.game, settings, self.game_settings)

    def pinned(self) -> Self:
        """Return these settings with what they stand for on this machine, as a new run stores them."""
        family = family_of(self.game)
        if family is None or family.pin is None:
            return self
        return self.model_copy(update={family.name: import_attribute(family.pin)(getattr(self, family.name))})

    def imports(self) -> list[str]:
        """Return the names of code that these settings import."""
        return [self.game] if is_imported(self.game) else []


def family_settings() -> Mapping[str, type[Settings]]:
    """Return the settings models of families that have settings."""
    return {family.name: import_attribute(family.settings) for family in families().values() if family.settings}


if TYPE_CHECKING:

    class GameConfig(_GameConfig):
        """The game with the settings of all families, each a group of its own."""

else:
    GameConfig = create_model(
        "GameConfig",
        __base__=_GameConfig,
        __doc__=_GameConfig.__doc__,
        __module__=__name__,
        **{name: (model, model.model_construct()) for name, model in family_settings().items()},
    )


def game_config_of(config: Mapping[str, Any]) -> GameConfig:
    """Return the part of a run's whole config that says which game it plays."""
    return build_config(GameConfig, {name: config[name] for name in GameConfig.model_fields if name in config})


def is_technical(path: str) -> bool:
    """Return whether a setting, as FAMILY.NAME, does not affect the matches."""
    family, _, name = path.partition(".")
    return name.partition(".")[0] in getattr(family_settings().get(family), "technical", ())


def without_technical(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config without the settings of families that do not affect the matches, but fit one machine."""
    return {
        name: {key: one for key, one in value.items() if not is_technical(f"{name}.{key}")}
        if name in family_settings() and isinstance(value, Mapping)
        else value
        for name, value in config.items()
    }
