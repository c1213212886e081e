"""Harm: the share of what an incumbent has alone that it loses beside others.

R. Ware and others, Beyond Jain's fairness index (HotNets 2019): (x - y) / x where more is better,
(y - x) / y where less is; x alone, y beside others. The bar is the harm that the incumbent's own
kind does with the same numbers of flows.
"""

import polars as pl
from incumbents import with_reference
from plotnine import (
    aes,
    facet_grid,
    geom_text,
    geom_tile,
    ggplot,
    labs,
    scale_fill_gradient2,
)

from sandglass.studies import statistics

ALONE = "alone"
MEASURED = {
    "theirs": ("goodput", "more"),
    "theirs_delay_p95": ("p95 queueing delay", "less"),
    "theirs_loss": ("loss", "less"),
}
KINDS = {"new": "H of the new flows", "ref": "H of its own kind", "difference": "Difference"}


def plots(runs: pl.DataFrame, summary: pl.DataFrame) -> dict[str, ggplot]:
    """A heat map for each metric."""
    return {
        f"harm_{metric}": _heat(rows, said)
        for metric, (said, _) in MEASURED.items()
        if (rows := means(harm(runs, metric))).height
    }


def harm(runs: pl.DataFrame, metric: str) -> pl.DataFrame:
    """A row for each run beside others: `new`, `ref` and `difference`, new less ref.

    Alone is the run of the same buffer and replica beside one byte of the incumbent's own kind.
    """
    place = ["incumbent", "buffer", "replica"]
    alone = (
        runs.filter(
            (pl.col("mix") == ALONE) & (pl.col("cc").str.to_lowercase() == pl.col("incumbent"))
        )
        .unique(place, maintain_order=True)
        .select(*place, x=pl.col(metric))
    )
    rows = with_reference(runs, "incumbent", ["mix", "buffer"], [metric])
    rows = rows.filter(pl.col("mix") != ALONE).join(alone, on=place, maintain_order="left")
    more = MEASURED[metric][1] == "more"
    return rows.select(
        *("cc", "mix", *place),
        new=of(pl.col("x"), pl.col(metric), more),
        ref=of(pl.col("x"), pl.col(f"{metric}_ref"), more),
    ).with_columns(difference=pl.col("new") - pl.col("ref"))


def of(x: pl.Expr, y: pl.Expr, more: bool) -> pl.Expr:
    """Harm; 0 where less is better and there is nothing of it."""
    return (x - y) / x if more else pl.when(y == 0).then(0.0).otherwise((y - x) / y)


def means(rows: pl.DataFrame) -> pl.DataFrame:
    """Of the replicas, in long form: `kind`, `mean`, and `text` with half of the 95 % interval."""
    found = []
    for key, own in rows.group_by("cc", "incumbent", "mix", "buffer", maintain_order=True):
        for kind, said in KINDS.items():
            each = statistics.interval(own[kind].to_list())
            half = "" if each.low is None else f"\n±{(each.high - each.low) / 2:.2f}"
            found.append((*map(str, key), said, each.mean, f"{each.mean:.2f}{half}"))
    columns = ["cc", "incumbent", "mix", "buffer", "kind", "mean", "text"]
    return pl.DataFrame(found, columns, orient="row").with_columns(
        kind=pl.col("kind").cast(pl.Enum(list(KINDS.values()))),
        place=pl.concat_str("mix", pl.lit("\n"), "buffer"),
    )


def _heat(rows: pl.DataFrame, said: str) -> ggplot:
    return (
        ggplot(rows, aes("incumbent", "cc", fill="mean"))
        + geom_tile()
        + geom_text(aes(label="text"), size=6)
        + facet_grid("place", "kind")
        + scale_fill_gradient2(low="#2166ac", mid="#f7f7f7", high="#b2182b", midpoint=0)
        + labs(
            subtitle=f"Harm to the incumbents' {said}: 0 none, 1 all of it, below 0 it helped;\n"
            "mean and half its 95 % interval",
            x="Incumbent (rows: new flows to old ones, and the buffer)",
            y="New flows",
            fill="Harm",
        )
    )
