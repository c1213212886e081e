"""Draws noise.svg, beside this file: what each kind of noise does to two flows' saw-teeth.

Usage: python docs/noise.py, in Sandglass's environment. Prints the table of docs/experiment.md.
"""

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from plotnine import aes, facet_wrap, geom_step, ggplot, labs, scale_color_manual

from sandglass.experiment import reading
from sandglass.results import style
from sandglass.run import runs

HERE = Path(__file__).parent
EXPERIMENT = HERE.parent / "examples" / "noise.yaml"
KINDS: dict[str, str | None] = {
    "none": None,
    "phase: packet": "{phase: packet}",
    "host: tail": "{host: tail}",
    "nic: 250us": "{nic: 250us}",
    "wan: 200us": "{wan: 200us}",
    "testbed": "testbed",
}
STEP_NS = 500_000_000
"""Of the windows drawn."""


def measured(kind: str, home: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The windows of a run, one for each flow and STEP_NS, and its run.json."""
    chosen = KINDS[kind]
    experiment = reading.load(EXPERIMENT, [] if chosen is None else [f"noise={chosen}"])
    done = runs.run(experiment, EXPERIMENT, home / "run")
    windows = (
        pl.read_parquet(done.path / "acks.parquet")
        .group_by("flow", pl.col("time_ns") // STEP_NS, maintain_order=True)
        .agg(pl.col("cwnd_packets").last())
        .select(
            kind=pl.lit(kind),
            flow=pl.col("flow").cast(pl.String),
            time_s=pl.col("time_ns") * (STEP_NS / 1e9),
            window=pl.col("cwnd_packets").cast(pl.Int64),
        )
    )
    return windows, done.content


def row(kind: str, content: dict[str, Any]) -> str:
    """A line of the table."""
    rates = [flow["goodput_mbit"] for flow in content["flows"]]
    jain = sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates)
    delay = content["bottleneck"]["queue_delay_ms"]["mean"]
    goodputs = " and ".join(f"{rate:.3f}" for rate in rates)
    return f"| `{kind}` | {goodputs} | {jain:.3f} | {delay:.1f} ms |"


def main(out: Path) -> None:
    tables = []
    with tempfile.TemporaryDirectory() as home:
        for kind in KINDS:
            windows, content = measured(kind, Path(home))
            tables.append(windows)
            print(row(kind, content))
    drawn = pl.concat(tables).with_columns(pl.col("kind").cast(pl.Enum(list(KINDS))))
    plot = (
        ggplot(drawn, aes("time_s", "window", color="flow"))
        + geom_step(size=0.4)
        + facet_wrap("kind", ncol=2)
        + scale_color_manual(style.PALETTE)
    )
    text = f"examples/noise.yaml, seed {content['seed']}, Linux {content['kernel']['release']}"
    titled = style.finish(plot, "Two flows of Reno in phase, and what noise makes of them", text)
    titled += labs(x="time (s)", y="congestion window (packets)")
    style.save(titled, out)


if __name__ == "__main__":
    main(HERE / "noise")
