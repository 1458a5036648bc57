"""The settings of learners and of rewards. Nothing here imports torch, so that configs are validated at once."""

from typing import Literal

from pydantic import Field

from nemesis.core.schedule import Schedule
from nemesis.core.settings import Settings


def constant(value: float) -> Schedule:
    return Schedule.model_construct(start=value, end=value)


class LearnerConfig(Settings):
    """Settings that all learners share."""

    learning_rate: Schedule = Field(constant(3e-4), description="AdamW's step size, a number or a schedule")
    gradient_clip: float = Field(1.0, gt=0, description="largest gradient norm")
    weight_decay: float = Field(0.0, ge=0, description="AdamW's weight decay")
    momentum: float = Field(0.0, ge=0, lt=1, description="AdamW's β₁; self-play cycles less without it")
    value_weight: float = Field(0.5, ge=0, description="weight of the value loss")
    sequence_length: int = Field(
        64, ge=1, description="decisions of backpropagation through time (policies with memory)"
    )
    average_span: float = Field(
        0.3, gt=0, le=1, description="averaged weights: share of the updates so far that they average over"
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="arithmetic of the forward pass; float16 scales gradients and is for CUDA"
    )
    compile: bool = Field(False, description="compile the forward pass of updates with torch.compile")
    skip_limit: int = Field(20, ge=1, description="non-finite steps in a row after which the run stops")


class PPOConfig(LearnerConfig):
    """Settings of PPO."""

    algorithm: Literal["ppo"] = Field("ppo", description="which learner")
    epochs: int = Field(1, ge=1, description="passes over each batch")
    minibatch: int = Field(4096, ge=1, description="decisions in one gradient step")
    clip: float = Field(0.2, gt=0, le=1, description="ε: importance ratios are clipped to 1 ± ε")
    advantage: Literal["gae", "vtrace"] = Field(
        "gae", description="advantage estimator; vtrace corrects off-policy data"
    )
    discount: float = Field(1.0, gt=0, le=1, description="γ of the returns")
    advantage_lambda: float = Field(0.95, ge=0, le=1, description="λ of the policy's advantages")
    value_lambda: float = Field(0.95, ge=0, le=1, description="λ of the value targets")
    ratio_limit: float = Field(1.0, gt=0, description="vtrace: largest importance ratio")
    normalise_advantages: bool = Field(
        False, description="scale the advantages of a batch to mean 0 and standard deviation 1"
    )
    advantage_share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="advantage filtering: share of a batch, by largest |A|, that the policy learns from",
    )
    entropy_weight: Schedule = Field(constant(0.05), description="weight of the entropy bonus, a number or a schedule")
    opponent_model_weight: Schedule = Field(
        constant(0.0),
        description="weight of the opponent model's loss, a number or a schedule; needs policy.opponent_model",
    )
    kl_stop: float | None = Field(
        None, gt=0, description="end an update early when the KL from the policy that played exceeds this"
    )


class RegularisedConfig(PPOConfig):
    """Settings of learners with a regulariser toward other policies, besides those of PPO."""

    entropy_weight: Schedule = Field(constant(0.0), description="weight of the entropy bonus, a number or a schedule")
    gradient: Literal["surrogate", "neurd"] = Field(
        "neurd",
        description="policy loss: PPO's clipped surrogate, or NeuRD, which also moves the logits of rare actions",
    )
    probability_floor: float = Field(
        0.05, gt=0, le=1, description="neurd: advantages are divided by the action's probability or, if larger, by this"
    )


class RNaDConfig(RegularisedConfig):
    """Settings of R-NaD."""

    algorithm: Literal["rnad"] = Field("rnad", description="which learner")  # type: ignore[assignment]
    form: Literal["reference", "reward", "magnet"] = Field("magnet", description="how the regulariser enters")
    reference_weight: Schedule = Field(constant(0.05), description="α of the reference form")
    reference_interval: int = Field(
        100, ge=0, description="updates after which the reference is renewed; 0 keeps the first one"
    )
    reward_weight: Schedule = Field(constant(0.05), description="η of the reward form")
    magnet_weight: Schedule = Field(constant(0.05), description="τ of the magnet form, usually annealed")
    average_weight: Schedule = Field(constant(0.05), description="ω of the magnet form: KL to the averaged weights")
    data_weight: Schedule = Field(constant(0.0), description="κ of the magnet form: KL to the policy that played")


