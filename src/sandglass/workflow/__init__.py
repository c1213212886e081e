"""Work of many steps: done by Snakemake, shown as one display."""
