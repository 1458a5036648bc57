"""Self-play REINFORCE on Kuhn poker with the match pool itself: `python examples/kuhn_reinforce.py`.

The pool gives the decisions that wait for an action (`recv`) and takes the actions (`send`). One network plays both
seats. NashConv is how much best responses gain against it: 0 at a Nash equilibrium, 0.92 for random play.
"""

from contextlib import closing

import numpy as np
import torch
from torch import nn

from nemesis.core.game import StepPolicy, side_of
from nemesis.core.masks import unpack_mask
from nemesis.games import open_game

UPDATES, SLOTS, ROUNDS, ENTROPY = 300, 1024, 4, 0.3
torch.manual_seed(0)
torch.set_num_threads(1)
game = open_game("openspiel:kuhn_poker")
network = nn.Sequential(nn.Linear(game.spec.view_size, 64), nn.Tanh(), nn.Linear(64, game.spec.actions))
optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, UPDATES)


def log_probs(view: np.ndarray, mask: np.ndarray) -> torch.Tensor:
    """Return masked log-probabilities: (n, action)."""
    return network(torch.from_numpy(view)).masked_fill(~torch.from_numpy(mask), -1e9).log_softmax(-1)


@torch.no_grad()
def step(view: np.ndarray, mask: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return log_probs(view, mask).exp().numpy(), state


with closing(game.pool(SLOTS, seed=0)) as pool:
    returns = np.full((UPDATES * SLOTS * ROUNDS, 2), np.nan, dtype=np.float32)  # (match, side), nan until it ends
    pending: list[tuple[np.ndarray, ...]] = []  # decisions whose match may not have ended yet
    for update in range(UPDATES + 1):
        for _ in range(ROUNDS):
            decisions, results = pool.recv()
            returns[results.match] = results.returns
            mask = unpack_mask(decisions.mask, game.spec.actions)
            probabilities = torch.from_numpy(step(decisions.view, mask, mask)[0])
            action = probabilities.multinomial(1)[:, 0].numpy()
            pool.send(action)
            pending.append((decisions.match, side_of(decisions.seat), decisions.view, mask, action))
        match, side, view, mask, action = (np.concatenate(column) for column in zip(*pending, strict=True))
        ended = ~np.isnan(returns[match, side])
        pending = [(match[~ended], side[~ended], view[~ended], mask[~ended], action[~ended])]
        gain = torch.from_numpy(returns[match, side][ended])
        policy = log_probs(view[ended], mask[ended])
        chosen = policy.gather(1, torch.from_numpy(action[ended])[:, None])[:, 0]
        entropy = -(policy.exp() * policy).sum(1).mean()
        optimiser.zero_grad()
        (-(chosen * (gain - gain.mean())).mean() - ENTROPY * entropy).backward()
        if update % 50 == 0:
            print(f"update {update:4d}  entropy {entropy:.3f}  NashConv {game.nash_conv(StepPolicy(0, step)):.3f}")
        optimiser.step()
        schedule.step()
