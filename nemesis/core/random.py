"""The state of random generators as arrays, so that checkpoints can store it without pickle."""

import numpy as np
import numpy.typing as npt

_WORD = (1 << 64) - 1


def generator_state(generator: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Return the state of a PCG64 generator as six 64-bit words."""
    state = generator.bit_generator.state
    value, increment = state["state"]["state"], state["state"]["inc"]
    words = (value >> 64, value & _WORD, increment >> 64, increment & _WORD, state["has_uint32"], state["uinteger"])
    return np.array(words, dtype=np.uint64)


def restore_generator(generator: np.random.Generator, words: npt.NDArray[np.uint64]) -> None:
    """Restore a state returned by `generator_state`."""
    high, low, increment_high, increment_low, has_uint32, uinteger = (int(word) for word in words)
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": increment_high << 64 | increment_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
