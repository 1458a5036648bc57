"""What a run learns from, if not from its own play."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from nemesis.core.settings import Names, Settings
from nemesis.data.split import Shares


def _weighted(value: Any) -> Any:
    """Let sources also be a list, or one text with commas, of paths that weigh the same."""
    if isinstance(value, str):
        value = [path.strip() for path in value.split(",")]
    if not isinstance(value, list | tuple):
        return value
    weighted: dict[Any, Any] = {}
    for entry in value:
        if isinstance(entry, Mapping) and {"path"} <= entry.keys() <= {"path", "weight"}:
            weighted[entry["path"]] = entry.get("weight", 1.0)
        elif isinstance(entry, str):
            weighted[entry] = 1.0
        else:
            return value
    return weighted


Weight = Annotated[float, Field(gt=0)]


class DataConfig(Settings):
    """Datasets to learn from instead of matches, and how they are fed to the learner."""

    sources: Annotated[dict[str, Weight], BeforeValidator(_weighted)] = Field(
        {}, description="folders of datasets with their weights: how many of the decisions come from each"
    )
    validation: float = Field(
        0.05, ge=0, lt=1, description="share of the groups of battles that is never learned from, chosen by their ids"
    )
    test: float = Field(
        0.0, ge=0, lt=1, description="share of the battles that the run does not even judge itself by, to test it later"
    )
    validation_decisions: int = Field(
        50_000, ge=1, description="of them, as many as are predicted at each evaluation, and kept in memory"
    )
    buffer: int = Field(
        32_768, ge=1, description="decisions among which episodes are shuffled; twice as many are in memory"
    )
    augment: Names = Field((), description="what is told in another way each time: order, slots (Pokémon)")
    hide_guesses: bool = Field(
        False,
        description="whether numbers of a view that were guessed when a replay was read become unknown, 0; the others "
        "were shown later, and a policy would learn to foresee by that",
    )
    any_format: bool = Field(False, description="whether battles of other formats with the same actions may be fed")

    @property
    def shares(self) -> Shares:
        return Shares(self.validation, self.test)
