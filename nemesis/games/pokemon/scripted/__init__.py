"""Scripted players, which choose actions from view records."""
