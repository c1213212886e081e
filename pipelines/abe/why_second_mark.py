"""Why Fig. 3 zigzags through CoDel: its cases with an interval above the RTT."""

from pipelines.abe import fig03

table = fig03.table
plot = fig03.plot
METRICS = (fig03.trend, fig03.ecn_gain)
