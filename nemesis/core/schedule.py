"""A number that changes over a run."""

import math
from typing import Any, Literal

from pydantic import Field, model_validator

from nemesis.core.settings import Settings


class Schedule(Settings):
    """A value that goes from `start` to `end` over the run. A plain number is a constant."""

    start: float = Field(ge=0, description="value at the first update")
    end: float = Field(ge=0, description="value at the last update")
    shape: Literal["linear", "cosine", "exponential"] = Field(
        "linear", description="how the value changes from start to end"
    )
    warmup: float = Field(0.0, ge=0, lt=1, description="fraction of the run over which the value rises from 0")

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return {"start": value, "end": value}
        if isinstance(value, dict) and "start" in value and "end" not in value:
            return {**value, "end": value["start"]}
        return value

    @model_validator(mode="after")
    def _exponential_needs_positive_ends(self) -> "Schedule":
        if self.shape == "exponential" and min(self.start, self.end) <= 0:
            raise ValueError("an exponential schedule needs a start and an end above zero")
        return self

    def at(self, progress: float) -> float:
        """Return the value at a progress between 0 and 1."""
        progress = min(max(progress, 0.0), 1.0)
        warmup = min(1.0, progress / self.warmup) if self.warmup else 1.0
        if self.shape == "exponential":
            return warmup * self.start * math.pow(self.end / self.start, progress)
        fraction = progress if self.shape == "linear" else (1 - math.cos(math.pi * progress)) / 2
        return warmup * (self.start + (self.end - self.start) * fraction)
