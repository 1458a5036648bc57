"""Settings of Pokémon battles."""

from typing import ClassVar, Literal

from pydantic import Field

from nemesis.core.settings import Settings


class PokemonSettings(Settings):
    """Settings of the match pool, its teams and its hosts."""

    may_change: ClassVar[tuple[str, ...]] = ("engine", "check_every", "node")
    """Settings that a resumed run may change, because they do not affect the battles."""

    technical: ClassVar[tuple[str, ...]] = ("engine", "check_every", "hosts", "node")
    """Settings in which runs of the same game may differ, because they do not affect its rules or teams."""

    engine: Literal["auto", "native", "showdown"] = Field(
        "auto", description="what simulates battles: native (Gen 1 only) or Showdown; auto is native where it can be"
    )
    check_every: int = Field(
        10_000, ge=0, description="one native battle in so many is replayed on Showdown and compared; 0 for none"
    )
    hosts: int = Field(
        2,
        ge=1,
        le=256,
        description="Node processes that simulate the battles of a pool, or as many parts of a native one",
    )
    teams: str | None = Field(
        None, description="name of a shipped team set, or a file or folder of teams; null uses the format's set"
    )
    split: Literal["train", "held_out", "all"] = Field("train", description="which teams of the set are used")
    held_out: float | None = Field(
        None, ge=0, lt=1, description="share of teams that is held out; null uses the default of the set"
    )
    invalid_teams: Literal["refuse", "skip"] = Field("refuse", description="how to handle teams that are not legal")
    team_order: Literal["given", "shuffled"] = Field("shuffled", description="order of the members of a team")
    open_team_sheets: bool | None = Field(
        None, description="whether both seats see both team sheets; null uses the default of the format"
    )
    turn_limit: int = Field(300, ge=10, le=1000, description="turns after which a battle is a draw")
    node: Literal["bundled", "system"] = Field("bundled", description="the Node of the Python package, or the system's")
