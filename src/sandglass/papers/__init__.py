"""Papers: their grids of runs, figures, verdicts and reports."""
