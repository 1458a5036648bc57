"""Battles on a Showdown server: client, local server, poke-env players."""
