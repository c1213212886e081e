"""Why RED drops a smaller share of what comes again than HRED: what sets them apart."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, red_losses
from sandglass.results import series

MEASURES = {
    "resent": "Packets that came again",
    "resent_lost": "Retransmissions lost",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per variant of RED and number of flows, with columns of `red_losses`."""
    case = ["variant", "flows"]
    return series.along(runs, "variant", red_losses.table).select(*case, *MEASURES).sort(case)


def plot(table: pl.DataFrame) -> ggplot:
    """Both against the number of flows, a line per variant."""
    shown = drawing.measures(table, "flows", "variant", MEASURES)
    return drawing.lines(shown, "Parallel flows", "", log_x=True)
