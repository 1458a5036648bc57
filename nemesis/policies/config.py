"""The parts of a policy, and the one setting for its size."""

from typing import Literal, NamedTuple, TypeAlias

from pydantic import Field

from nemesis.core.plugins import IMPORT_PATTERN
from nemesis.core.settings import Settings

Size: TypeAlias = Literal["nano", "micro", "small", "medium", "large", "huge", "giant"]
MemoryKind: TypeAlias = Literal["none", "lstm", "gru", "transformer"]


class PolicyConfig(Settings):
    """An encoder of the game, then a memory, then heads for the action and the value."""

    size: Size = Field(
        "micro",
        description="about 0.03M, 0.3M, 1M, 5M, 20M, 70M or 200M parameters at a few hundred actions; "
        "games with many entity tokens need more",
    )
    encoder: str | None = Field(
        None,
        pattern=IMPORT_PATTERN,
        description="module:attribute of a class (game) → encoder(width) and action_head(width) that replaces the "
        "game's own; null takes the game's",
    )
    width: int | None = Field(None, ge=8, le=16384, multiple_of=8, description="features per decision; overrides size")
    layers: int | None = Field(None, ge=1, le=64, description="layers of the memory; overrides size")
    memory: MemoryKind = Field("none", description="how decisions depend on the seat's earlier ones")
    context: int = Field(64, ge=1, le=4096, description="earlier decisions that each transformer layer sees")
    value: Literal["scalar", "categorical"] = Field(
        "scalar", description="predict the mean return, or a distribution over returns"
    )
    value_bins: int = Field(
        51, ge=2, le=1001, description="atoms of a categorical value, even on [-1, 1]; 3 are loss, draw and win"
    )
    init: str | None = Field(
        None, description="policy file, checkpoint or run of the same shape whose weights a new run starts from"
    )
    init_parts: dict[str, str] = Field(
        {},
        description="parts to take from init, by their names here and there, such as encoder: encoder; "
        "all of them if empty",
    )
    horizons: int = Field(0, ge=0, le=16, description="further values, one for each of learner.more_discounts")
    action_values: bool = Field(False, description="also predict the return of each action; see learner.critic")
    opponent_model: bool = Field(
        False, description="also predict the opponent's action of the same moment; see learner.opponent_model_weight"
    )


class Dimensions(NamedTuple):
    """The size of a policy, resolved."""

    width: int
    layers: int


def dimensions(config: PolicyConfig) -> Dimensions:
    """Return the width and the layers of a size, unless the config overrides them."""
    size = _SIZES[config.memory][config.size]
    return Dimensions(config.width or size.width, config.layers or size.layers)


# Parameters of one layer, in squared widths: none 4, LSTM 8, GRU 6, transformer 12.
_SIZES: dict[MemoryKind, dict[Size, Dimensions]] = {
    "none": {
        "nano": Dimensions(48, 2),
        "micro": Dimensions(176, 2),
        "small": Dimensions(272, 3),
        "medium": Dimensions(544, 4),
        "large": Dimensions(896, 6),
        "huge": Dimensions(1472, 8),
        "giant": Dimensions(2048, 12),
    },
    "lstm": {
        "nano": Dimensions(48, 1),
        "micro": Dimensions(176, 1),
        "small": Dimensions(336, 1),
        "medium": Dimensions(544, 2),
        "large": Dimensions(1104, 2),
        "huge": Dimensions(1696, 3),
        "giant": Dimensions(2496, 4),
    },
    "gru": {
        "nano": Dimensions(48, 1),
        "micro": Dimensions(192, 1),
        "small": Dimensions(384, 1),
        "medium": Dimensions(640, 2),
        "large": Dimensions(1280, 2),
        "huge": Dimensions(1984, 3),
        "giant": Dimensions(2880, 4),
    },
    "transformer": {
        "nano": Dimensions(40, 1),
        "micro": Dimensions(96, 2),
        "small": Dimensions(160, 3),
        "medium": Dimensions(320, 4),
        "large": Dimensions(512, 6),
        "huge": Dimensions(832, 8),
        "giant": Dimensions(1152, 12),
    },
}
