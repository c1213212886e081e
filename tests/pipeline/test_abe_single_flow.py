"""ABE's figures of a single flow (2, 4, 6 to 11): their metrics, on tables worked out by hand."""

import functools
from pathlib import Path

import polars as pl
import pytest
from plotnine import ggplot

from pipelines.abe import (
    departures,
    fig02,
    fig04,
    fig06,
    fig11,
    settings,
    sojourn,
    variations,
)
from sandglass.papers import ensemble
from sandglass.results import series
from tests.pipeline.synthetic import document, measured, packets, value, write

RENO_ECN = "net.ipv4.tcp_abe.beta_ecn"
RENO_LOSS = "net.ipv4.tcp_abe.beta_loss"


def experiment(sysctls: dict[str, int], **changes: object) -> dict[str, object]:
    """The experiment of a run.json: one NewReno flow through CoDel, 10 Mb/s, 100 ms, 3 s."""
    return {
        "rtt": "100ms",
        "duration": "3s",
        "bottleneck": {"rate": "10mbit", "queue": {"kind": "codel", "limit": 1000}},
        "flows": [{"cc": "abe_reno"}],
        "hosts": {"s1": {"sysctls": sysctls}},
    } | changes


def queues(events_s: list[float], until_s: float, rate_bps: float) -> pl.DataFrame:
    """Samples every 10 ms of a link at a steady rate, with a drop just before each event."""
    times = list(range(10_000_000, int(until_s * 1e9) + 1, 10_000_000))
    return pl.DataFrame(
        {
            "time_ns": times,
            "bottleneck": "bottleneck",
            "direction": "forward",
            "backlog_packets": [40 if t / 1e9 in events_s else 20 for t in times],
            "sent_bytes": [round(t * rate_bps / 8e9) for t in times],
            "drops": [sum(event <= t / 1e9 for event in events_s) for t in times],
        }
    )


# Eq. (5) at beta 0.5 without a buffer is 0.75; a path of 80 packets needs 80 to be full.
FIG02 = pl.DataFrame(
    [
        (10.0, 0.5, 1.0, 0.72, 0.75),
        (10.0, 0.5, 40.0, 0.95, 0.96),
        (10.0, 0.5, 80.0, 0.99, 1.0),
        (10.0, 0.5, 90.0, 1.0, 1.0),
        (50.0, 0.5, 10.0, 0.80, 0.85),
    ],
    schema=["rate_mbit", "beta", "buffer_packets", "utilisation", "model"],
    orient="row",
).with_columns(path_packets=pl.lit(80.0))


def test_fig02_metrics() -> None:
    assert measured(fig02, "model_error", FIG02) == pytest.approx(
        (0.03 + 0.01) / 2
    )  # of those below 1
    assert measured(fig02, "model_error_elsewhere", FIG02) == pytest.approx(0.05)
    assert measured(fig02, "without_buffer", FIG02, beta=0.5) == pytest.approx(0.72)
    assert measured(fig02, "least_when_full", FIG02) == pytest.approx(0.99)
    assert measured(fig02, "most_when_short", FIG02, share=0.5) == pytest.approx(0.95)


def test_fig02_table(tmp_path: Path) -> None:
    """Three events, two of them slow start's, leave no tooth; five leave two at 8 of 10 Mb/s."""
    queue = {"kind": "pfifo", "limit": 41}
    made = document(
        experiment=experiment(
            {RENO_LOSS: 50}, bottleneck={"rate": "10mbit", "queue": queue}, flows=[]
        )
    )
    write(tmp_path / "run", made, packets([(0, 1, None)]))
    for events, teeth, share in (([1.0, 2.0, 3.0], 0, None), ([1.0, 2.0, 3.0, 4.0, 5.0], 2, 0.8)):
        queues(events, 6, 8e6).write_parquet(tmp_path / "run/queues.parquet")
        (row,) = fig02.table([series.load(tmp_path / "run", {})]).to_dicts()
        assert (row["buffer_packets"], row["beta"], row["sawteeth"]) == (41, 0.5, teeth)
        assert row["utilisation"] == (None if share is None else pytest.approx(share, abs=1e-6))


