"""Section III-B c): with which weight g alpha of each ACK settles as the original's does."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import patch_start
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

ORIGINAL = "original alpha"


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `rate_mbit` and `shift`, g = 2^-shift, null of the original's alpha: seconds from
    the end of slow start to the steady mean window (`settled_s`)."""
    rows = [
        {
            "rate_mbit": run.rate_bps("experiment.bottleneck.rate") / 1e6,
            "shift": None if run.axes["sender"] == ORIGINAL else int(str(run.axes["sender"])),
            "settled_s": patch_start.settled(run)["settled_s"],
        }
        for run in runs
    ]
    schema = {"rate_mbit": pl.Float64, "shift": pl.Int64, "settled_s": pl.Float64}
    return pl.DataFrame(rows, schema=schema).sort("rate_mbit", "shift")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The time to the steady mean against g, a panel per rate; dotted: the original's alpha."""
    shown = ensemble.means(table, ["rate_mbit", "shift"], "settled_s").with_columns(
        panel=pl.format("{} Mb/s", pl.col("rate_mbit").cast(pl.Int64))
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown.drop_nulls("shift"), p9.aes("shift", "settled_s"))
        + p9.facet_wrap("panel", scales="free_y")
        + p9.geom_hline(
            p9.aes(yintercept="settled_s"),
            shown.filter(pl.col("shift").is_null()),
            linetype="dotted",
        )
        + p9.geom_line(color=style.PALETTE[0])
        + p9.geom_point(color=style.PALETTE[0])
        + p9.scale_y_log10()
        + p9.labs(x="g = 2^-x", y="From slow start's end to the mean window (s)")
    )
    return drawn


def nearest(table: pl.DataFrame, rate_mbit: float) -> float | None:
    """The shift whose time to settle is nearest to that of the original's alpha, as a ratio."""
    own = table.filter(rate_mbit=float(rate_mbit))
    original = scalar(own.filter(pl.col("shift").is_null())["settled_s"].mean())
    if not original:
        return None
    off = (pl.col("settled_s") / original).log().abs()
    return scalar(own.drop_nulls("shift").sort(off)["shift"].first())


def moves(table: pl.DataFrame, rate_mbit: float, than: float) -> float | None:
    """That shift at one rate less that at another."""
    one, other = (nearest(table, rate) for rate in (rate_mbit, than))
    return None if one is None or other is None else one - other


METRICS = (nearest, moves)
