"""What the runs of a study recorded, over time and as distributions, with a band of replicas."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from sandglass.errors import SandglassError
from sandglass.experiment import units
from sandglass.results import plot as drawn
from sandglass.results import series
from sandglass.results.series import Run
from sandglass.studies import sql
from sandglass.studies.defaults import IN_ROUNDS
from sandglass.studies.plot import Distribution, Rows, Series

STEPS = 100
"""Of a run's duration; each is drawn at its middle."""
BIN_RTTS = 10
"""K, the RFC's suggestion."""
POINTS = 500
"""At which a distribution is looked at."""
FEW = 8
"""Replicas; of fewer a band is from the least to the largest, of more from 5 to 95 %."""
Floats = npt.NDArray[np.float64]


def _data(run: Run) -> pl.LazyFrame:
    """The packets with payload that met the first bottleneck."""
    first = next(iter(run.document["bottlenecks"] or {}), None)
    if first is None:
        raise SandglassError(f"{run.directory} recorded no queue")
    return series.forward(run, first).filter(pl.col("payload_bytes") > 0)


def _delay(run: Run, step_ns: int) -> pl.DataFrame:
    return drawn.means(_data(run), "dequeue_ns", pl.col("sojourn_ns").mean() / 1e6, step_ns)


def _rate(run: Run, step_ns: int) -> pl.DataFrame:
    carried = pl.col("size_bytes").sum() * (8e3 / step_ns)
    return _every(drawn.means(_data(run), "dequeue_ns", carried, step_ns))


def _window(run: Run, step_ns: int) -> pl.DataFrame:
    return drawn.means(run.records("acks"), "time_ns", pl.col("cwnd_packets").mean(), step_ns)


def _every(found: pl.DataFrame) -> pl.DataFrame:
    """Where nothing was sent, 0."""
    steps = pl.DataFrame({"step": pl.int_range(STEPS, eager=True)})
    flows = found.select("flow").unique(maintain_order=True)
    every = flows.join(steps, how="cross").join(found, on=["flow", "step"], how="left")
    return every.fill_null(0)


OVER_TIME: Mapping[Series, tuple[str, Callable[[Run, int], pl.DataFrame], pl.Expr]] = {
    "queue_delay": ("Queueing delay (ms)", _delay, pl.col("y").mean()),
    "rate": ("Throughput (Mb/s)", _rate, pl.col("y").sum()),
    "cwnd": ("Congestion window (packets)", _window, pl.col("y").mean()),
}
"""What each series is called, how it is read by flow, and what makes one of all flows."""


def over_time(run: Run, what: Series, by_flow: bool) -> pl.DataFrame:
    """Columns time_s, flow (0: all of them) and y, the mean of each step of the run."""
    _, read, together = OVER_TIME[what]
    step_s = run.document["virtual_s"] / STEPS
    found = read(run, round(step_s * 1e9))
    if not by_flow and what == "queue_delay":
        found = _whole_delay(run, round(step_s * 1e9))
    elif not by_flow:
        found = found.group_by("step").agg(together).with_columns(flow=pl.lit(0, pl.Int64))
    if found.is_empty():
        raise SandglassError(f"{run.directory} has nothing to draw of {what}")
    return found.select((pl.col("step") + 0.5) * step_s, "flow", "y").rename({"step": "time_s"})


def _whole_delay(run: Run, step_ns: int) -> pl.DataFrame:
    """The mean over a step's packets, whichever flow's they are."""
    return drawn.means(
        _data(run).with_columns(flow=pl.lit(1)),
        "dequeue_ns",
        pl.col("sojourn_ns").mean() / 1e6,
        step_ns,
    ).with_columns(flow=pl.lit(0, pl.Int64))


class Values(NamedTuple):
    """What is distributed in a run."""

    title: str
    """What it is, with its unit."""
    known: Floats
    """In order."""
    unfinished: int = 0
    """Flows that have a size and did not end: their time is longer than any, and they count."""
    missing: int = 0
    """Rows without a value, which do not."""


