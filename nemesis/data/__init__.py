"""Datasets of episodes on disk, feeds of learners from them, and the import of public replays."""
