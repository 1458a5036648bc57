"""Playing beside the learner: actor processes, shared memory, central inference."""
