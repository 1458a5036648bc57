"""Public replays: reading human battles, and writing battles to watch."""