FIG04 = pl.DataFrame(
    [
        ("steady", "CoDel", 0.5, 20.0, 0.95, 0.001, 0.96, None, None),
        ("steady", "CoDel", 0.5, 300.0, 0.80, 0.002, 0.83, None, None),
        ("steady", "CoDel", 0.9, 300.0, 0.98, 0.001, 0.98, None, None),
        ("steady", "PIE", 0.5, 20.0, 1.0, 0.03, 1.0, None, None),
        ("start", "PIE", 0.9, 300.0, None, None, None, 3, 0.9),
        ("start", "PIE", 0.9, 300.0, None, None, None, 5, 0.6),
    ],
    schema=[
        "part",
        "queue",
        "beta",
        "rtt_ms",
        "utilisation",
        "deviation",
        "model",
        "back_offs",
        "window_share",
    ],
    orient="row",
)


def test_fig04_metrics() -> None:
    assert measured(fig04, "model_error", FIG04, queue="CoDel") == pytest.approx(0.01)
    assert measured(fig04, "model_error", FIG04, queue="PIE") is None  # the model's link is full
    assert measured(fig04, "least_when_full", FIG04, queue="PIE") == pytest.approx(1)
    assert (
        measured(fig04, "least_when_full", FIG04, queue="CoDel") is None
    )  # the model leaves a part idle
    assert measured(fig04, "deviation", FIG04, queue="CoDel") == pytest.approx(0.002)
    assert fig04.drop_with_rtt(FIG04, "CoDel", 0.5) == pytest.approx(0.15)
    assert measured(
        fig04, "gain_of_beta", FIG04, queue="CoDel", beta=0.9, over=0.5
    ) == pytest.approx(0.18)
    assert measured(fig04, "most_back_offs", FIG04) == 5
    assert measured(fig04, "least_window", FIG04) == pytest.approx(0.6)


def test_variations_are_those_between_runs() -> None:
    rows = [
        ("CoDel", 0.5, 20.0, 1, 0.90),
        ("CoDel", 0.5, 20.0, 2, 0.90),
        ("CoDel", 0.9, 20.0, 1, 0.90),
        ("CoDel", 0.9, 20.0, 2, 0.92),
        ("CoDel", 0.9, 40.0, 1, 0.50),
        ("CoDel", 0.9, 40.0, 2, 0.90),
        ("PIE", 0.9, 40.0, 1, 0.90),
    ]
    schema = ["queue", "beta", "rtt_ms", "seed", "utilisation"]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    assert variations.median_deviation(table, "CoDel") == pytest.approx(0.02 / 2**0.5)
    assert variations.median_deviation(table, "CoDel", below=0.8) == pytest.approx(0.4 / 2**0.5)
    assert variations.median_deviation(table, "PIE") is None  # of one run
    wider = table.with_columns(
        queue=pl.lit("PIE"), utilisation=0.9 + 3 * (pl.col("utilisation") - 0.9)
    )
    both = pl.concat([table.filter(queue="CoDel"), wider.filter(pl.col("rtt_ms") == 20)])
    assert variations.varies_more(both.filter(beta=0.9), "PIE", "CoDel") == pytest.approx(3)


def test_fig04_without_data_has_no_value() -> None:
    assert fig04.drop_with_rtt(FIG04, "PIE", 0.5) is None
    assert measured(fig04, "gain_of_beta", FIG04, queue="PIE", beta=0.9, over=0.5) is None
    assert measured(fig04, "least_window", FIG04.filter(pl.col("part") == "steady")) is None


def fig06_table(cwnd: list[int], back_offs: list[int], utilisation: list[float]) -> pl.DataFrame:
    """One flow whose slow start ends with two back-offs; its path holds 100 packets."""
    return pl.DataFrame(
        {"cwnd_packets": cwnd, "back_offs": back_offs, "utilisation": utilisation}
    ).with_columns(
        rtt_ms=pl.lit(160.0),
        beta=pl.lit(0.5),
        time_s=pl.int_range(1, pl.len() + 1).cast(pl.Float64),
        slow_start_back_offs=pl.lit(2),
        path_packets=pl.lit(100.0),
    )


