"""How a network reads view records and scores actions."""
