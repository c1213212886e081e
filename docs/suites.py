"""Prints the table of suites.md, of the reports in results/reference/suites.

Usage: python docs/suites.py, in Sandglass's environment.
"""

from pathlib import Path

import polars as pl

from sandglass.install.builds import ROOT
from sandglass.results.pages import number
from sandglass.suites import suite

REFERENCE = ROOT / "results" / "reference" / "suites"
Row = tuple[str, str, str, str]
"""What it is called, and its scenario, point and metric."""
QDISCS: list[Row] = [
    ("5.1.1, a Reno flow, 100 ms: goodput, Mb/s", "friendly", "rtt 100ms", "goodput"),
    ("its queueing delay, mean, ms", "friendly", "rtt 100ms", "delay"),
    ("8.2.2, 38 Reno flows: delay p99, ms", "levels", "level heavy", "delay_p99"),
    ("packets lost, share", "levels", "level heavy", "loss"),
    ("5.1.2, 30 packets beside a long flow: completion, ms", "limited", "", "fct_30"),
    ("8.2.6a, 2 s after 100 to 10 Mb/s: delay, ms", "varying_capacity", "flows 10", "delay_10_2s"),
    ("6.2, 100 ms beside 560 ms: Jain's index", "rtt_fairness", "rtt_ii 560ms", "jain"),
    ("9.1, a mix: page load, ms", "mix", "", "plt"),
    ("L4S, Prague beside CUBIC: Prague's Mb/s", "scalable", "rtt 10ms", "goodput_scalable"),
    ("CUBIC's Mb/s", "scalable", "rtt 10ms", "goodput_classic"),
    ("Prague's delay p99, ms", "scalable", "rtt 10ms", "delay_scalable_p99"),
]


def table(kind: str, rows: list[Row]) -> str:
    """A column for each report of a suite: the means of the algorithm that it is of."""
    reports = {home.name: means(kind, home) for home in sorted((REFERENCE / kind).iterdir())}
    lines = [f"| | {' | '.join(f'`{name}`' for name in reports)} |"]
    lines.append("|---|" + "---:|" * len(reports))
    for called, *place in rows:
        cells = [number(found[tuple(place)]) for found in reports.values()]
        lines.append(f"| {called} | {' | '.join(cells)} |")
    return "\n".join(lines)


def means(kind: str, home: Path) -> dict[tuple[str, ...], float]:
    """By scenario, point and metric."""
    baseline = suite.read(suite.SUITES / kind).described.baseline
    label = baseline.label if home.name == baseline.name else home.name
    own = pl.read_csv(home / "means.csv", infer_schema_length=None).filter(label=label)
    rows = own.select("scenario", pl.col("point").fill_null(""), "metric", "mean").rows()
    return {(scenario, point, metric): mean for scenario, point, metric, mean in rows}


if __name__ == "__main__":
    print(table("qdisc", QDISCS))
