"""A local page with knobs: an experiment that runs anew, on real Linux, with each turn of one."""
