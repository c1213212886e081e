"""Runs as data frames: fields of many run.json in one table, and exact series from the records.

All times of the records are virtual nanoseconds since the start of the experiment.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from sandglass.errors import SandglassError, nearest
from sandglass.experiment import units
from sandglass.experiment.document import Value
from sandglass.results import document

FORMAT = 1
DIGITS = 10
"""Significant digits of the floats in a table."""
LEFT = pl.coalesce("dequeue_ns", "drop_ns")
WAITED = LEFT.is_null() | (pl.col("enqueue_ns") < LEFT)
"""Of `packets`: one that was in the queue for a time, not refused on arrival or sent on at once."""
CE = 3
"""The ECN field "congestion experienced", RFC 3168."""
MARKED = (pl.col("ecn_out") == CE) & (pl.col("ecn_in") != CE)
"""Of `packets`: one that this queue marked."""
SIGNALLED = pl.col("drop_ns").is_not_null() | MARKED
"""Of `packets`: one that this queue dropped or marked."""


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run: its directory, its values on the figure's axes, and its run.json."""

    directory: Path
    axes: Mapping[str, Value]
    document: Mapping[str, Any]

    def __repr__(self) -> str:
        """Where it is and what it is of; all the rest is in `document`."""
        digest = (self.document.get("digest") or "none")[:12]
        return f"Run({str(self.directory)!r}: {self.document.get('title')}, digest {digest})"

    def field(self, path: str) -> Any:
        """A field of run.json by its dotted path, such as 'flows.0.goodput_mbit'.

        Raises SandglassError when it is not there, naming what is and resembles it: a result that
        is missing is never a zero.
        """
        found: Any = self.document
        for key in path.split("."):
            try:
                found = found[int(key) if isinstance(found, list) else key]
            except (KeyError, IndexError, ValueError, TypeError) as error:
                raise SandglassError(
                    f"{self.directory}/run.json has no {path}{_alike(found, key, path)}"
                ) from error
        return found

    def time_ns(self, path: str) -> int:
        """A time of run.json by its dotted path, such as 'experiment.rtt', in ns.

        Raises SandglassError when it is not there.
        """
        return units.parse_time(self.field(path))

    def rate_bps(self, path: str) -> int:
        """A rate of run.json by its dotted path, such as 'experiment.bottleneck.rate', in bit/s.

        Raises SandglassError when it is not there.
        """
        return units.parse_rate(self.field(path))

    @property
    def plan(self) -> Mapping[str, Any]:
        """What the lab was told: plan.json. Raises SandglassError when it cannot be read."""
        return _json(self.directory / "plan.json")

    @property
    def experiment(self) -> Mapping[str, Any]:
        """The experiment as it was run, with all defaults filled in; runs again as it stands."""
        found: Mapping[str, Any] = self.field("experiment")
        return found

    @property
    def digest(self) -> str | None:
        """Over all that was recorded; None in real time."""
        found: str | None = self.field("digest")
        return found

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the run left."""
        return sorted(path.stem for path in self.directory.glob("*.parquet"))

    @property
    def packets(self) -> pl.DataFrame:
        """A row for each packet that met a recorded queue."""
        return self.table("packets")

    @property
    def acks(self) -> pl.DataFrame:
        """A row for each segment that reached a sender, with the sender's state."""
        return self.table("acks")

    @property
    def queues(self) -> pl.DataFrame:
        """The queues' counters, every 10 ms."""
        return self.table("queues")

    @property
    def flows(self) -> pl.DataFrame:
        """A row for each flow and repetition."""
        return self.table("flows")

    def table(self, name: str) -> pl.DataFrame:
        """One of the run's tables, whose columns docs/data-format.md has.

        Raises SandglassError when the run did not record it.
        """
        with document.readable(self.directory / f"{name}.parquet"):
            return self.records(name).collect()

    def records(self, name: str) -> pl.LazyFrame:
        """The same, read when collected.

        Raises SandglassError when the run did not record it.
        """
        path = self.directory / f"{name}.parquet"
        if not path.is_file():
            raise SandglassError(
                f"{path} is missing", f"the experiment has to record {name}: see its key 'record'"
            )
        return pl.scan_parquet(path, glob=False)  # a list in its name has brackets


