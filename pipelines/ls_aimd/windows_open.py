"""Large windows: what a round trip adds, and how long a halved window takes to grow back."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import steady
from sandglass.papers.verdicts import Extreme, least, scalar
from sandglass.results import series, style

SETTLED = 1 / 3
"""Of a run: from here on saw-teeth count; re-design."""
PANELS = {
    "growth": "Growth per round trip (segments)",
    "period_s": "From one halving to the next (s)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `sender` and rate, `rate_mbit`, of whole saw-teeth of one flow: `growth`,
    segments that a round trip adds to the window, the median over them; `period_s`, their mean
    length; `window`, the mean of their largest windows; `saw_teeth`, their number."""
    rows: list[dict[str, object]] = []
    for run in runs:
        end = run.time_ns("experiment.duration")
        acks = (
            run.records("acks")
            .filter((pl.col("flow") > 0) & (pl.col("time_ns") >= SETTLED * end))
            .sort("time_ns")
            .select("time_ns", "cwnd_packets", "srtt_us", "ca_state")
            .collect()
        )
        teeth = _teeth(acks)
        growth = teeth.select(
            pl.col("grown") / (pl.col("length_ns") / 1e3 / pl.col("srtt_us"))
        ).to_series()
        rows.append(
            {
                "sender": str(run.axes["sender"]),
                "rate_mbit": steady.rate_bps(run) / 1e6,
                "growth": growth.median(),
                "period_s": teeth.select(pl.col("period_ns").mean() / 1e9).item(),
                "window": teeth["largest"].mean(),
                "saw_teeth": len(teeth),
            }
        )
    return pl.DataFrame(rows).sort("sender", "rate_mbit")


def _teeth(acks: pl.DataFrame) -> pl.DataFrame:
    """Whole saw-teeth, from one reduction to the next; the first and last are cut off. A window
    grows from where it has come down, which takes a round trip."""
    reduces = pl.col("ca_state").cast(pl.String) == "CWR"
    begins = reduces & ~reduces.shift(fill_value=False)
    numbered = acks.with_columns(tooth=begins.cum_sum())
    started = numbered.group_by("tooth", maintain_order=True).agg(
        start_ns=pl.col("time_ns").first(), end_ns=pl.col("time_ns").last()
    )
    lengths = started.with_columns(period_ns=pl.col("start_ns").shift(-1) - pl.col("start_ns"))
    lowest = pl.col("cwnd_packets").arg_min()
    grown = numbered.group_by("tooth", maintain_order=True).agg(
        length_ns=pl.col("time_ns").last() - pl.col("time_ns").get(lowest),
        grown=pl.col("cwnd_packets").last().cast(pl.Int64)
        - pl.col("cwnd_packets").min().cast(pl.Int64),
        largest=pl.col("cwnd_packets").last(),
        srtt_us=pl.col("srtt_us").mean(),
    )
    return (
        grown.join(lengths, on="tooth", maintain_order="left")
        .slice(1, len(lengths) - 2)
        .filter((pl.col("grown") > 0) & (pl.col("length_ns") > 0))
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Growth and period against the rate."""
    keys = ["sender", "rate_mbit"]
    means = table.group_by(keys, maintain_order=True).agg(pl.col(*PANELS).mean())
    shown = means.unpivot(list(PANELS), index=keys).with_columns(
        panel=pl.col("variable").replace_strict(PANELS)
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rate_mbit", "value", color="sender", shape="sender"))
        + p9.facet_wrap("panel", scales="free_y")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Rate (Mb/s)", y="", color="", shape="")
    )
    return drawn


def _own(table: pl.DataFrame, sender: str) -> pl.DataFrame:
    return table.filter(sender=sender).sort("rate_mbit")


def least_step(table: pl.DataFrame, sender: str) -> Extreme | None:
    """How much more a round trip adds at a rate than at the one below, the least."""
    steps = _own(table, sender).select("rate_mbit", step=pl.col("growth").diff())
    return least(steps.drop_nulls(), "step")


def period_over(table: pl.DataFrame, sender: str, other: str, rate_mbit: float) -> float | None:
    """A sender's time from one halving to the next per segment of its window, over another's."""
    per_segment = [
        scalar((own["period_s"] / own["window"]).max())
        for own in (
            _own(table, name).filter(pl.col("rate_mbit") == rate_mbit) for name in (sender, other)
        )
    ]
    one, two = per_segment
    return None if one is None or two is None else one / two


METRICS = (least_step, period_over)
