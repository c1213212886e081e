"""What the evaluation measured, from a run's records: per class, over a capture's seconds.

Class L is what host s1 sends, class C what s2 does, whatever their ECN field, as the evaluation's
analyser tells them apart (`traffic_analyzer`); datagrams are apart.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from sandglass.results import series

TICK_MS = 0.032768
"""Unit of the delay that the evaluation's qdiscs write into the IP identification."""
MANTISSA_BITS = 8
"""7 bits of the code and the leading one, which it leaves out: all published quantiles are such."""
UDP = 17
SECOND_NS = 10**9
QUANTILES = {"p25": 0.25, "p50": 0.5, "p99": 0.99}
CLASSES = {"l": "s1", "c": "s2"}


def coded(delay_ms: pl.Expr) -> pl.Expr:
    """A delay as it is read back from the code of the evaluation, in ms: rounded down to a number
    of ticks with a mantissa of 8 bits."""
    ticks = (delay_ms / TICK_MS).floor()
    shift = (ticks + 1).log(2).ceil().sub(MANTISSA_BITS).clip(lower_bound=0)
    step = pl.lit(2.0).pow(shift)
    return (ticks / step).floor() * step * TICK_MS


def statistics(run: series.Run, begin: int) -> dict[str, float | None]:
    """Of a run from its second `begin` on, for both classes and the datagrams (udp).

    For each: `tput_X_mbit` in all, of frames of 1514 bytes; `qdelay_X_mean_ms` and the quantiles
    p25, p50, p99, by rank, of coded delays; `mark_X_pct` and `drop_X_pct`, means over the seconds
    with packets. And `util_mean_pct`, `util_p1_pct` over the seconds, each at most 100.
    """
    end = run.time_ns("experiment.duration") // SECOND_NS
    seconds = end - begin
    packets = series.forward(run).with_columns(
        kind=pl.when(pl.col("protocol") == UDP)
        .then(pl.lit("udp"))
        .otherwise(pl.col("src").cast(pl.String).replace({s: c for c, s in CLASSES.items()})),
        second=pl.coalesce("dequeue_ns", "drop_ns") // SECOND_NS,
    )
    captured = (
        packets.filter(pl.col("second").is_between(begin, end - 1))
        .select(
            "kind",
            "second",
            bits=pl.when(pl.col("dequeue_ns").is_not_null()).then(
                pl.col("size_bytes").cast(pl.Int64) * 8
            ),
            delay_ms=coded(pl.col("sojourn_ns") / 1e6),
            marked=pl.when(pl.col("dequeue_ns").is_not_null()).then(pl.col("ecn_out") == 3),
            dropped=pl.col("drop_ns").is_not_null(),
        )
        .collect()
    )
    found: dict[str, float | None] = {}
    for kind in (*CLASSES, "udp"):
        found |= _of_class(captured.filter(kind=kind), kind, seconds)
    rate = float(run.rate_bps("experiment.bottleneck.rate"))
    busy = captured.group_by("second").agg(pl.col("bits").sum())["bits"].to_numpy() / rate * 100
    busy = np.minimum(np.concatenate([busy, np.zeros(seconds - len(busy))]), 100)
    return found | {
        "util_mean_pct": float(busy.mean()),
        "util_p1_pct": float(np.quantile(busy, 0.01, method="inverted_cdf")),
    }


def _of_class(captured: pl.DataFrame, kind: str, seconds: int) -> dict[str, float | None]:
    delays = captured["delay_ms"].drop_nulls().to_numpy()
    each = captured.group_by("second").agg(
        mark=pl.col("marked").mean() * 100, drop=pl.col("dropped").mean() * 100
    )
    found: dict[str, float | None] = {
        f"tput_{kind}_mbit": float(captured["bits"].sum()) / seconds / 1e6,
        f"mark_{kind}_pct": _number(each["mark"].mean()),
        f"drop_{kind}_pct": _number(each["drop"].mean()),
        f"qdelay_{kind}_mean_ms": float(delays.mean()) if len(delays) else None,
    }
    for name, share in QUANTILES.items():
        found[f"qdelay_{kind}_{name}_ms"] = (
            float(np.quantile(delays, share, method="inverted_cdf")) if len(delays) else None
        )
    return found


def per_flow(found: Mapping[str, float | None], counts: Mapping[str, int]) -> dict[str, float]:
    """`tput_l_mbit` and `tput_c_mbit` for each of so many flows."""
    totals = {kind: found[f"tput_{kind}_mbit"] for kind in counts}
    return {
        f"tput_{kind}_mbit": (totals[kind] or 0.0) / count
        for kind, count in counts.items()
        if count
    }


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
