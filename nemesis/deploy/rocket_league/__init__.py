"""Policies in the real game, as bots of RLBot 5."""
