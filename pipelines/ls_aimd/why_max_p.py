"""Why instantaneous marking differs with C = 1/128: max_p in all experiments with large frames."""

from pipelines.ls_aimd import max_p

table = max_p.table
plot = max_p.plot
METRICS = (max_p.departure,)
