"""Why Fig. 10 differs: the rule with a slope of the drops that is as wide as that of the marks."""

from pipelines.dctcp_internet import fig10

table = fig10.table
plot = fig10.plot
