"""Prints the table of statistics.md: papers' claims with half of a figure's replicas and with all.

Usage: python docs/replicas.py, in Sandglass's environment. It judges the papers' references.
"""

from collections.abc import Container, Iterator

import polars as pl

from sandglass.papers import ensemble, reference, shelf, steps, verdicts

COLUMNS = (ensemble.REPLICA, "seed")
"""What tells replicas apart: they are runs of the profile, or seeds in a table that has several."""


def tables() -> Iterator[tuple[str, str, pl.DataFrame, str]]:
    """Paper, figure, its table in the reference and its column of replicas, where it has one."""
    for paper in sorted(shelf.papers()):
        for figure in reference.figures(paper):
            table = reference.table(paper, figure)
            column = next((name for name in COLUMNS if name in table.columns), None)
            if column:
                yield paper, figure, table, column


def judged(
    paper: str, figure: str, table: pl.DataFrame, names: Container[str] | None = None
) -> dict[str, verdicts.Verdict]:
    """The verdicts on what the reference's profile judges, of some claims or all, by name."""
    profile = reference.origin(paper, figure).profile
    found = steps.judge(paper, figure, table, profile, names)
    return {each.claim: each for each in found if each.n}


def rows(paper: str, figure: str, table: pl.DataFrame, column: str) -> Iterator[str]:
    """What replicas 1 to n / 2 say and all n, for each n that claims are judged by."""
    whole = judged(paper, figure, table)
    for n in sorted({each.n for each in whole.values() if each.n and each.n > 1}):
        own = [name for name in whole if whole[name].n == n]
        half = judged(paper, figure, table.filter(pl.col(column) <= n // 2), own)
        words = {name: (half[name].verdict, whole[name].verdict) for name in own}
        moved = [f"{name}: {was}, {now}" for name, (was, now) in words.items() if was != now]
        still = sum(now == "open" for _, now in words.values())
        changed = "; ".join(moved) or "none"
        yield f"| {paper}/{figure} | {n // 2}, {n} | {len(own)} | {changed} | {still} |"


def main() -> None:
    for found in tables():
        for line in rows(*found):
            print(line, flush=True)


if __name__ == "__main__":
    main()
