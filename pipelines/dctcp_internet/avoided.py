"""Section III: what the modified sender avoids, with one of its changes undone at a time."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import sender
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

NAMES = {
    "first_ack": "Added by the first ACK (packets)",
    "growth": "Growth (packets per RTT)",
    "queue_packets": "Queue after slow start (packets)",
}
ROUND_TRIPS = 2


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `sender`.

    `first_ack`: packets that the first ACK without ECN-Echo after a recalculation adds to the
    window, in the mean; `growth`, packets that the window grows by in a round trip, whatever
    reductions take from it; `queue_packets`, the mean queue in the two round trips after slow
    start.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("sender")


def _row(run: series.Run) -> dict[str, str | float | None]:
    path = sender.path_of(run)
    end = slow_start_end(path)
    until_ns = path.time_ns[end] + ROUND_TRIPS * path.rtt_ns[end]
    changes = series.backlog(series.forward(run))
    return {
        "sender": str(run.axes["sender"]),
        "first_ack": first_ack(path),
        "growth": growth(path),
        "queue_packets": series.mean_backlog(changes, path.time_ns[end], until_ns),
    }


def slow_start_end(path: sender.Path) -> int:
    """The first ACK before which slow start was over."""
    return next(ack for ack, left in enumerate(path.ssthresh) if left is not None)


def first_ack(path: sender.Path) -> float | None:
    """Packets that the window grows by with the first ACK without ECN-Echo after CWR began or the
    threshold was set, which does not set it again, in the mean; null where there was none."""
    added = []
    recalculated = False
    for ack in range(1, len(path.acked) - 1):
        recalculated |= path.cwr[ack] > path.cwr[ack - 1]
        recalculated |= path.ssthresh[ack] != path.ssthresh[ack - 1]
        echo = path.marked[ack + 1] > path.marked[ack]
        again = path.ssthresh[ack + 1] != path.ssthresh[ack]
        if recalculated and not echo and not again:
            recalculated = False
            if path.time_ns[ack] >= sender.SETTLED_NS:
                added.append(path.cwnd[ack + 1] - path.cwnd[ack])
    return scalar(pl.Series(added, dtype=pl.Float64).mean())


def growth(path: sender.Path) -> float:
    """What a round trip adds to the window, from SETTLED_NS on: all that ACKs add, over the
    smoothed round trips that go by."""
    packets = round_trips = 0.0
    for ack in range(len(path.acked) - 1):
        if path.time_ns[ack] >= sender.SETTLED_NS:
            packets += max(path.cwnd[ack + 1] - path.cwnd[ack], 0)
            round_trips += (path.time_ns[ack + 1] - path.time_ns[ack]) / path.rtt_ns[ack]
    return packets / round_trips


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A panel per measure, a bar per sender with its interval."""
    shown = ensemble.measure_means(table, NAMES, ["sender"])
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("sender", "value"))
        + p9.facet_wrap("measure", scales="free_x")
        + p9.geom_col(fill=style.PALETTE[0])
        + p9.geom_errorbar(p9.aes(ymin="low", ymax="high"), shown.drop_nulls("low"), width=0.2)
        + p9.coord_flip()
        + p9.labs(x="", y="")
    )
    return drawn
