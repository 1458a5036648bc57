"""How strong policies are: in a run, on validation data, in tournaments, as ratings."""
