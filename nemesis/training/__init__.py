"""A training run: its config, the loop, its sources of experience, what it shows."""
