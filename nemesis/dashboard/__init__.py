"""Pages for the browser, served on this machine: what a run directory has, as it grows."""
