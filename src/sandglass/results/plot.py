"""A run drawn over time: what its flows got of each recorded link, waited there, and their windows.

Of links in forward direction, of flows that sent data over them. Of a run that recorded nothing
over time, how long what ended by itself took.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from plotnine import (
    aes,
    expand_limits,
    facet_wrap,
    geom_line,
    geom_step,
    ggplot,
    labs,
    scale_color_manual,
    theme,
)

from sandglass.errors import UsageError
from sandglass.records.flow_folders import QLOG
from sandglass.results import document, series, setting, style
from sandglass.terminal import say

STEPS = 100
"""Into so many a run's duration is divided; each is drawn as a mean, at its middle."""
PANEL_IN = 1.5
AROUND_IN = 1.2  # title, legend and caption
ALL = "all flows"
TOOK = {"plt_s": "Page load time (s)", "fct_s": "Flow completion time (s)"}
"""Columns of flows.parquet that are drawn of a run without records, the first that has numbers."""


def panels(run: series.Run, step_ns: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each panel's title, and its means by flow and step: columns flow, step, y."""
    recorded = {path.stem for path in run.directory.glob("*.parquet")}
    for link in run.document["bottlenecks"] if "packets" in recorded else ():
        data = series.forward(run, link).filter(pl.col("payload_bytes") > 0)
        rate = pl.col("size_bytes").sum() * (8e3 / step_ns)
        carried = means(data, "dequeue_ns", rate, step_ns)
        flows = carried.select("flow").unique(maintain_order=True)
        steps = pl.DataFrame({"step": pl.int_range(STEPS, eager=True)})
        every = flows.join(steps, how="cross").join(carried, ["flow", "step"], "left")
        yield f"Throughput, {link} (Mb/s)", every.with_columns(pl.col("y").fill_null(0))
        waited = means(data, "dequeue_ns", pl.col("sojourn_ns").mean() / 1e6, step_ns)
        yield f"Queueing delay, {link} (ms)", waited
    if windows := [*_windows(run, recorded)]:
        mean = pl.col("cwnd_packets").mean()
        window = pl.concat(means(each, "time_ns", mean, step_ns) for each in windows)
        yield "Congestion window (packets)", window.drop_nulls().sort("flow", "step")
    if "rtt" in recorded:
        answered = means(run.records("rtt"), "sent_ns", pl.col("rtt_ns").mean() / 1e6, step_ns)
        yield "Round-trip time of pings (ms)", answered.drop_nulls()


def _windows(run: series.Run, recorded: set[str]) -> Iterator[pl.LazyFrame]:
    """Tables with the windows of senders, of TCP and of QUIC."""
    if "acks" in recorded:
        yield run.records("acks")
    if QLOG in recorded:
        yield series.sending(run.table(QLOG)).lazy()


def means(rows: pl.LazyFrame, time: str, value: pl.Expr, step_ns: int) -> pl.DataFrame:
    """What `value` makes of each flow's rows in each step of the run, in order."""
    return (
        rows.with_columns(step=pl.col(time) // step_ns, flow=pl.col("flow").cast(pl.Int64))
        .filter(pl.col("step").is_between(0, STEPS - 1), pl.col("flow") > 0)
        .group_by("flow", "step")
        .agg(y=value.cast(pl.Float64))
        .sort("flow", "step")
        .collect()
    )


def draw(run: series.Run) -> ggplot:
    """A line per flow in each panel, in one colour where there are more flows than colours.

    Raises UsageError when the run recorded nothing of this.
    """
    duration_s = run.document["virtual_s"]
    found = [
        table.with_columns(panel=pl.lit(title))
        for title, table in panels(run, round(duration_s * 1e9 / STEPS))
        if table.height
    ]
    if not found:
        return draw_times(run)
    titles = [table["panel"][0] for table in found]
    names = {flow["id"]: document.named(flow) for flow in run.document["flows"]}
    drawn = pl.concat(found)
    label = pl.col("flow").replace_strict(names, return_dtype=pl.String)
    if drawn["flow"].n_unique() > len(style.PALETTE):
        label = pl.lit(ALL)
    shown = drawn.with_columns(
        pl.col("panel").cast(pl.Enum(titles)),
        label=label,
        time_s=(pl.col("step") + 0.5) * (duration_s / STEPS),
    )
    order = shown.sort("flow")["label"].unique(maintain_order=True)
    plot: ggplot = (
        ggplot(
            shown.with_columns(pl.col("label").cast(pl.Enum(order))),
            aes("time_s", "y", color="label", group="flow"),
        )
        + facet_wrap("panel", scales="free_y", ncol=1)
        + geom_line()
        + expand_limits(y=0)
        + scale_color_manual(style.PALETTE)
        + labs(x="Time (s)", y="", color="")
    )
    size = theme(figure_size=(style.WIDTH_IN, AROUND_IN + PANEL_IN * len(titles)))
    return style.finish(plot, run.document["title"], origin(run)) + size


def draw_times(run: series.Run) -> ggplot:
    """The distribution of how long flows took, or pages, of all repetitions.

    Raises UsageError when none ended by itself.
    """
    flows = run.records("flows").collect()
    times = {name: flows[name].drop_nulls().sort() for name in TOOK if name in flows.columns}
    column = next((name for name, each in times.items() if len(each)), None)
    if column is None:
        raise UsageError(
            f"{run.directory} recorded nothing to draw", "See `record` in docs/experiment.md."
        )
    took = times[column]
    share = pl.int_range(1, len(took) + 1, eager=True) / len(took)
    plot: ggplot = (
        ggplot(pl.DataFrame({"took": took, "share": share}), aes("took", "share"))
        + geom_step(color=style.PALETTE[0])
        + expand_limits(x=0, y=0)
        + labs(x=TOOK[column], y=f"Share of {len(took)}")
    )
    return style.finish(plot, run.document["title"], origin(run))


def origin(run: series.Run) -> str:
    """What a caption says of the network, and of where the numbers come from."""
    met = setting.of(run.directory)
    seed, digest = run.document["seed"], run.document["digest"] or "none"
    return f"{met}{'. ' if met else ''}Seed {seed}, digest {digest[:16]}."


def plot(directory: Path, out: Path | None) -> None:
    """Write `out`.svg and .png, by default plot.svg beside the run's run.json."""
    stem = style.stem(out or directory / "plot")
    document.read(directory)
    with document.readable(directory):
        drawn = draw(series.load(directory, {}))
    stem.parent.mkdir(parents=True, exist_ok=True)
    style.save(drawn, stem)
    say(f"see {stem}.svg")
