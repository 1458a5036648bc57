"""Benchmarks of speed and strength, with a peer for comparison where there is one: `python -m benchmarks.NAME`."""
