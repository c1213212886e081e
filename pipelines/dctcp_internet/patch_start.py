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
    return {
        "settled_s": fig01.settling(windows, sender),
        "mean": scalar(fig01.means(windows, sender)["mean"].mean()),
    }


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


def longer_s(table: pl.DataFrame, sender: str, than: str) -> float | None:
    """How much longer one sender takes to settle than another, in s."""
    one, other = (scalar(table.filter(sender=name)["settled_s"].mean()) for name in (sender, than))
    return None if one is None or other is None else one - other


METRICS = (longer_s,)
