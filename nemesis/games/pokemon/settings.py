"""What a run may decide about its Pokémon battles."""

from typing import ClassVar, Literal

from pydantic import Field

from nemesis.core.settings import Settings


class PokemonSettings(Settings):
    """Settings of the match pool, its teams and its hosts."""

    may_change: ClassVar[tuple[str, ...]] = ("node",)
    """Settings that a resumed run may change: they do not change what is played."""

    hosts: int = Field(2, ge=1, le=256, description="Node processes that simulate the battles of one pool")
    teams: str | None = Field(
        None, description="name of a shipped team set, or a file or folder of teams; null takes the format's own"
    )
    split: Literal["train", "held_out", "all"] = Field("train", description="which teams of the set are played")
    held_out: float | None = Field(
        None, ge=0, lt=1, description="share of the teams that is held out; null leaves it to the set"
    )
    invalid_teams: Literal["refuse", "skip"] = Field("refuse", description="what to do about teams that are not legal")
    team_order: Literal["given", "shuffled"] = Field("shuffled", description="order of the members of a team")
    open_team_sheets: bool | None = Field(
        None, description="whether both seats see the teams' sheets; null leaves it to the format"
    )
    turn_limit: int = Field(300, ge=10, le=1000, description="turns after which a battle is drawn")
    node: Literal["bundled", "system"] = Field("bundled", description="the Node of the Python package, or the system's")
