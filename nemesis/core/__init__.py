"""The contracts that everything shares: games, trajectories, settings, plug-ins."""
