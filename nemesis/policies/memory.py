"""Memory cores: what carries information from a seat's earlier decisions to later ones.

All have one interface. The state is one flat row of `state_size` numbers per seat, zero before the first decision.

    step(x (n, width), state (n, state)) → y (n, width), next state (n, state)
    sequence(x (b, t, width), state (b, state)) → y (b, t, width)
    advance(x (b, t, width), state (b, state)) → state (b, state) after all of them

From the same state, all three give the same results. Sequences are causal, so rows may be padded at their end with
any input.
"""

from typing import TypeAlias

from nemesis.policies.config import PolicyConfig, dimensions
from nemesis.policies.feed_forward import NoMemory
from nemesis.policies.recurrent import GRUMemory, LSTMMemory
from nemesis.policies.transformer import TransformerMemory

Memory: TypeAlias = NoMemory | LSTMMemory | GRUMemory | TransformerMemory


def memory_core(config: PolicyConfig) -> Memory:
    """Build the memory that a config names."""
    width, layers = dimensions(config)
    match config.memory:
        case "none":
            return NoMemory(width, layers)
        case "lstm":
            return LSTMMemory(width, layers)
        case "gru":
            return GRUMemory(width, layers)
        case "transformer":
            return TransformerMemory(width, layers, config.context)
