"""Table I: K at equal sharing, utilisation and queue, beside the paper's numbers."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import sharing
from pipelines.dctcp_internet.fig05 import thresholds
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

QUANTITIES = ("K/M", "U_DR", "O_DR", "U_2R", "O_2R")
TRANSMISSION = 0.048
"""A packet of 1500 bytes, in BDP."""
PAPER = {
    "1/8": (0.125, 2.3, 0.98, 0.207, 0.946, 0.216),
    "1/4": (0.25, 1.73, 0.987, 0.335, 0.968, 0.336),
    "1/2": (0.5, 1.34, 0.996, 0.548, 0.986, 0.524),
    "1/sqrt2": (0.707107, 1.26, 0.999, 0.724, 0.995, 0.679),
    "1": (1.0, 1.16, 1.0, 0.99, 0.999, 0.914),
}


def table(runs: Sequence[series.Run], sending: float = 0) -> pl.DataFrame:
    """One row per Min_Thresh_Reno M and quantity: the paper's value and ours.

    K/M is where the throughput ratio falls through 1, and U_DR and O_DR are there (see
    `sharing.equal_sharing`); null where it does not. U_2R and O_2R are means over the seeds.
    Thresholds count with what the link is `sending`, BDP.
    """
    mixed = [run for run in runs if run.axes["experiment"] == "step"]
    alone = [run for run in runs if run.axes["experiment"] == "two-reno"]
    shared, twice = (
        sharing.means([thresholds(run, sending) | sharing.steady(run) for run in chosen])
        for chosen in (mixed, alone)
    )
    rows = []
    for name, (minimum, *paper) in PAPER.items():
        chosen = (pl.col("minimum") - minimum).abs() < 1e-6
        equal = sharing.equal_sharing(shared.filter(chosen), "relative") or {}
        (two,) = twice.filter(chosen).iter_rows(named=True)
        ours = [equal.get(key) for key in ("relative", "utilisation", "occupancy")]
        ours += [two["utilisation"], two["occupancy"]]
        rows += [
            (name, minimum, quantity, stated, found)
            for quantity, stated, found in zip(QUANTITIES, paper, ours, strict=True)
        ]
    return pl.DataFrame(
        rows,
        schema={
            "row": pl.String,
            "minimum": pl.Float64,
            "quantity": pl.String,
            "paper": pl.Float64,
            "ours": pl.Float64,
        },
        orient="row",
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The paper's value beside ours, of replicas their mean with its interval; a panel per
    quantity."""
    who = {"paper": "paper", "ours": "here"}
    long = (
        table.unpivot(list(who), index=["row", "quantity"], variable_name="who")
        .drop_nulls("value")
        .with_columns(
            pl.col("row").cast(pl.Enum(list(PAPER))),
            pl.col("quantity").cast(pl.Enum(QUANTITIES)),
            pl.col("who").replace_strict(who, return_dtype=pl.Enum(list(who.values()))),
        )
    )
    shown = ensemble.means(long, ["row", "quantity", "who"], "value")
    beside = p9.position_dodge(width=0.5)
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("row", "value", color="who", shape="who"))
        + p9.facet_wrap("quantity", scales="free_y")
        + p9.geom_linerange(
            p9.aes(ymin="low", ymax="high"), shown.drop_nulls("low"), position=beside
        )
        + p9.geom_point(size=2, position=beside)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="M = Min_Thresh_Reno (BDP)", y="", color="", shape="")
    )
    return drawn


def occupancy_error(table: pl.DataFrame, row: str, flows: str) -> float | None:
    """ours / paper - 1 of the mean queue, in percent, with the packet in transmission: there is
    one for as much of the time as the link is busy."""
    queue, busy = (_of(table, row, f"{measure}_{flows}") for measure in "OU")
    whole = queue["ours"] + TRANSMISSION * busy["ours"]
    return scalar(((whole / queue["paper"] - 1) * 100).mean())


def gain(table: pl.DataFrame, row: str) -> float | None:
    """Utilisation of one DCTCP and one Reno flow less that of two Reno flows, in percentage
    points."""
    mixed, alone = (scalar(_of(table, row, name)["ours"].mean()) for name in ("U_DR", "U_2R"))
    return None if mixed is None or alone is None else 100 * (mixed - alone)


def quotient(table: pl.DataFrame, of: tuple[str, str], over: tuple[str, str]) -> float | None:
    """One of our values over another; of each its row and quantity."""
    one, other = (scalar(_of(table, *place)["ours"].mean()) for place in (of, over))
    return one / other if one is not None and other else None


def reduction(table: pl.DataFrame, utilisation: float) -> float | None:
    """The mean queue of one DCTCP and one Reno flow with M = 1 over the least with an M whose
    utilisation is a value or more."""
    busy = table.filter((pl.col("quantity") == "U_DR") & (pl.col("ours") >= utilisation))
    queues = table.filter(pl.col("quantity") == "O_DR")
    least = scalar(queues.join(busy, on="row", how="semi")["ours"].min())
    most = scalar(_of(table, "1", "O_DR")["ours"].max())
    return most / least if most is not None and least else None


METRICS = (occupancy_error, gain, quotient, reduction)


def _of(table: pl.DataFrame, row: str, quantity: str) -> pl.DataFrame:
    return table.filter((pl.col("row") == row) & (pl.col("quantity") == quantity))
