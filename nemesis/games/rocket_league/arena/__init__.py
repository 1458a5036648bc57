"""The arena: collision meshes for RocketSim, given by the user, installed with another package, or computed."""
