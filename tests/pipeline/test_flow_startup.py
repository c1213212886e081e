"""The figures on flow startup: their reduction of runs and their metrics, worked out by hand."""

import functools
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.flow_startup import (
    page,
    pub1,
    pub2,
    pub3,
    pub4,
    transients,
    why_bursts,
    why_link_rate,
    why_rack,
)
from sandglass.papers import claims
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, measured, packets, value, write

MS = 10**6
BURSTS = "unpaced"


def made(directory: Path, *, experiment: str = "pub4-codel", seed: int = 1) -> Run:
    """Two flows of one server; the first leaves slow start at 100 ms, the second never does."""
    directory.mkdir(parents=True)
    packets = [
        (1, 10, 5),
        (1, 90, 30),
        (1, 101, 80),  # beyond slow start
        (2, 300, 40),
        (2, 310, None),  # dropped
    ]
    pl.DataFrame(
        [
            ("bottleneck", "forward", 80, dport, at * MS, None if wait is None else wait * MS)
            for dport, at, wait in packets
        ],
        schema=["bottleneck", "direction", "sport", "dport", "enqueue_ns", "sojourn_ns"],
        orient="row",
    ).write_parquet(directory / "packets.parquet")
    pl.DataFrame(
        [(80, *ack) for ack in ((1, 50 * MS, None), (1, 100 * MS, 20), (1, 150 * MS, 10))]
        + [(80, 2, 400 * MS, None)],
        schema={
            "sport": pl.Int64,
            "dport": pl.Int64,
            "time_ns": pl.Int64,
            "ssthresh_packets": pl.UInt32,
        },
        orient="row",
    ).write_parquet(directory / "acks.parquet")
    pl.DataFrame({"fct_s": [1.0, 2.0]}).write_parquet(directory / "flows.parquet")
    content: dict[str, Any] = document(seed=seed)
    content["experiment"]["flows"] = [{"count": 2}]
    return Run(directory, {"experiment": experiment, "senders": "unpaced"}, content)


