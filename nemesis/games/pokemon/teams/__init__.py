"""Team files, team sets and their validation."""
