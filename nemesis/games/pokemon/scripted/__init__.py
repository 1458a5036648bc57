"""Scripted opponents that read view records."""
