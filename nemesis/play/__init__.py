"""Matches and who plays them: players, pairings, the collector of experience, counted matches, recording."""
