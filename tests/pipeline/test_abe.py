"""ABE's figures: their reduction of runs and their metrics, on tables worked out by hand."""

from pathlib import Path

import polars as pl
import pytest

from pipelines.abe import fig03, fig05
from sandglass.papers import claims, code, shelf
from sandglass.results import series
from tests.pipeline.synthetic import document, measured, packets, sawtooth, value, write

# Capacity 20: shares are easy to read. CoDel declines from 19 to 16, ECN adds 10 % at 100 ms.
FIG03 = pl.DataFrame(
    [
        ("CoDel", "without", 20.0, 19.6, 5.0),
        ("CoDel", "without", 60.0, 19.0, 5.0),
        ("CoDel", "without", 100.0, 18.0, 5.0),
        ("CoDel", "without", 320.0, 16.0, 5.0),
        ("CoDel", "with", 20.0, 20.0, 6.0),
        ("CoDel", "with", 60.0, 19.8, 6.0),
        ("CoDel", "with", 100.0, 19.8, 6.0),
        ("CoDel", "with", 320.0, 16.0, 6.0),
        ("DropTail", "without", 20.0, 20.0, 30.0),
        ("DropTail", "without", 320.0, 19.0, 300.0),
    ],
    schema=["queue", "ecn", "rtt_ms", "throughput_mbit", "queue_delay_p95_ms"],
    orient="row",
).with_columns(capacity_mbit=pl.lit(20.0))


def test_fig03_metrics() -> None:
    assert value(fig03.least_share(FIG03, "CoDel", 60)) == pytest.approx(0.95)
    assert value(fig03.least_share(FIG03, "DropTail")) == pytest.approx(0.95)
    assert value(fig03.least_share(FIG03, "CoDel", 100, 60)) == pytest.approx(0.9)
    assert measured(
        fig03, "least_delay", FIG03, queue="DropTail", rtt_above_ms=10
    ) == pytest.approx(300 / 320)
    assert value(fig03.far_to_near(FIG03, "CoDel", 60, 80)) == pytest.approx(19.8 / 19.8)
    # With ECN 19.9 up to 60 ms and 17.9 above 80; without 19.3 and 17, which is less.
    assert measured(
        fig03, "mean_far_to_near", FIG03, queue="CoDel", near_ms=60, far_ms=80
    ) == pytest.approx(17.9 / 19.9)
    assert value(fig03.decline(FIG03, "CoDel")) == pytest.approx(1 - 16 / 19.6)
    assert fig03.ecn_gain(FIG03, "CoDel", 80) == pytest.approx((0.1 + 0.0) / 2)
    assert value(fig03.delay_ratio(FIG03, "DropTail", "CoDel", 10)) == pytest.approx(30 / 6)


def test_fig03_trend_is_that_of_the_worse_ecn_setting() -> None:
    """Without ECN throughput always falls (-1); with ECN 60 and 100 ms are tied."""
    tied = value(fig03.trend(FIG03, "CoDel"))
    without = value(fig03.trend(FIG03.filter(pl.col("ecn") == "without"), "CoDel"))
    assert without == pytest.approx(-1)
    assert tied is not None
    assert -1 < tied < -0.8


@pytest.mark.parametrize(
    "value",
    [
        value(fig03.least_share(FIG03, "PIE", 60)),
        value(fig03.least_share(FIG03, "CoDel", 10)),
        value(fig03.far_to_near(FIG03, "CoDel", 60, 400)),
        value(fig03.far_to_near(FIG03, "CoDel", 10, 80)),
        measured(fig03, "mean_far_to_near", FIG03, queue="CoDel", near_ms=60, far_ms=400),
        value(fig03.trend(FIG03, "PIE")),
        value(fig03.decline(FIG03, "PIE")),
        fig03.ecn_gain(FIG03, "DropTail", 80),
        value(fig03.delay_ratio(FIG03, "DropTail", "PIE", 10)),
        value(fig03.delay_ratio(FIG03, "DropTail", "CoDel", 320)),
        measured(fig03, "least_delay", FIG03, queue="DropTail", rtt_above_ms=320),
    ],
)
def test_fig03_without_data_has_no_value(value: float | None) -> None:
    assert value is None


