"""Fig. 17: the bottleneck's queue and the window of one short NewReno flow, against time."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.experiment import units
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

STEP_NS = 10_000_000
PACKET_BYTES = 1514  # a full packet as the shaper counts it
QUEUES = {"fig17-codel": "CoDel", "fig17-pie": "PIE"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, beta_ecn and 10 ms while the flow lasts; of seeds after the first only
    the first row and those with reductions.

    `queue_packets` is the longest queue and `cwnd_packets` the last window of the 10 ms;
    `cuts`, `cut_from` and `cut_to` the window reductions: how many, the window before, and the
    ssthresh that it is reduced to.
    """
    first = min(run.field("seed") for run in runs)
    return pl.concat([_over_time(run) for run in runs]).filter(
        (pl.col("seed") == first) | (pl.col("time_s") == 0) | (pl.col("cuts") > 0)
    )


def reductions(acks: pl.DataFrame) -> pl.DataFrame:
    """The window reductions of a flow: `time_ns`, `cut_from` and `cut_to` in packets.

    Every reduction sets ssthresh; until it does so for the first time, ssthresh is infinite (null).
    """
    windows = acks.sort("time_ns").select("time_ns", cut_from=pl.col("cwnd_packets").shift(1))
    return (
        series.back_offs(acks.lazy())
        .join(windows.drop_nulls(), on="time_ns", maintain_order="left")
        .select("time_ns", "cut_from", cut_to="ssthresh_packets")
    )


def _over_time(run: series.Run) -> pl.DataFrame:
    rate = run.rate_bps("experiment.bottleneck.rate")
    rtt = run.time_ns("experiment.rtt")
    fct_s = float(run.field("flows.0.fct_s"))
    acks = run.records("acks").filter(pl.col("flow") == 1).collect()
    cwnd = acks.group_by(start_ns=pl.col("time_ns") // STEP_NS * STEP_NS).agg(
        cwnd_packets=pl.col("cwnd_packets").last()
    )
    cuts = (
        reductions(acks)
        .group_by(start_ns=pl.col("time_ns") // STEP_NS * STEP_NS)
        .agg(cuts=pl.len(), cut_from=pl.col("cut_from").first(), cut_to=pl.col("cut_to").last())
    )
    queue = series.binned(series.backlog(series.forward(run)), STEP_NS, round(fct_s * 1e9))
    return (
        queue.join(cwnd, on="start_ns", how="left", maintain_order="left")
        .join(cuts, on="start_ns", how="left", maintain_order="left")
        .select(
            queue=pl.lit(QUEUES[str(run.axes["experiment"])]),
            beta_ecn=pl.lit(run.axes["beta_ecn"], pl.Int64) / 100,
            seed=pl.lit(run.field("seed"), pl.Int64),
            time_s=pl.col("start_ns") / 1e9,
            queue_packets="largest",
            cwnd_packets=pl.col("cwnd_packets").forward_fill(),
            cuts=pl.col("cuts").fill_null(0),
            cut_from="cut_from",
            cut_to="cut_to",
            bdp_packets=pl.lit(float(units.bdp_bytes(rate, rtt)) / PACKET_BYTES),
            fct_s=pl.lit(fct_s),
        )
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Window above, queue below, a panel per AQM, of the first seed; dotted: the BDP."""
    kinds = {"cwnd_packets": "cwnd", "queue_packets": "queue"}
    first = table.filter(pl.col("seed") == pl.col("seed").min())
    long = first.with_columns(pl.col("beta_ecn").cast(pl.String)).unpivot(
        list(kinds), index=["queue", "beta_ecn", "time_s"], variable_name="what"
    )
    long = long.with_columns(pl.col("what").replace_strict(kinds)).drop_nulls("value")
    bdp = pl.DataFrame({"what": ["cwnd"], "bdp": [table["bdp_packets"][0]]})
    drawn: p9.ggplot = (
        p9.ggplot(long, p9.aes("time_s", "value", color="beta_ecn", linetype="beta_ecn"))
        + p9.facet_grid("what", "queue", scales="free_y")
        + p9.geom_hline(p9.aes(yintercept="bdp"), data=bdp, linetype="dotted", color="#666666")
        + p9.geom_line()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="Time (s)", y="Packets", color="beta_ecn", linetype="beta_ecn")
    )
    return drawn


def mean_over_each(one: pl.Series, other: pl.Series) -> list[float]:
    """The mean of one over each of another, of seeds that are no pairs; nothing without one."""
    mean = scalar(one.mean())
    return [] if mean is None else (mean / other).to_list()


def bdp(table: pl.DataFrame) -> float | None:
    """The bandwidth-delay product in full packets."""
    return scalar(table["bdp_packets"].mean())


def cuts(table: pl.DataFrame, queue: str, beta: float) -> list[float]:
    """How often the window is reduced, of each seed."""
    return _flows(table, queue, beta)["cuts"].to_list()


def cut_from(table: pl.DataFrame, queue: str, beta: float) -> list[float]:
    """The window before the first reduction, in packets, of each seed."""
    return _flows(table, queue, beta)["cut_from"].to_list()


def cut_to(table: pl.DataFrame, queue: str, beta: float) -> list[float]:
    """The window after the last reduction, in packets, of each seed."""
    return _flows(table, queue, beta)["cut_to"].to_list()


def sooner_ms(table: pl.DataFrame, queue: str, beta: float, than: float) -> list[float]:
    """How much sooner the flow completes with one beta_ecn than with another, in ms, of each
    seed."""
    one, other = (_flows(table, queue, each) for each in (beta, than))
    both = one.join(other, on="seed", suffix="_than", maintain_order="left")
    return ((both["fct_s_than"] - both["fct_s"]) * 1e3).to_list()


def overshoot_ratio(table: pl.DataFrame, queue: str, over: str, beta: float) -> list[float]:
    """The window before the first reduction over that through another AQM; see `_over`."""
    return _over(table, queue, over, beta, "cut_from")


def first_cut_ratio(table: pl.DataFrame, queue: str, over: str, beta: float) -> list[float]:
    """The time of the first reduction over that through another AQM; see `_over`."""
    return _over(table, queue, over, beta, "first_cut_s")


METRICS = (
    bdp,
    cuts,
    cut_from,
    cut_to,
    sooner_ms,
    overshoot_ratio,
    first_cut_ratio,
)


def _over(table: pl.DataFrame, queue: str, over: str, beta: float, column: str) -> list[float]:
    """The mean of a column through one AQM over each seed's through another."""
    one, other = (_flows(table, name, beta)[column] for name in (queue, over))
    return mean_over_each(one, other)


def _of(table: pl.DataFrame, queue: str, beta: float) -> pl.DataFrame:
    return table.filter((pl.col("queue") == queue) & (pl.col("beta_ecn") == beta))


def _flows(table: pl.DataFrame, queue: str, beta: float) -> pl.DataFrame:
    """One row per seed."""
    return (
        _of(table, queue, beta)
        .group_by("seed", maintain_order=True)
        .agg(
            pl.col("time_s").filter(pl.col("cuts") > 0).min().alias("first_cut_s"),
            pl.col("cuts").sum(),
            pl.col("cut_from").drop_nulls().first(),
            pl.col("cut_to").drop_nulls().last(),
            pl.col("fct_s").first(),
        )
    )
