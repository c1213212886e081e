"""Measures: what they give of packets that are written here, and what is refused."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sandglass.errors import UsageError
from sandglass.results.series import Run
from sandglass.studies import measure, reading
from sandglass.studies.measure import Measure

MS = 10**6
DOCUMENT: dict[str, Any] = {
    "experiment": {"duration": "20s", "rtt": "100ms"},
    "bottlenecks": {"bottleneck": {}},
}


def run(home: Path, rows: list[dict[str, Any]]) -> Run:
    """Of packets with what is given, a packet a millisecond that nothing happened to else."""
    plain: dict[str, Any] = {
        **{"bottleneck": "bottleneck", "direction": "forward", "flow": 1, "src": "s1"},
        **{"payload_bytes": 1448, "size_bytes": 1514, "ecn_in": 0, "ecn_out": 0},
        **{"sojourn_ns": None, "drop_ns": None},
    }
    whole = [{**plain, "enqueue_ns": n * MS, **row} for n, row in enumerate(rows)]
    types = {"sojourn_ns": pl.Int64, "drop_ns": pl.Int64}
    pl.DataFrame(whole, schema_overrides=types).write_parquet(home / "packets.parquet")
    return Run(home, {}, DOCUMENT)


def value(name: str, of: Run, **keys: Any) -> float:
    return Measure.model_validate({"measure": name, **keys}).value(of)


def queued(delays_ms: list[float]) -> list[dict[str, Any]]:
    """A packet every 100 ms with such a time in the queue."""
    return [
        {"enqueue_ns": n * 100 * MS, "sojourn_ns": int(delay * MS)}
        for n, delay in enumerate(delays_ms)
    ]


def test_goodput_is_what_was_acknowledged_within_the_window(tmp_path: Path) -> None:
    pl.DataFrame(
        {
            "time_ns": [s * 10**9 for s in (1, 2, 3, 1, 2, 3)],
            "flow": [1, 1, 1, 2, 2, 2],
            "bytes": [125_000, 250_000, 375_000, 0, 125_000, 125_000],
        }
    ).write_parquet(tmp_path / "goodput.parquet")
    of = Run(tmp_path, {}, DOCUMENT)
    assert value("goodput", of, **{"from": "1s", "until": "3s"}) == pytest.approx(1.5)
    assert value("goodput", of, **{"from": "1s", "until": "3s", "where": "flow = 2"}) == 0.5
    # Bins add up to the whole.
    bins = [value("goodput", of, **{"from": f"{s}s", "until": f"{s + 1}s"}) for s in range(3)]
    assert sum(bins) / 3 == pytest.approx(value("goodput", of, until="3s"))
    assert value("jain", of, **{"from": "1s", "until": "2s"}) == pytest.approx(1)
    assert value("jain", of, **{"from": "2s", "until": "3s"}) == pytest.approx(0.5)


def test_who_is_starved_counts_with_nothing(tmp_path: Path) -> None:
    """Whether it was acknowledged something before the window, or never anything."""
    pl.DataFrame(
        {"time_ns": [10**9, 10**9, 2 * 10**9], "flow": [1, 2, 1], "bytes": [1000, 1000, 2000]}
    ).write_parquet(tmp_path / "goodput.parquet")
    told = [{"id": 1, "cc": "cubic"}, {"id": 2, "cc": "cubic"}, {"id": 3, "cc": "cubic"}]
    of = Run(tmp_path, {}, {**DOCUMENT, "flows": [*told, {"id": 4, "cc": None}]})
    assert value("jain", of, **{"from": "1s", "where": "flow <= 2"}) == pytest.approx(1 / 2)
    assert value("jain", of, **{"from": "1s"}) == pytest.approx(1 / 3)
    assert value("jain", of, **{"from": "1s", "where": "flow = 1"}) == pytest.approx(1)
    assert value("least_share", of, until="2s") == 0
    assert value("least_share", of, until="2s", where="flow = 1") == 1


def test_delay_varies_from_the_least_of_each_flow(tmp_path: Path) -> None:
    rows = [
        {"flow": flow, "sojourn_ns": (flow * 50 + n) * MS} for flow in (1, 2) for n in range(11)
    ]
    assert value("pdv", run(tmp_path, rows), share=1) == 10
    assert value("pdv", run(tmp_path, rows), share=0.5) == 5


def test_gaps_and_runs_of_losses_are_those_of_a_flow(tmp_path: Path) -> None:
    lost = {3, 4, 5, 9}
    rows: list[dict[str, Any]] = [{"drop_ns": n * MS} if n in lost else {} for n in range(12)]
    rows += [{"flow": 2, "drop_ns": 12 * MS}]
    found = run(tmp_path, rows)
    assert value("loss_gap", found) == pytest.approx((1 + 1 + 4) / 3 / 1000)
    assert value("loss_run", found) == pytest.approx((3 + 1 + 1) / 3)


def test_without_two_losses_the_gap_is_the_window(tmp_path: Path) -> None:
    found = run(tmp_path, [{"sojourn_ns": 0}])
    assert (value("loss_gap", found), value("loss_run", found)) == (20, 0)


def test_an_event_has_the_signals_within_a_round_trip(tmp_path: Path) -> None:
    mark = {"ecn_in": 2, "ecn_out": 3, "sojourn_ns": 0}
    rows = [
        {"flow": 1, "enqueue_ns": 0, "drop_ns": 0},
        {"flow": 2, "enqueue_ns": 90 * MS, **mark},
        {"flow": 3, "enqueue_ns": 200 * MS, **mark},
        {"flow": 4, "enqueue_ns": 210 * MS, "ecn_in": 3, "ecn_out": 3, "sojourn_ns": 0},
    ]
    # Of four flows the first event hits two, the second one; a mark from elsewhere is none.
    assert value("synchronisation", run(tmp_path, rows)) == pytest.approx((0.5 + 0.25) / 2)


def test_a_delay_settles_when_it_stays_near_its_end(tmp_path: Path) -> None:
    delays = [100.0] * 30 + [10.0] * 20 + [30.0] * 10 + [20.0] * 140
    found = run(tmp_path, queued(delays))
    assert value("settling", found) == pytest.approx(6)
    assert value("overshoot", found) == pytest.approx(80)


def test_a_delay_that_swings_never_settles_and_has_one_line(tmp_path: Path) -> None:
    delays = [20 + 15 * math.sin(2 * math.pi * n / 20) for n in range(200)]
    found = run(tmp_path, queued(delays))
    assert value("settling", found) > 19
    assert value("oscillation", found) == pytest.approx(1, abs=1e-6)
    noise = np.random.default_rng(1).uniform(0, 20, 200)
    (tmp_path / "noise").mkdir()
    assert value("oscillation", run(tmp_path / "noise", queued(noise.tolist()))) < 0.2


def test_the_response_is_when_signals_are_near_their_final_share(tmp_path: Path) -> None:
    rows = [
        {"enqueue_ns": n * 10 * MS, "drop_ns": n * 10 * MS if n >= 400 and n % 2 else None}
        for n in range(2000)
    ]
    assert value("response", run(tmp_path, rows)) == pytest.approx(4.5, abs=0.11)
    (tmp_path / "none").mkdir()
    assert value("response", run(tmp_path / "none", [{"sojourn_ns": 0}])) == 20


STUDY = """
experiment:
  {topology: dumbbell, rtt: 10ms, bottleneck: {rate: 1mbit, queue: {kind: pfifo}}, duration: 1s,
   flows: [{workload: bulk, from: s1, to: d1}]}
metrics:
"""


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{measure: setling}", "unknown measure setling, did you mean 'settling'? There are "),
        ("{measure: pdv, share: 2}", "metrics.m.share: 2 is too large: write 1.0 or less"),
        ("{measure: pdv, from: 5}", "metrics.m.from: "),
        ("{measure: pdv, quantile: 0.5}", "unknown key"),
    ],
)
def test_what_is_no_measure_is_refused(tmp_path: Path, written: str, said: str) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(f"{STUDY}  m: {written}\n")
    with pytest.raises(UsageError, match=said.replace("?", r"\?").replace("[", r"\[")):
        reading.load(file)


def test_every_measure_is_documented() -> None:
    page = Path("docs/studies.md").read_text()
    assert [name for name in measure.MEASURES if f"| `{name}` |" not in page] == []
