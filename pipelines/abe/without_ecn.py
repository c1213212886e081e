"""Section I-A: an ABE sender whose path or destination does not support ECN."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, settings
from sandglass.results import series

SENDERS = {"abe_reno": "NewReno", "reno": "NewReno", "abe_cubic": "CUBIC", "cubic": "CUBIC"}
REGULAR = "regular"
SEEN = ["time_ns", "bytes_acked", "cwnd_packets", "ssthresh_packets"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per sender, what lacks ECN, and beta_ecn, which is 'regular' of Linux's own.

    `acks` is how many the sender took in, `differing` how many of them, or of the regular sender's,
    have no counterpart in the other's with the same time, window and threshold.
    """
    acks = {_point(run): run.records("acks").select(SEEN).collect() for run in runs}
    rows = []
    for run in runs:
        sender, lacking, beta = _point(run)
        own, regular = acks[(sender, lacking, beta)], acks[(sender, lacking, REGULAR)]
        alone = [
            one.join(other, on=SEEN, how="anti", nulls_equal=True).height
            for one, other in ((own, regular), (regular, own))
        ]
        rows.append(
            {
                "sender": sender,
                "lacking": lacking,
                "beta": beta,
                "goodput_mbit": float(run.field("flows.0.goodput_mbit")),
                "acks": own.height,
                "differing": sum(alone),
            }
        )
    return pl.DataFrame(rows).sort("sender", "lacking", "beta")


def _point(run: series.Run) -> tuple[str, str, str]:
    cc = run.field("experiment.flows.0.cc")
    beta = f"{settings.beta_ecn(run):.2g}" if cc in settings.CONTROLS else REGULAR
    return SENDERS[cc], str(run.axes["lacking"]), beta


def plot(table: pl.DataFrame) -> ggplot:
    """Goodput, a panel per sender."""
    return drawing.panels(
        table,
        {"goodput_mbit": "Goodput (Mb/s)"},
        ("beta", "beta_ecn"),
        ("lacking", "without ECN"),
        apart=["sender"],
    )
