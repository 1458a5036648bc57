"""The view record, the action spaces, and what is computed from them alone."""
