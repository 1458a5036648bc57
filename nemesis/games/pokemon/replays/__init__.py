"""Public replays of Pokémon Showdown: reading battles of people, and writing battles to watch."""
