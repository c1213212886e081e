"""The thesis's figures that are measured directly: metrics worked out by hand."""

from pathlib import Path

import polars as pl
import pytest

from pipelines.flow_startup import fig21, fig23, fig24, red, table31, transients
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, measured

MS = 10**6


def test_rounds_begin_with_the_first_data_packet(tmp_path: Path) -> None:
    packets = [(5, 0), (100, 1448), (150, 1448), (301, 1448), (502, 1448)]
    pl.DataFrame(
        [("bottleneck", "forward", at * MS, size) for at, size in packets],
        schema=["bottleneck", "direction", "enqueue_ns", "payload_bytes"],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    found = transients.rounds(Run(tmp_path, {}, document()))  # RTT 200 ms
    assert found["time_ms"].to_list() == [0, 50, 201, 402]
    assert found["round"].to_list() == [0, 0, 1, 2]


def test_fig21_metrics() -> None:
    table = pl.DataFrame(
        [(3, 0.0, 0, 1), (3, 200.0, 2, 2), (10, 0.0, 0, 1), (10, 50.0, 0, 2)],
        schema=["initial_window", "time_ms", "round", "number"],
        orient="row",
    )
    assert fig21.sent_in_round(table, 10, 0) == 2
    assert fig21.rtts_saved(table, 2, 100) == 1.5
    assert fig21.sent_in_round(table, 10, 1) is None
    assert fig21.rtts_saved(table, 3, 100) is None


def test_fig23_growth_is_a_geometric_mean() -> None:
    table = pl.DataFrame(
        [("a", 0, None), ("a", 1, 4.0), ("a", 2, 1.0), ("b", 1, 3.0)],
        schema=["variant", "round", "growth"],
        orient="row",
    )
    assert fig23.mean_growth(table, "a", 1) == pytest.approx(2)
    assert fig23.mean_growth(table, "a", 3) is None


def test_fig23_compares_the_last_round_trip_with_all_before() -> None:
    table = pl.DataFrame(
        {"variant": ["a", "a", "a", "b"], "round": [2, 0, 1, 0], "packets": [9, 2, 4, 1]}
    )
    assert fig23.last_over_earlier(table, "a") == 1.5
    assert fig23.last_over_earlier(table, "b") is None


def test_fig24_looks_at_rounds_before_the_link_is_full() -> None:
    table = pl.DataFrame(
        [
            (0, 20, 8), (0, 20, 0),
            (1, 40, 20), (1, 40, 2),
            (2, 80, 30), (2, 80, 1),
            (3, 160, 90), (3, 160, 20),
            (4, 200, 120), (4, 200, 60),
        ],
        schema=["round", "window", "packets"],
        orient="row",
    ).with_columns(bdp=pl.lit(100.0))  # fmt: skip
    assert fig24.least_growth(table, 1) == 1.5
    assert fig24.longest_drained(table) == 2
    assert fig24.peak_share(table, 40) == pytest.approx((20 / 40 + 30 / 80) / 2)
    assert fig24.standing_growth(table) == 3
    assert fig24.standing_growth(table.filter(pl.col("round") < 4)) is None


def test_red_metrics() -> None:
    table = pl.DataFrame(
        {"variant": ["RED", "GRED"], "avg": [80.0, 200.0], "prob": [0.1, 0.4], "exact": [0.1, 0.3]}
    )
    assert measured("flow_startup.fig31", "largest_error", table) == pytest.approx(0.1)
    assert measured("flow_startup.fig31", "reach", table, variant="GRED", column="avg") == 200
    assert measured("flow_startup.fig31", "reach", table, variant="WRED", column="avg") is None


@pytest.mark.parametrize(
    ("average", "gentle", "prob"),
    [(40, False, 0), (100, False, 0.05), (150, False, 1), (225, True, 0.55), (400, True, 1)],
)
def test_the_exact_probability(tmp_path: Path, average: float, gentle: bool, prob: float) -> None:
    pl.DataFrame(
        [("bottleneck", "forward", average, 0.5)],
        schema=["bottleneck", "direction", "avg", "prob"],
        orient="row",
    ).write_parquet(tmp_path / "queues.parquet")
    content = document()
    content["experiment"]["bottleneck"]["queue"] = {
        "kind": "hred", "min": 50, "max": 150, "probability": 0.1, "gentle": gentle,
    }  # fmt: skip
    (row,) = red.table([Run(tmp_path, {}, content)]).to_dicts()
    assert row["exact"] == pytest.approx(prob)


def test_table31_divides_the_law_by_the_change(tmp_path: Path) -> None:
    """Delays of 35, 45 and 45 ms, target 15 ms, alpha 1/16 and beta 2/16 per second."""
    law = [1 / 16 * 0.030 + 2 / 16 * 0.010, 1 / 16 * 0.030]
    probs = [0.0005, 0.0005 + law[0] / 32]
    probs.append(probs[1] + law[1] / 16)
    samples = [(probs[0], 35000), (probs[0], 36000), (probs[1], 45000), (probs[2], 45000)]
    pl.DataFrame(
        [("bottleneck", "forward", *sample) for sample in samples],
        schema=["bottleneck", "direction", "prob", "delay_us"],
        orient="row",
    ).write_parquet(tmp_path / "queues.parquet")
    content = document()
    content["experiment"]["bottleneck"]["queue"] = {"target": "15ms", "alpha": 1, "beta": 2}
    found = table31.table([Run(tmp_path, {}, content)])
    assert found["divisor"].to_list() == pytest.approx([32, 16])
    assert found["stated"].to_list() == [32, 32]
    assert table31.rows_seen(found) == 1
    assert table31.largest_departure(found) == pytest.approx(1 - 24 / 32)
