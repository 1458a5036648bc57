"""Games by name: `family:game` for a registered family, else `module:attribute` for a class outside the package."""

from nemesis.games.registry import families, family_of, open_game

__all__ = ["families", "family_of", "open_game"]
