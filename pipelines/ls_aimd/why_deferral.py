"""Why experiments 1 and 2 differ: a sender that keeps segments back to send some at once."""

from pipelines.ls_aimd import why_apart, why_held

table = why_held.table
plot = why_held.plot
METRICS = (why_apart.departure,)
