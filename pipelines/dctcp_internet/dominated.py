"""Sections I and IV-B: how low delay and thresholds may be, by the share of DCTCP flows."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

MEASURES = {"utilisation": "Utilisation", "p95_ms": "95th percentile of the delay (ms)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `share` of DCTCP flows (percent) and Min_Thresh_Reno (`minimum`, BDP): how the
    flows share, and the 95th percentile of the queueing delay, `p95_ms`."""
    rows = []
    for run in runs:
        dctcp = sharing.goodputs(run)["reno"].not_()
        rows.append(
            {
                "share": 100 * int(dctcp.sum()) // dctcp.len(),
                "minimum": sharing.setting(run, "drop_min"),
            }
            | sharing.steady(run)
            | {"p95_ms": sharing.delay_ms(run, 0.95)}
        )
    return pl.DataFrame(rows).sort("share", "minimum")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Utilisation and delay against Min_Thresh_Reno, a line per share; of replicas the mean."""
    named = table.with_columns(
        dctcp=pl.format("{} %", "share").cast(
            pl.Enum([f"{share} %" for share in table["share"].unique().sort()])
        )
    )
    shown = ensemble.measure_means(named, MEASURES, ["dctcp", "minimum"])
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("minimum", "value", color="dctcp", shape="dctcp"))
        + p9.facet_wrap("measure", scales="free_y")
        + ensemble.band(shown, "dctcp")
        + p9.geom_line()
        + p9.geom_point()
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Min_Thresh_Reno (BDP)", y="", color="DCTCP", shape="DCTCP", fill="DCTCP")
    )
    return drawn


def delay_over(table: pl.DataFrame, used: float, share: int, than: int) -> float | None:
    """The least delay among the settings that use the link so much, with one share of DCTCP flows
    over that with another."""
    return _over(_least_delay(table, used), share, than)


def delay_falls(table: pl.DataFrame, used: float) -> float | None:
    """Spearman's correlation of that least delay with the share of DCTCP flows."""
    return _trend(table, _least_delay(table, used))


def threshold_over(table: pl.DataFrame, used: float, share: int, than: int) -> float | None:
    """The Min_Thresh_Reno with which the link is used so much, with one share over another."""
    return _over(_thresholds(table, used), share, than)


def threshold_falls(table: pl.DataFrame, used: float) -> float | None:
    """Spearman's correlation of that threshold with the share of DCTCP flows."""
    return _trend(table, _thresholds(table, used))


METRICS = (delay_over, delay_falls, threshold_over, threshold_falls)


def _over(found: dict[int, float], share: int, than: int) -> float | None:
    one, other = found.get(share), found.get(than)
    return one / other if one is not None and other else None


def _trend(table: pl.DataFrame, found: dict[int, float]) -> float | None:
    """None where a share has no value."""
    if len(found) < table["share"].n_unique():
        return None
    values = pl.DataFrame({"share": found.keys(), "value": found.values()})
    return scalar(values.select(pl.corr("share", "value", method="spearman")).item())


def _least_delay(table: pl.DataFrame, used: float) -> dict[int, float]:
    """Of each share, the least 95th percentile among its settings with such a utilisation."""
    enough = table.filter(pl.col("utilisation") >= used)
    return dict(enough.group_by("share").agg(pl.col("p95_ms").min()).iter_rows())


def _thresholds(table: pl.DataFrame, used: float) -> dict[int, float]:
    """Of each share, the Min_Thresh_Reno at which utilisation comes to `used`.

    Between the settings on both sides of it utilisation is taken to be a line. A share whose least
    setting uses the link as much, or whose largest does not, has none.
    """
    found = {}
    for (share,), own in table.sort("minimum").group_by("share"):
        steps = own.select("minimum", "utilisation").with_columns(
            pl.all().shift(1).name.suffix("_before")
        )
        for setting, at, before, at_before in steps.iter_rows():
            if at >= used:
                if before is not None:
                    part = (used - at_before) / (at - at_before)
                    found[share] = before + part * (setting - before)
                break
    return found
