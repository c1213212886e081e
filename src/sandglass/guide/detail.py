"""One thing of those that there are, told in detail: how it is used, and its keys."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic.fields import FieldInfo

from sandglass.errors import UsageError, nearest
from sandglass.experiment import (
    mainline,
    module_options,
    qdiscs,
    synthetic,
    topology,
    units,
    workload,
)
from sandglass.experiment.flow import Flow, model
from sandglass.experiment.module_options import PAGE, Options
from sandglass.experiment.trace import Trace
from sandglass.guide import offer
from sandglass.guide.picture import picture, ranges
from sandglass.install.builds import ROOT, module_directories
from sandglass.install.modules import FILE, Module, read
from sandglass.terminal import shown

COMMON = ("src", "dst", "start", "duration", "start_within", "count")
"""Keys that flows of all workloads have."""
FORMS = {
    "packets": "packets 64p, size, time or share of the BDP; a number is packets",
    "bytes": "size 100kB, packets, time or share of the BDP; a number is bytes",
    "time": "time, such as 5ms",
    "rate": "rate, such as 10mbit",
    "number": "number",
    "flag": "true or false",
    "text": "word of tc's, or a list of them",
}
"""What an option of a qdisc takes, by its type in qdiscs.KINDS."""
BY_OTHER_KEYS = {
    "noise": "noise: testbed",
    "trace": "bottleneck: {rate: {trace: wifi}, …}, or the rate of one of `links`",
}
"""How an experiment has the qdiscs of kmods/ that it does not name as a queue."""
Row = tuple[str, ...]


def table(*rows: Row) -> Iterator[str]:
    """Rows in columns, indented; the last column is as long as it is."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)]
        yield f"  {'  '.join([*cells, row[-1]])}".rstrip()


def topologies(name: str) -> Iterator[str]:
    """A topology: its parameters, and the picture that these have by default."""
    found = topology.load(name)
    yield offer.about_script(found.path)
    yield ""
    if found.parameters:
        yield "keys of the experiment:"
        yield from table(
            *(
                (key, each.noun, _default(each.default), each.meaning)
                for key, each in found.parameters.items()
            )
        )
    if any(each.default is topology.REQUIRED for each in found.parameters.values()):
        return
    facts = found.facts({})
    yield f"hosts that flows may join: {ranges(facts.hosts)}"
    if facts.bottlenecks:
        yield f"bottlenecks, which need `bottleneck:` and `rtt:`: {ranges(facts.bottlenecks)}"
    yield ""
    yield from picture(facts, lambda link: link if link in facts.bottlenecks else "")


def workloads(name: str) -> Iterator[str]:
    """A workload: the keys of its flows."""
    try:
        found = workload.find(name, Path()) if name.endswith(".py") else workload.ours(name)
        keys = model(found).model_fields
    except ValueError as error:
        raise UsageError(str(error)) from None
    yield found.summary
    yield ""
    written = name if name.endswith(".py") else found.usage
    yield f"in an experiment: {{workload: {written}, from: s1, to: d1, …}}"
    own = [key for key in keys if key not in Flow.model_fields]
    groups = {"its own keys:": own, "keys of every flow:": COMMON}
    for title, names in groups.items():
        rows = [
            (keys[key].alias or key, _of_flow(keys[key]), keys[key].description or "")
            for key in names
        ]
        if rows:
            yield title
            yield from table(*rows)


def _of_flow(field: FieldInfo) -> str:
    """A default as the file has it, else an example."""
    written = field.json_schema_extra
    if isinstance(written, dict) and "default" in written:
        return f"default {written['default']}"
    if field.is_required():
        return f"needed, such as {_shown(field.examples[0])}" if field.examples else "needed"
    if field.default is None:
        return f"such as {_shown(field.examples[0])}" if field.examples else ""
    return f"default {_shown(field.default)}"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(value: object) -> str:
    if value is topology.REQUIRED:
        return "needed"
    return "" if value is None else f"default {_shown(value)}"


def queues(name: str) -> Iterator[str]:
    """A qdisc: its options, with what they take and what the kernel has without them."""
    if name not in qdiscs.KINDS:
        yield from _module("sch_", name)
        return
    yield mainline.QDISCS[name]
    yield ""
    yield f"in an experiment: queue: {{kind: {name}, …}}"
    options = qdiscs.KINDS[name]
    if not options:
        yield "it takes no options"
        return
    usual = mainline.DEFAULTS.get(name, {})
    kinds = {option: kind.partition("/")[0] for option, kind in options.items()}
    modes = [option for option, kind in kinds.items() if kind == "flag" and option not in usual]
    yield "options, as tc has them:"
    rows = [
        (option, f"default {usual[option]}" if option in usual else "", FORMS[kind])
        for option, kind in kinds.items()
        if option not in modes
    ]
    if rows:
        yield from table(*(_needed(row) for row in rows))
    if modes:
        yield f"flags, which are off: {', '.join(modes)}"


