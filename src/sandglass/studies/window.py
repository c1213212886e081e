"""A window of a run's time, and the packets that arrive in it."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from sandglass.experiment import units
from sandglass.results import series
from sandglass.results.series import Run
from sandglass.studies import sql


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

    def flows(self) -> list[int]:
        """The TCP flows that `where` chooses, of which `goodput` has no row if nothing of them
        was ever acknowledged: those are starved, and count."""
        goodput = self.run.records("goodput").select("time_ns", "flow", "bytes").collect()
        known = {*goodput["flow"], *(each["id"] for each in self._told() if each["cc"])} - {0}
        nothing = {"time_ns": self.end_ns, "bytes": 0}
        rows = [{**nothing, "flow": flow} for flow in sorted(known)]
        every = pl.concat([goodput, pl.DataFrame(rows, goodput.schema)])
        chosen = every.filter(sql.expression(self.where)) if self.where else every
        return sorted({*chosen["flow"]} & known)

    def _told(self) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = self.run.document.get("flows", [])
        return told

    def packets(self) -> pl.DataFrame:
        """The packets with payload, in the order of their arrival."""
        name = self.bottleneck or next(iter(self.run.document["bottlenecks"] or {}), None)
        if name is None:
            raise ValueError("the run recorded no queue")
        rows = series.forward(self.run, name).filter(
            (pl.col("payload_bytes") > 0)
            & pl.col("enqueue_ns").is_between(self.start_ns, self.end_ns, closed="left")
        )
        rows = rows.filter(sql.expression(self.where)) if self.where else rows
        return rows.sort("enqueue_ns", maintain_order=True).collect()
