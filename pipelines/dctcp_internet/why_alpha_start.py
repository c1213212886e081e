"""Why Fig. 1's original settles sooner: senders that differ in what alpha begins with."""

from pipelines.dctcp_internet import fig01

table = fig01.table
plot = fig01.plot
METRICS = fig01.METRICS
