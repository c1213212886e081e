"""What flows leave in files, as tables: LEAVES-ID.csv of each is a part of one table of all."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sandglass.agent.declare import Column
from sandglass.agent.plan import Plan

if TYPE_CHECKING:
    from sandglass.experiment.workload import Workload

Ask = Callable[..., Any]
"""Asks a workload's file something, in the cage where it is a stranger's: experiment/foreign.py."""


def schema(columns: Mapping[str, Column]) -> dict[str, type[pl.DataType]]:
    """Declared columns as Polars has them."""
    return {name: getattr(pl, column.type) for name, column in columns.items()}


def tables(
    plan: Plan,
    flows: Sequence[dict[str, Any]],
    kinds: Mapping[str, "Workload"],
    ask: Ask,
    directory: Path,
) -> dict[str, pl.DataFrame]:
    """Tables by name, with the number of the flow as their first column; the files go.

    `kinds` are the workloads as flows call them. A workload may compute a table and numbers from
    what its flow has left (`evaluate`); the numbers go into `flows`, run.json's.
    """
    found: dict[str, list[pl.DataFrame]] = {}
    for number, planned in enumerate(plan["flows"]):
        kind = kinds[planned["workload"]]
        if kind.leaves_with and not planned["options"][kind.leaves_with]:
            continue
        for name, columns in kind.tables.items():
            path = directory / f"{kind.leaves}-{planned['id']}.csv"
            flow = pl.lit(planned["id"], pl.UInt16).alias("flow")
            if flows[number]["unfinished"] and not path.exists():
                rows = pl.DataFrame(schema=schema(columns))
                found.setdefault(name, []).append(rows.select(flow, *columns))
                continue
            if kind.evaluates:
                told, numbers = ask("evaluate", kind.path, planned, path.read_text())
                rows = pl.DataFrame(told, schema=schema(columns))
                flows[number] |= numbers
            else:
                rows = pl.read_csv(path, schema=schema(columns))
            path.unlink()
            found.setdefault(name, []).append(rows.select(flow, *columns))
    return {name: pl.concat(parts) for name, parts in found.items()}
