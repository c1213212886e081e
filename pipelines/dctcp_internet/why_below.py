"""Why a low K leaves DCTCP a share: its least window, and what Reno does not use."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_col, ggplot, labs, position_dodge, scale_fill_manual

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.results import series, style


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
