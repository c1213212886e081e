"""Flows whose peer never answers, or does so no more: they end, say so, and fail nothing else."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.results import document, setting, show
from tests.lab.experiments import Lab, Mapped, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
QUEUE = {"kind": "pfifo", "limit": 100}
LARGE = "10MB"
KINDS: list[Mapped] = [
    bulk(),
    bulk(size=LARGE),
    flow("restart", size=LARGE, rounds=2, pause="1s"),
    flow("http", size=LARGE),
    flow("page", html=LARGE, objects=["1kB"]),
    flow("web", rate="1mbit"),
    flow("ping"),
    flow("udp", rate="1mbit"),
    flow("media"),
    flow("flent:tcp_upload"),
    flow("command", argv=["sleep", "99"]),
]
OTHERS = bulk("s2", "d2")


def beside_others(loss: Mapped) -> Mapped:
    """An experiment with a flow of each kind on one link, and one more on another."""
    keys: dict[str, Any] = {"pairs": 2, "links": {"s1-r1": loss}, "record": []}
    return dumbbell(*KINDS, OTHERS, queue=QUEUE, **keys)


def told(found: Mapped, key: str) -> Mapped:
    """Of each kind but the last, which comes twice or is another's, by its name."""
    return {
        f"{each['workload']}{' of a size' if number == 1 else ''}": each[key]
        for number, each in enumerate(found["flows"])
        if each["from"] == "s1"
    }


def test_nobody_answers(lab: Lab) -> None:
    found = lab(beside_others({"loss": "100%"}))
    assert told(found.content, "unfinished") == {
        **dict.fromkeys(["bulk", "bulk of a size", "restart", "http", "page"], "not connected"),
        **dict.fromkeys(["web", "ping", "udp", "media", "command"]),
        "flent:tcp_upload": "no data",
    }
    received = told(found.content, "bytes")
    assert {name for name, bytes_ in received.items() if bytes_ is None} == {
        *("ping", "command", "flent:tcp_upload")
    }
    assert set(received.values()) == {None, 0}
    ends = told(found.content, "end_s")
    assert ends["bulk"] == ends["web"] == ends["udp"] == 10, "an experiment's end ends everything"
    assert found.content["flows"][-1]["bytes"] > 9e6, "the flow beside them has the link"
    assert found.content["warnings"][0] == "flow 1 (bulk) is unfinished: not connected"
    table = found.table("flows")
    assert table["unfinished"].to_list() == [f["unfinished"] for f in found.content["flows"]]
    assert "not connected" in _shown(found.path)


def test_nobody_answers_any_more(lab: Lab) -> None:
    """From when all are connected on."""
    found = lab(beside_others({"schedule": [{"at": "200ms", "loss": "100%"}]}))
    why = told(found.content, "unfinished")
    assert why.pop("bulk of a size") == "connection timed out"
    assert {why.pop(name) for name in ("restart", "http", "page")} <= {
        *("connection timed out", "not ended")
    }
    assert set(why.values()) == {None}
    table = found.table("flows")
    unfinished = table.filter(pl.col("unfinished").is_not_null())
    assert unfinished["fct_s"].null_count() == len(unfinished) == 4
    assert table["bytes"][1] > 0


def test_tcp_gives_up_before_the_end(lab: Lab) -> None:
    """After a quarter of an hour."""
    cut = {"s1-r1": {"schedule": [{"at": "2s", "loss": "100%"}]}}
    web = flow("web", rate="200kbit", duration="10s")
    experiment = dumbbell(bulk(), web, web | {"duration": "1200s", "rate": "20kbit"}, queue=QUEUE)
    found = lab(experiment | {"links": cut, "duration": "1200s", "record": []})
    told = found.content["flows"]
    assert [each["unfinished"] for each in told] == ["connection timed out", None, None]
    assert told[0]["bytes"] > 1e5
    assert told[0]["end_s"] == told[2]["end_s"] == 1200


def test_a_syn_that_gets_through_after_the_end_begins_nothing(lab: Lab) -> None:
    """It is sent again after 1, 3 and 7 s, and the link is there from 6 s on."""
    link = {"loss": "100%", "schedule": [{"at": "6s", "loss": "0%"}]}
    early, late = bulk(duration="5s"), bulk(duration="8s")
    found = lab(dumbbell(early, late, queue=QUEUE, links={"s1-r1": link}))
    assert [each["unfinished"] for each in found.content["flows"]] == ["not connected", None]
    assert found.content["flows"][0]["bytes"] == 0
    assert found.content["flows"][1]["bytes"] > 5e5
    assert set(found.packets()["flow"]) == {2}


def _shown(run: Path) -> str:
    from rich.console import Console  # noqa: PLC0415

    console = Console(width=200)
    with console.capture() as captured:
        console.print(*show.parts(document.read(run), setting.parts(run)))
    return captured.get()
