"""Any two-player zero-sum OpenSpiel game, with exact exploitability where the game is small."""

from nemesis.core.family import Family

FAMILY = Family(name="openspiel", example="leduc_poker", open_game="nemesis.games.openspiel.game:open_game")
