"""Why Fig. 8 has no ridge at 0: probabilities between two of its grid."""

from pipelines.dctcp_internet import fig08

table = fig08.table
plot = fig08.plot
