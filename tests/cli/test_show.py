"""show: a run's numbers in the terminal."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Cli

RUN = {
    "format": 1,
    "title": "One flow",
    "seed": 7,
    "experiment": {"repeat": 1},
    "backend": "lab",
    "lab": "fedcba987654",
    "commit": "123456789abc-dirty",
    "kernel": {"release": "6.12.117-sandglass", "build": "0123456789ab"},
    "flows": [
        {
            "id": 1,
            "workload": "bulk",
            "from": "s1",
            "to": "d1",
            "cc": "cubic",
            "ecn": True,
            "goodput_mbit": 18.7654,
            "fct_s": None,
            "retransmits": 3,
            "rtos": 0,
            "counters": {"window_bytes": 1234.5678, "reductions": 12345678},
        }
    ],
    "bottlenecks": {
        "bottleneck": {
            "utilisation": 0.987,
            "packets": 148000,
            "drops": 2,
            "marks": 61,
            "counters": {"prob": 0.0123456789, "maxq": 45},
            "queue_delay_ms": {
                "mean": 4.1,
                "median": 3.9,
                "p90": 7.0,
                "p95": 8.2,
                "p99": 11.0,
                "max": 55.25,
            },
        }
    },
    "virtual_s": 90.0,
    "wall_s": 1.8,
    "digest": "d1" * 32,
}


def test_it_shows_flows_bottlenecks_speed_and_digest(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    done = sandglass("show", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["1", "bulk", "s1", "d1", "cubic", "yes", "18.765", "-", "3", "0"] in rows
    delays = ["4.10", "3.90", "7.00", "8.20", "11.00", "55.25"]
    assert ["bottleneck", "98.7", "148000", "2", "61"] in rows
    assert ["bottleneck", *delays] in rows
    assert ["flow", "1", "window_bytes=1234.57", "reductions=12345678"] in rows
    assert ["bottleneck", "prob=0.0123457", "maxq=45"] in rows
    assert "90 s in 1.80 s, 50 times as fast" in done.stdout
    assert "d1" * 32 in done.stdout.replace("\n", "")
    assert ["lab", "fedcba987654"] in rows
    assert ["commit", "123456789abc-dirty"] in rows
    assert "repetition" not in done.stdout


def test_it_says_that_it_shows_the_first_of_many(sandglass: Cli, tmp_path: Path) -> None:
    repeated = RUN | {"experiment": {"repeat": 1000}, "bottlenecks": {}}
    (tmp_path / "run.json").write_text(json.dumps(repeated))
    done = sandglass("show", str(tmp_path))
    assert "1000, of which the first is shown" in done.stdout


def test_it_shows_what_became_of_media_flows(sandglass: Cli, tmp_path: Path) -> None:
    flow = {
        "id": 2,
        "workload": "media",
        "from": "s1",
        "to": "d1",
        "media": {
            "delay_ms": {"mean": 60.5, "median": 51.25, "p99": 180.0, "max": 210.125},
            "lost_share": 0.03,
            "loss_periods": 4,
            "unplayed_share": 0.075,
        },
    }
    (tmp_path / "run.json").write_text(json.dumps(RUN | {"flows": [flow]}))
    done = sandglass("show", str(tmp_path))
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["2", "60.50", "51.25", "180.00", "210.12", "3.00", "4", "7.50"] in rows


def test_it_shows_round_trips_of_pings(sandglass: Cli, tmp_path: Path) -> None:
    """Of the answers that came; links that were not recorded have no tables."""
    (tmp_path / "run.json").write_text(json.dumps(RUN | {"bottlenecks": {}}))
    rtts = pl.DataFrame({"flow": [2, 2, 2, 3], "rtt_ns": [20_000_000, None, 40_000_000, None]})
    rtts.write_parquet(tmp_path / "rtt.parquet")
    done = sandglass("show", str(tmp_path))
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["2", "20.00", "30.00", "30.00", "38.00", "39.00", "39.80", "40.00"] in rows
    assert ["3", *["-"] * 7] in rows
    assert "bottleneck" not in done.stdout


def test_what_is_no_run_is_said_to_be_none(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").touch()
    done = sandglass("show", str(tmp_path / "experiment.yaml"))
    assert done.returncode == 2
    assert "experiment.yaml is no finished run: it has no run.json" in done.stderr


def test_a_run_that_is_not_there_and_one_that_is_called_alike(
    sandglass: Cli, tmp_path: Path
) -> None:
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "runs" / "first" / "run.json").write_text(json.dumps(RUN))
    for command in ("show", "plot", "compare", "view"):
        done = sandglass(command, "runs/frist")
        assert done.returncode == 2
        assert "runs/frist does not exist, did you mean 'runs/first'?" in done.stderr


PLAN = {
    "hosts": {"s1": {"half_rtt_ns": 20_000_000}, "d1": {"half_rtt_ns": 20_000_000}},
    "bottlenecks": {
        "bottleneck": {
            "recorded": True,
            "forward": {
                "rate_bps": 20_000_000,
                "queue": {"kind": "pie", "limit": 1000, "limit_unit": "packets"},
            },
        }
    },
    "flows": [{"src": "s1", "dst": "d1"}],
}


def test_it_names_queue_rate_and_round_trip(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    rows = [line.split() for line in sandglass("show", str(tmp_path)).stdout.splitlines()]
    assert ["bottleneck", "pie,", "limit", "1000", "packets,", "20mbit"] in rows
    assert ["RTT", "40ms"] in rows


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "it is no mapping"),
        ('{"title": "x"}', "it has no seed"),
        (json.dumps(RUN | {"flows": [7]}), "flows.0 is no mapping"),
        (json.dumps(RUN | {"flows": [{}]}), "it has no flows.0.id"),
        (json.dumps(RUN | {"virtual_s": "long"}), "virtual_s is 'long'"),
        (json.dumps(RUN | {"bottlenecks": {"b": 1}}), "bottlenecks.b is no mapping"),
        (json.dumps(RUN | {"experiment": {}}), "it has no experiment.repeat"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_damaged_run_is_named(sandglass: Cli, tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "run.json").write_text(content)
    done = sandglass("show", str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path}/run.json" in done.stderr
    assert said in done.stderr


def test_a_damaged_table_is_named(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "rtt.parquet").write_bytes(b"PAR1 no more")
    done = sandglass("show", str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path}/rtt.parquet cannot be read" in done.stderr
