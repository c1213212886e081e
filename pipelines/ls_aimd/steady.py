"""What the figures measure: the second half of a run, where all flows are there."""

from collections.abc import Iterable, Sequence

import polars as pl

from sandglass.experiment import units
from sandglass.results import series

MARKINGS = {"ramp": "RED ramp", "step": "RED step", "instantaneous": "RED instantaneous"}
SENDERS = ("AIMD", "LS-AIMD, C = 1/128", "LS-AIMD, C = 1")
CASES = ("1", "2", "3A", "3B", "4A", "4B", "4C", "4D", "4E", "4F", "4G", "4H")
TICK_US = 32.768
"""Resolution of the thesis's recorder of delays; derived: all its numbers are multiples of it."""


def case(run: series.Run) -> dict[str, str]:
    """The columns that name a run: `case`, `marking`, `sender`."""
    marking = str(run.axes["experiment"]).partition("-")[2]
    return {
        "case": str(run.axes["case"]),
        "marking": MARKINGS[marking],
        "sender": str(run.axes["reno" if marking == "ramp" else "dctcp"]),
    }


def ordered(rows: Iterable[dict[str, object]]) -> pl.DataFrame:
    """A table with a row per run or more, in the thesis's order."""
    names = {"case": CASES, "marking": tuple(MARKINGS.values()), "sender": SENDERS}
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    return (
        frame.with_columns(pl.col(name).cast(pl.Enum(values)) for name, values in names.items())
        .sort("marking", "case", "sender", maintain_order=True)
        .with_columns(pl.col(*names).cast(pl.String))
    )


def labelled(table: pl.DataFrame) -> pl.DataFrame:
    """The table as it is drawn: those names that occur, in the thesis's order, and short."""
    names = {"case": CASES, "marking": tuple(MARKINGS), "sender": SENDERS}
    # Read from a file, cases 1 and 2 alone are numbers.
    table = table.with_columns(
        pl.col("case").cast(pl.String), pl.col("marking").str.strip_prefix("RED ")
    )
    present = {
        name: [value for value in values if value in set(table[name])]
        for name, values in names.items()
    }
    return table.with_columns(
        pl.col(name).cast(pl.Enum(values)) for name, values in present.items()
    )


def interval_ns(run: series.Run) -> tuple[int, int]:
    """The second half of a run."""
    end = run.time_ns("experiment.duration")
    return end // 2, end


def seconds(run: series.Run) -> float:
    """How long that is."""
    begin, end = interval_ns(run)
    return (end - begin) / 1e9


def _within(run: series.Run, frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
    begin, end = interval_ns(run)
    return frame.filter((pl.col(column) >= begin) & (pl.col(column) < end))


def packets(run: series.Run) -> pl.LazyFrame:
    """The packets that came to the bottleneck's queue, in the data's direction."""
    return _within(run, series.forward(run), "enqueue_ns")


def acks(run: series.Run) -> pl.LazyFrame:
    """The ACKs that came to the senders."""
    return _within(run, run.records("acks"), "time_ns")


def rate_bps(run: series.Run) -> int:
    """The bottleneck's rate."""
    return run.rate_bps("experiment.bottleneck.rate")


def flows(run: series.Run) -> int:
    """Number of flows; an entry of the experiment may stand for several."""
    return len(run.field("flows"))


def base_rtt_us(run: series.Run) -> float:
    """The experiment's RTT, propagation alone."""
    return run.time_ns("experiment.rtt") / 1e3


def target_us(run: series.Run) -> float:
    """Stated: 500 us at 200 Mb/s, 250 us at 600 Mb/s; the queue's own lowest threshold."""
    queue = run.field("experiment.bottleneck.queue")
    if queue["kind"] == "red":
        return units.parse_time(queue["min"]) / 1e3
    return float(queue["mark_min"] * 8e6 / rate_bps(run))


def matching(
    table: pl.DataFrame, marking: str | None, sender: str | None, cases: Sequence[str] | None
) -> pl.DataFrame:
    """The rows that a claim is about; None: any."""
    chosen = table
    for column, value in (("marking", marking), ("sender", sender)):
        if value is not None:
            chosen = chosen.filter(pl.col(column) == value)
    return chosen if cases is None else chosen.filter(pl.col("case").is_in(cases))
