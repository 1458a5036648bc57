"""Playing matches: players, pairings, the collector of experience, scored matches, datasets of matches."""
