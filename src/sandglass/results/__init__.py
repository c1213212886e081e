"""Finished runs: as series, as tables in the terminal, and drawn in one style."""
