"""From records to series, on examples small enough to work out by hand."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import SandglassError
from sandglass.results import series
from tests.pipeline.synthetic import document, packets, run, write


def lengths(rows: list[tuple[int, int | None, int | None]]) -> list[tuple[int, int]]:
    changes = series.backlog(packets(rows).lazy())
    return list(changes.select("time_ns", "packets").iter_rows())


def test_backlog_counts_from_enqueue_to_dequeue() -> None:
    """Two packets overlap from 20 to 30."""
    assert lengths([(10, 30, None), (20, 50, None)]) == [(10, 1), (20, 2), (30, 1), (50, 0)]


def test_the_mean_backlog_over_a_time() -> None:
    changes = pl.DataFrame({"time_ns": [5, 20, 40], "packets": [4, 2, 8]})
    assert series.mean_backlog(changes, 10, 30) == 3
    assert series.mean_backlog(changes, 0, 10) == 2


def test_backlog_in_bytes() -> None:
    changes = series.backlog(packets([(10, 30, None), (20, 50, None)]).lazy())
    assert changes["bytes"].to_list() == [1514, 3028, 1514, 0]


def test_a_packet_dropped_at_dequeue_was_in_the_queue() -> None:
    assert lengths([(10, None, 40), (20, 50, None)]) == [(10, 1), (20, 2), (40, 1), (50, 0)]


def test_a_packet_refused_on_arrival_was_not() -> None:
    assert lengths([(10, 30, None), (20, None, 20)]) == [(10, 1), (30, 0)]


def test_a_packet_still_queued_at_the_end_stays() -> None:
    assert lengths([(10, 30, None), (20, None, None)]) == [(10, 1), (20, 2), (30, 1)]


def test_one_leaves_as_another_comes() -> None:
    """At 30 the queue never was empty: changes of the same instant are one."""
    assert lengths([(10, 30, None), (30, 50, None)]) == [(10, 1), (30, 1), (50, 0)]


def test_a_queue_that_nobody_entered() -> None:
    with pytest.raises(SandglassError, match="no packet was ever queued"):
        series.backlog(packets([(20, None, 20)]).lazy())


def test_bins_keep_what_happens_between_samples() -> None:
    """Bins of 100: 1 packet from 10 to 150, a second from 20 to 30; empty from 150 on."""
    changes = series.backlog(packets([(10, 150, None), (20, 30, None)]).lazy())
    bins = series.binned(changes, 100, 300)
    assert bins.to_dict(as_series=False) == {
        "start_ns": [0, 100, 200],
        "least": [0, 0, 0],
        "mean": [1.0, 0.5, 0.0],  # (90 * 1 + 10 * 1) / 100, 50 / 100, 0
        "largest": [2, 1, 0],
    }


def test_a_bin_without_a_change_carries_the_length() -> None:
    changes = series.backlog(packets([(50, 950, None)]).lazy())
    bins = series.binned(changes, 100, 1000)
    assert bins["least"].to_list() == [0, *[1] * 8, 0]
    assert bins["mean"].to_list() == [0.5, *[1.0] * 8, 0.5]


def test_the_last_bin_may_be_short() -> None:
    changes = series.backlog(packets([(0, 1000, None)]).lazy())
    bins = series.binned(changes, 100, 250)
    assert bins["start_ns"].to_list() == [0, 100, 200]
    assert bins["mean"].to_list() == [1.0, 1.0, 1.0]


stays = st.lists(
    st.tuples(st.integers(0, 900), st.integers(1, 100)).map(lambda s: (s[0], s[0] + s[1], None)),
    min_size=1,
    max_size=30,
)


@given(stays, st.integers(1, 400))
def test_bins_hold_all_time_spent_in_the_queue(
    rows: list[tuple[int, int | None, int | None]], step: int
) -> None:
    """Little's law over the whole run: the queue's integral is the sum of sojourn times."""
    bins = series.binned(series.backlog(packets(rows).lazy()), step, 1000)
    widths = [min(step, 1000 - start) for start in bins["start_ns"]]
    integral = sum(mean * width for mean, width in zip(bins["mean"], widths, strict=True))
    assert integral == pytest.approx(sum((left or 0) - came for came, left, _ in rows))
    assert (bins["least"] <= bins["mean"]).all()
    assert (bins["mean"] <= bins["largest"]).all()


def test_congestion_events() -> None:
    assert series.congestion_events(pl.Series([9.0, 1.0, 1.2, 2.1, 5.0]), 1.0) == [1.0, 5.0, 9.0]
    assert series.congestion_events(pl.Series([], dtype=pl.Float64), 1.0) == []


def test_load(tmp_path: Path) -> None:
    write(tmp_path / "run", document(), packets([(0, 1, None)]))
    loaded = series.load(tmp_path / "run", {"rtt": "20ms"})
    assert loaded.field("flows.0.goodput_mbit") == 9.0
    assert loaded.time_ns("experiment.rtt") == 200_000_000
    assert loaded.rate_bps("experiment.bottleneck.rate") == 10_000_000
    assert loaded.records("packets").collect().height == 1
    with pytest.raises(SandglassError, match=r"acks\.parquet is missing"):
        loaded.records("acks")


@pytest.mark.parametrize("path", ["flows.1.id", "flows.x", "bottleneck.utilization", "seed.x"])
def test_a_missing_field_is_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(SandglassError, match=path):
        run(tmp_path, {}).field(path)


def test_what_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(SandglassError, match="No such file"):
        series.load(tmp_path, {})
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(SandglassError, match="is not JSON"):
        series.load(tmp_path, {})
    (tmp_path / "run.json").write_text(json.dumps(document(format=2)))
    with pytest.raises(SandglassError, match="format 2"):
        series.load(tmp_path, {})


def test_tidy(tmp_path: Path) -> None:
    runs = [run(tmp_path, {"rtt": "20ms"}, seed=1), run(tmp_path, {"rtt": "40ms"}, seed=2)]
    table = series.tidy(runs, {"seed": "seed", "p95_ms": "bottleneck.queue_delay_ms.p95"})
    assert table.to_dicts() == [
        {"rtt": "20ms", "seed": 1, "p95_ms": 9.0},
        {"rtt": "40ms", "seed": 2, "p95_ms": 9.0},
    ]
    with pytest.raises(SandglassError, match="no run"):
        series.tidy([], {})


def test_tables_along_an_axis(tmp_path: Path) -> None:
    """In the order of the runs; what only some of the tables have is null in the others."""
    runs = [series.Run(tmp_path, {"window": n}, {}) for n in (10, 3, 10)]

    def table(some: Sequence[series.Run]) -> pl.DataFrame:
        return pl.DataFrame({"runs": [len(some)], **({"alone": [1]} if len(some) == 1 else {})})

    assert series.along(runs, "window", table).to_dicts() == [
        {"runs": 2, "window": 10, "alone": None},
        {"runs": 1, "window": 3, "alone": 1},
    ]


# A queue and what its counters said at eight times.
SAMPLES = pl.DataFrame(
    {
        "time_ns": [10, 20, 30, 40, 50, 60, 70, 80],
        "backlog_packets": pl.Series([1, 5, 9, 2, 3, 4, 8, 1], dtype=pl.UInt32),
        "sent_bytes": pl.Series([100, 200, 300, 400, 450, 500, 600, 700], dtype=pl.UInt64),
        "drops": pl.Series([0, 1, 2, 2, 2, 2, 3, 3], dtype=pl.UInt32),
        "ecn_mark": pl.Series([0, 0, 0, 0, 1, 1, 1, 1], dtype=pl.UInt32),
    }
)


def test_increments() -> None:
    assert series.increments(SAMPLES, ["drops"]).to_list() == [20, 30, 70]
    assert series.increments(SAMPLES, ["drops", "ecn_mark"]).to_list() == [20, 30, 50, 70]


def test_sawteeth() -> None:
    """Largest from the tooth's begin on, before the next one's; what was sent in between."""
    teeth = series.sawteeth(SAMPLES, [20, 50, 70])
    assert teeth.rows() == [(20, 50, 9, 250), (50, 70, 4, 150)]


@pytest.mark.parametrize("events", [[], [20]])
def test_fewer_than_two_events_make_no_tooth(events: list[float]) -> None:
    assert series.sawteeth(SAMPLES, events).is_empty()


def test_utilisation_over_saw_teeth() -> None:
    """At 80 Gb/s 10 bytes leave per ns; three teeth in pairs make one, the third is left over."""
    teeth = pl.DataFrame(
        {"begin_ns": [0, 10, 40], "end_ns": [10, 40, 50], "sent_bytes": [100, 100, 100]}
    )
    assert series.utilisation(teeth, 80 * 10**9, 1).to_list() == pytest.approx([1, 1 / 3, 1])
    assert series.utilisation(teeth, 80 * 10**9, 2).to_list() == pytest.approx([0.5])
    assert series.utilisation(teeth, 80 * 10**9, 4).is_empty()


def test_bytes_departed() -> None:
    """A packet that leaves at a step's end counts to the next; what is dropped never left."""
    sent = packets([(0, 5, None), (0, 10, None), (0, None, 12), (3, 29, None), (4, None, None)])
    departed = series.bytes_departed(sent.lazy(), 10, 40)
    assert departed.rows() == [(10, 1514), (20, 3028), (30, 4542), (40, 4542)]


def test_back_offs() -> None:
    """Each new threshold is a back-off, the first one from infinity too."""
    acks = pl.DataFrame(
        {"time_ns": [1, 2, 3, 4, 5], "ssthresh_packets": [None, 50, 50, 25, 25]},
        schema={"time_ns": pl.Int64, "ssthresh_packets": pl.UInt32},
    )
    assert series.back_offs(acks.lazy()).rows() == [(2, 50), (4, 25)]


def test_first_in_a_row() -> None:
    events = pl.DataFrame({"time_ns": [5, 7, 10, 20, 21]})
    assert series.first_in_a_row(events, 10)["time_ns"].to_list() == [5, 7, 10]
    assert series.first_in_a_row(events, 3)["time_ns"].to_list() == [5, 7]
    assert series.first_in_a_row(events.clear(), 3).is_empty()


def test_records_of_a_run_whose_name_has_brackets(tmp_path: Path) -> None:
    """A list among a run's settings stands in its directory's name."""
    directory = tmp_path / "record=[acks, goodput]"
    write(directory, document(), packets([(0, 1, None)]))
    assert len(series.load(directory, {}).records("packets").collect()) == 1
