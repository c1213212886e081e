"""Rate balance with mixed round trips."""

from pipelines.dualq import drawing, mixed

table = mixed.table
METRICS = (mixed.within_factor, mixed.least_growth, mixed.most, mixed.points_within)


def plot(table: drawing.Table) -> drawing.Plot:
    """The rates' ratio L/C against the round trip of class C."""
    return drawing.against_rtt(table, ["rate_ratio_l_c"], "Rate of L over rate of C", log=True)
