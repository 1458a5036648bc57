"""Datasets of episodes on disk, and how a learner is fed from them."""
