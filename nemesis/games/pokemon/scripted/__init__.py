"""Scripted opponents, which choose actions from view records."""
