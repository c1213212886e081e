"""What a study measures that no SQL says in a line: of a run's packets, in their order.

All are of the data's direction of one bottleneck and of a window of time. A packet belongs to the
window in which it arrived at the queue. R is the experiment's base round trip.
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import AfterValidator, Field

from sandglass.errors import SandglassError, nearest
from sandglass.experiment.part import Part
from sandglass.experiment.values import Time
from sandglass.results.series import SIGNALLED, Run
from sandglass.studies import sql, transport
from sandglass.studies.window import Window

STEP_NS = 100_000_000
"""Of the queue's delay over time, and of the share of packets that are signalled."""
LAST_NS = 10_000_000_000
"""The end of a phase, of which its final delay is: so much, or half of a phase shorter than two."""
SETTLED_SHARE, SETTLED_MS = 0.2, 2.0
"""How far from its final value a queue's delay may be when it has settled; the larger counts."""
RESPONDED = 0.9
"""Of the final share of signals."""
Floats = npt.NDArray[np.float64]


def goodput(window: Window) -> float:
    """Payload acknowledged, Mb/s, of all flows."""
    rows = window.run.records("goodput")
    rows = rows.filter(sql.expression(window.where)) if window.where else rows
    by_flow = rows.group_by("flow").agg(
        after=pl.col("bytes").filter(pl.col("time_ns") <= window.end_ns).max().fill_null(0),
        before=pl.col("bytes").filter(pl.col("time_ns") <= window.start_ns).max().fill_null(0),
    )
    found = by_flow.select((pl.col("after") - pl.col("before")).sum()).collect().item()
    return float(found) * 8e-6 / window.seconds


def jain(window: Window) -> float:
    """Jain's index of the flows' goodput (DEC-TR-301, 1984). A starved one counts, with 0."""
    each = [
        goodput(
            Window(
                window.run,
                window.start_ns,
                window.end_ns,
                f"flow = {flow}" + (f" AND ({window.where})" if window.where else ""),
                window.share,
                window.bottleneck,
            )
        )
        for flow in window.flows()
    ]
    squares = math.fsum(value * value for value in each)
    if not squares:
        raise ValueError("no flow was acknowledged anything")
    return math.fsum(each) ** 2 / (len(each) * squares)


def pdv(window: Window) -> float:
    """Packet delay variation, ms (RFC 5481): a quantile of d_i - min d, each flow by itself.

    The one-way delay d is propagation, which is constant, and the time in this queue.
    """
    sent = window.packets().drop_nulls("sojourn_ns")
    varied = pl.col("sojourn_ns") - pl.col("sojourn_ns").min().over("flow")
    return _quantile(sent.select(varied / 1e6).to_series(), window.share)


def loss_gap(window: Window) -> float:
    """Between two losses in a row of a flow, s, the mean; without two the window's length."""
    gaps = (
        window.packets()
        .drop_nulls("drop_ns")
        .sort("drop_ns")
        .select(pl.col("drop_ns").diff().over("flow") / 1e9)
        .to_series()
        .drop_nulls()
    )
    return float(np.mean(gaps.to_numpy())) if gaps.len() else window.seconds


def loss_run(window: Window) -> float:
    """Packets that are lost in a row of a flow, the mean; 0 without a loss."""
    lost = window.packets().select("flow", lost=pl.col("drop_ns").is_not_null())
    runs = lost.select(
        "lost", begins=(pl.col("lost") & ~pl.col("lost").shift(1, fill_value=False).over("flow"))
    )
    begun = int(runs["begins"].sum())
    return int(runs["lost"].sum()) / begun if begun else 0.0


def synchronisation(window: Window) -> float:
    """Share of the flows that a congestion event hits, the mean; 0 without an event.

    An event begins with a drop or a mark and has all those within R of it. The flows are those that
    sent within the window.
    """
    packets = window.packets()
    hits = packets.filter(SIGNALLED).select("flow", "enqueue_ns").rows()
    active = packets["flow"].n_unique()
    shares: list[float] = []
    begin, hit = -math.inf, set[int]()
    for flow, time_ns in hits:
        if time_ns - begin > window.rtt_ns:
            shares += [len(hit) / active] if hit else []
            begin, hit = time_ns, set()
        hit.add(flow)
    shares += [len(hit) / active] if hit else []
    return math.fsum(shares) / len(shares) if shares else 0.0