def _alike(found: Any, key: str, path: str) -> str:
    """How a sentence about a field that is not there ends: what there is where the path ends."""
    before = path.split(".")
    place = ".".join(before[: before.index(key)]) or "run.json"
    if isinstance(found, list):
        return f": {place} has {len(found)} entries, from 0"
    if not isinstance(found, Mapping):
        return f": {place} is {found!r:.40}"
    near = nearest(key, map(str, found))
    return near if near != "." else f": {place} has {', '.join(map(str, found)):.200}"


def load(directory: Path, axes: Mapping[str, Value]) -> Run:
    """The run in `directory`. Raises SandglassError when there is none that can be read."""
    run = Run(directory, axes, _json(directory / "run.json"))
    if run.field("format") != FORMAT:
        found = run.field("format")
        raise SandglassError(f"{directory}/run.json has format {found}, not {FORMAT}")
    return run


def _json(path: Path) -> Mapping[str, Any]:
    """What is in a file of a run."""
    try:
        content: Mapping[str, Any] = json.loads(path.read_text())
    except OSError as error:
        raise SandglassError(f"{path}: {error.strerror}", "the run has to be done first") from error
    except ValueError as error:
        raise SandglassError(
            f"{path} is not JSON: {error}", "delete the run, do it again"
        ) from error
    return content


