"""Section I-A and footnote 3: what a back-off leaves of the window, after a mark and a loss."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, fig17, settings
from sandglass.papers.verdicts import Extreme, farthest, scalar
from sandglass.results import series

SHARES = {"share": "of all, median", "first_share": "of the first, in slow start"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per sender, signal, beta_ecn and rate.

    `back_offs` is their number, `share` the median of what they leave of the window, `first_share`
    that of the first. Where HyStart ends slow start it leaves all of it: that is no back-off.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("sender", "signal", "rate_mbit", "beta")


def _row(run: series.Run) -> dict[str, str | float | None]:
    cuts = fig17.reductions(run.records("acks").collect())
    shares = cuts.select(pl.col("cut_to") / pl.col("cut_from"))["cut_to"]
    first = shares.head(1).filter(shares.head(1) < 1)
    return {
        "sender": str(run.axes["sender"]),
        "signal": str(run.axes["signal"]),
        "beta": settings.beta_ecn(run),
        "rate_mbit": settings.rate(run) / 1e6,
        "back_offs": float((shares < 1).sum()),
        "share": scalar(shares.filter(shares < 1).median()),
        "first_share": scalar(first.max()),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """What is left against beta_ecn, a panel per sender and kind of back-off."""
    shown = table.with_columns(
        share=pl.when(pl.col("rate_mbit") >= LARGE_MBIT).then("share"),
        first_share=pl.when(pl.col("rate_mbit") < LARGE_MBIT).then("first_share"),
    )
    return drawing.panels(
        shown, SHARES, ("beta", "beta_ecn"), ("signal", "after"), apart=["sender"]
    )


LARGE_MBIT = 10
"""From here on windows are of hundreds of packets, of which a whole number is a share to 1 %."""


def off(table: pl.DataFrame, sender: str, signal: str) -> Extreme | None:
    """How far the median share is from what the report says, either way, the largest over betas.

    That is beta_ecn after marks, and the sender's own factor after losses.
    """
    said = pl.col("beta") if signal == "marks" else pl.lit(settings.DEFAULTS[sender])
    chosen = table.filter(
        pl.col("sender") == sender,
        pl.col("signal") == signal,
        pl.col("rate_mbit") >= LARGE_MBIT,
    )
    return farthest(chosen.select("beta", off=pl.col("share") - said), "off")


def first(table: pl.DataFrame, sender: str, signal: str) -> float | None:
    """What the first back-off in slow start leaves of the window, where slow start overshoots."""
    chosen = table.filter(
        pl.col("sender") == sender,
        pl.col("signal") == signal,
        pl.col("rate_mbit") < LARGE_MBIT,
    )
    return scalar(chosen["first_share"].max())


METRICS = (off, first)
