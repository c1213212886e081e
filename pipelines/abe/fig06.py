"""Fig. 6: the congestion window of a NewReno flow at the end of slow start and after."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

STEP_NS = 50_000_000

# Back-offs nearer to each other than so many base round trips follow in a row: the next one in a
# row comes after one, with the queue's delay after less than two.
ROW_GAP_RTTS = 3


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per RTT, beta and 50 ms.

    `cwnd_packets` and `back_offs` (so far) at the end of the 50 ms, `utilisation` of the link
    within them; `slow_start_back_offs` is how many in a row ended slow start.
    """
    return pl.concat([_over_time(run) for run in runs]).sort("rtt_ms", "beta", "time_s")


def _over_time(run: series.Run) -> pl.DataFrame:
    acks = run.records("acks")
    cuts = series.back_offs(acks)
    row = series.first_in_a_row(cuts, ROW_GAP_RTTS * settings.rtt_ns(run))
    ends = pl.DataFrame(
        {"time_ns": pl.int_range(STEP_NS, settings.duration_ns(run) + 1, STEP_NS, eager=True)}
    )
    window = acks.select("time_ns", "cwnd_packets").sort("time_ns").collect()
    counted = cuts.select("time_ns", back_offs=pl.int_range(1, pl.len() + 1))
    return (
        ends.join_asof(window, on="time_ns")
        .join_asof(counted, on="time_ns")
        .join(series.queue_samples(run).select("time_ns", "sent_bytes"), on="time_ns")
        .select(
            pl.lit(settings.rtt_ns(run) / 1e6).alias("rtt_ms"),
            pl.lit(settings.beta_ecn(run)).alias("beta"),
            time_s=pl.col("time_ns") / 1e9,
            cwnd_packets=pl.col("cwnd_packets").cast(pl.Int64),
            back_offs=pl.col("back_offs").fill_null(0),
            slow_start_back_offs=pl.lit(row.height),
            utilisation=pl.col("sent_bytes").cast(pl.Int64).diff()
            * (8e9 / STEP_NS / settings.rate(run)),
            path_packets=pl.lit(settings.path_packets(run)),
        )
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A panel per RTT; solid is 0.5 and dashed 0.9, as in the report; dotted: the BDP."""
    shown = table.filter(pl.col("cwnd_packets").is_not_null()).with_columns(
        factor=pl.col("beta").cast(pl.String),
        path=pl.format("RTT {} ms", pl.col("rtt_ms").cast(pl.Int64)),
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("time_s", "cwnd_packets", color="factor", linetype="factor"))
        + p9.facet_wrap("path", ncol=1)
        + p9.geom_hline(p9.aes(yintercept="path_packets"), linetype="dotted", color="#666666")
        + p9.geom_line()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="Time (s)", y="cwnd (packets)", color="beta_ecn", linetype="beta_ecn")
    )
    return drawn


def back_offs_in_a_row(table: pl.DataFrame, beta: float) -> float | None:
    """How many back-offs in a row end slow start, the larger of both RTTs."""
    return scalar(table.filter(pl.col("beta") == beta)["slow_start_back_offs"].max())


def window_after(table: pl.DataFrame, rtt_ms: float, beta: float) -> float | None:
    """The window that slow start's back-offs leave, as a share of the bandwidth-delay product.

    The smallest between the last of them and the next back-off.
    """
    after = _of(table, rtt_ms, beta).filter(pl.col("back_offs") == pl.col("slow_start_back_offs"))
    return scalar((after["cwnd_packets"] / after["path_packets"]).min())


METRICS = (back_offs_in_a_row, window_after)


def _of(table: pl.DataFrame, rtt_ms: float, beta: float) -> pl.DataFrame:
    """A flow from its first back-off on."""
    return table.filter(
        (pl.col("rtt_ms") == rtt_ms) & (pl.col("beta") == beta) & (pl.col("back_offs") > 0)
    )
