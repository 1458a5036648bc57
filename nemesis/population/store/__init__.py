"""Populations on disk: their members, the log of their matches, and what follows from it."""
