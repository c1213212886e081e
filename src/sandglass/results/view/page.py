"""The page itself: runs, their streams packed, and what draws them, in one file."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import yaml

from sandglass.errors import UsageError
from sandglass.install import builds
from sandglass.results import show, style
from sandglass.results.series import Run, load
from sandglass.results.view import packing, streams, thinning

SCRIPTS = ("unpack", "series", "scale", "panels", "draw", "readings", "gestures", "page")
"""In the order in which they stand in the page: each knows those before it."""
TOLD = ("kind", "link", "direction", "flow", "name", "whole")
"""What the page is told of a stream besides its numbers."""
RECORD = {
    "packets": "queueing delay, backlog, rate by flow, drops and marks of each bottleneck",
    "acks": "congestion window, smoothed round-trip time, goodput and retransmissions of each flow",
}
"""What each entry of `record` brings the page."""


def view(directories: Sequence[Path], out: Path | None) -> Path:
    """Write the page of one or several runs, by default beside its run.json, or into results/.

    Raises UsageError when a run is not finished, or `out` is no HTML file.
    """
    if out is not None and out.suffix not in (".html", ".htm"):
        raise UsageError(f"{out} is no name of a page: let it end in .html")
    for directory in directories:
        show.read(directory)
    if out is None:
        [*_, last] = directories
        out = (last if len(directories) == 1 else builds.ROOT / "results") / "view.html"
    page = render([load(directory, {}) for directory in directories])
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.part")
    part.write_text(page)
    part.replace(out)
    return out


def render(runs: Sequence[Run]) -> str:
    """The page's HTML. It allows itself no connection, and no code but its own."""
    described = [description(run, runs) for run in runs]
    found = [(number, stream) for number, run in enumerate(runs) for stream in streams.of(run)]
    kept, step = thinning.thin([stream for _, stream in found], thinning.LIMIT)
    told, texts = [], []
    for (number, _), stream in zip(found, kept, strict=True):
        layout, text = packing.pack(stream.table)
        known = {name: getattr(stream, name) for name in TOLD if getattr(stream, name) is not None}
        told.append({"run": number, **known, **layout})
        texts.append(text)
    script = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    sheet = asset("page.css")
    needed = ("name", "duration", "flows")
    drawn = [{name: run[name] for name in needed} for run in described]
    content = {"runs": drawn, "streams": told, "interval": step, "colours": style.PALETTE}
    template = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(asset("page.html.jinja"))
    return template.render(
        title=" | ".join(dict.fromkeys(run.document["title"] for run in runs)),
        policy=policy(script, sheet),
        script=script,
        sheet=sheet,
        content=embedded(content),
        texts=texts,
        records=sum(stream.table.height for _, stream in found),
        limit=thinning.LIMIT,
        interval_ms=step and step / 1e6,
        runs=described,
        several=len(runs) > 1,
    )


def asset(name: str) -> str:
    """A file of this folder."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def policy(script: str, sheet: str) -> str:
    """The page's Content-Security-Policy: nothing from anywhere, but this script and this sheet."""
    allowed = {"script-src": f"\n{script}", "style-src": f"\n{sheet}"}
    sums = {
        what: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for what, text in allowed.items()
    }
    rules = (f"{what} 'sha256-{found}'" for what, found in sums.items())
    return "; ".join(["default-src 'none'", *rules, "base-uri 'none'", "form-action 'none'"])


def embedded(content: Any) -> str:
    """JSON that may stand in a script element."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def description(run: Run, runs: Sequence[Run]) -> dict[str, Any]:
    """What the page says of a run besides its streams."""
    document = run.document
    names = [other.directory.resolve().name for other in runs]
    name = run.directory.resolve().name
    if names.count(name) > 1:
        name = str(run.directory)
    record = document["experiment"]["record"]
    return {
        "name": name,
        "title": document["title"],
        "seed": document["seed"],
        "digest": document["digest"],
        "duration": round(document["virtual_s"] * 1e9),
        "flows": [
            {key: flow.get(key) for key in ("id", "workload", "from", "to", "cc")}
            for flow in document["flows"]
        ],
        "flow_table": [flow_row(flow) for flow in document["flows"]],
        "missing": missing(record),
        "repeat": document["experiment"]["repeat"],
        "experiment": yaml.safe_dump(document["experiment"], sort_keys=False, allow_unicode=True),
        "qdiscs": qdiscs(document["observed"]["qdiscs"]),
        "versions": versions(document),
        "warnings": document.get("warnings", []),
    }


def flow_row(flow: Mapping[str, Any]) -> list[str]:
    """A row of the table of flows."""
    return [
        *(str(flow[key]) for key in ("id", "workload", "from", "to")),
        flow.get("cc") or "-",
        "yes" if flow.get("ecn") else "no",
        *(show.number(flow.get(key), "g") for key in ("start_s", "end_s")),
        show.number(flow.get("goodput_mbit"), ".3f"),
        show.number(flow.get("fct_s") or flow.get("plt_s"), ".3f"),
        *(show.number(flow.get(key), "d") for key in ("retransmits", "rtos")),
    ]


def missing(record: Sequence[str]) -> dict[str, str]:
    """What the run did not record that the page could show."""
    return {name: brings for name, brings in RECORD.items() if name not in record}


def qdiscs(observed: dict[str, list[dict[str, Any]]]) -> list[dict[str, str]]:
    """A row for each qdisc as the kernel reported it at the end."""
    rows = []
    for node, reported in observed.items():
        for qdisc in reported:
            rest = dict(qdisc)
            kind, device = rest.pop("kind"), rest.pop("dev", "")
            options = rest.pop("options", {})
            place = {key: rest.pop(key, None) for key in ("handle", "parent", "root", "refcnt")}
            rows.append(
                {
                    "node": node,
                    "device": device,
                    "kind": kind,
                    "parent": place["parent"] or "root",
                    "options": words(options),
                    "counters": words(rest),
                }
            )
    return rows


def words(values: Any) -> str:
    """A nested object of tc's on a line."""
    if not isinstance(values, dict):
        return str(values)
    return ", ".join(
        f"{key} ({words(value)})" if isinstance(value, dict) else f"{key} {value}"
        for key, value in values.items()
    )


def versions(document: Any) -> dict[str, str]:
    """On what the run was made."""
    kernel = document["kernel"]
    found = {
        "kernel": kernel["release"],
        "kernel build": kernel.get("build"),
        "modules": words(kernel.get("modules", {})),
        "lab": document.get("lab"),
        "lab build": document.get("lab_build"),
        "commit": document.get("commit"),
        "backend": document["backend"],
        **document["tools"],
    }
    return {name: str(value) for name, value in found.items() if value}
