"""Populations: the opponent pool, exploiters, and who meets whom."""