def test_fig06_metrics() -> None:
    """Slow start to 300, back-offs to 150 and 75, growth to 90, and a saw-tooth's back-off."""
    table = fig06_table([300, 150, 75, 90, 45], [0, 1, 2, 2, 3], [1.0, 1.0, 0.75, 0.9, 0.45])
    other = table.with_columns(rtt_ms=pl.lit(240.0), cwnd_packets=pl.lit(50, pl.Int64))
    assert fig06.back_offs_in_a_row(table, 0.5) == 2
    assert fig06.window_after(table, 160, 0.5) == pytest.approx(0.75)
    utilisation_after = functools.partial(
        measured, fig06, "utilisation_after", table, rtt_ms=160, beta=0.5
    )
    assert utilisation_after() == pytest.approx(0.7)
    assert utilisation_after(from_s=3) == pytest.approx(0.675)
    both = pl.concat([table, other])
    assert measured(
        fig06, "window_after_over", both, rtt_ms=160, over_ms=240, beta=0.5
    ) == pytest.approx(0.25)
    assert measured(fig06, "window_after_over", table, rtt_ms=160, over_ms=240, beta=0.5) is None
    assert (
        measured(fig06, "utilisation_after", fig06_table([10], [0], [1.0]), rtt_ms=160, beta=0.5)
        is None
    )


def departed(control: str, rtt_ms: float, beta: float, early: float, late: float) -> pl.DataFrame:
    """Gains of one flow at 10 s and at the end; what departed follows the gain."""
    return pl.DataFrame(
        {"time_s": [10.0, 300.0], "gain_percent": [early, late]},
    ).select(
        control=pl.lit(control),
        queue=pl.lit("CoDel"),
        rtt_ms=pl.lit(rtt_ms),
        beta=pl.lit(beta),
        time_s="time_s",
        gain_percent="gain_percent",
        departed_mb=pl.col("gain_percent") + 100,
    )


GAINS = pl.concat(
    [
        departed("NewReno", 100.0, 0.5, 0, 0),
        departed("NewReno", 100.0, 0.7, 10, 5),
        departed("NewReno", 100.0, 0.95, 12, 8),
        departed("NewReno", 400.0, 0.5, 0, 0),
        departed("NewReno", 400.0, 0.7, 30, 13),
        departed("NewReno", 400.0, 0.95, 60, 9),
        departed("CUBIC", 400.0, 0.5, -9, 5),
        departed("CUBIC", 400.0, 0.7, 0, 0),
        departed("CUBIC", 400.0, 0.95, 20, -1),
    ]
)


def test_departures_metrics() -> None:
    reno, cubic = ("NewReno", "CoDel"), ("CUBIC", "CoDel")
    assert departures.gain(GAINS, *reno, 400, 0.7) == 13
    assert value(departures.most_gain(GAINS, *reno)) == 13
    assert departures.agreeing_horizons(GAINS, *reno, 400, 0.7, 10, 20, from_s=0) == 0.5
    assert departures.agreeing_horizons(GAINS, *reno, 400, 0.7, 10, 20, from_s=90) == 1
    assert departures.agreeing_horizons(GAINS, *reno, 200, 0.7, 10, 20, from_s=0) is None
    assert value(departures.least_gain(GAINS, *reno, 400)) == 5
    assert value(departures.least_gain(GAINS, *cubic, 400)) == -1
    assert value(departures.most_gain_of(GAINS, *reno, 400, 0.6, 0.8)) == 13
    assert departures.order(GAINS, *reno, 400, [0.5, 0.7, 0.95]) == pytest.approx(0.5)
    assert departures.order(GAINS, *reno, 400, [0.5, 0.95]) == pytest.approx(1)
    assert departures.order(GAINS, *cubic, 400, [0.7, 0.95]) == pytest.approx(-1)
    assert departures.early_gain(GAINS, *reno) == pytest.approx((10 + 12 + 30 + 60) / 4)
    assert departures.early_excess(GAINS, *reno) == pytest.approx((5 + 4 + 17 + 51) / 4)
    assert departures.early_gain_over(GAINS, "CUBIC", "NewReno", "CoDel", 400, 0.95) == -40
    assert departures.rtt_excess(GAINS, *reno) == pytest.approx((13 - 5 + 9 - 8) / 2)


