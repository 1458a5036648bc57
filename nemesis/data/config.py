"""The `data` part of a run's config: datasets to learn from."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from nemesis.core.settings import Names, Settings


def _weighted(value: Any) -> Any:
    """Accept sources also as a list, or as one text with commas; paths without a weight get 1."""
    if isinstance(value, str):
        value = [path.strip() for path in value.split(",")]
    if not isinstance(value, list | tuple):
        return value
    weighted: dict[Any, Any] = {}
    for entry in value:
        if isinstance(entry, str):
            path, weight = entry, 1.0
        elif isinstance(entry, Mapping) and {"path"} <= entry.keys() <= {"path", "weight"}:
            path, weight = entry["path"], entry.get("weight", 1.0)
        else:
            return value
        if path in weighted:
            raise ValueError(f"{path} is given twice; give it once, with a larger weight")
        weighted[path] = weight
    return weighted


Weight = Annotated[float, Field(gt=0)]


class Shares(NamedTuple):
    """Shares of the matches that a run does not learn from."""

    validation: float  # measured while it learns
    test: float = 0.0  # never read by the run


class DataConfig(Settings):
    """Datasets to learn from instead of own matches, and how they are fed to the learner."""

    sources: Annotated[dict[str, Weight], BeforeValidator(_weighted)] = Field(
        {}, description="folders of datasets, each with its weight: its share of the decisions"
    )
    validation: float = Field(
        0.05, ge=0, lt=1, description="share of the matches in the validation split, chosen by group id"
    )
    test: float = Field(
        0.0, ge=0, lt=1, description="share of the matches in the test split, which the run never reads"
    )
    validation_decisions: int = Field(
        50_000, ge=1, description="most decisions of the validation split that are used; they are kept in memory"
    )
    buffer: int = Field(32_768, ge=1, description="decisions in the shuffle buffer; twice as many are in memory")
    augment: Names = Field((), description="names of the game's augmentations, applied at random to every episode")
    hide_guesses: bool = Field(
        False,
        description="whether guessed (imputed) numbers of views become unknown; what remains was shown later in the "
        "match, so a policy may learn to exploit that",
    )
    any_format: bool = Field(False, description="whether matches of other formats with the same actions are allowed")

    @property
    def shares(self) -> Shares:
        return Shares(self.validation, self.test)
