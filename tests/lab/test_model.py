"""One Reno flow through DropTail uses the share of the link that CAIA-TR-150710A, eq. 5 gives."""

import polars as pl
import pytest

from sandglass.papers import formulas
from tests.lab.experiments import Lab, Run, bulk, dumbbell

pytestmark = pytest.mark.lab
RATE = 10_000_000  # bit/s
BETA = 0.5  # Reno's decrease factor
TOLERANCE = 0.02
SLOW_START = 2  # congestion events at the beginning that may belong to slow start
APART_S = 1.0  # losses closer than this belong to one congestion event: a saw-tooth lasts 5 s


def congestion_events_s(run: Run) -> list[float]:
    """Time of the first loss of each congestion event."""
    losses = run.packets()["drop_ns"].drop_nulls().sort() / 1e9
    return losses.filter(losses.diff().fill_null(float("inf")) > APART_S).to_list()


def utilisation(run: Run, begin_s: float, end_s: float) -> float:
    """Share of the link used from one time to another, in bytes as the shaper counts them."""
    started = pl.col("dequeue_ns").is_between(begin_s * 1e9, end_s * 1e9, closed="left")
    sizes = run.packets().filter(started)["size_bytes"].to_numpy()
    return float(sizes.sum() * 8 / RATE / (end_s - begin_s))


@pytest.mark.parametrize("b", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2])
def test_utilisation_over_whole_saw_teeth(lab: Lab, b: float) -> None:
    experiment = dumbbell(
        bulk(cc="reno"),
        queue={"kind": "pfifo", "limit": f"{b}bdp"},
        rtt="100ms",
        duration="100s",
        record=["packets"],
    )
    run = lab(experiment)
    assert run.content["flows"][0]["rtos"] == 0
    events = congestion_events_s(run)[SLOW_START:]
    assert len(events) >= 4
    expected = formulas.utilisation(BETA, b, 1.0)
    assert utilisation(run, events[0], events[-1]) == pytest.approx(expected, rel=TOLERANCE)
