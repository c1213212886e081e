"""Runs drawn beside each other: what the bottleneck carried, and how long packets waited there."""

from collections.abc import Sequence
from itertools import starmap
from pathlib import Path
from typing import Any

import polars as pl
from plotnine import (
    aes,
    expand_limits,
    facet_wrap,
    geom_line,
    ggplot,
    labs,
    scale_color_manual,
    scale_linetype_manual,
)
from rich.table import Table

from sandglass.errors import UsageError
from sandglass.install import builds
from sandglass.results import document, series, setting, style
from sandglass.results.export.whole import whole_file
from sandglass.terminal import put, say

COMPARISON = builds.WORK / "results" / "comparison"
STEP_NS = 500_000_000
QUANTILES = 200
THROUGHPUT = "Throughput (Mb/s) against time (s)"
WAIT = "Share of packets against queueing delay (ms)"


def load(directories: Sequence[Path]) -> dict[str, series.Run]:
    """Runs by the names of their directories, or by their paths where two have the same name.

    Raises UsageError where there is no run, or one is given twice.
    """
    names = [directory.resolve().name for directory in directories]
    runs: dict[str, series.Run] = {}
    for directory, name in zip(directories, names, strict=True):
        document.read(directory)
        called = str(directory) if names.count(name) > 1 else name
        if called in runs:
            raise UsageError(f"{directory} is given twice")
        runs[called] = series.load(directory, {})
    return runs


def curves(name: str, run: series.Run) -> pl.DataFrame:
    """Columns run, panel, x, y: throughput in steps of 500 ms, distribution of queueing delays.

    Of the first bottleneck, in forward direction.
    """
    bottleneck = next(iter(run.document["bottlenecks"]), None)
    if bottleneck is None:
        raise UsageError(f"{name} recorded no link", "Name one in `record`: [packets, s1-r1].")
    duration_ns = round(run.document["virtual_s"] * 1e9)
    packets = series.forward(run, bottleneck)
    carried = series.bytes_departed(packets, STEP_NS, duration_ns).select(
        panel=pl.lit(THROUGHPUT),
        x=pl.col("time_ns") / 1e9,
        y=pl.col("bytes").diff() * 8 / STEP_NS * 1e3,
    )
    waits = (
        packets.filter(pl.col("dequeue_ns").is_between(0, duration_ns))
        .select(pl.col("sojourn_ns") / 1e6)
        .collect()
        .to_series()
    )
    shares = [number / QUANTILES for number in range(QUANTILES + 1)]
    waited = pl.DataFrame(
        {
            "panel": [WAIT] * len(shares),
            "x": [waits.quantile(share) for share in shares],
            "y": shares,
        }
    )
    both = pl.concat([carried.drop_nulls(), waited], how="vertical_relaxed")
    return both.select(pl.lit(name).alias("run"), "panel", "x", "y")


def table(runs: dict[str, series.Run]) -> pl.DataFrame:
    """A row per run: what is measured of its first bottleneck, columns as in run.json."""
    rows: list[dict[str, Any]] = []
    for name, run in runs.items():
        bottleneck = next(iter(run.document["bottlenecks"].values()))
        delays = bottleneck.get("queue_delay_ms") or {}
        rows.append(
            {
                "run": name,
                "backend": run.document["backend"],
                "goodput_mbit": sum(flow["goodput_mbit"] or 0 for flow in run.document["flows"]),
                "utilisation": bottleneck.get("utilisation"),
                "packets": bottleneck.get("packets"),
                "drops": bottleneck.get("drops"),
                "marks": bottleneck.get("marks"),
                **{f"delay_{key}_ms": delays.get(key) for key in ("mean", "median", "p99", "max")},
            }
        )
    return pl.DataFrame(rows)


def draw(runs: dict[str, series.Run]) -> ggplot:
    """A line per run in two panels."""
    names = called(runs)
    order = pl.Enum(list(names.values()))
    shown = pl.concat([curves(names[name], run) for name, run in runs.items()]).with_columns(
        pl.col("run").cast(order), pl.col("panel").cast(pl.Enum([THROUGHPUT, WAIT]))
    )
    plot: ggplot = (
        ggplot(shown, aes("x", "y", color="run", linetype="run"))
        + facet_wrap("panel", scales="free", ncol=1)
        + geom_line()
        + expand_limits(y=0)
        + scale_color_manual(style.PALETTE)
        + scale_linetype_manual(style.LINES)
        + labs(x="", y="", color="", linetype="")
    )
    titles = list(dict.fromkeys(run.document["title"] for run in runs.values()))
    return style.finish(plot, " | ".join(titles), "\n".join(starmap(origin, runs.items())))


def called(runs: dict[str, series.Run]) -> dict[str, str]:
    """How the legend calls each run: by its name, and what its packets met where that differs."""
    met = {name: setting.of(run.directory) for name, run in runs.items()}
    if len({*met.values()}) == 1:
        return {name: name for name in runs}
    return {name: f"{name}: {met[name]}" if met[name] else name for name in runs}


def origin(name: str, run: series.Run) -> str:
    """What a run's packets went through, and where its numbers come from, in a line."""
    found = run.document
    where = f"{found['backend']}, Linux {found['kernel']['release']}"
    digest = found["digest"]
    kept = f"digest {digest[:16]}" if digest else "in real time, so without a digest"
    met = setting.of(run.directory)
    return f"{name}: {met}{'; ' if met else ''}{where}, seed {found['seed']}, {kept}."


def compare(directories: Sequence[Path], out: Path | None) -> None:
    """Print runs as a table, and write `out`.csv, .svg and .png, by default in the checkout."""
    stem = style.stem(out or COMPARISON)
    runs = load(directories)
    numbers = table(runs)
    with document.readable(Path(", ".join(map(str, directories)))):
        plot = draw(runs)
    stem.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(stem.with_name(f"{stem.name}.csv")) as file:
        numbers.write_csv(file)
    style.save(plot, stem)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", *numbers["run"]):
        shown.add_column(column, justify="right" if column else "left", no_wrap=True)
    for column in numbers.drop("run").iter_columns():
        words = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in column)
        shown.add_row(column.name.replace("_", " "), *words)
    put(shown)
    say(f"see {stem}.svg")