def tidy(runs: Sequence[Run], fields: Mapping[str, str]) -> pl.DataFrame:
    """One row per run: a column per axis, then one per entry of `fields` (column -> dotted path).

    Raises SandglassError when there is no run, or one lacks a field.
    """
    if not runs:
        raise SandglassError("there is no run to make a table of")
    rows = [
        {**run.axes, **{name: run.field(path) for name, path in fields.items()}} for run in runs
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def along(
    runs: Sequence[Run], axis: str, table: Callable[[Sequence[Run]], pl.DataFrame]
) -> pl.DataFrame:
    """The tables of the runs with each value of an axis, which is a column of its own, at the end.

    A column that some of them lack is null there. Raises KeyError when a run lacks the axis.
    """
    own: dict[Value, list[Run]] = {}
    for run in runs:
        own.setdefault(run.axes[axis], []).append(run)
    return pl.concat(
        (table(some).with_columns(pl.lit(value).alias(axis)) for value, some in own.items()),
        how="diagonal_relaxed",
    )


def combined_digest(digests: Iterable[str]) -> str:
    """SHA-256 over the runs' digests, whatever order the runs came in."""
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def rounded(rows: pl.DataFrame, digits: int = DIGITS) -> pl.DataFrame:
    """A table that is the same on every machine, to the last digit that it shows.

    In which order Polars adds floats depends on processors and load, and the sixteenth digit of a
    sum on that order.
    """
    return rows.with_columns(cs.float().round_sig_figs(digits))


def sending(rows: pl.DataFrame) -> pl.DataFrame:
    """What the senders of QUIC's connections tell in qlog.parquet.

    Of a flow's two ends, by the flow that logged and by what the log says, the sender is the one
    that had more in flight at a time. Adds windows in packets as large as the largest that the
    sender has sent: `cwnd_packets`, `ssthresh_packets`.
    """
    logged = pl.col("file").str.extract(r"^([^/]+)")
    side = pl.concat_str(logged, pl.col("end").fill_null(""), separator=" ")
    most = pl.col("inflight_bytes").max().fill_null(0)
    ends = rows.with_columns(side=side).with_columns(most=most.over("flow", "side"))
    first = pl.col("side").sort_by("most", descending=True, maintain_order=True).first()
    largest = pl.col("largest_bytes").max().over("file", "trace")
    return (
        ends.filter(pl.col("side") == first.over("flow"))
        .drop("side", "most")
        .with_columns(
            cwnd_packets=pl.col("cwnd_bytes") / largest,
            ssthresh_packets=pl.col("ssthresh_bytes") / largest,
        )
    )


def forward(run: Run, bottleneck: str = "bottleneck") -> pl.LazyFrame:
    """The packets that met the data's direction of a bottleneck."""
    return run.records("packets").filter(
        (pl.col("bottleneck") == bottleneck) & (pl.col("direction") == "forward")
    )


def backlog(packets: pl.LazyFrame) -> pl.DataFrame:
    """The queue's length after each change: `time_ns`, `packets`, `bytes` (all i64).

    A packet counts from its enqueueing to its dequeueing or drop; one that was refused on arrival
    was never in the queue. Changes at the same nanosecond are one. Raises SandglassError when no
    packet ever entered the queue.
    """
    entered = packets.filter(WAITED).select(
        "enqueue_ns", left_ns=LEFT, size_bytes=pl.col("size_bytes").cast(pl.Int64)
    )
    arrivals = entered.select(
        time_ns=pl.col("enqueue_ns"), packets=pl.lit(1, pl.Int64), bytes=pl.col("size_bytes")
    )
    departures = entered.filter(pl.col("left_ns").is_not_null()).select(
        time_ns=pl.col("left_ns"), packets=pl.lit(-1, pl.Int64), bytes=-pl.col("size_bytes")
    )
    changes = (
        pl.concat([arrivals, departures])
        .group_by("time_ns")
        .agg(pl.col("packets", "bytes").sum())
        .sort("time_ns")
        .with_columns(pl.col("packets", "bytes").cum_sum())
        .collect()
    )
    if changes.is_empty():
        raise SandglassError("no packet was ever queued: there is no queue to show over time")
    return changes


def binned(changes: pl.DataFrame, step_ns: int, duration_ns: int) -> pl.DataFrame:
    """A step function over time in bins of `step_ns`, exact: nothing between two samples is lost.

    Takes `time_ns` and `packets` as from `backlog` (0 before the first change); gives one row per
    bin that starts before `duration_ns`: `start_ns`, and the least, time-weighted mean and largest
    number of packets within the bin as `least`, `mean`, `largest`.
    """
    starts = pl.DataFrame({"time_ns": pl.int_range(0, duration_ns, step_ns, eager=True)})
    before = pl.DataFrame(
        {"time_ns": [-1], "packets": [0]}, changes.select("time_ns", "packets").schema
    )
    steps = pl.concat([before, changes.select("time_ns", "packets")])
    carried = starts.join(changes.select("time_ns"), on="time_ns", how="anti").join_asof(
        steps, on="time_ns", strategy="backward"
    )
    return (
        pl.concat([steps, carried])
        .sort("time_ns")
        .filter((pl.col("time_ns") >= 0) & (pl.col("time_ns") < duration_ns))
        .with_columns(start_ns=pl.col("time_ns") // step_ns * step_ns)
        .with_columns(
            held_ns=pl.min_horizontal(
                pl.col("time_ns").shift(-1, fill_value=duration_ns),
                pl.col("start_ns") + step_ns,
            )
            - pl.col("time_ns")
        )
        .group_by("start_ns", maintain_order=True)
        .agg(
            least=pl.col("packets").min(),
            mean=(pl.col("packets") * pl.col("held_ns")).sum() / pl.col("held_ns").sum(),
            largest=pl.col("packets").max(),
        )
    )


def mean_backlog(changes: pl.DataFrame, since_ns: int, until_ns: int) -> float:
    """The time-weighted mean of a queue, packets, from one time to another.

    `changes` are as from `backlog`; the queue is empty before the first.
    """
    before = changes.filter(pl.col("time_ns") <= since_ns)["packets"]
    inside = changes.filter(pl.col("time_ns").is_between(since_ns, until_ns, "none")).select(
        "time_ns", "packets"
    )
    times = [since_ns, *inside["time_ns"], until_ns]
    levels = [before[-1] if len(before) else 0, *inside["packets"]]
    held = [later - earlier for earlier, later in pairwise(times)]
    area = sum(level * each for level, each in zip(levels, held, strict=True))
    return float(area) / (until_ns - since_ns)


def congestion_events(drops: pl.Series, gap: float) -> list[float]:
    """When congestion events begin: a drop less than `gap` after another belongs to its event.

    `drops` holds the times of drops, in the unit of `gap` and of the answer.
    """
    ordered = drops.sort()
    begins = ordered.diff().is_null() | (ordered.diff() >= gap)
    return ordered.filter(begins).to_list()


def queue_samples(run: Run, bottleneck: str = "bottleneck") -> pl.DataFrame:
    """The samples of a bottleneck's queue in the data's direction: see queues.parquet."""
    chosen = (pl.col("bottleneck") == bottleneck) & (pl.col("direction") == "forward")
    return run.records("queues").filter(chosen).collect()


def increments(samples: pl.DataFrame, counters: Sequence[str]) -> pl.Series:
    """The times (`time_ns`) of the samples at which the sum of some counters has grown."""
    total = pl.sum_horizontal(pl.col(*counters).cast(pl.Int64))
    return samples.filter(total.diff() > 0)["time_ns"]


def sawteeth(samples: pl.DataFrame, events: Sequence[float]) -> pl.DataFrame:
    """The saw-teeth between one congestion event and the next, from a queue's samples.

    `events` are times of samples, in order. One row per tooth: `begin_ns`, `end_ns`, the
    `sent_bytes` in between, and `largest_packets`, the longest queue that a sample saw.
    """
    begins = pl.Series("begin_ns", list(events), pl.Int64)
    teeth = pl.DataFrame({"begin_ns": begins[:-1], "end_ns": begins[1:]})
    largest = (
        samples.sort("time_ns")
        .join_asof(teeth.sort("begin_ns"), left_on="time_ns", right_on="begin_ns")
        .filter(pl.col("time_ns") < pl.col("end_ns"))
        .group_by("begin_ns")
        .agg(largest_packets=pl.col("backlog_packets").max().cast(pl.Int64))
    )
    sent = samples.select("time_ns", pl.col("sent_bytes").cast(pl.Int64))
    return (
        teeth.join(sent.rename({"sent_bytes": "before"}), left_on="begin_ns", right_on="time_ns")
        .join(sent.rename({"sent_bytes": "after"}), left_on="end_ns", right_on="time_ns")
        .join(largest, on="begin_ns")
        .select(
            "begin_ns", "end_ns", "largest_packets", sent_bytes=pl.col("after") - pl.col("before")
        )
        .sort("begin_ns")
    )


def utilisation(teeth: pl.DataFrame, rate_bps: int, count: int) -> pl.Series:
    """The link's utilisation over each `count` saw-teeth in turn; what is left over is left out."""
    whole = teeth.head(teeth.height // count * count)
    shares = (
        whole.with_columns(turn=pl.int_range(pl.len()) // count)
        .group_by("turn", maintain_order=True)
        .agg(
            share=pl.col("sent_bytes").sum()
            * (8e9 / rate_bps)
            / (pl.col("end_ns").last() - pl.col("begin_ns").first())
        )
    )
    return shares["share"]


def bytes_departed(packets: pl.LazyFrame, step_ns: int, duration_ns: int) -> pl.DataFrame:
    """What has left the queue: `time_ns`, each multiple of the step up to the end, and `bytes`."""
    ends = pl.LazyFrame({"time_ns": pl.int_range(step_ns, duration_ns + 1, step_ns, eager=True)})
    sent = (
        packets.filter(pl.col("dequeue_ns") >= 0)
        .group_by(time_ns=(pl.col("dequeue_ns") // step_ns + 1) * step_ns)
        .agg(bytes=pl.col("size_bytes").sum().cast(pl.Int64))
    )
    return (
        ends.join(sent, on="time_ns", how="left")
        .sort("time_ns")
        .select("time_ns", pl.col("bytes").fill_null(0).cum_sum())
        .collect()
    )


def back_offs(acks: pl.LazyFrame) -> pl.DataFrame:
    """When a sender reduced its window: `time_ns`, and `ssthresh_packets`, what it reduced it to.

    Reno and CUBIC set the slow-start threshold at a reduction and at no other time. A reduction to
    the very same threshold does not show.
    """
    return (
        acks.sort("time_ns")
        .select("time_ns", "ssthresh_packets")
        .filter(pl.col("ssthresh_packets").is_not_null())
        .filter(pl.col("ssthresh_packets").diff().ne(0).fill_null(True))
        .collect()
    )


def first_in_a_row(events: pl.DataFrame, gap_ns: int) -> pl.DataFrame:
    """The events (`time_ns`, in order) before the first pause of `gap_ns` or more."""
    pauses = (events["time_ns"].diff() >= gap_ns).fill_null(False)
    return events.filter(pauses.cum_sum() == 0)
