"""Per-sender throughput in experiment 4A."""

from pipelines.ls_aimd import throughput

table = throughput.table
plot = throughput.plot
METRICS = throughput.METRICS
