"""The figures on DCTCP in the Internet: their reduction of runs and their metrics, by hand."""

from collections.abc import Sequence
from math import comb
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.dctcp_internet import (
    fig01,
    fig02,
    fig03,
    fig05,
    fig06,
    fig07,
    fig08,
    fig09,
    fig10,
    mixed,
    sharing,
    slopes,
    table1,
    table1_sending,
    why_starvation,
    why_steps,
)
from sandglass.errors import SandglassError
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, measured, value

SECOND = 10**9
BDP = 31250
RENO, DCTCP = {"id": 1, "cc": "reno"}, {"id": 2, "cc": "dctcp_inet"}


def content(queue: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """10 Mb/s, 25 ms, 20 s."""
    made = document(flows=[RENO, DCTCP], **changes)
    made["experiment"] |= {
        "rtt": "25ms",
        "duration": "20s",
        "bottleneck": {"rate": "10mbit", "queue": queue or {}},
        "flows": [{}, {"count": 1}],
    }
    return made


def made(directory: Path, reno: int, dctcp: int, **keys: Any) -> Run:
    """Flows that get so many Mb/s each from 10 s to 20 s, and four times as much before."""
    directory.mkdir(parents=True)
    rows = []
    for flow, mbit in ((1, reno), (2, dctcp)):
        before = 4 * mbit * 10**7 // 8
        rows += [(SECOND, flow, before // 10), (10 * SECOND, flow, before)]
        rows += [(20 * SECOND, flow, before + mbit * 10**7 // 8)]
    schema = {"time_ns": pl.Int64, "flow": pl.UInt16, "bytes": pl.UInt64}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(directory / "goodput.parquet")
    sent = 10**6 * (reno + dctcp) // 8
    pl.DataFrame(
        [
            ("bottleneck", "forward", n * SECOND, n * sent, 100 * BDP if n < 10 else BDP * (n % 2))
            for n in range(20)
        ],
        schema={
            "bottleneck": pl.String,
            "direction": pl.String,
            "time_ns": pl.Int64,
            "sent_bytes": pl.UInt64,
            "backlog_bytes": pl.UInt32,
        },
        orient="row",
    ).write_parquet(directory / "queues.parquet")
    queue = {"drop_min": "0.5bdp", "mark_min": "0.65bdp"} | keys.pop("queue", {})
    return Run(directory, keys, content(queue))


# What the figures share


def test_only_what_comes_after_the_warm_up_counts(tmp_path: Path) -> None:
    found = sharing.steady(made(tmp_path / "run", 2, 6))
    assert found["ratio"] == pytest.approx(1 / 3)
    assert found["jain"] == pytest.approx(64 / 80)
    assert found["utilisation"] == pytest.approx(0.8)
    assert found["occupancy"] == pytest.approx(0.5)


def test_a_flow_that_got_nothing_counts(tmp_path: Path) -> None:
    run = made(tmp_path / "run", 2, 6)
    goodput = pl.read_parquet(run.directory / "goodput.parquet").filter(pl.col("flow") == 1)
    goodput.write_parquet(run.directory / "goodput.parquet")
    assert sharing.steady(run)["jain"] == pytest.approx(0.5)


def test_thresholds_are_shares_of_the_bdp(tmp_path: Path) -> None:
    run = made(tmp_path / "run", 1, 1)
    assert sharing.bdp_bytes(run) == BDP
    assert fig05.thresholds(run) == {"minimum": 0.5, "relative": 1.3}
    packets = made(tmp_path / "packets", 1, 1, queue={"drop_min": 12})
    with pytest.raises(SandglassError, match="drop_min is no share of the BDP"):
        fig05.thresholds(packets)


def test_means_over_seeds_are_geometric_for_ratios() -> None:
    rows = [
        {"minimum": 1.0, "ratio": ratio, "utilisation": 0.9, "occupancy": queue, "jain": 1.0}
        for ratio, queue in ((0.25, 1.0), (4.0, 2.0))
    ]
    (row,) = sharing.means(rows).to_dicts()
    assert (row["seeds"], row["occupancy"]) == (2, 1.5)
    assert row["ratio"] == pytest.approx(1)


def falling(**columns: Sequence[float]) -> pl.DataFrame:
    table: dict[str, Sequence[float]] = {"relative": [1, 2, 3], "ratio": [4, 2, 0.5]}
    table |= {"utilisation": [0.8, 0.9, 1], "occupancy": [0.1, 0.2, 0.4]} | columns
    return pl.DataFrame(table, schema=dict.fromkeys(table, pl.Float64))


def test_equal_sharing_is_where_the_ratio_falls_through_one() -> None:
    assert sharing.equal_sharing(falling().reverse(), "relative") == pytest.approx(
        {"relative": 2.5, "utilisation": 0.95, "occupancy": 0.3}
    )
    assert sharing.equal_sharing(falling(ratio=[4, 2, 1.5]), "relative") is None
    assert sharing.equal_sharing(falling(ratio=[0.5, 0.4, 0.3]), "relative") is None


# The figures


def windows(sender: str, rows: list[tuple[float, int, bool]]) -> pl.DataFrame:
    return pl.DataFrame(
        [(sender, 1, *row) for row in rows],
        schema=["sender", "seed", "time_s", "cwnd_packets", "slow_start"],
        orient="row",
    )


FAST = [(0.0, 10, True), (0.2, 60, True), (0.3, 50, False), (0.5, 20, False)]
SLOW = [*FAST[:3], (1.5, 20, False)]
STEADY = [(20.0, 10, False), (22.0, 30, False), (24.0, 30, False)]


def test_fig01_settles_at_the_mean_window() -> None:
    table = pl.concat([windows("new", FAST + STEADY), windows("old", SLOW + STEADY)])
    assert fig01.settling_s(table, "new", "old") == pytest.approx(1)
    assert fig01.mean_ratio(table, "new", "old") == pytest.approx(1)
    assert fig01.settling_s(table, "new", "absent") is None


def test_fig01_table(tmp_path: Path) -> None:
    rows = [(0, 10, None), (1, 10, None), (2, 20, None), (3, 12, 12), (4, 12, 12)]
    schema = {"time_ns": pl.Int64, "cwnd_packets": pl.UInt32, "ssthresh_packets": pl.UInt32}
    acks = pl.DataFrame(rows, schema=schema, orient="row")
    acks.write_parquet(tmp_path / "acks.parquet")
    table = fig01.table([Run(tmp_path, {"sender": "Reno"}, content())])
    assert table["cwnd_packets"].to_list() == [10, 20, 12]
    assert table["slow_start"].to_list() == [True, True, False]


def test_fig02_metrics() -> None:
    table = pl.DataFrame(
        [("Reno", 10, 0), ("Reno", 30, 1), ("DCTCP", 19, 2), ("DCTCP", 21, 3)],
        schema=["flow", "cwnd_packets", "signals"],
        orient="row",
    )
    assert fig02.window_ratio(table) == 1
    assert measured(fig02, "signals_ratio", table) == 5
    assert measured(fig02, "spread_ratio", table) == pytest.approx(0.1)


@pytest.mark.parametrize(("successes", "trials"), [(0, 40), (3, 50), (50, 50), (90, 400)])
def test_fig03_intervals_are_exact(successes: int, trials: int) -> None:
    """By their definition: what is beyond either end has half of 1 %."""

    def at_most(most: int, share: float) -> float:
        return sum(
            comb(trials, n) * share**n * (1 - share) ** (trials - n) for n in range(most + 1)
        )

    low, high = fig03.interval(successes, trials)
    assert (low == 0) == (successes == 0)
    assert (high == 1) == (successes == trials)
    if successes:
        assert 1 - at_most(successes - 1, low) == pytest.approx(0.005)
    if successes < trials:
        assert at_most(successes, high) == pytest.approx(0.005)


def test_fig03_the_configured_curve() -> None:
    options = {"mark_min": 1000, "mark_max": 3000, "mark_probability": 0.2}
    found = [fig03.configured(options, "mark", queue) for queue in (999, 1000, 2000, 2999, 3000)]
    assert found == pytest.approx([0, 0, 0.1, 0.1999, 1])
    step = options | {"mark_max": 1000}
    assert [fig03.configured(step, "mark", queue) for queue in (999, 1000)] == [0, 1]


def test_fig03_table(tmp_path: Path) -> None:
    """Three packets without ECN of which one is dropped and one lost to the buffer; two others."""
    pl.DataFrame(
        [
            ("bottleneck", "forward", 0, 5, None, None, 0, 0, 40000),
            ("bottleneck", "forward", 1, None, 1, "aqm_enqueue", 0, None, 40000),
            ("bottleneck", "forward", 2, None, 2, "overlimit", 0, None, 40000),
            ("bottleneck", "forward", 3, 8, None, None, 2, 3, 40000),
            ("bottleneck", "forward", 4, 9, None, None, 2, 2, 10000),
        ],
        schema={
            "bottleneck": pl.String,
            "direction": pl.String,
            "enqueue_ns": pl.Int64,
            "dequeue_ns": pl.Int64,
            "drop_ns": pl.Int64,
            "drop": pl.String,
            "ecn_in": pl.UInt8,
            "ecn_out": pl.UInt8,
            "queue_bytes": pl.UInt32,
        },
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    options = {
        f"{kind}_{name}": value
        for kind in ("drop", "mark")
        for name, value in (("min", 31250), ("max", 93750), ("probability", 0.2))
    }
    queue = {"kind": "dualred", "dev": "r1-eth0", "options": options}
    observed = {"qdiscs": {"r1": [queue, queue | {"dev": "r1-eth1", "options": {}}]}}
    run = Run(tmp_path, {"marks": "slope"}, content(observed=observed))
    table = fig03.table([run])
    assert table.select("kind", "queue_bdp", "packets", "signalled").rows() == [
        ("drop", 1.28, 2, 1),
        ("mark", 0.32, 1, 0),
        ("mark", 1.28, 1, 1),
    ]
    assert table["configured"].to_list() == pytest.approx([0.028, 0, 0.028])
    assert measured(fig03, "levels_within", table, marks="slope", kind="mark") == 2
    assert measured(fig03, "share_within", table, marks="slope", kind="drop") == 1
    assert measured(fig03, "levels_within", table, marks="step", kind="mark") is None


def test_fig05_metrics() -> None:
    table = pl.concat(
        [
            falling().with_columns(minimum=pl.lit(0.125)),
            falling(ratio=[4, 2, 2]).with_columns(minimum=pl.lit(1.0)),
        ]
    )
    assert fig05.equal_for(table) == 0.5
    assert value(fig05.starving(table, 1)) == 0.25
    assert value(fig05.starving(table, 2)) == 0.5
    assert value(fig05.nearest(table)) == 0.5
    assert value(fig05.rises(table, "occupancy")) == pytest.approx(1)
    assert value(fig05.rises(table, "ratio")) == pytest.approx(-1)


def test_fig05_and_fig06_tables(tmp_path: Path) -> None:
    runs = [made(tmp_path / f"{n}", 2, 6) for n in range(2)]
    (row,) = fig05.table(runs).to_dicts()
    assert (row["minimum"], row["relative"], row["seeds"]) == (0.5, 1.3, 2)
    (row,) = fig06.table(runs).to_dicts()
    assert (row["flows"], row["relative"]) == (1, 1.3)


def test_fig06_metrics() -> None:
    table = pl.concat(
        [
            falling().with_columns(flows=pl.lit(1)),
            falling(ratio=[4, 2, 1.5], occupancy=[0.5, 0.5, 0.5]).with_columns(flows=pl.lit(2)),
            falling(relative=[2, 4, 6], utilisation=[0.9, 1, 1]).with_columns(flows=pl.lit(5)),
        ]
    )
    assert fig06.equal_sharing_moves(table, 5) == pytest.approx(2)
    assert fig06.queue_at_equal_sharing(table, 5) == pytest.approx(1)
    assert fig06.equal_sharing_moves(table, 2) is None
    assert fig06.equal_sharing_at(table, 5) == pytest.approx(5)
    assert fig06.equal_sharing_at(table, 2) is None
    assert value(fig06.rises(table.filter(pl.col("flows") != 2), "occupancy")) == pytest.approx(1)
    ranks = table.filter(pl.col("flows") != 2)
    assert measured(fig06, "utilisation_grows", ranks) == pytest.approx(1)


def rows_of_table1(directory: Path, lower: float = 0) -> list[Run]:
    """Shares are equal at K of 1.5 times each Min_Thresh_Reno; all thresholds are lower by so many
    BDP."""
    runs = []
    for n, minimum in enumerate((0.125, 0.25, 0.5, 0.707107, 1)):
        least = f"{minimum - lower:.6f}bdp"
        for relative, (reno, dctcp) in ((1, (6, 3)), (2, (3, 6))):
            queue = {"drop_min": least, "mark_min": f"{relative * minimum - lower:.6f}bdp"}
            path = directory / f"step-{n}-{relative}"
            runs.append(made(path, reno, dctcp, experiment="step", queue=queue))
        queue = {"drop_min": least, "mark_min": "0.25bdp"}
        runs.append(made(directory / f"two-{n}", 5, 5, experiment="two-reno", queue=queue))
    return runs


def test_table1_where_thresholds_count_the_packet_in_transmission(tmp_path: Path) -> None:
    table = table1_sending.table(rows_of_table1(tmp_path, lower=table1.TRANSMISSION))
    half = dict(table.filter(pl.col("row") == "1/2").select("quantity", "ours").iter_rows())
    assert half["K/M"] == pytest.approx(1.5)
    assert half["U_DR"] == pytest.approx(0.9)
    assert half["O_DR"] == pytest.approx(0.5 + 0.9 * table1.TRANSMISSION)
    assert half["O_2R"] == pytest.approx(0.5 + table1.TRANSMISSION)


def test_table1_compares_at_equal_sharing(tmp_path: Path) -> None:
    table = table1.table(rows_of_table1(tmp_path))
    assert table.height == 25
    half = dict(table.filter(pl.col("row") == "1/2").select("quantity", "ours").iter_rows())
    assert half["K/M"] == pytest.approx(1.5)
    assert half["U_DR"] == pytest.approx(0.9)
    assert half["U_2R"] == pytest.approx(1)
    assert measured(table1, "relative_error", table, row="1/2", quantity="K/M") == pytest.approx(
        100 * (1.5 / 1.34 - 1)
    )
    assert measured(table1, "difference", table, row="1/2", quantity="U_DR") == pytest.approx(-9.6)
    assert measured(table1, "relative_error", table, row="1/3", quantity="K/M") is None
    # half a BDP waits, and a packet is on the link for 0.9 of the time
    whole = 0.5 + 0.9 * 1500 / BDP
    assert table1.occupancy_error(table, "1/2", "DR") == pytest.approx(100 * (whole / 0.548 - 1))
    assert table1.occupancy_error(table, "1/3", "DR") is None
    assert table1.gain(table, "1/2") == pytest.approx(-10)
    assert table1.gain(table, "1/3") is None
    assert table1.quotient(table, ("1/2", "U_2R"), ("1", "U_DR")) == pytest.approx(10 / 9)
    assert table1.quotient(table, ("1/2", "U_2R"), ("1/3", "U_DR")) is None


def test_the_row_of_table1_that_is_furthest_off() -> None:
    table = pl.DataFrame(
        {
            "row": ["1/8", "1", "1/8", "1"],
            "quantity": ["K/M", "K/M", "U_2R", "U_2R"],
            "paper": [2.0, 1.0, 0.9, 1.0],
            "ours": [1.8, 1.2, 0.92, None],
        }
    )
    assert table1_sending.worst_relative_error(table, "K/M") == pytest.approx(20)
    assert table1_sending.worst_difference(table.head(3), "U_2R") == pytest.approx(2)
    assert table1_sending.worst_difference(table, "U_2R") is None


def test_table1_reduces_the_queue_only_where_the_link_is_used() -> None:
    table = pl.DataFrame(
        [
            (row, quantity, value)
            for row, used, queue in (("1/8", 0.94, 0.1), ("1/4", 0.96, 0.25), ("1", 1.0, 1.0))
            for quantity, value in (("U_DR", used), ("O_DR", queue), ("O_2R", 0.01))
        ],
        schema=["row", "quantity", "ours"],
        orient="row",
    )
    assert table1.reduction(table, 0.96) == pytest.approx(4)
    assert table1.reduction(table, 0.9) == pytest.approx(10)
    assert table1.reduction(table, 1.1) is None


def grid() -> pl.DataFrame:
    """Equal shares at 0.5 with a ratio of 2, and at 0.6 with one of 4; none with one of 10."""
    rows = []
    for relative, equal in ((1, None), (2, 0.5), (4, 0.6), (10, None)):
        for minimum in (0.0, 0.5, 1.0):
            ratio = 0.5 if equal is None else 2 ** (10 * (equal - minimum))
            rows.append((minimum, relative / 10, float(relative), ratio, 0.9, 1.0, 0.99))
    names = ["minimum", "probability", "relative", "ratio", "utilisation", "occupancy", "jain"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_the_ridge_and_the_rule() -> None:
    assert slopes.rule(2) == 0.5
    found = slopes.ridge(grid())
    assert found["relative"].to_list() == [2, 4, 10]
    assert found["measured"].to_list() == pytest.approx([0.5, 0.6, None])
    assert value(fig09.farthest(found)) == 1
    assert value(fig09.farthest(found.drop_nulls())) == pytest.approx(0.15)
    assert value(fig09.farthest(found.clear())) is None


def test_fig07_and_fig08_metrics() -> None:
    table = grid()
    assert measured(fig07, "equal_for", table) == 1
    assert measured(fig07, "equal_for", table.filter(pl.col("relative") != 2)) == 1
    assert measured(fig07, "equal_for", table.filter(pl.col("relative") == 10)) == 0
    assert measured(fig07, "most_for_reno", table) == 0.5
    rising = table.with_columns(occupancy=pl.col("probability"))
    assert value(fig07.queue_falls(rising)) == pytest.approx(-1)
    assert measured(fig08, "best", table) == 0.99
    assert measured(fig08, "far_from_ridge", table, minimum=0, probability=1) == 0.99
    assert measured(fig08, "far_from_ridge", table, minimum=0, probability=0.9) is None


def test_slopes_table(tmp_path: Path) -> None:
    queue = {
        "drop_min": "1bdp", "mark_min": "0.5bdp", "drop_probability": 0.1, "mark_probability": 0.2
    }  # fmt: skip
    (row,) = slopes.table([made(tmp_path / "run", 4, 4, queue=queue)]).to_dicts()
    assert (row["minimum"], row["probability"], row["relative"]) == (0.5, 0.2, 2)


def test_fig10_metrics() -> None:
    table = pl.DataFrame(
        {
            "minimum": [0.2, 0.3, 1.0],
            "jain": [0.96, 0.99, 0.98],
            "utilisation": [0.9, 0.985, 1.0],
            "occupancy": [0.4, 0.6, 2.0],
        }
    )
    assert measured(fig10, "least_fair", table) == 0.96
    assert measured(fig10, "least_utilisation", table, since=0.3) == 0.985
    assert fig10.linearity(table) == pytest.approx(1)


def test_mixed_table_and_metrics(tmp_path: Path) -> None:
    runs = []
    for share, delay in ((0, 40), (50, 30), (100, 10)):
        path = tmp_path / f"{share}"
        path.mkdir()
        count = 4 * share // 100
        flows: list[dict[str, Any]] = [
            {
                "id": n + 1,
                "cc": "dctcp_inet" if n < count else "reno",
                "start_s": 0.5,
                "fct_s": None,
                "goodput_mbit": 3.0 if n < count else 2.0,
            }
            for n in range(4)
        ]
        flows.append(RENO | {"id": 5, "start_s": 8.0, "fct_s": 0.25, "goodput_mbit": 1.0})
        # cut by the end of the experiment
        flows.append(RENO | {"id": 6, "start_s": 19.9, "fct_s": None, "goodput_mbit": 1.0})
        pl.DataFrame(
            {
                "bottleneck": ["bottleneck"] * 3,
                "direction": ["forward"] * 3,
                "enqueue_ns": [5 * SECOND, 11 * SECOND, 12 * SECOND],
                "dequeue_ns": [5 * SECOND, 11 * SECOND, 12 * SECOND],
                "sojourn_ns": [500 * 10**6, delay * 10**6, delay * 10**6],
                "size_bytes": [1500, 5 * 10**6, 5 * 10**6],
            }
        ).write_parquet(path / "packets.parquet")
        runs.append(Run(path, {}, content() | {"flows": flows}))
    table = mixed.table(runs)
    assert table["share"].unique().sort().to_list() == [0, 50, 100]
    assert table.filter(pl.col("share") == 50)["ratio"].unique().to_list() == pytest.approx([2 / 3])
    assert table["fct_ms"].unique().to_list() == [250]
    assert mixed.delay_change(table, 0.95) == 0.25
    assert mixed.utilisation_change(table) == pytest.approx(0)
    assert mixed.least_ratio(table) == pytest.approx(2 / 3)


def test_ratios_of_each_seed_at_two_thresholds() -> None:
    table = pl.DataFrame(
        {"relative": [2.0, 2.0, 2.1, 2.1], "seed": [1, 2, 1, 2], "ratio": [0.2, 0.4, 0.2, 0.5]}
    )
    assert why_steps.apart(table, 2, 2.1) == pytest.approx(1.25)
    assert why_steps.apart(table.filter(seed=1), 2, 2.1) == 1


def test_the_least_ratio_with_some_drops() -> None:
    table = pl.DataFrame({"drops": ["few", "few", "many"], "ratio": [0.2, 0.1, 0.02]})
    assert measured(why_starvation, "least", table, drops="few") == 0.1
    assert measured(why_starvation, "least", table, drops="many") == 0.02
