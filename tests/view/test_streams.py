"""What a page has of a run: all records, or, of too many, those that make it look the same."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sandglass.errors import UsageError
from sandglass.results import series
from sandglass.results.view import gauges, page, streams, thinning
from sandglass.results.view.streams import Stream
from tests.lab.experiments import Run
from tests.view.conftest import Open

pytestmark = pytest.mark.lab
NS = 1_000_000_000
RunOf = Callable[[str], Run]


def of(run: Run) -> list[Stream]:
    return list(streams.of(series.load(run.path, {})))


def test_the_browser_unpacks_exactly_what_was_recorded(opened: Open, run_of: RunOf) -> None:
    browser = opened("two")
    for number, stream in enumerate(of(run_of("two"))):
        # Without `restored`'s caller: this stream may have been unpacked already.
        found = browser.run(
            f"columns({number}).then(table =>"
            " Object.fromEntries(Object.entries(table).map(([name, of]) => [name, [...of]])))"
        )
        told = stream.table.to_dict(as_series=False)
        if stream.kind == "acks":  # the page has replaced what is infinite by what is no number
            del found["ssthresh"], told["ssthresh"]
        assert found == told


def test_every_packet_is_in_a_stream(run_of: RunOf) -> None:
    run = run_of("two")
    packets = run.table("packets")
    rows = dict.fromkeys(("packets", "drops", "marks"), 0)
    for stream in of(run):
        if stream.kind in rows:
            rows[stream.kind] += stream.table.height
    told = run.content["bottleneck"]
    assert rows["packets"] == packets["dequeue_ns"].count()
    assert rows["drops"] == packets["drop_ns"].count() == told["drops"] + told["reverse"]["drops"]
    assert rows["marks"] == told["marks"] + told["reverse"]["marks"]


def test_room_in_a_trace_is_what_a_full_link_used(run_of: RunOf) -> None:
    """Packets of 1500 bytes left with each opportunity, from where the seed began the trace."""
    run = run_of("changing")
    room = next(stream for stream in of(run) if stream.kind == "opportunities").table
    left = run.packets().filter(pl.col("dequeue_ns") > NS // 100)["dequeue_ns"]
    since = room.with_columns(count=pl.col("room").diff() // 1500).filter(
        pl.col("time").is_between(NS // 100, left.max())
    )
    used = left.to_frame("time").group_by(pl.col("time") // 10**6).len().sort("time")
    assert used["time"].to_list() == (since["time"] // 10**6).to_list()
    assert used["len"].to_list() == since["count"].to_list()
    assert 0 < since["count"].sum() < 30_000_000 * 2 / 12_000


def test_what_rises_and_falls_is_a_gauge_and_a_counter_is_none() -> None:
    """Of any queue, known to this checkout or not; times and probabilities in people's units."""
    samples = pl.DataFrame(
        {
            "time_ns": [10, 20, 30],
            "backlog_packets": [3, 2, 1],
            "prob": [0.0, 0.25, 0.5],
            "delay_us": [1500, 2500, 500],
            "dropped": [1, 2, 2],
            "level": [None, 2, 1],
        }
    )
    found = {told["title"]: (told, table) for told, table in gauges.of(samples, "pie")}
    assert list(found) == ["pie: prob", "pie: delay", "pie: level"]
    for title, unit, values in (("prob", "", [0, 0.25, 0.5]), ("delay", "ms", [1.5, 2.5, 0.5])):
        told, table = found[f"pie: {title}"]
        assert told["unit"] == unit
        assert (table["value"] * told["factor"]).to_list() == pytest.approx(values)
    assert "probability" in found["pie: prob"][0]["note"]
    assert found["pie: level"][1].rows() == [(20, 2), (30, 1)]
    assert next(gauges.of(samples, "own"))[0]["title"] == "own: prob"


def test_a_link_whose_drops_all_came_on_arrival_had_no_queue() -> None:
    met = {
        "bottleneck": ["bottleneck"] * 2,
        "direction": ["forward"] * 2,
        "flow": [1, 1],
        "enqueue_ns": [10, 20],
        "dequeue_ns": [10, None],
        "drop_ns": [None, 20],
        "sojourn_ns": [0, None],
        "size_bytes": [100, 100],
        "ecn_in": [0, 0],
        "ecn_out": [0, None],
    }
    found = streams.packets(pl.LazyFrame(met), NS)
    assert [stream.kind for stream in found] == ["packets", "drops"]


