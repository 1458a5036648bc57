"""Settings of the Rocket League family."""

from typing import ClassVar

from pydantic import Field

from nemesis.core.settings import Settings


class RocketLeagueSettings(Settings):
    """How matches are simulated, how they start and how they end."""

    may_change: ClassVar[tuple[str, ...]] = ()

    meshes: str | None = Field(
        None,
        description="folder of collision meshes; null takes those of an installed rlgym-rocket-league, else computed ones",
    )
    tick_skip: int = Field(8, ge=1, le=120, description="physics ticks (of 120 per second) between decisions")
    action_delay: int = Field(0, ge=0, le=60, description="ticks before an action takes effect; the last one acts meanwhile")
    match_seconds: float = Field(
        120.0, gt=0, description="clock of a match; when it runs out, the match is truncated without a winner"
    )
    touch_seconds: float = Field(
        30.0, gt=0, description="time without a touch of the ball after which a match is truncated"
    )
    kickoff_share: float = Field(0.5, ge=0, le=1, description="share of the matches that start with a kick-off")
    aerial_share: float = Field(
        0.2, ge=0, le=1, description="share of the other matches that start with the ball and a car in the air"
    )