def _needed(row: Row) -> Row:
    return (row[0], "needed", row[2]) if row[1] == "default needed" else row


def congestion_controls(name: str) -> Iterator[str]:
    """A congestion control: what it is, and the sysctls of its module."""
    if name not in mainline.CONGESTION_CONTROLS:
        yield from _module("tcp_", name)
        return
    yield mainline.CONGESTION_CONTROLS[name]
    yield ""
    yield f"in an experiment: flows: [{{workload: bulk, from: s1, to: d1, cc: {name}}}]"


def _module(prefix: str, name: str) -> Iterator[str]:
    """What a module of kmods/ says of itself."""
    folder = next(
        folder
        for place in module_directories()
        for folder in sorted(place.glob(f"{prefix}*/"))
        if name in qdiscs.called(folder, "sch_" if prefix == "sch_" else "tcp_")
    )
    about: Module = read(folder / FILE)
    yield offer.about_module(folder)
    yield ""
    written = f"queue: {{kind: {name}, …}}" if prefix == "sch_" else f"cc: {name}"
    yield f"in an experiment: {BY_OTHER_KEYS.get(name, written)}"
    if prefix == "sch_" and (rows := [*module_options.options(folder)]):
        yield "options, as tc has them:"
        yield from table(*map(_of_module, rows))
        if any("limit" in row.names for row in rows):
            yield "limit may also be a size, a time or a share of the BDP: 100kB, 50ms, 0.5bdp"
    if about.sysctl:
        yield "sysctls, under hosts: {s1: {sysctls: {…}}}:"
        yield from table(
            *((each.name, f"default {each.default}", each.meaning) for each in about.sysctl)
        )
    if (folder / PAGE).is_file():
        inside = folder.is_relative_to(ROOT)
        yield f"read {(folder.relative_to(ROOT) if inside else folder) / PAGE}"


def _of_module(row: Options) -> Row:
    usual = row.default
    known = not usual or usual.startswith("needed")
    return (", ".join(row.names), usual if known else f"default {usual}", row.meaning)


def examples(name: str) -> Iterator[str]:
    """An example: what it shows, and how it is run."""
    path = ROOT / name if (ROOT / name).is_file() else Path(name)
    yield from _head(path)
    yield ""
    yield f"look at it: ./sandglass check {shown(path)}"
    yield f"run it: ./sandglass run {shown(path)}"
    yield f"start from it: ./sandglass new my.yaml --from {path.stem}"


def studies(name: str) -> Iterator[str]:
    """A study: what it shows, and how it is done."""
    yield from _head(ROOT / name)
    yield ""
    yield f"do it: ./sandglass study {shown(ROOT / name)}"


def _head(path: Path) -> Iterator[str]:
    """The comment at the head of a YAML file, else its title."""
    yield from offer.comment(path).splitlines() or [offer.about_experiment(path)]


def traces(name: str) -> Iterator[str]:
    """A synthetic trace: what it is like."""
    doc = ast.get_docstring(ast.parse(Path(synthetic.__file__).read_text())) or ""
    made = Trace(name, synthetic.opportunities(name))
    yield from (synthetic.TRACES[name].__doc__ or doc).strip().replace("\n    ", "\n").splitlines()
    yield ""
    rates = made.rates(1000)
    yield (
        f"{units.format_rate(made.mean_bps)} in the mean over {made.period_ms // 1000} s; "
        f"in a second {units.format_rate(min(rates))} to {units.format_rate(max(rates))}"
    )
    yield f"in an experiment: bottleneck: {{rate: {{trace: {name}}}, …}}"
    yield f"as a file, or another of the kind: ./sandglass trace {name} --seed 2 --out my.trace"


def benches(name: str) -> Iterator[str]:
    """A benchmark: what it measures."""
    text = (ROOT / "bench" / f"{name}.py").read_text()
    yield from (ast.get_docstring(ast.parse(text)) or "").splitlines()
    yield ""
    yield f"run it: ./sandglass bench {name}"


KINDS: dict[str, Callable[[str], Iterator[str]]] = {
    "topologies": topologies,
    "workloads": workloads,
    "qdiscs": queues,
    "congestion-controls": congestion_controls,
    "examples": examples,
    "studies": studies,
    "traces": traces,
    "benches": benches,
}
"""Each tells of a thing of its kind."""


def chosen(kind: str, word: str, names: list[str]) -> str:
    """The one of `names` that a word means: its own name, or that of its file.

    A topology or a workload may also be a file of one's own.

    Raises UsageError, naming the nearest.
    """
    if kind in ("topologies", "workloads") and word.endswith(".py"):
        return word
    called = {Path(name).stem: name for name in names} | {name: name for name in names}
    if word not in called:
        raise UsageError(f"there is no {word} among {kind}{nearest(word, called)}")
    return called[word]
