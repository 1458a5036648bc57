"""Recordings of matches, and the page that shows one."""
