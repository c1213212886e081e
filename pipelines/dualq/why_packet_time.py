"""Why class L waits: times of packets, by links and by packets of two sizes."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dualq import capture, equal_rtt, mixed
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.results import series, style

FRAME_BYTES = 14
"""Of Ethernet, beside the MTU."""
SHOWN = {"p50_packets": "L: median (packets' times)", "p99_packets": "L: p99 (packets' times)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `experiment`, `packet` (bytes), `rate_mbit`, `rtt_ms` of class L,
    `p50_ms` and `p99_ms` of its delay, the same in times that a full packet takes, `loss_pct`."""
    rows = []
    for run in runs:
        both = run.axes["experiment"] == "equal"
        found = capture.statistics(run, equal_rtt.LEAD_IN_S if both else mixed.LEAD_IN_S)
        packet, rate = int(str(run.axes["packet"])), units.parse_rate(str(run.axes["rate"]))
        packet_ms = (packet + FRAME_BYTES) * 8 / rate * 1e3
        rtt = units.parse_time(str(run.axes["rtt" if both else "rtt_l"])) / 1e6
        delays = {part: found[f"qdelay_l_{part}_ms"] for part in ("p50", "p99")}
        rows.append(
            {
                "experiment": str(run.axes["experiment"]),
                "packet": packet,
                "rate_mbit": rate / 1e6,
                "rtt_ms": rtt,
                **{f"{part}_ms": delay for part, delay in delays.items()},
                **{
                    f"{part}_packets": delay / packet_ms if delay is not None else None
                    for part, delay in delays.items()
                },
                "loss_pct": found["drop_l_pct"],
            }
        )
    return pl.DataFrame(rows).sort("experiment", "packet", "rate_mbit", "rtt_ms")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Median and 99th percentile in packets' times against the rate, by packet and round trip."""
    equal = table.filter(pl.col("experiment") == "equal")
    shown = ensemble.measures(equal, SHOWN, ["packet", "rate_mbit", "rtt_ms"]).with_columns(
        packet=pl.format("{} bytes", "packet"),
        rtt=pl.format("{} ms", pl.col("rtt_ms").cast(pl.Int64)),
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rate_mbit", "value", color="packet", shape="rtt"))
        + p9.facet_wrap("measure", scales="free_y")
        + p9.geom_line()
        + p9.geom_point()
        + p9.scale_x_log10(breaks=[4, 12, 40])
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(x="Link (Mb/s)", y="", color="MTU", shape="Round trip")
    )
    return drawn
