"""A page for runs: one HTML file that needs nothing else, to look at what they recorded."""
