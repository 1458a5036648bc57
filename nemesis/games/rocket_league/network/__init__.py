"""The network parts of Rocket League: the encoder of view records and the action head."""