def _delays(window: Window) -> pl.DataFrame:
    """`step`, from the window's begin, and `ms`, the mean sojourn time of what arrived in it."""
    return (
        window.packets()
        .drop_nulls("sojourn_ns")
        .group_by(step=(pl.col("enqueue_ns") - window.start_ns) // STEP_NS)
        .agg(ms=pl.col("sojourn_ns").mean() / 1e6)
        .sort("step")
    )


def _final(window: Window, delays: pl.DataFrame) -> float:
    """The median delay at the window's end."""
    length = window.end_ns - window.start_ns
    begin = max(length - LAST_NS, length // 2) // STEP_NS
    last = delays.filter(pl.col("step") >= begin)["ms"]
    if not last.len():
        raise ValueError("no packet left the queue at the end of the window")
    return _quantile(last, 0.5)


def settling(window: Window) -> float:
    """Until the queue's delay stays within 20 % or 2 ms of its final value, s.

    Of a delay that never does, the window's length.
    """
    delays = _delays(window)
    final = _final(window, delays)
    far = (delays["ms"] - final).abs() > max(SETTLED_SHARE * final, SETTLED_MS)
    outside = delays.filter(far)["step"]
    if not outside.len():
        return 0.0
    return min(window.seconds, (int(outside[-1]) + 1) * STEP_NS / 1e9)


def overshoot(window: Window) -> float:
    """By how much the queue's delay is at most above its final value, ms."""
    delays = _delays(window)
    return max(0.0, float(delays["ms"].max()) - _final(window, delays))  # type: ignore[arg-type]


def oscillation(window: Window) -> float:
    """The largest share of the variance of the queue's delay in one line of its spectrum.

    Between 1/T, of the window, and 1/(4R). 0 where the delay does not vary.
    """
    steps = (window.end_ns - window.start_ns) // STEP_NS
    over = np.zeros(steps)
    delays = _delays(window).filter(pl.col("step") < steps)
    over[delays["step"].to_numpy()] = delays["ms"].to_numpy()
    power = np.abs(np.fft.rfft(over - over.mean())) ** 2
    hertz = np.fft.rfftfreq(steps, STEP_NS / 1e9)
    within = (hertz > 0) & (hertz <= 1e9 / (4 * window.rtt_ns))
    total = float(power[1:].sum())
    return float(power[within].max()) / total if total and within.any() else 0.0


def response(window: Window) -> float:
    """Until the share of signals has reached 90 % of that of the window's last half, s.

    It is the mean of five steps of 100 ms. Without signals the window's length.
    """
    shares = (
        window.packets()
        .group_by(step=(pl.col("enqueue_ns") - window.start_ns) // STEP_NS)
        .agg(share=SIGNALLED.mean())
        .sort("step")
    )
    half = (window.end_ns - window.start_ns) // STEP_NS // 2
    final = shares.filter(pl.col("step") >= half)["share"].mean()
    if not final:
        return window.seconds
    smooth = shares["share"].rolling_mean(5)
    there = shares.filter(smooth >= RESPONDED * float(final))["step"]  # type: ignore[arg-type]
    return (int(there[0]) + 1) * STEP_NS / 1e9 if there.len() else window.seconds


def _quantile(values: pl.Series, share: float) -> float:
    if not values.len():
        raise ValueError("there is no packet in the window")
    return float(np.quantile(values.to_numpy(), share))


MEASURES: Mapping[str, tuple[Callable[[Window], float], str]] = {
    "goodput": (goodput, "Mb/s"),
    "jain": (jain, ""),
    "pdv": (pdv, "ms"),
    "loss_gap": (loss_gap, "s"),
    "loss_run": (loss_run, "packets"),
    "synchronisation": (synchronisation, ""),
    "settling": (settling, "s"),
    "overshoot": (overshoot, "ms"),
    "oscillation": (oscillation, ""),
    "response": (response, "s"),
    "fct": (transport.fct, "s"),
    "slowdown": (transport.slowdown, ""),
    "reached": (transport.reached, "s"),
    "convergence": (transport.convergence, "s"),
    "least_share": (transport.least_share, ""),
}
"""By their names in a study file, with their units."""
OF_A_SHARE = ("pdv", "fct", "slowdown", "reached")
"""Those that `share` is for."""


def _known(name: str) -> str:
    if name not in MEASURES:
        near = nearest(name, MEASURES)
        raise ValueError(f"unknown measure {name}{near} There are {', '.join(MEASURES)}")
    return name


class Measure(Part):
    """One of MEASURES, as a study file has it."""

    measure: Annotated[str, AfterValidator(_known)]
    start: Time = Field(default=0, alias="from")
    until: Time | None = None
    """The run's end where there is none."""
    where: str | None = None
    share: Annotated[float, Field(gt=0, le=1)] = 0.95
    bottleneck: str | None = None

    @property
    def unit(self) -> str:
        return MEASURES[self.measure][1]

    @property
    def text(self) -> str:
        """As the page of a study has it; the page adds `where`."""
        end = "the end" if self.until is None else f"{self.until / 1e9:g} s"
        share = f", share {self.share:g}" if self.measure in OF_A_SHARE else ""
        return f"{self.measure}{share} from {self.start / 1e9:g} s to {end}"

    def value(self, run: Run) -> float:
        """Its number. Raises ValueError, which says why there is none."""
        end_ns = self.until or run.time_ns("experiment.duration")
        if end_ns <= self.start:
            raise ValueError(f"the window of {self.text} is empty")
        window = Window(run, self.start, end_ns, self.where, self.share, self.bottleneck)
        try:
            return MEASURES[self.measure][0](window)
        except SandglassError as error:
            raise ValueError(error.message) from None
        except pl.exceptions.PolarsError as error:
            raise ValueError(str(error).splitlines()[0]) from None