def test_what_departs_later() -> None:
    """From 10 s to the end, in which 0.7 has what slow start gave it no more."""
    chosen = ("NewReno", "CoDel", 400)
    later = GAINS.with_columns(departed_mb=pl.col("time_s") + pl.col("gain_percent"))
    expected = ((300 + 13) - (10 + 30)) / 290
    assert departures.later_gain(later, *chosen, 0.7, 10) == pytest.approx((expected - 1) * 100)
    assert departures.later_gain(later, *chosen, 0.5, 10) == 0
    assert departures.later_gain(later, *chosen, 0.7, 20) is None
    assert departures.later_gain(later, *chosen, 0.8, 10) is None


def test_departures_without_data_have_no_value() -> None:
    assert departures.gain(GAINS, "NewReno", "PIE", 400, 0.7) is None
    assert departures.rtt_excess(GAINS, "CUBIC", "CoDel") is None
    assert departures.early_gain_over(GAINS, "CUBIC", "NewReno", "CoDel", 100, 0.95) is None


def test_departures_table(tmp_path: Path) -> None:
    """The gain is that of the seeds' mean over the mean with NewReno's own 0.5."""
    second = 10**9
    runs = []
    for beta, seed, sent in ((50, 1, 1), (50, 2, 3), (95, 1, 3), (95, 2, 2)):
        directory = tmp_path / f"{beta}-{seed}"
        rows = packets([(0, second + i, None) for i in range(sent)])
        write(directory, document(experiment=experiment({RENO_ECN: beta}), seed=seed), rows)
        runs.append(series.load(directory, {}))
    table = departures.table(runs)
    assert table.filter(pl.col("time_s") == 1)["departed_mb"].to_list() == [0, 0]
    end = table.filter((pl.col("time_s") == 3) & (pl.col("beta") == 0.95)).to_dicts()[0]
    assert (end["control"], end["queue"], end["rtt_ms"], end["seeds"]) == (
        "NewReno", "CoDel", 100, 2)  # fmt: skip
    assert end["departed_mb"] == pytest.approx(2.5 * 1514 / 1e6)
    assert end["gain_percent"] == pytest.approx(25)


def test_sojourn_table(tmp_path: Path) -> None:
    """Packets of both seeds count as one distribution; those still queued have no delay yet."""
    runs = []
    for seed, waits in ((1, [1, 2]), (2, [3, 4])):
        rows = packets([*((0, wait * 10**6, None) for wait in waits), (0, None, None)])
        directory = tmp_path / str(seed)
        write(directory, document(experiment=experiment({RENO_ECN: 85}), seed=seed), rows)
        runs.append(series.load(directory, {}))
    table = sojourn.table(runs)
    delays = dict(table.select("percentile", "delay_ms").iter_rows())
    assert len(delays) == 99
    assert (delays[1], delays[99]) == (1, 4)
    assert 2 <= delays[50] <= 3


DELAYS = pl.DataFrame(
    [
        (beta, percentile, delay)
        for beta, delays in ((0.5, (4.0, 9.0, 10.0)), (0.7, (6.0, 12.0, 15.0)), (0.95, (9.0, 9, 9)))
        for percentile, delay in zip((50, 90, 95), delays, strict=True)
    ],
    schema=["beta", "percentile", "delay_ms"],
    orient="row",
).with_columns(control=pl.lit("NewReno"), queue=pl.lit("PIE"), rtt_ms=pl.lit(100.0))


