"""Fig. 1 against the patch as it was: how soon senders settle whose alpha begins with 0."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_point, geom_pointrange, ggplot, labs

from pipelines.dctcp_internet import fig01
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `sender`: seconds from the end of slow start to its steady mean window
    (`settled_s`), and that mean in packets (`mean`)."""
    rows = [{"sender": str(run.axes["sender"])} | settled(run) for run in runs]
    return pl.DataFrame(rows).sort("sender")


def settled(run: series.Run) -> dict[str, float | None]:
    """`settled_s` and `mean` of a run of one flow."""
    sender = str(run.axes["sender"])
    windows = fig01.table([run])
    mean = scalar(fig01.means(windows, sender)["mean"].mean())
    after = windows.filter(~pl.col("slow_start"))
    return {"settled_s": None if mean is None else falls_s(after, mean), "mean": mean}


def falls_s(after: pl.DataFrame, mean: float) -> float | None:
    """From the first window after slow start to the first at or below the mean once the largest has
    passed, in s.

    Linux's proportional rate reduction lets the window dip in its first round trip and rise again.
    """
    past = pl.int_range(pl.len()) >= pl.col("cwnd_packets").arg_max()
    reached = after.filter(past).filter(pl.col("cwnd_packets") <= mean)["time_s"].min()
    began = after["time_s"].min()
    one, other = scalar(reached), scalar(began)
    return None if one is None or other is None else one - other


def plot(table: pl.DataFrame) -> ggplot:
    """The time to the steady mean, of replicas the mean with its interval."""
    shown = ensemble.means(table, ["sender"], "settled_s")
    drawn: ggplot = (
        ggplot(shown, aes("sender", "settled_s"))
        + (
            geom_point(color=style.PALETTE[0])
            if shown["low"].has_nulls()
            else geom_pointrange(aes(ymin="low", ymax="high"), color=style.PALETTE[0])
        )
        + labs(x="", y="From slow start's end to the mean window (s)")
    )
    return drawn
