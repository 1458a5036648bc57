"""Where the metrics of a run go."""

from pydantic import Field

from nemesis.core.settings import Settings


class TrackingConfig(Settings):
    """Where metrics go besides metrics.jsonl."""

    tensorboard: bool = Field(True, description="write TensorBoard events into the run directory")
    wandb: bool = Field(False, description="report to Weights & Biases (needs the wandb extra)")
    project: str = Field("nemesis", min_length=1, description="Weights & Biases project")