class PortfolioConfig(RegularisedConfig):
    """Settings of R-NaD with a portfolio of references."""

    algorithm: Literal["portfolio"] = Field("portfolio", description="which learner")  # type: ignore[assignment]
    reference_weight: Schedule = Field(constant(0.05), description="α, the weight of the KL to the closest reference")
    references: int = Field(4, ge=1, le=32, description="how many references are kept")
    add_interval: int = Field(100, ge=1, description="updates after which a snapshot of the policy is added")
    keep: Literal["diverse", "best", "recent"] = Field("diverse", description="which references are kept")


class BehaviourCloningConfig(LearnerConfig):
    """Settings of behaviour cloning."""

    algorithm: Literal["bc"] = Field("bc", description="which learner")
    learning_rate: Schedule = Field(
        Schedule.model_construct(start=1e-3, end=1e-5, shape="cosine", warmup=0.02),
        description="AdamW's step size, a number or a schedule",
    )
    momentum: float = Field(0.9, ge=0, lt=1, description="AdamW's β₁")
    label_smoothing: float = Field(
        0.0, ge=0, lt=1, description="share of the loss that is spread over the legal actions"
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout rate of the encoder and the feed-forward layers")
    decisions_at_once: int = Field(
        4096, ge=1, description="decisions of a batch that are run at once; gradients are accumulated over the batch"
    )


class OfflineConfig(BehaviourCloningConfig):
    """Settings of offline actor-critic, besides those of behaviour cloning."""

    algorithm: Literal["offline"] = Field("offline", description="which learner")  # type: ignore[assignment]
    weighting: Literal["binary", "filter", "exp", "none"] = Field(
        "binary", description="weight of an action by its advantage; none is behaviour cloning"
    )
    better_weight: float = Field(1.0, ge=0, description="binary: weight of actions with a positive advantage")
    worse_weight: float = Field(0.2, ge=0, description="binary: weight of the others")
    temperature: float = Field(0.5, gt=0, description="exp: advantage at which the weight is e")
    largest_weight: float = Field(20.0, gt=0, description="exp: largest weight of an action")
    critic: Literal["value", "actions"] = Field(
        "value", description="predict the value of positions, or of actions too, which needs policy.action_values"
    )
    returns: Literal["lambda", "n_step"] = Field(
        "lambda", description="the critic's targets: λ-returns, or n-step returns"
    )
    value_lambda: float = Field(0.95, ge=0, le=1, description="lambda: λ of the returns; 1 is Monte Carlo returns")
    steps: int = Field(5, ge=1, description="n_step: decisions before the bootstrap value")
    discount: float = Field(1.0, gt=0, le=1, description="γ of the returns")
    more_discounts: tuple[float, ...] = Field(
        (), description="discounts of further values; set policy.horizons to their number"
    )
    target_step: float = Field(
        0.01,
        gt=0,
        le=1,
        description="target network: share of the way to the policy's weights that it moves at each update",
    )


class RewardConfig(Settings):
    """What is rewarded: the result only, or also what a seat does and how far it is ahead."""

    kind: Literal["sparse", "dense", "hybrid"] = Field(
        "sparse",
        description="the result and sparse reward components; also the dense ones and shaping by potentials; or these "
        "scaled by dense_weight",
    )
    dense_weight: Schedule = Field(
        Schedule.model_construct(start=1.0, end=0.0),
        description="hybrid: weight of dense components and shaping, a number or a schedule",
    )
    weights: dict[str, Schedule] = Field(
        {},
        description="weights of the game's reward components and potentials by name, the others keep their default "
        "weights; and of potentials of your own as module:attribute, view (n, view) → potential (n,)",
    )
    scale: Literal["none", "running"] = Field(
        "none", description="running: results and rewards are divided by the running standard deviation of returns"
    )
