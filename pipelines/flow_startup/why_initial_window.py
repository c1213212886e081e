"""Why publication IV differs with 16 flows: its cases with an initial window of three segments."""

from pipelines.flow_startup import pub4

table = pub4.table
plot = pub4.plot
METRICS = (pub4.share_below, pub4.peak_margin)
