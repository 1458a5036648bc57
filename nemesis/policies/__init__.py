"""Policies: encoder → memory → heads, their sizes and play styles."""
