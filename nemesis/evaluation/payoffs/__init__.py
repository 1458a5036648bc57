"""Payoffs: who beats whom, how surely, and which matches to play to know it better."""
