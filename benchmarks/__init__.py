"""Speed and strength, each beside the peer it is measured against: `python -m benchmarks.NAME`."""
