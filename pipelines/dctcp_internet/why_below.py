"""Why a low K leaves DCTCP a share: its least window, and what Reno does not use."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_col, ggplot, labs, position_dodge, scale_fill_manual

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, least, scalar
from sandglass.results import series, style

ALONE = "nothing"


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per Min_Thresh_Reno (`minimum`, BDP), `packet` in bytes and what is `beside` Reno:
    the goodputs `reno_mbit` and `dctcp_mbit`."""
    rows = []
    for run in runs:
        flows = sharing.goodputs(run)
        reno, dctcp = (flows.filter(reno=kind)["mbit"].sum() for kind in (True, False))
        rows.append(
            {
                "minimum": sharing.setting(run, "drop_min"),
                "packet": int(str(run.axes["packet"])),
                "beside": str(run.axes["beside"]),
                "reno_mbit": reno,
                "dctcp_mbit": dctcp,
            }
        )
    return pl.DataFrame(rows).sort("minimum", "packet", "beside")


def plot(table: pl.DataFrame) -> ggplot:
    """Reno's goodput beside DCTCP and alone, a panel per Min_Thresh_Reno; of replicas the mean."""
    shown = ensemble.means(table, ["minimum", "packet", "beside"], "reno_mbit").with_columns(
        panel=pl.format("Min_Thresh_Reno {} BDP", "minimum"), packet=pl.format("{} B", "packet")
    )
    drawn: ggplot = (
        ggplot(shown, aes("packet", "reno_mbit", fill="beside"))
        + facet_wrap("panel")
        + geom_col(position=position_dodge(width=0.9))
        + scale_fill_manual(style.PALETTE)
        + labs(x="Packets", y="Reno's goodput (Mb/s)", fill="Beside it")
    )
    return drawn


def reno_share(table: pl.DataFrame, minimum: float, packet: int) -> float | None:
    """Reno's share of both goodputs."""
    both = table.filter(pl.col("beside") != ALONE).filter(minimum=float(minimum), packet=packet)
    return scalar((both["reno_mbit"] / (both["reno_mbit"] + both["dctcp_mbit"])).mean())


def kept(table: pl.DataFrame) -> Extreme | None:
    """Reno's goodput beside DCTCP over that alone, the least over the settings."""
    keys = ["minimum", "packet"]
    alone = pl.col("beside") == ALONE
    shares = table.group_by(keys).agg(
        kept=pl.col("reno_mbit").filter(~alone).mean() / pl.col("reno_mbit").filter(alone).mean()
    )
    return least(shares, "kept")


METRICS = (reno_share, kept)
