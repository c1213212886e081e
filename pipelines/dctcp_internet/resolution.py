"""Section III-A a): whether the window comes to rest with few marks, by the resolution of alpha."""

from collections.abc import Sequence

import numpy as np
import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.results import series, style

LAST_NS = 60 * 10**9


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `sender`, Max_Prob_DCTCP (`probability`) and kind of `distances` between marks:
    the largest window less the least in the last 60 s (`range`); packets."""
    rows = []
    for run in runs:
        end_ns = run.time_ns("experiment.duration")
        late = (pl.col("flow") == 1) & (pl.col("time_ns") >= end_ns - LAST_NS)
        windows = run.records("acks").filter(late).select("cwnd_packets").collect().to_series()
        rows.append(
            {
                "sender": str(run.axes["sender"]),
                "probability": sharing.probability(run, "mark"),
                "distances": str(run.axes["distances"]),
                "range": np.ptp(windows.cast(pl.Int64).to_numpy()).item(),
            }
        )
    return pl.DataFrame(rows).sort("sender", "probability", "distances")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The range against Max_Prob_DCTCP, a line per sender, a panel per kind of distances; of
    replicas the mean."""
    shown = ensemble.means(table, ["sender", "probability", "distances"], "range").with_columns(
        distances=pl.format("distances of marks: {}", "distances")
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("probability", "range", color="sender", shape="sender"))
        + p9.facet_wrap("distances")
        + p9.geom_line()
        + p9.geom_point()
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Max_Prob_DCTCP", y="Range of cwnd (packets)", color="", shape="")
    )
    return drawn
