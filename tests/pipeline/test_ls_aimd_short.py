"""LS-AIMD's figures of short runs: what they make of ACKs and packets, and their metrics."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.ls_aimd import (
    as_reno,
    bursts,
    eviction,
    fair_windows,
    max_p,
    regime,
    rules,
    segments,
    slices,
    stretch,
    why_apart,
    why_held,
    why_recorder,
    why_states,
    why_stretch,
    why_timeouts,
    why_wait,
    windows_open,
)
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, measured, value

US, MS = 10**3, 10**6
SLOW, FULL = "LS-AIMD, C = 1/128", "LS-AIMD, C = 1"
STEP = {"kind": "dualred", "mark_min": 2500}
WINDOWS = (467.0, 487.0, 487.0 + 9340 / 487, 250.0)
"""Half a segment of 934 bytes, which grows by 10 · 934 / W, and is halved once."""


def made(
    directory: Path,
    sender: str = SLOW,
    marking: str = "step",
    per_ack: int = 1,
    marks: Sequence[int] = (2, 2, 2, 2),
    **axes: str,
) -> Run:
    """A flow on 80 Mb/s with an RTT of 500 us for 20 ms, of which the second half counts.

    Its four segments of 934 bytes are 2 ms apart, find one packet of 100 us, wait for 100 us, and
    take 100 us; of `per_ack` of them the last one is answered 50 us after it arrived. Their ECN
    fields are `marks`.
    """
    directory.mkdir(parents=True)
    starts = [(11 + 2 * number) * MS for number in range(4)]
    pl.DataFrame(
        {
            "enqueue_ns": starts,
            "dequeue_ns": [start + 100 * US for start in starts],
            "drop_ns": pl.Series([None] * 4, dtype=pl.Int64),
            "seq": [(1 << 32) - 934, 0, 934, 1868],
            "ecn_out": list(marks),
        }
    ).with_columns(
        bottleneck=pl.lit("bottleneck"),
        direction=pl.lit("forward"),
        flow=pl.lit(1, pl.UInt16),
        sojourn_ns=pl.lit(100 * US),
        size_bytes=pl.lit(1000, pl.UInt32),
        payload_bytes=pl.lit(934, pl.UInt32),
        queue_packets=pl.lit(1, pl.UInt32),
        queue_bytes=pl.lit(1000, pl.UInt32),
        seq=pl.col("seq").cast(pl.UInt32),
    ).write_parquet(directory / "packets.parquet")
    acks = range(0, 5, per_ack)
    pl.DataFrame(
        {
            "time_ns": [starts[min(n + per_ack - 1, 3)] + 750 * US for n in acks],
            "bytes_acked": [1 + 934 * n for n in acks],
            "delivered_packets": [1 + n for n in acks],
            "window_bytes": [(*WINDOWS, 250.0)[n] for n in acks],
            "threshold_bytes": [400.0 if n < 3 else 253.0 for n in acks],
        }
    ).with_columns(
        flow=pl.lit(1, pl.UInt16),
        delivered_ce_packets=pl.lit(0),
        increase_bytes=pl.lit(10.0),
        pacing_rate_bytes_s=pl.col("window_bytes") / 700e-6,
        ssthresh_packets=pl.lit(2),
        cwnd_packets=pl.lit(2),
        srtt_us=pl.lit(800),
    ).write_parquet(directory / "acks.parquet")
    content: dict[str, Any] = document()
    content["experiment"] |= {
        "duration": "20ms",
        "rtt": "500us",
        "bottleneck": {"rate": "80mbit", "queue": STEP},
        "hosts": {"s1": {"mtu": 986}},
    }
    content["flows"] = [{"rtos": 3}, {"rtos": 1}]
    axis = "reno" if marking == "ramp" else "dctcp"
    names = {"experiment": f"short-{marking}", "case": "4E", axis: sender, **axes}
    return Run(directory, names, content)


def test_an_ack_is_late_by_what_its_receiver_takes(tmp_path: Path) -> None:
    found = segments.acknowledged(made(tmp_path / "each"))
    assert found["end"].to_list() == [934, 1868, 2802, 3736]  # across the end of the numbers
    assert found["path_ns"].to_list() == [700 * US] * 4
    assert found["late_ns"].to_list() == [50 * US] * 4
    two = stretch.table([made(tmp_path / "two", per_ack=2, acks="delayed")]).to_dicts()[0]
    assert (two["per_ack"], two["late_us"], two["delay_us"]) == (2, 50, 100)


@pytest.mark.parametrize(
    ("marks", "at_change"),
    [
        ((2, 2, 2, 2), [False] * 4),
        ((2, 2, 2, 3), [False, False, True, True]),
        ((2, 3, 3, 3), [True, True, False, False]),
        ((3, 3, 2, 3), [False, True, True, True]),
    ],
)
def test_an_ack_lies_at_a_change_of_marks(
    tmp_path: Path, marks: Sequence[int], at_change: list[bool]
) -> None:
    run = made(tmp_path / "each", marks=marks, acks="delayed")
    assert segments.acknowledged(run)["at_change"].to_list() == at_change
    table = stretch.table([run])
    assert measured(stretch, "least_per_ack", table, column="per_ack_else") == 1


def test_rules_of_growth_and_pace(tmp_path: Path) -> None:
    row = rules.table([made(tmp_path / "slow")]).to_dicts()[0]
    assert row["growth_waiting"] == pytest.approx(1)
    assert row["growth_open"] is None
    assert row["least_wait"] == 1
    assert row["srtt_pace"] == pytest.approx(1)
    # after each ACK but the last the next segment is 2 ms behind; answers take 750 us
    assert row["gap"] == pytest.approx(2000 / (934 / (WINDOWS[1] + WINDOWS[2]) * 2 * 750), rel=1e-3)


def test_reno_halves(tmp_path: Path) -> None:
    row = rules.table([made(tmp_path / "reno", marking="ramp")]).to_dicts()[0]
    assert row["reduction_bytes"] == pytest.approx(WINDOWS[2] / 2 - 253)


def test_alpha_follows_the_marks_of_each_round() -> None:
    acks = pl.DataFrame(
        {
            "time_ns": [5, 15, 25],
            "new_bytes_acked": [1001, 2001, 3001],
            "new_delivered_packets": [1, 2, 3],
            "new_delivered_ce_packets": [0, 1, 1],
        }
    )
    sent = pl.DataFrame({"enqueue_ns": [0, 10, 20], "end": [1000, 2000, 3000]})
    first = 15 / 16
    second = first * 15 / 16 + 1 / 16
    assert rules.alphas(acks, sent).tolist() == pytest.approx([first, second, second * 15 / 16])


def test_aimd_has_a_threshold_in_segments(tmp_path: Path) -> None:
    table = rules.table([made(tmp_path / "aimd", "AIMD")])
    assert measured(rules, "least", table, column="least_ssthresh") == 2
    ratios = pl.DataFrame({"gap": [0.9, None, 1.05]})
    assert measured(rules, "from_one", ratios, column="gap") == pytest.approx(0.1)
    assert measured(rules, "most", ratios, column="gap") == 1.05


def test_regime_by_fair_window(tmp_path: Path) -> None:
    run = made(tmp_path / "slow")
    # 80 Mb/s for 750 us are 7500 bytes, for two flows, of frames of 1004 bytes
    assert regime.fair_window(run, 250) == pytest.approx(7500 / 2 / 1004)
    table = pl.DataFrame(
        {
            "path": ["a", "b", "c"],
            "fair_window": [0.5, 5.0, 0.8],
            "window": [2.0, 5.5, 2.0],
            "delay": [4.0, 1.2, 3.0],
        }
    )
    assert measured(regime, "least_delay", table, below=1) == 3
    assert measured(regime, "most_delay", table, at_least=4) == 1.2
    assert measured(regime, "delay", table, path="a") == 4
    assert measured(regime, "most_delay_of", table, paths=["b", "c"]) == 3
    assert regime.window(table, "b") == 5.5


def test_stretch_compares_by_experiment() -> None:
    table = pl.DataFrame(
        [
            ("4A", SLOW, "each", 1.0, 1.0, 100.0),
            ("4A", SLOW, "delayed", 1.9, 3.0, 110.0),
            ("4E", SLOW, "each", 1.0, 1.0, 200.0),
            ("4E", SLOW, "delayed", 2.0, 2.0, 260.0),
        ],
        schema=["case", "sender", "acks", "per_ack", "late_us", "delay_us"],
        orient="row",
    ).with_columns(marking=pl.lit("RED step"))
    assert measured(stretch, "least_per_ack", table) == 1.9
    assert measured(stretch, "most_per_ack", table) == 2
    assert measured(stretch, "latest", table) == 3
    assert value(stretch.delay_over_each(table, SLOW)) == pytest.approx(1.3)
    assert stretch.delay_over_each(table, "AIMD") is None


def test_bursts_are_compared_with_the_paced_sender(tmp_path: Path) -> None:
    run = made(tmp_path / "paced", marks=(3, 2, 2, 2), delta="1", step="1")
    (row,) = bursts.table([run]).to_dicts()
    assert (row["delta"], row["step"], row["p95_us"]) == (1, 1, 100)
    assert row["utilisation"] == pytest.approx(0.04)
    assert row["marked"] == 0.25
    assert row["window"] == pytest.approx(sum(WINDOWS) / 4 / 934)
    assert row["small"] == 1
    assert row["path_us"] == pytest.approx(700)
    assert row["round_trip_us"] == pytest.approx(row["window"] * 2 * 2500)  # two flows, one sends
    table = pl.DataFrame(
        [
            ("3B", FULL, 1, 1, 100.0, 1.0),
            ("3B", FULL, 2, 1, 150.0, 1.0),
            ("3B", FULL, 4, 1, 200.0, 1.0),
            ("4E", SLOW, 1, 1, 200.0, 0.9),
            ("4E", SLOW, 2, 1, 250.0, 0.6),
            ("4E", SLOW, 2, 2, 100.0, 0.9),
            ("4E", SLOW, 4, 1, 240.0, 0.4),
            ("4E", SLOW, 4, 4, 900.0, 0.8),
        ],
        schema=["case", "sender", "delta", "step", "p95_us", "utilisation"],
        orient="row",
    )
    assert value(bursts.least_over_paced(table)) == pytest.approx(1.2)
    assert value(bursts.least_over_paced(table, FULL)) == pytest.approx(1.5)
    assert value(bursts.least_growth(table, 1)) == pytest.approx(0.5)
    assert value(bursts.least_growth(table, 2)) == pytest.approx(-1)
    assert value(bursts.least_growth(table, 1, FULL)) == pytest.approx(1)
    assert value(bursts.least_gain(table)) == pytest.approx(1.5)
    assert bursts.least_over_paced(table.filter(delta=1)) is None


def test_slices_are_the_largest_that_reach_the_target(tmp_path: Path) -> None:
    (row,) = slices.table([made(tmp_path / "aimd", "AIMD")]).to_dicts()
    assert row["delay"] == pytest.approx(0.4)
    assert row["headers"] == pytest.approx(0.066)
    assert row["packets_per_s"] == pytest.approx(400)
    table = pl.DataFrame(
        [
            ("AIMD", 576, 1.1, 0.12, 900.0),
            ("AIMD", 1500, 1.15, 0.04, 400.0),
            ("AIMD", 9000, 9.0, 0.01, 80.0),
            (SLOW, 9000, 0.7, 0.01, 80.0),
        ],
        schema=["sender", "mtu", "delay", "headers", "packets_per_s"],
        orient="row",
    )
    assert slices.headers(table, 0.2) == 0.04
    assert slices.headers_over(table, 0.2) == pytest.approx(4)
    assert slices.packets_over(table, 0.2) == pytest.approx(5)
    assert slices.headers(table, 0.05) is None
    assert slices.delay(table, SLOW, 9000) == 0.7


def test_losses_and_timeouts(tmp_path: Path) -> None:
    table = eviction.table([made(tmp_path / "reno", "AIMD")])
    assert table["lost"].to_list() == [0]
    assert measured(eviction, "least_timeouts", table) == pytest.approx(1 / 0.02)
    both = pl.DataFrame({"case": ["4E", "4H"], "lost": [0.2, 0.1]})
    assert measured(eviction, "least_lost", both) == 0.1


def test_networks_side_by_side(tmp_path: Path) -> None:
    runs = [
        made(tmp_path / name, case="4E", network_4E=name) for name in ("as stated", "a hold-up")
    ]
    found = why_apart.table(runs).filter(statistic="max")
    assert found["network"].to_list() == ["as stated", "a hold-up"]
    assert found["whole_us"].to_list() == found["like_us"].to_list() == [3 * 32.768] * 2
    row = {"case": "4E", "marking": "RED step", "sender": SLOW, "statistic": "sd"}
    table = pl.DataFrame(
        [
            {**row, "network": "as stated", "like_us": 10.0, "whole_us": 30.0, "thesis_us": 20.0},
            {**row, "network": "noise", "like_us": 18.0, "whole_us": 30.0, "thesis_us": 20.0},
        ]
    )
    chosen = ("4E", "RED step", SLOW, "sd")
    assert why_apart.departure(table, "noise", *chosen) == pytest.approx(0.1)
    assert why_apart.over_stated(table, "noise", *chosen) == pytest.approx(1.8)
    assert why_apart.whole_departure(table, "as stated", *chosen) == pytest.approx(0.5)
    assert why_apart.over_stated(table, "a hold-up", *chosen) is None


def test_windows_beside_reno(tmp_path: Path) -> None:
    run = made(tmp_path / "reno", sender="AIMD")
    named = Run(run.directory, {"experiment": "1-ramp", "sender": "Reno"}, run.document)
    assert as_reno.table([named]).row(0) == ("Reno", 2, 100)
    table = pl.DataFrame({"sender": ["Reno", "LS"], "window": [12.0, 12.5]})
    assert as_reno.apart(table, "LS", "Reno") == 0.5
    assert measured(as_reno, "window", table, sender="Reno") == 12


def test_windows_of_the_plan(tmp_path: Path) -> None:
    run = made(tmp_path / "slow")
    row = fair_windows.table([run]).to_dicts()[0]
    assert (row["plan_min"], row["plan_max"]) == (0.26, 0.26)
    table = pl.DataFrame(
        {
            "case": ["4A", "4B"],
            "marking": "RED ramp",
            "sender": SLOW,
            "in_flight": [1.0, 6.0],
            "fair_min": [2.0, 3.005],
            "plan_min": [2.0, 3.0],
            "fair_max": [4.0, 5.0],
            "plan_max": [4.0, 5.0],
        }
    )
    assert fair_windows.off_plan(table) == pytest.approx(0.005)
    assert measured(fair_windows, "least_over_min", table, marking="RED ramp", sender=SLOW) == 0.5
    assert measured(
        fair_windows, "most_over_max", table, marking="RED ramp", sender=SLOW
    ) == pytest.approx(1.2)


def test_saw_teeth_of_a_large_window(tmp_path: Path) -> None:
    """Three reductions; between the second and the third the window grows from 10 to 18 in 8 ms."""
    run = made(tmp_path / "aimd", sender="AIMD")
    windows = [20, 20, 10, 14, 18, 18, 10, 14, 18, 18, 10, 20]
    states = ["Open", "CWR", "Open", "Open", "Open", "CWR", *["Open"] * 3, "CWR", "Open", "Open"]
    pl.DataFrame(
        {
            "time_ns": [(8 + number) * MS for number in range(12)],
            "cwnd_packets": windows,
            "ca_state": states,
            "srtt_us": 1000,
            "flow": 1,
        }
    ).write_parquet(run.directory / "acks.parquet")
    named = Run(run.directory, {"experiment": "large", "sender": "AIMD"}, run.document)
    (row,) = windows_open.table([named]).to_dicts()
    assert row["saw_teeth"] == 2
    assert row["period_s"] == pytest.approx(0.004)
    assert row["growth"] == pytest.approx(4)
    assert row["window"] == 18


def test_growth_by_rate() -> None:
    table = pl.DataFrame(
        [("AIMD", 20.0, 1.0, 4.0, 40), ("AIMD", 60.0, 1.1, 12.0, 120),
         (FULL, 20.0, 1.2, 3.0, 40), (FULL, 60.0, 1.5, 6.0, 100)],
        schema=["sender", "rate_mbit", "growth", "period_s", "window"],
        orient="row",
    )  # fmt: skip
    assert measured(windows_open, "least_growth", table, sender=FULL) == 1.2
    assert value(windows_open.least_step(table, FULL)) == pytest.approx(0.3)
    assert measured(windows_open, "spread", table, sender="AIMD") == pytest.approx(1.1)
    assert windows_open.period_over(table, FULL, "AIMD", 60) == pytest.approx(0.6)


def test_one_max_p() -> None:
    row = {"case": "4E", "marking": "RED instantaneous", "sender": SLOW, "statistic": "mean"}
    table = pl.DataFrame(
        [{**row, "max_p": 1.0, "like_us": 1.0, "thesis_us": 2.0},
         {**row, "max_p": 0.5, "like_us": 2.2, "thesis_us": 2.0}]
    )  # fmt: skip
    assert max_p.departure(table, 0.5, "4E", SLOW, "mean") == pytest.approx(0.1)
    assert max_p.nearest(table, "4E", SLOW, "mean") == pytest.approx(0.1)


def test_networks_that_are_held_up(tmp_path: Path) -> None:
    runs = [made(tmp_path / name, case="4E", network=name) for name in ("as stated", "held")]
    table = why_held.table(runs)
    assert table["network"].unique(maintain_order=True).to_list() == ["as stated", "held"]
    chosen = ("held", "4E", "RED step", SLOW)
    assert why_held.value(table, *chosen, "max") == pytest.approx(3 * 32.768)
    assert why_held.value(table, "none", *chosen[1:], "max") is None


def delay(case: str, statistic: str, us: float, **other: object) -> dict[str, object]:
    """A row of the table of delays, where the thesis has 100 us."""
    row = {"case": case, "marking": "RED ramp", "sender": SLOW, "statistic": statistic}
    return {**row, "like_us": us, "thesis_us": 100.0, **other}


def test_waits_of_two_kinds() -> None:
    table = pl.DataFrame(
        [
            delay("4E", "mean", 90, network="ack"),
            delay("4F", "mean", 130, network="ack"),
            delay("4F", "sd", 190, network="ack"),
            delay("4F", "mean", 190, network="segment"),
            delay("4G", "mean", 190, network="ack") | {"thesis_us": None},
        ]
    )
    assert value(why_wait.departure(table, "ack", "RED ramp", "mean")) == pytest.approx(0.3)
    assert why_wait.departure(table, "ack", "RED step", "mean") is None


def test_windows_that_swing_or_stand_still(tmp_path: Path) -> None:
    runs = [made(tmp_path / str(n), case="4E", network="ours", seed=str(n)) for n in (1, 2)]
    made_of_seeds = why_states.table(runs)
    assert made_of_seeds["seed"].unique(maintain_order=True).to_list() == ["1", "2"]
    table = pl.DataFrame(
        [
            delay("4E", "mean", 90, network="ours", seed=1),
            delay("4E", "sd", 45, network="ours", seed=1),
            delay("4E", "mean", 120, network="ours", seed=2),
            delay("4E", "sd", 0, network="ours", seed=2),
            delay("4F", "mean", 90, network="ours", seed=1),
            delay("4F", "mean", 95, network="another", seed=1),
        ]
    )
    assert why_states.between(table) == 0.5
    assert value(why_states.least_over_mean(table, "4E", "ours")) == 0
    assert value(why_states.largest_over_mean(table, "4E", "ours")) == pytest.approx(0.5)
    assert value(why_states.departure(table, "ours", "4E", "mean")) == pytest.approx(0.2)
    assert value(why_states.departure(table, "another", "4F", "mean")) == pytest.approx(0.05)


def test_periods_of_the_recorder(tmp_path: Path) -> None:
    """A first packet that did not wait is in the whole run alone."""
    run = made(tmp_path / "early", sender="AIMD", case="4H")
    packets = pl.read_parquet(run.directory / "packets.parquet")
    first = packets.head(1).with_columns(
        enqueue_ns=pl.lit(0, pl.Int64),
        dequeue_ns=pl.lit(0, pl.Int64),
        sojourn_ns=pl.lit(0, pl.Int64),
    )
    pl.concat([first, packets], how="vertical_relaxed").write_parquet(
        run.directory / "packets.parquet"
    )
    table = why_recorder.table([run])
    least = table.filter(statistic="min").select("period", "like_us", "thesis_us").rows()
    assert least == [
        ("whole", 0, 2490),
        ("all flows", 3 * 32.768, 2490),
        ("second half", 3 * 32.768, 2490),
    ]
    ours = table.with_columns(thesis_us=pl.col("like_us"))
    assert why_recorder.agreeing(table, "whole", "min", 0.2) == 0
    assert why_recorder.agreeing(ours, "whole", "min", 0.2) == 1


def test_timeouts_by_phase(tmp_path: Path) -> None:
    run = made(tmp_path / "reno", "AIMD", phase="random")
    table = why_timeouts.table([run])
    assert table.rows() == [("4E", "random", pytest.approx(1 / 0.02))]
    assert measured(why_timeouts, "least_timeouts", table, phase="random") == pytest.approx(50)
    assert measured(why_timeouts, "most_timeouts", table, phase="random") == pytest.approx(50)


def test_receivers_side_by_side(tmp_path: Path) -> None:
    runs = [
        made(tmp_path / "one", receiver="RFC 3168", per_ack=2),
        made(tmp_path / "two", receiver="DCTCP"),
    ]
    table = why_stretch.table(runs)
    assert measured(why_stretch, "per_ack", table, receiver="RFC 3168") == 2
    assert measured(why_stretch, "late", table, receiver="DCTCP") == pytest.approx(50)
