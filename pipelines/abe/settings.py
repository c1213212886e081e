"""How the report's figures name what their experiments set."""

from typing import NamedTuple

import polars as pl

from sandglass.experiment import units
from sandglass.papers import formulas
from sandglass.results.series import Run

QUEUES = {"codel": "CoDel", "pie_draft": "PIE", "pfifo": "DropTail"}

# A full packet of 1500 bytes carries 1448 bytes of payload (TCP with time stamps), and the shaper
# counts its Ethernet header of 14 bytes too. An acknowledgement is the headers alone.
PACKET_BYTES = 1514
PAYLOAD_BYTES = 1448
ACK_BYTES = PACKET_BYTES - PAYLOAD_BYTES
PAYLOAD_SHARE = PAYLOAD_BYTES / PACKET_BYTES

# The sysctls count in percent.
RENO_LOSS = "net.ipv4.tcp_abe.beta_loss"


class Control(NamedTuple):
    """A congestion control: the report's name, its beta_ecn's sysctl, and its own beta."""

    name: str
    setting: str
    default: float


CONTROLS = {
    "abe_reno": Control("NewReno", "net.ipv4.tcp_abe.beta_ecn", 0.5),
    "abe_cubic": Control("CUBIC", "net.ipv4.tcp_abe.cubic_beta_ecn", 0.7),
}
DEFAULTS = {control.name: control.default for control in CONTROLS.values()}


def queue(run: Run) -> str:
    """The bottleneck's queue by the report's name of it."""
    return QUEUES[run.field("experiment.bottleneck.queue.kind")]


def control(run: Run) -> Control:
    """The congestion control of the first flow."""
    return CONTROLS[run.field("experiment.flows.0.cc")]


def beta(run: Run, setting: str) -> float:
    """A decrease factor of the sender s1, from its sysctl."""
    return float(run.field("experiment.hosts.s1.sysctls")[setting]) / 100


def beta_ecn(run: Run) -> float:
    """The first flow's decrease factor for ECN marks."""
    return beta(run, control(run).setting)


def hundredths(percent: pl.Expr) -> pl.Expr:
    """Percents as shares, the numbers that are written so.

    polars multiplies by 1 / 100, and 70 times that is not 0.7.
    """
    return (percent / 100).round(2)


def rate(run: Run) -> int:
    """The bottleneck's rate, bit/s."""
    return run.rate_bps("experiment.bottleneck.rate")


def rtt_ns(run: Run) -> int:
    """The base round trip: propagation alone, ns."""
    return run.time_ns("experiment.rtt")


def duration_ns(run: Run) -> int:
    return run.time_ns("experiment.duration")


def conditions(run: Run) -> dict[str, str | float]:
    """What tells the runs of a figure apart, but for the seed."""
    return {
        "control": control(run).name,
        "queue": queue(run),
        "rtt_ms": rtt_ns(run) / 1e6,
        "beta": beta_ecn(run),
    }


def rtt_label(table: pl.DataFrame) -> pl.Expr:
    """The column `rtt_ms` as a legend shows it, such as '20 ms', in the order of its values."""
    order = [f"{rtt:.0f} ms" for rtt in table["rtt_ms"].unique().sort()]
    return (pl.col("rtt_ms").cast(pl.Int64).cast(pl.String) + " ms").cast(pl.Enum(order))


def limit_packets(run: Run) -> int:
    """The longest that the queue may grow, packets."""
    length = units.parse_length(run.field("experiment.bottleneck.queue.limit"))
    return units.in_packets(
        length, rate_bps=rate(run), rtt_ns=rtt_ns(run), packet_bytes=PACKET_BYTES
    )


def path_packets(run: Run) -> float:
    """The model's bandwidth-delay product, packets."""
    return formulas.path_packets(rate(run), rtt_ns(run) / 1e9, PACKET_BYTES, ACK_BYTES)
