"""Any two-player zero-sum OpenSpiel game, with exact exploitability where the game is small."""

from nemesis.games.openspiel.game import OpenSpielGame, open_game

__all__ = ["OpenSpielGame", "open_game"]