def test_fig03_table(tmp_path: Path) -> None:
    base = document()
    base["experiment"]["bottleneck"]["rate"] = "20mbit"
    runs = [
        series.Run(tmp_path, {"experiment": "fig03-pie", "ecn": "with", "rtt": "160ms"}, base),
        series.Run(tmp_path, {"experiment": "fig03-droptail", "rtt": "20ms"}, base),
    ]
    droptail, pie = fig03.table(runs).to_dicts()
    assert (droptail["queue"], droptail["ecn"], droptail["rtt_ms"]) == ("DropTail", "without", 20)
    assert (pie["queue"], pie["ecn"], pie["rtt_ms"]) == ("PIE", "with", 160)
    assert pie["throughput_mbit"] == 9.0
    assert pie["capacity_mbit"] == pytest.approx(19.128, abs=1e-3)


def fig05_table(least: list[int], drops: list[int]) -> pl.DataFrame:
    """Bins of 1 s with a mean of 2 packets above the least; the BDP is 100 packets."""
    return pl.DataFrame({"least_packets": least, "drops": drops}).with_columns(
        buffer=pl.lit("Buffer 1 BDP"),
        time_s=pl.int_range(pl.len()).cast(pl.Float64),
        mean_packets=pl.col("least_packets") + 2.0,
        bdp_packets=pl.lit(100.0),
    )


def test_fig05_steady_state_begins_at_the_second_event() -> None:
    """Drops at 1 and 1.. are slow start's; those at 3 begin the steady state with 40, 30, 50."""
    table = fig05_table([0, 9, 5, 40, 30, 50], [0, 4, 0, 1, 0, 0])
    assert fig05.least_queue(table, "Buffer 1 BDP") == 30
    assert fig05.least_delay(table, "Buffer 1 BDP") == pytest.approx(0.3)
    assert fig05.mean_delay(table, "Buffer 1 BDP") == pytest.approx(0.42)


@pytest.mark.parametrize("drops", [[0, 0, 0], [0, 4, 0]])
def test_fig05_without_a_steady_state_has_no_value(drops: list[int]) -> None:
    table = fig05_table([0, 9, 5], drops)
    assert [metric(table, "Buffer 1 BDP") for metric in fig05.METRICS] == [None, None, None]


def test_fig05_table(tmp_path: Path) -> None:
    """One packet stays from 50 ms to 150 ms; another is refused at 120 ms."""
    write(
        tmp_path / "run",
        document(),
        packets([(50_000_000, 150_000_000, None), (120_000_000, None, 120_000_000)]),
    )
    table = fig05.table([series.load(tmp_path / "run", {"buffer": "0.5bdp"})])
    assert table.height == 300
    first, second, third = table.head(3).to_dicts()
    assert (first["least_packets"], first["mean_packets"], first["largest_packets"]) == (0, 0.5, 1)
    assert [row["drops"] for row in (first, second, third)] == [0, 1, 0]
    assert (first["buffer"], second["time_s"]) == ("Buffer 0.5 BDP", 0.1)
    # 10 Mb/s x 200 ms = 250 000 bytes of 1514 each; half of that; 0.7 x 1.5 - 1 = 0.05 of it.
    assert first["bdp_packets"] == pytest.approx(165.125, abs=1e-3)
    assert first["buffer_packets"] == pytest.approx(82.563, abs=1e-3)
    assert first["trough_packets"] == pytest.approx(8.256, abs=1e-3)


def test_fig05_of_a_sawtooth(tmp_path: Path) -> None:
    """The queue swings between 40 and 80 packets: its least is what the sawtooth leaves."""
    write(tmp_path / "run", document(), sawtooth(80))
    table = fig05.table([series.load(tmp_path / "run", {"buffer": "1bdp"})])
    assert fig05.least_queue(table, "Buffer 1 BDP") == pytest.approx(41, abs=2)


@pytest.mark.parametrize("figure", list(shelf.paper("abe").figures))
def test_every_claim_has_its_metric(figure: str) -> None:
    """An empty table measures nothing, so what is wrong with a claim shows as an error."""
    found = claims.claims("abe", figure)
    known = {metric.__name__ for metric in code.metrics("abe", figure)}
    named = {claim.metric for claim in found}
    assert named <= known
    assert named == known or shelf.paper("abe").figures[figure].code
