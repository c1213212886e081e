"""One run: from an experiment to its directory, in the lab or on this machine's own kernel."""
