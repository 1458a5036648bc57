"""Scripted drivers, which choose actions from view records."""
