"""Studies: an experiment varied and repeated, its statistics, claims, drawings and page."""
