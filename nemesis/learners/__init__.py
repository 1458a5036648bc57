"""Learners: one file per algorithm, and the returns and losses that they share."""
