"""A window of a run's time, and the packets that arrive in it."""

from dataclasses import dataclass

import polars as pl

from sandglass.experiment import units
from sandglass.results import series
from sandglass.results.series import Run


@dataclass(frozen=True)
class Window:
    """A time of a run."""

    run: Run
    start_ns: int
    end_ns: int
    where: str | None
    """Polars' SQL, of the packets' columns, or of those of `goodput`."""
    share: float
    """Of a measure that is a quantile or has a bound: which."""
    bottleneck: str | None
    """The first one where it is not named."""

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def rtt_ns(self) -> int:
        """R."""
        return units.parse_time(self.run.field("experiment.rtt"))

    def packets(self) -> pl.DataFrame:
        """The packets with payload, in the order of their arrival."""
        name = self.bottleneck or next(iter(self.run.document["bottlenecks"] or {}), None)
        if name is None:
            raise ValueError("the run recorded no queue")
        rows = series.forward(self.run, name).filter(
            (pl.col("payload_bytes") > 0)
            & pl.col("enqueue_ns").is_between(self.start_ns, self.end_ns, closed="left")
        )
        rows = rows.filter(pl.sql_expr(self.where)) if self.where else rows
        return rows.sort("enqueue_ns", maintain_order=True).collect()
