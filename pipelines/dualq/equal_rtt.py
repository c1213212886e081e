"""One Prague and one CUBIC flow at the same round trip, over rates and round trips."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dualq import capture
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.results import series, style

LEAD_IN_S = 60
SHOWN = {
    "rate_ratio_l_c": "rate, L over C",
    "qdelay_l_p50_ms": "L: median delay (ms)",
    "qdelay_l_p99_ms": "L: delay, p99 (ms)",
    "qdelay_c_mean_ms": "C: mean delay (ms)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `rate_mbit`, `rtt_ms`, and what capture.statistics finds."""
    rows = []
    for run in runs:
        found = capture.statistics(run, LEAD_IN_S)
        low, classic = found["tput_l_mbit"], found["tput_c_mbit"]
        rows.append(
            {
                "rate_mbit": units.parse_rate(str(run.axes["rate"])) / 1e6,
                "rtt_ms": units.parse_time(str(run.axes["rtt"])) / 1e6,
                "rate_ratio_l_c": low / classic if low and classic else None,
                **{name: value for name, value in found.items() if "_udp_" not in name},
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None).sort("rate_mbit", "rtt_ms")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Balance and delays against the rate, a line per round trip."""
    shown = ensemble.measures(table, SHOWN, ["rate_mbit", "rtt_ms"]).with_columns(
        rtt=pl.format("{} ms", pl.col("rtt_ms").cast(pl.Int64)).cast(
            pl.Enum([f"{ms:.0f} ms" for ms in sorted(set(table["rtt_ms"]))])
        ),
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown.drop_nulls("value"), p9.aes("rate_mbit", "value", color="rtt"))
        + p9.facet_wrap("measure", scales="free_y")
        + p9.geom_hline(yintercept=1, linetype="dotted")
        + p9.geom_line()
        + p9.geom_point()
        + p9.scale_x_log10(breaks=[4, 12, 40, 120, 200])
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(x="Link (Mb/s)", y="", color="Round trip")
    )
    return drawn
