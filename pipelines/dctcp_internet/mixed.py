"""Beyond the paper: queueing delay with short and long flows and different shares of DCTCP."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, ggplot, labs, scale_color_manual, scale_linetype_manual

from pipelines.dctcp_internet import sharing
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

QUANTILES = [n / 100 for n in range(1, 100)] + [0.995, 0.999]
LINES = ("solid", "dashed", "dashdot", "dotted", (0, (1, 1)))


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per share of DCTCP flows (percent) and quantile of all packets' queueing delay after
    the warm-up; means over the seeds.

    With each row of a share: `utilisation` of the link, `ratio` of a long Reno flow's goodput and
    a long DCTCP flow's (null without both), and mean completion times of the short flows, `fct_ms`.
    """
    rows = pl.concat([_delays(run) for run in runs])
    return (
        rows.group_by("share", "quantile")
        .agg(pl.len().alias("seeds"), pl.all().exclude("seed").mean())
        .sort("share", "quantile")
    )


def _delays(run: series.Run) -> pl.DataFrame:
    settled = series.forward(run).filter(pl.col("enqueue_ns") >= sharing.WARM_UP_NS)
    packets = settled.select("sojourn_ns", "size_bytes", "dequeue_ns").collect()
    waits = packets["sojourn_ns"].drop_nulls()
    seconds = (run.time_ns("experiment.duration") - sharing.WARM_UP_NS) / 1e9
    sent = scalar(packets.filter(pl.col("dequeue_ns").is_not_null())["size_bytes"].sum()) or 0.0
    rate = run.rate_bps("experiment.bottleneck.rate")
    flows = pl.DataFrame(run.field("flows"), infer_schema_length=None)
    endless = flows.filter(pl.col("fct_s").is_null() & (pl.col("start_s") < 5))
    reno, dctcp = (
        scalar(endless.filter((pl.col("cc") == sharing.CC_RENO) == kind)["goodput_mbit"].mean())
        for kind in (True, False)
    )
    return pl.DataFrame(
        {
            "quantile": QUANTILES,
            "delay_ms": [(waits.quantile(q) or 0.0) / 1e6 for q in QUANTILES],
        }
    ).with_columns(
        share=pl.lit(100 * (endless["cc"] != sharing.CC_RENO).sum() // endless.height, pl.Int64),
        seed=pl.lit(run.field("seed"), pl.Int64),
        utilisation=pl.lit(sent * 8 / (seconds * rate)),
        ratio=pl.lit(reno / dctcp if reno and dctcp else None, pl.Float64),
        fct_ms=pl.lit((scalar(flows["fct_s"].mean()) or 0.0) * 1e3),
    )


def plot(table: pl.DataFrame) -> ggplot:
    """The distribution of the delay, a line per share."""
    shown = table.with_columns(
        dctcp=pl.format("{} %", "share").cast(
            pl.Enum([f"{share} %" for share in table["share"].unique().sort()])
        )
    )
    drawn: ggplot = (
        ggplot(shown, aes("delay_ms", "quantile", color="dctcp", linetype="dctcp"))
        + geom_line()
        + scale_color_manual(style.PALETTE)
        + scale_linetype_manual(LINES)
        + labs(x="Queueing delay (ms)", y="Share of packets", color="DCTCP", linetype="DCTCP")
    )
    return drawn


def delay_change(table: pl.DataFrame, quantile: float) -> float | None:
    """A quantile of the delay with DCTCP alone over that with Reno alone."""
    alone = [_at(table, share, quantile, "delay_ms") for share in (100, 0)]
    return alone[0] / alone[1] if alone[0] is not None and alone[1] else None


def utilisation_change(table: pl.DataFrame) -> float | None:
    """Utilisation with DCTCP alone less that with Reno alone, in percentage points."""
    alone = [_at(table, share, 0.5, "utilisation") for share in (100, 0)]
    return None if alone[0] is None or alone[1] is None else 100 * (alone[0] - alone[1])


def least_ratio(table: pl.DataFrame) -> float | None:
    """Of long flows: the smaller of Reno's over DCTCP's goodput and its inverse, least over all
    shares."""
    ratio = table["ratio"].drop_nulls()
    return scalar(pl.select(pl.min_horizontal(ratio, 1 / ratio)).to_series().min())


METRICS = (delay_change, utilisation_change, least_ratio)


def _at(table: pl.DataFrame, share: int, quantile: float, column: str) -> float | None:
    chosen = (pl.col("share") == share) & (pl.col("quantile") == quantile)
    return scalar(table.filter(chosen)[column].mean())
