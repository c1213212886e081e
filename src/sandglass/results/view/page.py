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
from sandglass.results import document, setting, show
from sandglass.results.export.whole import whole_file
from sandglass.results.palette import PALETTE
from sandglass.results.series import Run, load
from sandglass.results.view import packing, streams, thinning

PANELS = (
    *("unpack", "series", "scale", "panels", "state", "elements", "axes", "draw"),
    *("readings", "gestures", "overview", "build", "controls", "page"),
)
"""Scripts that draw panels, in the order in which they stand in a page: each knows those before."""
SCRIPTS = (*PANELS, "given")
SHEETS = ("theme", "page")
IDENTITY = ("id", "workload", "from", "to", "cc")
"""What the page's scripts know a flow by."""
FLOW_HEADS = (
    *("flow", "workload", "from", "to", "cc", "ecn", "start, s", "end, s", "Mb/s"),
    *("completion, s", "retransmitted", "timeouts"),
)
QDISC_HEADS = ("node", "device", "kind", "parent", "options", "counters")
TOLD = ("kind", "link", "direction", "flow", "name", "gauge", "whole")
"""What the page is told of a stream besides its numbers."""
DRAWN = ("name", "duration", "flows")
"""What the page's scripts know a run by."""
RECORD = {
    "packets": "queueing delay, backlog, rate by flow, drops and marks of each bottleneck",
    "acks": "congestion window, smoothed round-trip time, goodput and retransmissions of each flow",
    "queues": "what a queue tells of itself, such as PIE's probability",
}
"""What each entry of `record` brings the page."""


def view(directories: Sequence[Path], out: Path | None) -> Path:
    """Write the page of one or several runs, by default beside its run.json, or into results/.

    Raises UsageError when a run is not finished, or `out` is no HTML file.
    """
    if out is not None and out.suffix not in (".html", ".htm"):
        raise UsageError(f"{out} is no name of a page: let it end in .html")
    for directory in directories:
        document.read(directory)
    if out is None:
        [*_, last] = directories
        out = (last if len(directories) == 1 else builds.WORK / "results") / "view.html"
    with document.readable(Path(", ".join(map(str, directories)))):
        page = render([load(directory, {}) for directory in directories])
    with whole_file(out) as file:
        file.write(page.encode())
    return out


def render(runs: Sequence[Run]) -> str:
    """The page's HTML. It allows itself no connection, and no code but its own."""
    described = [description(run, runs) for run in runs]
    found = [(number, stream) for number, run in enumerate(runs) for stream in streams.of(run)]
    told, texts, step = packed(found, thinning.LIMIT)
    script = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    sheet = "".join(asset(f"{name}.css") for name in SHEETS)
    drawn = [{name: run[name] for name in DRAWN} for run in described]
    content = {"runs": drawn, "streams": told, "interval": step, "colours": PALETTE}
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
        interval_ms=step and step / 1e6,
        runs=described,
        several=len(runs) > 1,
    )


def packed(
    found: Sequence[tuple[int, streams.Stream]], limit: int
) -> tuple[list[dict[str, Any]], list[str], int | None]:
    """What a page is told of streams, each with its run's number, the text of each, and the step.

    The step is the interval in ns of which at most `limit` records leave a few; None: all stay.
    """
    kept, step = thinning.thin([stream for _, stream in found], limit)
    told, texts = [], []
    for (number, _), stream in zip(found, kept, strict=True):
        layout, text = packing.pack(stream.table)
        known = {name: getattr(stream, name) for name in TOLD if getattr(stream, name) is not None}
        told.append({"run": number, **known, **layout})
        texts.append(text)
    return told, texts, step


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
    found = run.document
    names = [other.directory.resolve().name for other in runs]
    name = run.directory.resolve().name
    experiment = found["experiment"]
    return {
        "name": name if names.count(name) == 1 else str(run.directory),
        "met": setting.of(run.directory),
        "seed": found["seed"],
        "digest": found["digest"],
        "kernel": found["kernel"]["release"],
        "warnings": found.get("warnings", []),
        "duration": round(found["virtual_s"] * 1e9),
        "flows": [{key: flow.get(key) for key in IDENTITY} for flow in found["flows"]],
        "repeat": experiment["repeat"],
        "missing": {name: RECORD[name] for name in RECORD if name not in experiment["record"]},
        "experiment": yaml.safe_dump(experiment, sort_keys=False, allow_unicode=True),
        "flow_heads": FLOW_HEADS,
        "flow_rows": [flow_row(flow) for flow in found["flows"]],
        "qdisc_heads": QDISC_HEADS,
        "qdisc_rows": [
            qdisc_row(node, qdisc)
            for node, reported in found["observed"]["qdiscs"].items()
            for qdisc in reported
        ],
        "versions": versions(found),
    }


def flow_row(flow: Mapping[str, Any]) -> list[str]:
    """A row of the table of flows, as `FLOW_HEADS` names them."""
    return [
        *(str(flow[key]) for key in ("id", "workload", "from", "to")),
        flow.get("cc") or "-",
        "yes" if flow.get("ecn") else "no",
        *(show.number(flow.get(key), ".3f") for key in ("start_s", "end_s", "goodput_mbit")),
        show.number(flow.get("fct_s") or flow.get("plt_s"), ".3f"),
        *(show.number(flow.get(key), "d") for key in ("retransmits", "rtos")),
    ]


def qdisc_row(node: str, qdisc: Mapping[str, Any]) -> list[str]:
    """A row of the table of queues, as `QDISC_HEADS` names them."""
    named = {"kind", "dev", "handle", "parent", "root", "refcnt", "options"}
    counters = {key: value for key, value in qdisc.items() if key not in named}
    place = [node, qdisc.get("dev", ""), qdisc["kind"], qdisc.get("parent", "root")]
    return [*place, words(qdisc.get("options", {})), words(counters)]


def words(values: Any) -> str:
    """A nested object of tc's on a line."""
    if isinstance(values, bool):
        return "yes" if values else "no"
    if not isinstance(values, dict):
        return str(values)
    return ", ".join(
        f"{key} ({words(value)})" if isinstance(value, dict) else f"{key} {words(value)}"
        for key, value in values.items()
    )


def versions(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """On what the run was made, and how it is called."""
    kernel = run["kernel"]
    found = {
        "seed": run["seed"],
        "digest": run["digest"] or "none: another run gives other records",
        "kernel": kernel["release"],
        "kernel build": kernel.get("build"),
        "modules": words(kernel.get("modules", {})),
        "lab": run.get("lab"),
        "lab build": run.get("lab_build"),
        "commit": run.get("commit"),
        "backend": run["backend"],
        **run["tools"],
    }
    return [(name, str(value)) for name, value in found.items() if value not in (None, "")]
