"""Fig. 5 where its curve jumps: K between the thresholds of the grid, packet by packet."""

from pipelines.dctcp_internet import fig05

table, plot, METRICS = fig05.table, fig05.plot, (fig05.nearest,)
