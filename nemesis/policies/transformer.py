"""A causal transformer over a seat's decisions, with a sliding window and a key-value cache for stepping.

Each layer sees the current decision and up to `context` earlier ones. Keys are rotated by their absolute position (Su
et al. 2021, RoFormer) before they are cached, so attention depends only on distances and the cache needs no order: it
is a ring buffer in which the newest decision overwrites the oldest.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from nemesis.policies.feed_forward import FeedForward


class TransformerMemory(nn.Module):
    """State: the cache (layer, key and value, context, width), then the number of earlier decisions."""

    frequencies: Tensor

    def __init__(self, width: int, layers: int, context: int) -> None:
        super().__init__()
        self.cache_shape = (layers, 2, context, width)
        self.context = context
        self.state_size = layers * 2 * context * width + 1
        self.attention = nn.ModuleList(Attention(width) for _ in range(layers))
        self.feed_forward = nn.ModuleList(FeedForward(width, 4 * width) for _ in range(layers))
        half = width // _heads(width) // 2
        self.register_buffer("frequencies", 10_000.0 ** -(torch.arange(half) / half), persistent=False)

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        y, keys_and_values = self._run(x.unsqueeze(1), state)
        return y.squeeze(1), self._updated_state(state, keys_and_values)

    def sequence(self, x: Tensor, state: Tensor) -> Tensor:
        return self._run(x, state)[0]

    def advance(self, x: Tensor, state: Tensor) -> Tensor:
        return self._updated_state(state, self._run(x, state)[1])

    def _updated_state(self, state: Tensor, keys_and_values: list[Tensor]) -> Tensor:
        """Return the state after decisions of these keys and values, per layer (b, 2, t, width)."""
        steps = keys_and_values[0].shape[2]
        kept = min(steps, self.context)  # the newest of them
        time = torch.arange(steps - kept, steps, device=state.device)
        slot = (state[:, -1:].long() + time) % self.context  # (b, kept)
        rows = torch.arange(len(state), device=state.device)[:, None]
        new = torch.stack(keys_and_values, dim=1)[:, :, :, steps - kept :]  # (b, layer, 2, kept, width)
        following = state.clone()
        cache = following[:, :-1].view(-1, *self.cache_shape)
        cache[rows, :, :, slot] = new.permute(0, 3, 1, 2, 4).to(state.dtype)
        following[:, -1] += steps
        return following

    def _run(self, x: Tensor, state: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the outputs (b, t, width) and, per layer, the new keys and values (b, 2, t, width)."""
        cache = state[:, :-1].view(-1, *self.cache_shape)
        before = state[:, -1].long()  # (b,)
        time = torch.arange(x.shape[1], device=x.device)
        visible = self._visible(before, time)
        angle = (before[:, None] + time)[:, :, None, None] * self.frequencies  # (b, t, 1, half a head)
        rotation = angle.cos(), angle.sin()
        keys_and_values = []
        for layer, (attention, feed_forward) in enumerate(zip(self.attention, self.feed_forward, strict=True)):
            x, new = attention(x, cache[:, layer], visible, rotation)
            x = feed_forward(x)
            keys_and_values.append(new)
        return x, keys_and_values

    def _visible(self, before: Tensor, time: Tensor) -> Tensor:
        """Return which of the cached and the new decisions each new one sees, (b, 1, t, context + t)."""
        # How many decisions before the first new one each slot of the ring was written: 1 is the latest.
        slot = torch.arange(self.context, device=time.device)
        age = 1 + (before[:, None] - 1 - slot) % self.context  # (b, context)
        within = age[:, None, :] + time[:, None] <= self.context
        cached = within & (age <= before[:, None])[:, None, :]
        distance = time[:, None] - time
        new = (distance >= 0) & (distance <= self.context)
        return torch.cat((cached, new.expand(len(before), -1, -1)), dim=2).unsqueeze(1)


class Attention(nn.Module):
    """Residual attention from new decisions to cached and new ones."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = _heads(width)
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(
        self, x: Tensor, cache: Tensor, visible: Tensor, rotation: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Take x (b, t, width) and a cache (b, 2, context, width); return the outputs and the new (b, 2, t, width)."""
        split = (*x.shape[:2], self.heads, -1)  # (b, t, head, width / head)
        query, key, value = (part.view(split) for part in self.project(self.norm(x)).chunk(3, dim=2))
        query, key = _rotate(query, rotation), _rotate(key, rotation)
        new = torch.stack((key.flatten(2), value.to(key.dtype).flatten(2)), dim=1)
        seen = torch.cat((cache, new), dim=2)
        keys, values = seen.view(*seen.shape[:3], self.heads, -1).transpose(2, 3).unbind(1)
        mixed = scaled_dot_product_attention(query.transpose(1, 2), keys, values, attn_mask=visible)
        return x + self.output(mixed.transpose(1, 2).flatten(2)), new


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate each pair (first half, second half) of a head's features by its angle, (b, t, head, width / head)."""
    cos, sin = rotation
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def _heads(width: int) -> int:
    """Return the most heads of at least 32 features (64 from width 512), each with an even number of them."""
    least = 64 if width >= 512 else 32
    return max((heads for heads in range(1, width // least + 1) if width % (2 * heads) == 0), default=1)
