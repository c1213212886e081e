"""Section IV-D: one short flow with many seeds, and what its reductions do."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import fig17, settings
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

QUEUES = {"fig17-codel": "CoDel", "fig17-pie": "PIE"}
DRAWS, SPREAD = "draws", "starts and RTT"
"""What differs between the seeds that are drawn: of PIE what it draws."""
MEASURES = {
    "cuts": "reductions",
    "cut_to": "window left (packets)",
    "drained_rtts": "drained after (RTT)",
    "utilisation": "utilisation",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, what differs between seeds, beta_ecn and seed.

    `cuts` is the number of the window's reductions until the flow has completed, `cut_from` the
    window before the first, `cut_to` what the last one reduces it to and `off_packets` how far
    that is from the BDP; `drained_rtts` the flow's round trips from the first until the queue is
    first empty, and `standing_packets` the queue's mean from the first to completion; `utilisation`
    is the link's from the first reduction to the last packet.
    """
    rows = [_row(run) for run in runs]
    return pl.DataFrame(rows).sort("queue", "varied", "beta_ecn", "seed")


def _row(run: series.Run) -> dict[str, object]:
    end_ns = round((run.field("flows.0.start_s") + run.field("flows.0.fct_s")) * 1e9)
    until = (pl.col("flow") == 1) & (pl.col("time_ns") <= end_ns)
    acks = run.records("acks").filter(until).sort("time_ns").collect()
    cuts = fig17.reductions(acks)
    first_ns = cuts["time_ns"][0]
    packets = series.forward(run)
    backlog = series.backlog(packets)
    sent = packets.filter(pl.col("dequeue_ns") >= first_ns).select("dequeue_ns", "size_bytes")
    late = sent.collect()
    lasts_ns = scalar(late["dequeue_ns"].max() - first_ns) or 0.0
    rate = settings.rate(run)
    empty_ns = backlog.filter(pl.col("time_ns") >= first_ns, packets=0)["time_ns"][0]
    return {
        "queue": QUEUES[str(run.axes["experiment"])],
        "varied": str(run.axes.get("varied", DRAWS)),
        "beta_ecn": int(run.axes["beta_ecn"]) / 100,
        "seed": int(run.field("seed")),
        "fct_s": float(run.field("flows.0.fct_s")),
        "marks": int(run.field("bottleneck.marks")),
        "cuts": cuts.height,
        "cut_from": int(cuts["cut_from"][0]),
        "cut_to": int(cuts["cut_to"][-1]),
        "off_packets": abs(float(cuts["cut_to"][-1]) - settings.path_packets(run)),
        "drained_rtts": round_trips(acks, first_ns, empty_ns),
        "standing_packets": series.mean_backlog(backlog, first_ns, end_ns),
        "utilisation": float(late["size_bytes"].cast(pl.Int64).sum()) * 8e9 / rate / lasts_ns,
    }


def round_trips(acks: pl.DataFrame, since_ns: int, until_ns: int) -> float:
    """How many of a flow's smoothed round trips go by between two times."""
    passed = acks.filter(pl.col("time_ns").is_between(since_ns, until_ns)).select(
        pl.col("time_ns").diff() / (pl.col("srtt_us").shift(1).cast(pl.Int64) * 1000)
    )
    return float(passed["time_ns"].sum())


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Four measures, a dot per seed, a panel per AQM; of CoDel with the RTT within 10 ms."""
    own = table.filter(pl.col("varied").is_in([DRAWS, SPREAD]))
    shown = ensemble.measures(own, MEASURES, ["queue", "beta_ecn", "seed"]).with_columns(
        beta=pl.col("beta_ecn").cast(pl.String)
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("beta", "value", color="beta", shape="beta"))
        + p9.facet_grid("measure", "queue", scales="free_y")
        + p9.geom_jitter(width=0.25, height=0, alpha=0.5, random_state=1)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="beta_ecn", y="", color="beta_ecn", shape="beta_ecn")
    )
    return drawn


def of(table: pl.DataFrame, column: str, queue: str, varied: str, beta: float) -> list[float]:
    """A column of each seed."""
    return _of(table, queue, varied, beta)[column].cast(pl.Float64).to_list()


def less(
    table: pl.DataFrame, column: str, queue: str, varied: str, beta: float, than: float
) -> list[float]:
    """By how much a column is smaller with one beta_ecn than with another, of each seed."""
    one, other = _pairs(table, column, queue, varied, beta, than)
    return (other - one).to_list()


def over(
    table: pl.DataFrame, column: str, queue: str, varied: str, beta: float, than: float
) -> list[float]:
    """A column with one beta_ecn over that with another, of each seed."""
    one, other = _pairs(table, column, queue, varied, beta, than)
    return (one / other).to_list()


def over_queue(
    table: pl.DataFrame,
    column: str,
    queue: str,
    varied: str,
    over: str,
    over_varied: str,
    beta: float,
) -> list[float]:
    """The mean of a column through one AQM over that of each seed through another."""
    one, other = (
        _of(table, *each, beta)[column] for each in ((queue, varied), (over, over_varied))
    )
    return fig17.mean_over_each(one, other)


def nearest(
    table: pl.DataFrame, column: str, by: str, to: float, queue: str, varied: str, beta: float
) -> float | None:
    """A column of the seed in which another column is nearest to a value."""
    return _nearest(_of(table, queue, varied, beta), by, to, column)


def nearest_less(
    table: pl.DataFrame,
    column: str,
    by: str,
    to: float,
    queue: str,
    varied: str,
    beta: float,
    than: float,
) -> float | None:
    """By how much a column is smaller with one beta_ecn than with another, of the seed in which
    another column is nearest to a value."""
    one, other = (_of(table, queue, varied, each) for each in (beta, than))
    both = one.join(other, on="seed", suffix="_than", maintain_order="left")
    less = both.with_columns(less=pl.col(f"{column}_than") - pl.col(column))
    return _nearest(less, by, to, "less")


def spread(table: pl.DataFrame, column: str, queue: str, varied: str, beta: float) -> float | None:
    """The largest of a column over the seeds less the least."""
    own = _of(table, queue, varied, beta)[column].cast(pl.Float64)
    most, few = scalar(own.max()), scalar(own.min())
    return None if most is None or few is None else most - few


METRICS = (of, less, nearest, nearest_less, over, over_queue, spread)


def _of(table: pl.DataFrame, queue: str, varied: str, beta: float) -> pl.DataFrame:
    return table.filter(
        pl.col("queue") == queue,
        pl.col("varied") == varied,
        pl.col("beta_ecn") == beta,
    )


def _nearest(own: pl.DataFrame, by: str, to: float, column: str) -> float | None:
    ordered = own.sort((pl.col(by) - to).abs(), "seed")
    return None if ordered.is_empty() else float(ordered[column][0])


def _pairs(
    table: pl.DataFrame, column: str, queue: str, varied: str, beta: float, than: float
) -> tuple[pl.Series, pl.Series]:
    one, other = (_of(table, queue, varied, each) for each in (beta, than))
    both = one.join(other, on="seed", suffix="_than", maintain_order="left")
    return both[column].cast(pl.Float64), both[f"{column}_than"].cast(pl.Float64)
