"""The curriculum of a run: its stage, and the rule by which the stage changes.

A stage is passed when both the win rate and the rating against its opponents reach `advance`, in some consecutive
evaluations. The run goes back by one stage when the win rate stays below `fall_back` in as many. Win rates between the
two change nothing, and every stage counts from zero, so that noise does not make a run alternate between two stages.
Time plays no part.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nemesis.evaluation.run_evaluation import Standing
from nemesis.training.curriculum_config import AdvanceConfig, CurriculumConfig
from nemesis.training.figures import figure_with_interval, label


@dataclass(frozen=True, slots=True)
class Transition:
    """The change of a run from one stage to another, after an update."""

    update: int
    before: str
    after: str
    passed: bool  # else it was failed, and the run falls back
    standing: Standing

    def __str__(self) -> str:
        return (
            f"Stage {self.before} {'passed' if self.passed else 'failed'} at update {self.update} "
            f"({_in_words(self.standing)}); the run goes on in stage {self.after}."
        )


class Curriculum:
    """The stage of a run; a config without stages has none."""

    def __init__(self, config: CurriculumConfig) -> None:
        self._stages = config.stages
        self._names = list(config.stages)
        self._place = 0
        self._passed = 0  # consecutive evaluations
        self._failed = 0  # consecutive evaluations
        self._standing: Standing | None = None  # by the last evaluation
        self.evaluated_at: int | None = None  # update of the last evaluation
        self.transitions: list[Transition] = []

    @property
    def stage(self) -> str | None:
        """The name of the stage."""
        return self._names[self._place] if self._names else None

    @property
    def since(self) -> int:
        """The update after which the stage began; −1 for the first."""
        return self.transitions[-1].update if self.transitions else -1

    def count(self, update: int, standing: Standing | None) -> None:
        """Count an evaluation in this stage; None if no match of it counted."""
        stage = self._stages[self._names[self._place]]
        passes = standing is not None and stage.advance is not None and _reaches(standing, stage.advance)
        fails = standing is not None and stage.fall_back is not None and standing.win_rate < stage.fall_back
        self._passed = self._passed + 1 if passes else 0
        self._failed = self._failed + 1 if fails else 0
        self._standing, self.evaluated_at = standing, update

    def move(self, update: int) -> Transition | None:
        """Go to the next stage or the one before, if enough evaluations in a row say so."""
        if self._standing is None:
            return None
        before = self._names[self._place]
        enough = self._stages[before].evaluations
        step = int(self._passed >= enough) - int(self._failed >= enough)
        if not step:
            return None
        self._place += step
        self._passed = self._failed = 0
        after = self._names[self._place]
        self.transitions.append(Transition(update, before, after, step > 0, self._standing))
        return self.transitions[-1]

    def metrics(self) -> dict[str, float]:
        """Return the number of the stage, from 1, and the consecutive evaluations that it was passed and failed."""
        if not self._names:
            return {}
        return {
            "curriculum/stage": float(self._place + 1),
            "curriculum/passed": float(self._passed),
            "curriculum/failed": float(self._failed),
        }

    def __str__(self) -> str:
        """Return where the run is, for people; empty without stages."""
        if not self._names:
            return ""
        name = self._names[self._place]
        stage = self._stages[name]
        text = f"stage {self._place + 1} of {len(self._names)}: {name}"
        if stage.advance is not None:
            text += f", passed {self._passed} of {stage.evaluations} evaluations"
        return text + (f", failed {self._failed}" if self._failed else "")

    def story(self) -> str:
        """Return a sentence about all stages of the run so far; empty without stages."""
        if not self._names:
            return ""
        parts = [f"{one.before} until update {one.update}" for one in self.transitions]
        return f"Stages: {', '.join([*parts, f'then {self.stage}' if parts else f'{self.stage} throughout'])}."

    def state(self) -> dict[str, Any]:
        return {
            "passed": self._passed,
            "failed": self._failed,
            "standing": None if self._standing is None else asdict(self._standing),
            "evaluated_at": self.evaluated_at,
            "transitions": [asdict(one) for one in self.transitions],
        }

    def restore(self, stage: str, state: Mapping[str, Any]) -> None:
        self._place = self._names.index(stage)
        self._passed, self._failed = state["passed"], state["failed"]
        self._standing = None if state["standing"] is None else Standing(**state["standing"])
        self.evaluated_at = state["evaluated_at"]
        self.transitions = [
            Transition(**{**one, "standing": Standing(**one["standing"])}) for one in state["transitions"]
        ]


def _in_words(standing: Standing) -> str:
    values = {name: float(value) for name, value in asdict(standing).items() if value is not None}
    return ", ".join(
        f"{label(name)} {figure_with_interval(name, values)}" for name in ("win_rate", "rating") if name in values
    )


def _reaches(standing: Standing, goal: AdvanceConfig) -> bool:
    rated = goal.rating is None or (standing.rating is not None and standing.rating >= goal.rating)
    return rated and standing.win_rate >= goal.win_rate