def distributed(run: Run, what: Distribution | Rows, start_ns: int = 0) -> Values:
    """What is distributed in a run, from a time on.

    Raises SandglassError where there is nothing of it.
    """
    match what:
        case "queue_delay":
            own = _data(run)
            own = own.filter(pl.col("enqueue_ns") >= start_ns) if start_ns else own
            title, values = "Queueing delay (ms)", own.select(pl.col("sojourn_ns") / 1e6)
        case "goodput":
            title = f"Goodput in bins of {BIN_RTTS} round trips (Mb/s)"
            values = _bins(run, start_ns)
        case "fct":
            flows = _ending(run)
            flows = flows.filter(pl.col("start_s") >= start_ns / 1e9) if start_ns else flows
            title, values = "Flow completion time (s)", flows.select("fct_s")
        case Rows():
            title = f"{what.of} of {what.table}"
            rows = run.records(what.table)
            rows = rows.filter(sql.expression(what.where)) if what.where else rows
            values = rows.select(sql.expression(what.of))
    try:
        found: Any = values.collect().to_series().cast(pl.Float64)
    except pl.exceptions.PolarsError as error:
        raise SandglassError(f"{run.directory}: {str(error).splitlines()[0]}") from None
    known, empty = found.drop_nulls().sort().to_numpy(), found.null_count()
    unfinished = empty if what == "fct" else 0
    if not known.size + unfinished:
        raise SandglassError(f"{run.directory} has no value of {title}")
    missing = empty if isinstance(what, Rows) else 0
    return Values(title, known, unfinished, missing)


def bin_ns(run: Run) -> int:
    """The length of a bin of goodput: K times the largest base round trip (RFC 7928, 2.5)."""
    experiment = run.document["experiment"]
    hosts = (experiment.get("hosts") or {}).values()
    rtts = [experiment["rtt"], *(host["rtt"] for host in hosts if host.get("rtt"))]
    return BIN_RTTS * max(map(units.parse_time, rtts))


def _bins(run: Run, start_ns: int) -> pl.LazyFrame:
    """What is acknowledged to all flows together in each whole bin, Mb/s."""
    step_ns = bin_ns(run)
    count = (round(run.document["virtual_s"] * 1e9) - start_ns) // step_ns
    more = pl.col("bytes").cast(pl.Int64) - pl.col("bytes").cast(pl.Int64).shift(fill_value=0)
    found = (
        run.records("goodput")
        .sort("flow", "time_ns")
        .select("time_ns", more=more.over("flow"))
        # A row is of the 10 ms that end then.
        .filter(pl.col("time_ns") > start_ns)
        .group_by(bin=(pl.col("time_ns") - start_ns - 1) // step_ns)
        .agg(mbit=pl.col("more").sum() * (8e3 / step_ns))
    )
    every = pl.LazyFrame({"bin": pl.int_range(count, eager=True)})
    return every.join(found, on="bin", how="left").select(pl.col("mbit").fill_null(0))


def _ending(run: Run) -> pl.LazyFrame:
    """The flows that end by themselves: of `restart` the rounds do."""
    ids = [
        flow["id"]
        for flow in run.plan["flows"]
        if flow["size_bytes"] is not None and flow["workload"] != IN_ROUNDS
    ]
    return run.records("flows").filter(pl.col("flow").is_in(ids))


def distribution(runs: Sequence[Values]) -> pl.DataFrame:
    """Of replicas: columns x, y (mean share up to x), low and high of the band.

    It begins with 0 at the least value, and ends below 1 where flows are unfinished. Raises
    SandglassError where all are.
    """
    together = np.concatenate([own.known for own in runs])
    if not together.size:
        raise SandglassError(f"{runs[0].title}: no flow of {len(runs)} runs ended")
    every = np.linspace(0, 1, POINTS + 1)
    x = np.unique(np.quantile(together, every, method="inverted_cdf"))
    shares = np.stack(
        [np.searchsorted(own.known, x, "right") / (own.known.size + own.unfinished) for own in runs]
    )
    low, high = band(shares)
    found = pl.DataFrame({"x": x, "y": shares.mean(0), "low": low, "high": high})
    return pl.concat(
        [found.head(1).select("x", y=pl.lit(0.0), low=pl.lit(0.0), high=pl.lit(0.0)), found]
    )


def band(values: Floats) -> tuple[Floats, Floats]:
    """Between what replicas, the first dimension, lie."""
    ends = (0.0, 1.0) if values.shape[0] < FEW else (0.05, 0.95)
    low, high = np.quantile(values, ends, axis=0)
    return low, high


def banded(over: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Replicas put together: the median as y, and low and high of their band."""
    few = pl.len() < FEW
    y = pl.col("y")
    return over.group_by(by, maintain_order=True).agg(
        y=y.median(),
        low=pl.when(few).then(y.min()).otherwise(y.quantile(0.05, "linear")),
        high=pl.when(few).then(y.max()).otherwise(y.quantile(0.95, "linear")),
    )
