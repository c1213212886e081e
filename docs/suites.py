"""Prints the tables of suites.md, of the reports in results/reference/suites.

Usage: python docs/suites.py, in Sandglass's environment.
"""

import polars as pl

from sandglass.results.pages import number
from sandglass.suites import reference, suite

Row = tuple[str, str, str, str]
"""What it is called, and its scenario, point and metric."""
Means = dict[tuple[str, ...], float]
"""By scenario, point and metric."""
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
CONTROLS: list[Row] = [
    (
        "A flow, 8 Mb/s, 200 ms, half a BDP of buffer: goodput, Mb/s",
        *("single", "rate 8mbit, rtt 200ms, buffer 0.5bdp", "goodput"),
    ),
    (
        "20 ms, 4 BDP: delay p95, ms",
        *("single", "rate 8mbit, rtt 20ms, buffer 4bdp", "delay_p95"),
    ),
    ("Random loss of 1 %, goodput of 8 Mb/s", "wireless", "path 1 % loss", "goodput"),
    ("20 ms over 160 ms, quotient of goodputs", "rtts", "", "shortest_to_longest"),
    (
        "What a CUBIC flow keeps beside it, of 30.2 Mb/s",
        *("harm", "incumbent cubic, mix 1 to 1, buffer 1bdp", "theirs"),
    ),
    ("Flows that begin 20 s apart: Jain's index", "starts", "", "fairness"),
    ("Data centre at 85 %: FCT p95, s", "datacentre", "load 85 %", "fct_p95"),
    ("CoDel with ECN: delay, ms", "ecn", "aqm CoDel, ecn with", "delay"),
    ("Cellular trace: goodput, Mb/s", "traces", "trace cellular", "goodput"),
    ("its delay p95, ms", "traces", "trace cellular", "delay_p95"),
    ("Until 90 % of the rate after 5 s of darkness, s", "blackout", "blackout 5 s", "to_90"),
]


def own(kind: str) -> dict[str, Means]:
    """By the name of each report of a suite, the means of the contender that it is of."""
    baseline = suite.read(suite.SUITES / kind).described.baseline
    table = reference.read(kind, "means")
    return {
        f"`{name}`": means(table.filter(report=name, label=label))
        for name in table["report"].unique(maintain_order=True)
        for label in [baseline.label if name == baseline.name else name]
    }


def table(columns: dict[str, Means], rows: list[Row]) -> str:
    """In Markdown."""
    lines = [f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for called, *place in rows:
        cells = [number(each[tuple(place)]) for each in columns.values()]
        lines.append(f"| {called} | {' | '.join(cells)} |")
    return "\n".join(lines)


def means(own: pl.DataFrame) -> Means:
    """Those of one contender of one report."""
    rows = own.select("scenario", "point", "metric", "mean").iter_rows()
    return {(scenario, point, metric): mean for scenario, point, metric, mean in rows}


if __name__ == "__main__":
    print(f"{table(own('qdisc'), QDISCS)}\n\n{table(own('cc'), CONTROLS)}")
