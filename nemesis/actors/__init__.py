"""Playing in parallel with the learner: actor processes, shared memory, central inference."""