def test_a_thinned_stream_keeps_extremes_and_tells_of_all(run_of: RunOf) -> None:
    found = of(run_of("two"))
    total = sum(stream.table.height for stream in found)
    assert thinning.thin(found, total) == (found, None)
    kept, step = thinning.thin(found, total // 4)
    assert step is not None
    assert sum(stream.table.height for stream in kept) < total // 2
    assert any(stream.whole for stream in kept)
    for before, after in zip(found, kept, strict=True):
        if after.whole is None and "count" in after.table.columns:
            events = before.table.get_column("count", default=pl.ones(before.table.height))
            assert after.table["count"].sum() == events.sum()
            continue
        if after.whole is None:
            assert after.table.equals(before.table)
            continue
        assert after.table.join(before.table, on=before.table.columns, how="anti").is_empty()
        for of_what, told in after.whole.items():
            values = before.table.with_columns(of=pl.col("time") // step)
            least = values.group_by("of").agg(pl.col(of_what).min()).sort("of")
            left = after.table.with_columns(of=pl.col("time") // step)
            assert left.group_by("of").agg(pl.col(of_what).min()).sort("of").equals(least)
            assert told["greatest"] == before.table[of_what].max()
        if after.kind == "packets":
            waited = before.table["sojourn"].to_numpy()
            assert after.whole["sojourn"]["mean"] == pytest.approx(waited.mean())
            assert after.whole["sojourn"]["p95"] == np.percentile(waited, 95)


def test_events_and_amounts_are_thinned_too() -> None:
    """So that an overload, or a long run's samples, fit; and nothing of them is lost."""
    times = np.arange(100_000) * 1000
    drops = Stream("drops", pl.DataFrame({"time": times}), flow=1)
    lost = Stream("resent", pl.DataFrame({"time": times, "count": times * 0 + 3}), flow=1)
    samples = Stream("samples", pl.DataFrame({"time": times, "sent": times * 7}))
    kept, step = thinning.thin([drops, lost, samples], 1000)
    assert step is not None
    assert sum(stream.table.height for stream in kept) <= 1010
    for stream, each in zip(kept[:2], (1, 3), strict=True):
        assert stream.table["count"].sum() == 100_000 * each
        since = 20 * step  # the page counts from and to the ends of intervals
        there = stream.table.filter(pl.col("time") >= since)["count"].sum()
        assert there == (times >= since).sum() * each
    ends = samples.table.group_by(pl.col("time") // step).agg(pl.col("sent").last())
    assert set(ends["sent"]) <= set(kept[2].table["sent"])


def test_what_has_no_time_or_no_value_is_not_thinned() -> None:
    took = Stream("completions", pl.DataFrame({"took": np.arange(100)}), name="rounds")
    assert thinning.thin([took], 10) == ([took], None)
    held = np.array([5, 0])
    assert thinning.numbers(np.array([streams.NONE, 4]), held) is None


def test_a_thinned_page_says_so(
    run_of: RunOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = series.load(run_of("two").path, {})
    assert "than a page holds" not in page.render([run])
    monkeypatch.setattr(thinning, "LIMIT", 1000)
    assert "than a page holds" in page.render([run])


def test_what_no_page_can_be_made_of_is_refused(run_of: RunOf, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no finished run"):
        page.view([tmp_path], None)
    with pytest.raises(UsageError, match=r"let it end in \.html"):
        page.view([run_of("two").path], tmp_path / "page.svg")
    assert list(tmp_path.iterdir()) == []


def test_pages_written_at_once_do_not_meet(run_of: RunOf, tmp_path: Path) -> None:
    """Each is written under a name of its own: a page that another view had begun stays."""
    begun = tmp_path / ".view.html.part"
    begun.write_text("another's")
    written = page.view([run_of("two").path], tmp_path / "view.html")
    assert begun.read_text() == "another's"
    assert written.read_text().endswith("</html>")
    begun.unlink()
    assert list(tmp_path.iterdir()) == [written]
    written.unlink()
    written.mkdir()
    with pytest.raises(UsageError, match="is a directory"):
        page.view([run_of("two").path], written)


def test_titles_and_names_are_text(run_of: RunOf, tmp_path: Path) -> None:
    """No part of a run is code of the page."""
    run = series.load(run_of("two").path, {})
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    document = {**run.document, "title": evil}
    document["flows"] = [{**flow, "cc": evil} for flow in run.document["flows"]]
    text = page.render([series.Run(run.directory, {}, document)])
    assert "<script>alert" not in text
    assert "<img" not in text
