"""What helps to write an experiment: what there is, what would be run, what is doubtful."""
