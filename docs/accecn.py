"""Prints the tables of l4s.md on what two ends agree on that negotiate Accurate ECN.

Usage: SANDGLASS_KERNEL=7.2 python docs/accecn.py, in Sandglass's environment.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sandglass.lab import lab

ENDS = ("client", "server")
FEEDBACK = ("none", "classic", "AccECN")
"""By tcpi_ecn_mode of <linux/tcp.h>."""
ECN_FIELD = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
MARKS = "marks"
"""What the name of a path that marks begins with."""


def cell(found: dict[str, Any]) -> str:
    """What the two ends' feedback is, and the ECN fields of the client's and the server's data."""
    modes = [FEEDBACK[found[end]["mode"]] for end in ENDS]
    feedback = modes[0] if modes[0] == modes[1] else f"**{modes[0]} / {modes[1]}**"
    fields = ["+".join(ECN_FIELD[n] for n in found[end]["data"]) for end in ENDS]
    if found["client"]["data"] == found["server"]["data"] == [0]:
        return feedback
    told = "".join(", **untold**" for end in ENDS if is_untold(found, end))
    return f"{feedback}, {fields[0]} / {fields[1]}{told}"


def is_untold(found: dict[str, Any], end: str) -> bool:
    """Whether an end has sent ECT over a path that marks, and was told of no mark."""
    return found["marked"] and found[end]["data"] != [0] and not found[end]["told"]


def merged(cells: dict[str, list[str]]) -> list[list[str]]:
    """The names of rows, those of equal rows together."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, row in cells.items():
        rows.setdefault(tuple(row), []).append(name)
    return list(rows.values())


def tables(found: Iterable[Any]) -> Iterator[str]:
    """A table for each path; clients and servers that do alike everywhere share a row or column."""
    text = {}
    for path, client, server, what in found:
        marked = path.startswith(MARKS)
        text[path, client, server] = cell(what | {"marked": marked})
    paths, clients, servers = (list(dict.fromkeys(key[n] for key in text)) for n in range(3))
    rows = merged({c: [text[p, c, s] for p in paths for s in servers] for c in clients})
    columns = merged({s: [text[p, c, s] for p in paths for c in clients] for s in servers})
    for path in paths:
        yield f"The path {path}:"
        yield ""
        heads = [f"server {', '.join(names)}" for names in columns]
        yield f"| client | {' | '.join(heads)} |"
        yield "|---|" + "---|" * len(columns)
        for names in rows:
            cells = [text[path, names[0], column[0]] for column in columns]
            yield f"| {', '.join(names)} | {' | '.join(cells)} |"
        yield ""


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        lab.run_program("docs/negotiation.py", Path(directory))
        found = json.loads((Path(directory) / "found.json").read_text())
    print("\n".join(tables(found)))


if __name__ == "__main__":
    main()
