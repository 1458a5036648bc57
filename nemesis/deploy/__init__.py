"""Trained policies outside of training: servers of the games, and players of other projects. One package per family."""
