"""What the figures on load transients measure in a run."""

import polars as pl

from sandglass import traces


def slow_start_ends(run: traces.Run) -> pl.DataFrame:
    """When each sender left slow start: `sport`, `left_ns`, of those that did.

    A sender leaves it when it first sets its slow-start threshold, and not before.
    """
    acks = run.records("acks").filter(pl.col("ssthresh_packets").is_not_null())
    return acks.group_by("sport").agg(left_ns=pl.col("time_ns").min()).collect()


def longest_wait_ms(run: traces.Run) -> float:
    """The longest wait in the queue of packets that came while their flow was in slow start, ms.

    Samples of flows in congestion avoidance are kept out, as in the publications.
    """
    data = traces.forward(run).filter(pl.col("sojourn_ns").is_not_null()).collect()
    ends = slow_start_ends(run)
    early = data.join(ends, on="sport", how="left").filter(
        pl.col("left_ns").is_null() | (pl.col("enqueue_ns") <= pl.col("left_ns"))
    )
    longest = early["sojourn_ns"].max()
    assert isinstance(longest, int)  # a flow's first packets are in slow start
    return longest / 1e6


def completion(run: traces.Run) -> dict[str, float]:
    """The flows' completion times: their mean `fct_s`, and `slowest_s`."""
    times = run.records("flows").select("fct_s").collect()["fct_s"]
    mean, slowest = times.mean(), times.max()
    assert isinstance(mean, float)
    assert isinstance(slowest, float)
    return {"fct_s": mean, "slowest_s": slowest}


def flow_label(table: pl.DataFrame, column: str) -> pl.Expr:
    """A number of flows as a panel names it, such as '4 flows', in the order of the numbers."""
    numbers = table[column].unique().sort()
    names = {number: f"{number} flow{'s' if number > 1 else ''}" for number in numbers}
    return pl.col(column).replace_strict(names, return_dtype=pl.Enum(list(names.values())))
