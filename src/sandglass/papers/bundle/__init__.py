"""Bundles: what it takes to repeat papers and runs elsewhere, in one archive."""
