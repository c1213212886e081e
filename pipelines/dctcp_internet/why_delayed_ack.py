"""Why Fig. 9 is off equation (3): its settings with receivers that answer each packet."""

from pipelines.dctcp_internet import fig09

table = fig09.table
plot = fig09.plot
METRICS = fig09.METRICS
