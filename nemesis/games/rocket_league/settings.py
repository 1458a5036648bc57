"""Settings of the Rocket League family."""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from nemesis.core.settings import Settings

Weight = Annotated[float, Field(ge=0)]


class StartsConfig(Settings):
    """How often matches start in each way, as weights; scored matches always start with a kick-off."""

    kickoff: Weight = Field(0.5, description="one of the game's kick-offs")
    ground: Weight = Field(0.25, description="cars anywhere on the ground, the ball anywhere low above it")
    air: Weight = Field(0.125, description="ball and cars in the air")
    wall: Weight = Field(0.125, description="cars on the walls, the ball near one of them")
    replayed: Weight = Field(
        0.0, description="a moment of a match that was recorded, from the file rocket_league.states"
    )


class RocketLeagueSettings(Settings):
    """How matches are simulated, how they start and end, and how cars share rewards."""

    may_change: ClassVar[tuple[str, ...]] = ("meshes", "arena")
    technical: ClassVar[tuple[str, ...]] = ("meshes", "arena", "starts", "states", "team_spirit", "zero_sum")
    """Settings that do not affect scored matches, which start with kick-offs."""

    meshes: str | None = Field(
        None,
        description="folder of collision meshes, or computed; null takes those of an installed rlgym-rocket-league, "
        "else computed ones",
    )
    arena: str | None = Field(
        None, description="hash of the collision meshes, which a new run stores; it then refuses others"
    )
    tick_skip: int = Field(
        8, ge=1, le=120, description="physics ticks (120 per second) for which an action is repeated"
    )
    action_delay: int = Field(
        0, ge=0, le=60, description="ticks before an action takes effect; earlier ones act meanwhile"
    )
    match_seconds: float = Field(
        120.0, gt=0, le=3600, description="clock of a match; when it runs out, the match is truncated without a winner"
    )
    touch_seconds: float = Field(
        30.0, gt=0, description="time without a touch of the ball after which a match is truncated"
    )
    starts: StartsConfig = StartsConfig.model_construct()
    states: str | None = Field(None, description="file of states (.npz) for starts.replayed")
    sizes: tuple[Weight, Weight, Weight] = Field(
        (1.0, 1.0, 1.0), description="how often matches of rocket_league:mixed are 1v1, 2v2 and 3v3, as weights"
    )
    team_spirit: float = Field(
        0.0, ge=0, le=1, description="share of a car's reward that is the mean of its side's instead of its own"
    )
    zero_sum: bool = Field(False, description="subtract the mean reward of the other side")

    @model_validator(mode="after")
    def _starts_fit(self) -> Self:
        if not any(self.starts.model_dump().values()):
            raise ValueError("starts are all 0, so no match can start; set at least one")
        if self.starts.replayed and self.states is None:
            raise ValueError("starts.replayed needs states to name a file of states")
        if self.states is not None and not self.starts.replayed:
            raise ValueError("states has no effect without starts.replayed")
        if not any(self.sizes):
            raise ValueError("sizes are all 0, so there are no matches; set at least one")
        return self
