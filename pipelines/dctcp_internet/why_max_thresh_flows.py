"""Why Fig. 6 differs: several DCTCP flows, and a slope of the drops that ends 2 BDP further up."""

from pipelines.dctcp_internet import fig06

table = fig06.table
plot = fig06.plot
METRICS = (fig06.grows_at_each, fig06.equal_sharing_at)
