"""The arena: collision meshes for RocketSim, and the simulation of matches."""
