"""Why ACKs are late with DCTCP: a receiver that tells of each change of marks at once."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_point, ggplot, labs

from pipelines.ls_aimd import stretch
from sandglass.results import series

PANELS = {
    "per_ack": "Segments per ACK",
    "late_us": "99th percentile of ACKs' lateness (us)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `receiver`: `per_ack` and `late_us`, as `stretch.table` has them."""
    rows = [{"receiver": str(run.axes["receiver"]), **stretch.answers(run)} for run in runs]
    return pl.DataFrame(rows).sort("receiver")


def plot(table: pl.DataFrame) -> ggplot:
    """Both by receiver."""
    shown = table.unpivot(list(PANELS), index="receiver").with_columns(
        panel=pl.col("variable").replace_strict(PANELS)
    )
    drawn: ggplot = (
        ggplot(shown, aes("receiver", "value"))
        + facet_wrap("panel", scales="free_y")
        + geom_point(size=2)
        + labs(x="Receiver", y="")
    )
    return drawn
