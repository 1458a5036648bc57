"""Rocket League on RocketSim: matches of one to three cars a side."""

from nemesis.core.family import Family

FAMILY = Family(
    name="rocket_league",
    example="1v1",
    open_game="nemesis.games.rocket_league.game:open_game",
    settings="nemesis.games.rocket_league.settings:RocketLeagueSettings",
    pin="nemesis.games.rocket_league.game:pin",
    exporters={"rlbot": "nemesis.deploy.rocket_league.export:export"},
)
