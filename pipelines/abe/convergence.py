"""Figs. 12 and 13: how long two flows take to share the bottleneck, against the default beta."""

from collections.abc import Callable, Sequence

import numpy as np
import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series, style

FAIR = 0.95  # stated (IV-C): the threshold of Jain's index
QUEUES = {"codel": "CoDel", "pie": "PIE"}


def jain(shares: Sequence[pl.Expr]) -> pl.Expr:
    """Jain's fairness index of n shares: 1 when equal, 1/n when one has all."""
    squares = pl.sum_horizontal(share**2 for share in shares)
    return pl.sum_horizontal(shares) ** 2 / (len(shares) * squares)


def index_since(
    goodput: pl.DataFrame, entry_ns: int, flows: int = 2, until_ns: int | None = None
) -> pl.DataFrame:
    """Jain's index of the bytes that each of the first flows has transferred since the entry of the
    last of them, up to a time.

    Takes the goodput record (`time_ns`, `flow`, `bytes` acknowledged so far), in which a flow that
    got nothing through has no row. A row per acknowledgement: `time_s` since the entry, and
    `index`. Stated (IV-C).
    """
    names = [str(flow) for flow in range(1, flows + 1)]
    then = pl.col("time_ns") <= (until_ns or goodput["time_ns"].max())
    wide = (
        goodput.filter(then, pl.col("flow") <= flows)
        .pivot("flow", on_columns=range(1, flows + 1), index="time_ns", values="bytes")
        .sort("time_ns")
        .with_columns(pl.col(names).forward_fill().fill_null(0).cast(pl.Float64))
    )
    before = wide.filter(pl.col("time_ns") <= entry_ns).select(names).tail(1)
    old = before.row(0) if before.height else (0.0,) * flows
    return wide.filter(pl.col("time_ns") > entry_ns).select(
        time_s=(pl.col("time_ns") - entry_ns) / 1e9,
        index=jain([pl.col(name) - sent for name, sent in zip(names, old, strict=True)]),
    )


def first(indices: pl.DataFrame) -> float | None:
    """When an index first reaches the threshold, s; None when it never does. Stated (IV-C)."""
    fair = indices.filter(pl.col("index") >= FAIR)
    return None if fair.is_empty() else float(fair["time_s"][0])


def convergence_table(
    runs: Sequence[series.Run],
    default: int,
    when: Callable[[pl.DataFrame], float | None] = first,
) -> pl.DataFrame:
    """One row per experiment; `ratio` is its time over that of the same path with the default.

    `when` takes the index over time and says when the flows have converged.
    """
    rows = series.tidy(runs, {}).with_columns(
        queue=pl.col("experiment").str.split("-").list.last().replace_strict(QUEUES),
        convergence_s=pl.Series([when(_index(run)) for run in runs], dtype=pl.Float64),
    )
    path = ["queue", "rate", "rtt"]
    usual = rows.filter(pl.col("beta_ecn") == default).select(*path, usual_s="convergence_s")
    return (
        rows.join(usual, on=path, how="left", maintain_order="left")
        .select(
            "queue",
            rate_mbit=pl.col("rate").map_elements(units.parse_rate, pl.Int64) / 1e6,
            rtt_ms=pl.col("rtt").map_elements(units.parse_time, pl.Int64) / 1e6,
            beta_ecn=settings.hundredths(pl.col("beta_ecn")),
            convergence_s="convergence_s",
            ratio=pl.col("convergence_s") / pl.col("usual_s"),
            default=pl.lit(default / 100),
        )
        .sort("queue", "beta_ecn", "rate_mbit", "rtt_ms")
    )


def _index(run: series.Run) -> pl.DataFrame:
    entry_ns = run.time_ns("experiment.flows.1.start")
    return index_since(run.records("goodput").collect(), entry_ns)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """CDF of the ratio, a line for each beta_ecn but the default, a panel per AQM."""
    cdf = (
        changed(table)
        .with_columns(ratio=whole())
        .sort("ratio")
        .with_columns(
            # an experiment that never converged counts, at infinity; one of which only the default
            # never did, at zero; both are off the axis
            share=pl.int_range(1, pl.len() + 1).over("queue", "beta_ecn")
            / pl.len().over("queue", "beta_ecn"),
            beta=pl.col("beta_ecn").cast(pl.String),
        )
    )
    kinds = cdf["beta"].n_unique()
    lines = [style.LINES[i % len(style.LINES)] for i in range(kinds)]
    drawn: p9.ggplot = (
        p9.ggplot(
            cdf.filter(pl.col("ratio").is_between(0, np.inf, "none")),
            p9.aes("ratio", "share", color="beta", linetype="beta"),
        )
        + p9.facet_wrap("queue")
        + p9.geom_vline(xintercept=1, linetype="dotted", color="#666666")
        + p9.geom_step()
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_linetype_manual(lines)
        + p9.labs(
            x="Convergence time over that with the default beta_ecn",
            y="Share of experiments",
            color="beta_ecn",
            linetype="beta_ecn",
        )
    )
    return drawn


def never(table: pl.DataFrame) -> float | None:
    """The share of experiments that do not converge, in percent."""
    return scalar(table["convergence_s"].is_null().mean() * 100)  # type: ignore[operator]


def slower(table: pl.DataFrame, beta: float, by: float = 0.0, queue: str = "") -> float | None:
    """The share of paths whose convergence time is above the default's by more than a share."""
    ratios = _ratios(table, beta, queue)
    return scalar((ratios > 1 + by).mean())


def faster(table: pl.DataFrame, beta: float, queue: str = "") -> float | None:
    """The share of paths that converge faster than with the default."""
    return scalar((_ratios(table, beta, queue) < 1).mean())


def most_faster(table: pl.DataFrame) -> Extreme | None:
    """The largest share of paths faster than the default, over all other beta_ecn."""
    return largest(_shares({beta: faster(table, beta) for beta in _others(table)}), "share")


def least_faster(table: pl.DataFrame) -> Extreme | None:
    """The smallest share of paths faster than the default, over all other beta_ecn."""
    return least(_shares({beta: faster(table, beta) for beta in _others(table)}), "share")


def most_harmed(table: pl.DataFrame, by: float) -> Extreme | None:
    """The largest share of paths slower by more than `by`, over the beta_ecn above the default."""
    above = [beta for beta in _others(table) if beta > float(table["default"][0])]
    return largest(_shares({beta: slower(table, beta, by) for beta in above}), "share")


def _shares(found: dict[float, float | None]) -> pl.DataFrame:
    schema = {"beta_ecn": pl.Float64, "share": pl.Float64}
    return pl.DataFrame(list(found.items()), schema=schema, orient="row")


def _others(table: pl.DataFrame) -> list[float]:
    return changed(table)["beta_ecn"].unique().to_list()


def changed(table: pl.DataFrame) -> pl.DataFrame:
    """Without the runs of the default."""
    return table.filter(pl.col("beta_ecn") != pl.col("default"))


def whole() -> pl.Expr:
    """Ratios of all: infinite where one does not converge, 0 where only the default does not."""
    never = pl.when(pl.col("convergence_s").is_null()).then(np.inf).otherwise(0.0)
    return pl.col("ratio").fill_null(never)


def _ratios(table: pl.DataFrame, beta: float, queue: str = "") -> pl.Series:
    """Ratios of one beta_ecn, as `whole` has them."""
    chosen = table.filter(pl.col("beta_ecn") == beta)
    if queue:
        chosen = chosen.filter(pl.col("queue") == queue)
    return chosen.select(whole())["ratio"]
