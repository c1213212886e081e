"""A new figure, in a paper outside the checkout: two files, and its numbers stand in its text."""

from pathlib import Path

import polars as pl
import pytest
import yaml

from sandglass.papers import reproduce
from tests.pipeline.test_workflow import snakemake

EXPERIMENT = """
topology: dumbbell
rtt: 20ms
bottleneck: {rate: 10mbit, queue: {kind: codel}}
flows: [{workload: bulk, from: s1, to: d1, cc: reno, ecn: true}]
duration: 5s
"""
FIGURE = """
title: "The queue of a flow"
caption: One flow through CoDel.
setup: {re-design: [10 Mb/s]}
runs:
  - {experiment: [one], rtt: [20ms, 40ms]}
sentences:
  - quote: CoDel keeps the queue below a millisecond
    where: made up
    kind: stated
    metric: longest
    unit: ms
    claims:
      - {id: short, statement: Longest median, bounds: {below: 1000}}
      - id: too-short
        statement: Longest median
        bounds: {below: 0}
        explanation: It is {{ claim("short"):.2f }} ms.
"""
CODE = """
from plotnine import aes, geom_point, ggplot

from sandglass.papers.verdicts import largest
from sandglass.results import series


def table(runs):
    fields = {"delay_ms": "bottleneck.queue_delay_ms.median"}
    return series.tidy(runs, fields).select("rtt", "delay_ms")


def plot(table):
    return ggplot(table, aes("rtt", "delay_ms")) + geom_point()


def longest(table):
    return largest(table, "delay_ms")


METRICS = (longest,)
"""


@pytest.mark.lab
def test_a_new_figure_is_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "mine"
    (home / "experiments").mkdir(parents=True)
    (home / "paper.yaml").write_text("paper: Me\ntitle: Mine\n")
    (home / "experiments" / "one.yaml").write_text(EXPERIMENT)
    before = set(home.rglob("*"))
    (home / "queue.yaml").write_text(FIGURE)
    (home / "queue.py").write_text(CODE)
    assert len(set(home.rglob("*")) - before) == 2
    monkeypatch.setenv("SANDGLASS_PAPERS", str(home))
    done = snakemake(tmp_path, "mine", "--config", "profile=quick", "papers=mine", lab=True)
    assert done.returncode == 0, done.stderr
    short, too_short = pl.read_csv(tmp_path / "results/mine/verdicts.csv").to_dicts()
    assert (short["verdict"], too_short["verdict"]) == ("holds", "fails")
    assert too_short["explanation"] == f"It is {short['measured']:.2f} ms."
    assert too_short["explanation"] in (tmp_path / "results/mine/report.html").read_text()


def test_a_figure_is_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`study` takes its file, and does what `reproduce` does."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "paper.yaml").write_text("paper: Me\ntitle: Mine\n")
    file = tmp_path / "mine" / "queue.yaml"
    file.write_text(FIGURE)
    assert reproduce.is_figure(file)
    assert not reproduce.is_figure(file.with_name("paper.yaml"))
    alone = tmp_path / "study.yaml"
    alone.write_text(yaml.safe_dump({"title": "x"}))
    assert not reproduce.is_figure(alone)
    monkeypatch.setenv("SANDGLASS_PAPERS", "")
    assert reproduce.named(str(file)) == "mine/queue"
