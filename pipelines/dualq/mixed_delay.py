"""Queueing delay, marks, losses and utilisation with mixed round trips."""

from pipelines.dualq import drawing, mixed

table = mixed.table
METRICS = (mixed.most,)


def plot(table: drawing.Table) -> drawing.Plot:
    """Mean and 99th percentile of both classes against the round trip of class C."""
    shown = [f"qdelay_{kind}_{part}_ms" for kind in "lc" for part in ("mean", "p99")]
    return drawing.against_rtt(table, shown, "Queueing delay (ms)", log=True)
