"""Several passes of minibatch descent over one batch: the loop inside every update."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from torch import Tensor

from nemesis.learners.batch import Batch, Output
from nemesis.learners.data_parallel import add_up
from nemesis.learners.learner import PolicyModule
from nemesis.learners.optimiser import GuardedOptimiser

Metrics: TypeAlias = dict[str, Tensor]
Loss: TypeAlias = Callable[[Output], tuple[Tensor, Metrics]]


def descend(
    batch: Batch,
    forward: PolicyModule,
    loss: Loss,
    optimiser: GuardedOptimiser,
    generator: torch.Generator,
    *,
    learning_rate: float,
    epochs: int,
    minibatch: int,
    kl_stop: float | None,
) -> dict[str, float]:
    """Descend the loss; stop early once the policy has moved `kl_stop` away from the one that played.

    The loss returns metrics beside itself, `kl_old` among them. The result is their mean over all steps.
    """
    seen: list[Metrics] = []
    for _ in range(epochs):
        for groups in batch.minibatches(minibatch, generator):
            norm = optimiser.gradient(_weighted_losses(batch, forward, loss, groups, seen))
            seen[-1]["gradient_norm"] = norm
            if kl_stop is not None and float(seen[-1]["kl_old"]) > kl_stop:
                optimiser.drop()
                return _mean(seen)
            optimiser.step(learning_rate)
    return _mean(seen)


def step_once(
    batch: Batch,
    forward: PolicyModule,
    loss: Loss,
    optimiser: GuardedOptimiser,
    *,
    learning_rate: float,
    decisions_at_once: int,
) -> dict[str, float]:
    """Take one step on all of a batch, with gradients added up over groups of so many decisions.

    The loss and metrics of a group are its parts of the sums over the batch, and those over all processes.
    """
    total: Metrics = {}

    def losses() -> Iterator[Tensor]:
        for group in batch.groups(decisions_at_once):
            part, metrics = loss(batch.run(forward, group))
            for name, value in metrics.items():
                total[name] = total.get(name, torch.zeros_like(value)) + value.detach()
            yield part

    norm = optimiser.gradient(losses())
    optimiser.step(learning_rate)
    sums = add_up(torch.stack([value.float() for value in total.values()])).tolist()
    return dict(zip(total, sums, strict=True)) | {"gradient_norm": float(norm)}


def _weighted_losses(
    batch: Batch, forward: PolicyModule, loss: Loss, groups: list[Tensor], seen: list[Metrics]
) -> Iterator[Tensor]:
    """Yield each group's loss, weighted by its share of the minibatch's decisions, and note the minibatch's metrics."""
    sizes = [int(batch.length[group].sum()) for group in groups]
    metrics: Metrics = {}
    for group, size in zip(groups, sizes, strict=True):
        share = size / sum(sizes)
        group_loss, group_metrics = loss(batch.run(forward, group))
        for name, value in group_metrics.items():
            metrics[name] = metrics.get(name, torch.zeros_like(value)) + share * value.detach()
        yield share * group_loss
    seen.append(metrics)


def _mean(seen: list[Metrics]) -> dict[str, float]:
    names = list(seen[0])
    stacked = torch.stack([torch.stack([metrics[name].float() for name in names]) for metrics in seen])
    return dict(zip(names, stacked.mean(0).tolist(), strict=True)) | {"steps": float(len(seen))}
