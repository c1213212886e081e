"""Why Figs. 12 and 13 differ: what else decides when two flows share the link, one at a time."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import plotnine as p9
import polars as pl

from pipelines.abe import convergence, why_noise
from sandglass.papers.verdicts import Extreme, largest, least
from sandglass.results import series, style

AS_IS = "as it is"


def each_second(indices: pl.DataFrame) -> float | None:
    """When the index first reaches the threshold, of one that is looked at once a second."""
    seconds = indices.group_by(time_s=pl.col("time_s").ceil(), maintain_order=True).last()
    return convergence.first(seconds)


def for_good(indices: pl.DataFrame) -> float | None:
    """When the index reaches the threshold to stay above it; None when it ends below."""
    unfair = indices.select(pl.col("index") < convergence.FAIR).to_series()
    after = int(np.flatnonzero(unfair)[-1]) + 1 if unfair.any() else 0
    return float(indices["time_s"][after]) if after < indices.height else None


DEFINITIONS = {"index once a second": each_second, "index for good": for_good}
"""Other readings of "the time it took until this index reached a threshold", of the same runs."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Figs. 12 and 13's tables, `control` CUBIC and NewReno, with what is `changed`."""
    tables = []
    for control, default, own in why_noise.by_control(runs):
        found = partial(convergence.convergence_table, default=default)
        as_is = [run for run in own if run.axes["changed"] == AS_IS]
        again = [
            found(as_is, when=when).with_columns(changed=pl.lit(name))
            for name, when in DEFINITIONS.items()
        ]
        both = pl.concat([series.along(own, "changed", found), *again])
        tables.append(both.with_columns(control=pl.lit(control)))
    return pl.concat(tables)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The share of paths that converge faster than with the default beta_ecn, for each change, a
    panel per congestion control. Dotted: half of them."""
    order = pl.Enum(table["changed"].unique(maintain_order=True).reverse())
    shown = pl.concat(
        _shares(table, control, partial(convergence.faster, beta=beta)).with_columns(
            control=pl.lit(control), beta=pl.lit(str(beta))
        )
        for control, beta in _others(table)
    ).with_columns(pl.col("changed").cast(order))
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("changed", "share", color="beta", shape="beta"))
        + p9.facet_wrap("control")
        + p9.geom_hline(yintercept=0.5, linetype="dotted", color="#666666")
        + p9.geom_point(size=3, position=p9.position_dodge(width=0.4))
        + p9.coord_flip()
        + p9.scale_y_continuous(limits=(0, 1))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Share of paths that are faster", color="beta_ecn", shape="beta_ecn")
    )
    return drawn


def most_slower(table: pl.DataFrame, control: str, beta: float) -> Extreme | None:
    """The share of paths whose convergence time is above the default's, the largest over the
    changes."""
    return largest(_changes(table, control, partial(convergence.slower, beta=beta)), "share")


def most_faster(table: pl.DataFrame, control: str, beta: float, queue: str) -> Extreme | None:
    """The share of paths that converge faster than with the default, the largest over the
    changes."""
    return largest(
        _changes(table, control, partial(convergence.faster, beta=beta, queue=queue)), "share"
    )


def least_faster(table: pl.DataFrame, control: str, beta: float) -> Extreme | None:
    """The share of paths that converge faster than with the default, the least over the changes."""
    return least(_changes(table, control, partial(convergence.faster, beta=beta)), "share")


def least_harmed(table: pl.DataFrame, control: str, beta: float, by: float) -> Extreme | None:
    """The share of paths slower by more than `by`, the least over the changes."""
    return least(_changes(table, control, partial(convergence.slower, beta=beta, by=by)), "share")


def least_never(table: pl.DataFrame, control: str) -> Extreme | None:
    """The share of experiments that do not converge, in percent, the least over the changes."""
    return least(_changes(table, control, convergence.never), "share")


METRICS = (most_slower, most_faster, least_faster, least_harmed, least_never)


def _shares(
    table: pl.DataFrame, control: str, share: Callable[[pl.DataFrame], float | None]
) -> pl.DataFrame:
    """A share of the runs with each change."""
    own = table.filter(pl.col("control") == control).group_by("changed", maintain_order=True)
    found = [(str(changed), share(rows)) for (changed,), rows in own]
    return pl.DataFrame(found, schema={"changed": pl.String, "share": pl.Float64}, orient="row")


def _changes(
    table: pl.DataFrame, control: str, share: Callable[[pl.DataFrame], float | None]
) -> pl.DataFrame:
    return _shares(table, control, share).filter(pl.col("changed") != AS_IS)


def _others(table: pl.DataFrame) -> list[tuple[str, float]]:
    """The congestion controls with each of their beta_ecn but the default."""
    other = convergence.changed(table)
    return other.select("control", "beta_ecn").unique(maintain_order=True).rows()
