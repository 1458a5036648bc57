"""What a run keeps on disk: run directories, checkpoints, policy files, metrics."""