def test_sojourn_metrics() -> None:
    assert sojourn.added(DELAYS, "NewReno", "PIE", 100, 0.7, 90) == 3
    assert sojourn.added(DELAYS, "NewReno", "PIE", 100, 0.6, 90) is None
    largest = functools.partial(
        measured, "abe.fig08", "largest", DELAYS, control="NewReno", queue="PIE"
    )
    assert largest(percentile=90, beta_up_to=0.85) == 12
    assert largest(percentile=50, beta_up_to=1) == 9
    # PIE's target is 20 ms: medians of 4, 6 and 9, 90th percentiles of 9, 12 and 9.
    assert value(sojourn.off_target(DELAYS, "NewReno", "PIE", 50)) == 16
    assert value(sojourn.off_target(DELAYS, "NewReno", "PIE", 90)) == 11
    assert (
        value(
            sojourn.off_target(DELAYS.with_columns(pl.col("delay_ms") + 20), "NewReno", "PIE", 90)
        )
        == 12
    )
    assert value(sojourn.off_target(DELAYS, "CUBIC", "PIE", 50)) is None
    # 95th percentiles of 10, 15, 9 ms: the last is out of order.
    assert sojourn.tail_order(DELAYS, "NewReno", "PIE") == pytest.approx(-0.5)
    assert sojourn.tail_order(DELAYS, "NewReno", "CoDel") is None


FIG11 = pl.DataFrame(
    [
        (0.5, 20.0, 19.0, 25.0),
        (0.8, 20.0, 19.0, 26.0),
        (0.5, 320.0, 12.0, 324.0),
        (0.6, 320.0, 11.4, 324.0),
        (0.8, 320.0, 15.0, 326.0),
    ],
    schema=["beta", "rtt_ms", "throughput_mbit", "median_rtt_ms"],
    orient="row",
).with_columns(capacity_mbit=pl.lit(20.0))


def test_fig11_metrics() -> None:
    assert measured(fig11, "share_at_largest_rtt", FIG11, beta=0.5) == pytest.approx(0.6)
    assert fig11.recovered(FIG11, 0.8, 0.5) == pytest.approx(0.25)
    assert fig11.recovered(FIG11, 0.7, 0.5) is None
    assert value(fig11.least_step(FIG11)) == pytest.approx(-0.05)
    assert value(fig11.rtt_change(FIG11, 0.5, 0)) == pytest.approx(0.05)
    assert value(fig11.rtt_change(FIG11, 0.5, 80)) == pytest.approx(2 / 320)
    assert value(fig11.rtt_change(FIG11, 0.5, 320)) is None


def test_hundredths_are_what_is_written() -> None:
    percents = pl.DataFrame({"percent": range(101)})
    shares = percents.select(settings.hundredths(pl.col("percent"))).to_series()
    assert shares.to_list() == [float(f"{percent / 100:.2f}") for percent in range(101)]


def test_settings(tmp_path: Path) -> None:
    cubic = {"net.ipv4.tcp_abe.cubic_beta_ecn": 85}
    made = experiment(
        cubic,
        flows=[{"cc": "abe_cubic"}],
        bottleneck={"rate": "10mbit", "queue": {"kind": "pie_draft", "limit": "0.5bdp"}},
    )
    run = series.Run(tmp_path, {}, document(experiment=made))
    assert settings.conditions(run) == {
        "control": "CUBIC",
        "queue": "PIE",
        "rtt_ms": 100.0,
        "beta": 0.85,
    }
    assert settings.limit_packets(run) == 41


def layers(drawn: ggplot) -> list[str]:
    return [type(layer.geom).__name__ for layer in drawn.layers]


def data(drawn: ggplot) -> pl.DataFrame:
    assert isinstance(drawn.data, pl.DataFrame)
    return drawn.data


def test_replicas_are_drawn_as_a_band() -> None:
    """The mean of the replicas, and their interval; along the axis of the delay in Fig. 8."""
    for draw, table, column in (
        (lambda table: departures.draw(table, "NewReno"), GAINS, "gain_percent"),
        (sojourn.plot, DELAYS, "delay_ms"),
    ):
        assert "geom_ribbon" not in layers(draw(table))
        other = table.with_columns(pl.col(column) + 2)
        both = ensemble.together([(1, table), (2, other)])
        drawn = draw(both)
        assert "geom_ribbon" in layers(drawn)
        shown, one = (
            data(each).filter(pl.col("factor") == "0.95") for each in (drawn, draw(table))
        )
        assert shown[column].to_list() == pytest.approx([each + 1 for each in one[column]])
        assert (shown["high"] - shown[column]).to_list() == pytest.approx(
            [12.706] * one.height, 1e-3
        )