def test_only_waits_in_slow_start_count(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    assert transients.slow_start_ends(run).rows() == [(80, 1, 100 * MS)]
    assert transients.longest_wait_ms(run) == 40
    assert transients.completion(run) == {"fct_s": 1.5, "slowest_s": 2.0}


def test_pub4_table_means_over_seeds_and_relates_to_the_optimum(tmp_path: Path) -> None:
    runs = [made(tmp_path / f"{seed}", seed=seed) for seed in (1, 2)]
    runs.append(made(tmp_path / "fifo", experiment="pub4-fifo"))
    rows = pub4.table(runs).to_dicts()
    assert [(row["queue"], row["seeds"]) for row in rows] == [("CoDel", 2), ("FIFO", 1)]
    assert rows[0]["fct_ratio"] == rows[0]["peak_ms"] / 40 == 1
    assert (rows[0]["flows"], rows[0]["rtt_ms"]) == (2, 200)


def test_a_pages_table(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    content = {**run.document, "flows": [{"plt_s": 1.5}]}
    table = page.table([Run(run.directory, {"queue": page.PREDICT}, content)])
    assert table.rows() == [(page.PREDICT, 200, 40.0, 1.5)]


def test_a_page_against_the_best_built_in() -> None:
    table = pl.DataFrame(
        [
            ("CoDel", 50.0, 40.0),
            ("PIE", 50.0, 30.0),
            ("PI2", 50.0, 1.0),  # not in mainline
            (page.PREDICT, 50.0, 45.0),
            ("CoDel", 400.0, 10.0),
            (page.PREDICT, 400.0, 30.0),
        ],
        schema=["queue", "rtt_ms", "peak_ms"],
        orient="row",
    )
    assert value(page.over_best_built_in(table, "peak_ms", 0, 100)) == 1.5
    assert value(page.over_best_built_in(table, "peak_ms", 0, 1000)) == 3
    assert page.over_best_built_in(table, "peak_ms", 500, 1000) is None


TABLE = pl.DataFrame(
    [
        ("CoDel", BURSTS, 1, 20.0, 50.0, 1.0),
        ("CoDel", BURSTS, 1, 100.0, 90.0, 1.2),
        ("CoDel", BURSTS, 1, 400.0, 60.0, 1.5),
        ("CoDel", BURSTS, 4, 400.0, 160.0, 1.4),
        ("CoDel", "paced", 1, 100.0, 180.0, 1.1),
        ("Predict", BURSTS, 1, 20.0, 10.0, 1.0),
        ("Predict", BURSTS, 1, 100.0, 45.0, 1.01),
        ("Predict", BURSTS, 1, 400.0, 180.0, 1.02),
        ("Predict", "paced", 1, 100.0, 9.0, 1.01),
    ],
    schema=["queue", "senders", "flows", "rtt_ms", "peak_ms", "fct_ratio"],
    orient="row",
)


def test_pub4_metrics() -> None:
    delay_ratio = functools.partial(
        measured,
        pub4,
        "delay_ratio",
        TABLE,
        queue="Predict",
        over="CoDel",
        rtt_from=0,
        senders=BURSTS,
    )
    assert delay_ratio(rtt_to=150) == 0.5
    assert delay_ratio(rtt_to=1000) == 3
    # 0.2, 0.5 and 3
    assert (
        measured(
            pub4,
            "typical_delay_ratio",
            TABLE,
            queue="Predict",
            over="CoDel",
            rtt_from=0,
            rtt_to=1000,
            senders=BURSTS,
        )
        == 0.5
    )
    # 60 and 160 ms at 400 ms: 98; 50 at 20 ms, 90 at 100 ms
    assert value(pub4.peak_margin(TABLE, "CoDel", 100, 100, 200)) == pytest.approx(90 / 9600**0.5)
    one = TABLE.filter(pl.col("flows") == 1)
    assert value(pub4.peak_margin(one, "CoDel", 100, 100, 200)) == pytest.approx(1.5)
    assert value(pub4.peak_margin(one, "CoDel", 100, 100, 400)) == pytest.approx(1.8)
    assert measured(pub4, "least_wait", TABLE, queue="CoDel", rtt_to=100) == 50
    assert (
        measured(
            pub4,
            "completion_ratio",
            TABLE,
            queue="CoDel",
            rtt_from=200,
            rtt_to=1000,
            senders=BURSTS,
        )
        == 1.5
    )
    assert measured(
        pub4, "typical_completion", TABLE, queue="CoDel", rtt_from=200, rtt_to=1000, senders=BURSTS
    ) == pytest.approx(1.45)
    assert measured(pub4, "wait_in_rtts", TABLE, queue="Predict", rtt_from=100) == 0.45
    assert pub4.pacing_effect(TABLE, "CoDel", 100, "paced") == 2
    assert pub4.pacing_effect(TABLE, "Predict", 100, "paced") == pytest.approx(0.2)


def test_pub4_against_the_best_rival_of_each_case() -> None:
    table = pl.concat(
        [TABLE, TABLE.filter(queue="CoDel").with_columns(pl.lit("PIE").alias("queue"))]
    ).with_columns(peak_ms=pl.when(queue="PIE", rtt_ms=20.0).then(5.0).otherwise(pl.col("peak_ms")))
    # 5 over 10, 90 over 45, 60 over 180 ms
    assert pub4.share_below_rivals(table, "Predict") == pytest.approx(100 / 3)
    assert pub4.share_below(table, "Predict", 0.5) == pytest.approx(200 / 3)
    assert pub4.share_below(table, "Predict", 2, ["CoDel"], rtt_to=150) == 100
    assert pub4.share_below(table, "Predict", 2.1, ["CoDel"], rtt_to=150) == 50
    assert pub4.share_below(table, "Predict", 2, ["SFQ-CoDel"]) is None


def test_pub4_completion_over_the_best_rivals_of_each_case() -> None:
    table = TABLE.with_columns(fct_s=pl.col("fct_ratio"))
    # one flow: 1.0, 1.01 over 1.2, 1.02 over 1.5
    assert pub4.completion_over_best(table, "Predict") == 1
    assert pub4.completion_over_best(table.filter(pl.col("rtt_ms") > 20), "Predict") == (
        pytest.approx(1.01 / 1.2)
    )


def test_pub4_without_data_has_no_value() -> None:
    assert (
        measured(
            pub4,
            "delay_ratio",
            TABLE,
            queue="Predict",
            over="PIE",
            rtt_from=0,
            rtt_to=1000,
            senders=BURSTS,
        )
        is None
    )
    assert (
        measured(
            pub4,
            "typical_delay_ratio",
            TABLE,
            queue="Predict",
            over="PIE",
            rtt_from=0,
            rtt_to=1000,
            senders=BURSTS,
        )
        is None
    )
    assert value(pub4.peak_margin(TABLE, "PIE", 100, 100, 200)) is None
    assert measured(pub4, "least_wait", TABLE, queue="PIE", rtt_to=1000) is None
    assert (
        measured(
            pub4,
            "completion_ratio",
            TABLE,
            queue="CoDel",
            rtt_from=500,
            rtt_to=1000,
            senders=BURSTS,
        )
        is None
    )
    assert (
        measured(
            pub4,
            "typical_completion",
            TABLE,
            queue="CoDel",
            rtt_from=500,
            rtt_to=1000,
            senders=BURSTS,
        )
        is None
    )
    assert measured(pub4, "wait_in_rtts", TABLE, queue="Predict", rtt_from=500) is None
    assert pub4.pacing_effect(TABLE, "CoDel", 200, "paced") is None


def arrivals(directory: Path, dropped_ms: list[int | None]) -> Run:
    """Packets that come each 10 ms and wait 4, 8, ... ms, or are dropped at a time; after 20 ms by
    the AQM."""
    directory.mkdir(parents=True)
    rows = [
        ("bottleneck", "forward", 10 * n * MS, None if d is None else d * MS,
         4 * (n + 1) * MS if d is None else None,
         None if d is None else "overlimit" if d <= 20 else "aqm_dequeue")
        for n, d in enumerate(dropped_ms)
    ]  # fmt: skip
    pl.DataFrame(
        rows,
        schema={
            "bottleneck": pl.String,
            "direction": pl.String,
            "enqueue_ns": pl.Int64,
            "drop_ns": pl.Int64,
            "sojourn_ns": pl.Int64,
            "drop": pl.String,
        },
        orient="row",
    ).write_parquet(directory / "packets.parquet")
    return Run(directory, {}, document())


def test_losses_in_a_row_and_soon(tmp_path: Path) -> None:
    run = arrivals(tmp_path / "run", [None, 10, 20, None, 30, None, 400])
    assert transients.losses(run) == {"lost": 4, "in_a_row": 1, "soon": 1}
    assert transients.waits(run)["delay_ms"] == pytest.approx((4 + 16 + 24) / 3)
    none = arrivals(tmp_path / "none", [None, None])
    assert transients.losses(none) == {"lost": 0, "in_a_row": 0, "soon": 0}


LOSSES = pl.DataFrame(
    [
        ("HRED", 83, 1, 0.0, 10.0, 1.0, 0.0),
        ("HRED", 248, 16, 2.0, 40.0, 4.0, 3.0),
        ("Taildrop", 83, 1, 50.0, 50.0, 20.0, 0.0),
        ("Taildrop", 248, 16, 30.0, 30.0, 30.0, 2.0),
    ],
    schema=["queue", "buffer", "flows", "overflow", "lost", "in_a_row", "rtos"],
    orient="row",
)


def test_pub2_metrics() -> None:
    assert measured(pub2, "most", LOSSES, queue="HRED", column="overflow") == 2
    assert measured(pub2, "most", LOSSES, queue="Taildrop", column="overflow") == 50
    assert measured(pub2, "most", LOSSES, queue="RED", column="overflow") is None
    assert (
        measured(pub2, "total_ratio", LOSSES, queue="HRED", over="Taildrop", column="in_a_row")
        == 0.1
    )
    assert (
        measured(
            pub2,
            "total_ratio",
            LOSSES.filter(flows=1),
            queue="HRED",
            over="Taildrop",
            column="rtos",
        )
        is None
    )


def test_pub2_least_of_the_cases_that_are_named() -> None:
    least = partial(pub2.least_of, LOSSES, "Taildrop", "rtos")
    assert value(least(cases=[(248, 16)])) == 2
    assert value(least(cases=[(248, 16), (83, 1)])) == 0
    assert least(cases=[(83, 16)]) is None


DELAYS = pl.DataFrame(
    [
        ("HRED", 10.0, 1, 30.0, 10.0, 5.0),
        ("HRED", 10.0, 16, 60.0, 30.0, 40.0),
        ("CoDel", 10.0, 1, 20.0, 8.0, 2.0),
        ("CoDel", 10.0, 16, 120.0, 70.0, 3.0),
        ("CoDel", 1.0, 16, 500.0, 90.0, 3.0),
    ],
    schema=["queue", "rate_mbit", "flows", "high_ms", "delay_ms", "soon"],
    orient="row",
)


def test_pub3_metrics() -> None:
    assert (
        measured(pub3, "high_ratio", DELAYS, queue="HRED", over="CoDel", flows_from=4, rate_mbit=10)
        == 0.5
    )
    assert (
        measured(pub3, "high_ratio", DELAYS, queue="HRED", over="CoDel", flows_from=1, rate_mbit=10)
        == 1.5
    )
    assert (
        measured(pub3, "high_ratio", DELAYS, queue="HRED", over="CoDel", flows_from=1, rate_mbit=1)
        is None
    )
    assert pub3.growth(DELAYS, "CoDel", "soon", 16, 1, 10) == 1.5
    assert pub3.growth(DELAYS, "CoDel", "soon", 16, 4, 10) is None
    assert measured(pub3, "mean_delay", DELAYS, queue="CoDel", flows=16, rate_mbit=1) == 90
    assert measured(pub3, "mean_delay", DELAYS, queue="PIE", flows=16, rate_mbit=1) is None


def test_one_measure_says_who_scales() -> None:
    """That CoDel does not, and HRED does, are judged by the same flows and the same bound."""
    known = {claim.id: claim for claim in claims.claims("flow_startup", "pub3")}
    one, other = known["codel-does-not-scale"], known["hred-scales"]
    assert one.metric == other.metric
    assert one.arguments | {"queue": "HRED"} == other.arguments
    assert one.bounds
    assert other.bounds
    assert one.bounds.below == other.bounds.at_least


CALLS = pl.DataFrame(
    [
        (40.0, 3, 1, 100.0, 20.0, 80.0),
        (40.0, 3, 2, 150.0, 30.0, 90.0),
        (40.0, 3, 6, 300.0, 40.0, 120.0),
        (40.0, 10, 1, 150.0, 60.0, 120.0),
        (40.0, 10, 6, 600.0, 90.0, 400.0),
    ],
    schema=["size_kb", "initial_window", "flows", "longest_ms", "jump_ms", "first_rtt_ms"],
    orient="row",
)


def test_pub1_metrics() -> None:
    assert pub1.one_over_many(CALLS, "longest_ms", 40) == 0.5
    assert pub1.one_over_many(CALLS, "jump_ms", 40) == 1.5
    assert pub1.one_over_many(CALLS, "jump_ms", 100) is None
    assert value(pub1.grows_with_flows(CALLS, "longest_ms", 3)) == pytest.approx(1)
    assert measured(pub1, "larger_window_ratio", CALLS, column="jump_ms", flows=1) == 3
    assert measured(pub1, "beyond_the_initial_window", CALLS, initial_window=10) == 1.25
    calm = CALLS.with_columns(calm_ms=pl.lit(40.0))
    assert value(pub1.over_calm(calm, 3, 0)) == 2
    assert value(pub1.over_calm(calm, 3, 2)) == 3
    assert (
        measured(pub1, "most_delayed", CALLS, column="longest_ms", initial_window=3, flows_to=2)
        == 150
    )
    assert (
        measured(pub1, "least_delayed", CALLS, column="longest_ms", initial_window=10, flows_from=2)
        == 600
    )
    assert (
        measured(pub1, "least_delayed", CALLS, column="longest_ms", initial_window=10, flows_from=8)
        is None
    )


def test_pub1_table(tmp_path: Path) -> None:
    """The web flow starts at 2 s; its initial window has come by 2.3 s, with an RTT of 100 ms."""
    call = [(1000, 50), (1990, 51), (2000, 60), (2200, 90), (2400, 300), (2600, 290)]
    pl.DataFrame(
        [(sent * MS, delay * MS) for sent, delay in call],
        schema=["sent_ns", "delay_ns"],
        orient="row",
    ).with_columns(ipdv_ns=pl.col("delay_ns").diff()).write_parquet(tmp_path / "media.parquet")
    content = document()
    content["experiment"] |= {
        "rtt": "100ms",
        "hosts": {"s2": {"initcwnd": 3}},
        "flows": [{}, {"start": "2s", "start_within": "100ms", "size": "40kB", "count": 2}],
    }
    (row,) = pub1.table([Run(tmp_path, {}, content)]).to_dicts()
    assert (row["size_kb"], row["initial_window"], row["flows"]) == (40, 3, 2)
    assert (row["calm_ms"], row["longest_ms"], row["first_rtt_ms"]) == (51, 300, 90)
    assert (row["jump_ms"], row["lost"]) == (210, 0)


def test_one_queues_wait_over_anothers_by_rate() -> None:
    table = pl.DataFrame(
        {
            "queue": ["Predict", "CoDel"] * 3,
            "rate_mbit": [10.0, 10.0, 20.0, 20.0, 50.0, 50.0],
            "peak_ms": [30.0, 20.0, 8.0, 10.0, 1.0, 4.0],
        }
    )
    assert why_link_rate.delay_ratio(table, "Predict", "CoDel", 10) == pytest.approx(1.5)
    assert why_link_rate.delay_ratio(table, "Predict", "CoDel", 20) == pytest.approx(0.8)


def test_losses_near_another(tmp_path: Path) -> None:
    """Lost are the first, second, fourth and ninth packet: 1, 2 and 5 arrivals after another."""
    rows = [(at, None, at) if at in (1, 2, 4, 9) else (at, at + 5, None) for at in range(1, 12)]
    content = document()
    content["experiment"]["flows"] = [{"count": 2}]
    content["experiment"]["bottleneck"]["queue"]["limit"] = 83
    write(tmp_path / "run", content, packets(rows))
    axes = {"experiment": "pub2-fifo"}
    table = why_bursts.table([Run(tmp_path / "run", axes, content)])
    assert table["lost"].to_list() == [1, 2, 2, 2, 3, 3, 3, 3]
    half = table.with_columns(pl.col("lost") / 2, queue=pl.lit("HRED"))
    both = pl.concat([table, half], how="vertical_relaxed")
    assert measured(why_bursts, "ratio", both, queue="HRED", over="Taildrop", gap=2) == 0.5
    assert measured(why_bursts, "ratio", both, queue="HRED", over="PIE", gap=2) is None


def test_timeouts_of_one_recovery() -> None:
    table = pl.DataFrame(
        {
            "queue": ["Recommended RED"] * 3,
            "recovery": ["RACK", "none", "none"],
            "buffer": [83] * 3,
            "flows": [4, 4, 1],
            "rtos": [1.0, 4.0, 0.0],
        }
    )
    assert value(why_rack.least_of(table, "RACK", "rtos", [(83, 4)])) == 1
    assert value(why_rack.least_of(table, "none", "rtos", [(83, 4)])) == 4


def test_pub4_of_few_flows() -> None:
    few = pub4.peak_margin(TABLE, "CoDel", 100, 100, 200, flows_to=1)
    assert value(few) == pytest.approx(1.5)
    many = pub4.peak_margin(TABLE, "CoDel", 400, 100, 200, flows_from=4)
    assert value(many) == 1
    assert pub4.share_below(TABLE, "Predict", 2, ["CoDel"], rtt_to=150, flows_to=0) is None
