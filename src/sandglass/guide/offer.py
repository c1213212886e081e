"""What there is to name in an experiment or to run, found by looking: a name and a line about each.

Ours, those of $SANDGLASS_KMODS, and those of other directories that are laid out as
examples/module-repository is: topologies/, workloads/, kmods/, experiments/.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from sandglass.experiment import mainline, qdiscs, synthetic
from sandglass.install import upkeep
from sandglass.install.builds import ROOT, module_directories
from sandglass.install.modules import FILE, read

NAMES = re.compile(r"(qdisc|congestion controls?) [\w, ]+: ")
"""What a module's summary begins with; a list has the name before it."""
Entry = tuple[str, str]
"""How it is called, and what it is, in a sentence."""


def topologies(directories: Sequence[Path]) -> Iterator[Entry]:
    for path in _files("topologies", "*.py", directories):
        if re.search(r"^topos\b", path.read_text(), re.M):
            yield _called(path), about_script(path)


def workloads(directories: Sequence[Path]) -> Iterator[Entry]:
    for path in _files("workloads", "[!_]*.py", directories):
        yield _called(path), about_script(path)


def queues(directories: Sequence[Path]) -> Iterator[Entry]:
    yield from ((kind, mainline.QDISCS[kind]) for kind in sorted(qdiscs.KINDS))
    yield from _modules("sch_", directories)


def congestion_controls(directories: Sequence[Path]) -> Iterator[Entry]:
    yield from sorted(mainline.CONGESTION_CONTROLS.items())
    yield from _modules("tcp_", directories)


def examples(directories: Sequence[Path]) -> Iterator[Entry]:
    """Ours in examples/, those of others in experiments/."""
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        yield str(path.relative_to(ROOT)), about_experiment(path)
    for directory in directories:
        for path in sorted((directory / "experiments").glob("*.yaml")):
            yield str(path), about_experiment(path)


def studies(_: Sequence[Path]) -> Iterator[Entry]:
    for path in sorted((ROOT / "examples" / "studies").glob("*.yaml")):
        yield str(path.relative_to(ROOT)), about_experiment(path)


def traces(_: Sequence[Path]) -> Iterator[Entry]:
    for name, model in synthetic.TRACES.items():
        yield name, first_sentence(model.__doc__ or "")


def benches(_: Sequence[Path]) -> Iterator[Entry]:
    for script in upkeep.benchmarks([]):
        yield script.stem, about_script(script)


KINDS: dict[str, Callable[[Sequence[Path]], Iterator[Entry]]] = {
    "topologies": topologies,
    "workloads": workloads,
    "qdiscs": queues,
    "congestion-controls": congestion_controls,
    "examples": examples,
    "studies": studies,
    "traces": traces,
    "benches": benches,
}
"""Each finds the things of its kind, of the checkout and of further directories."""


def _modules(prefix: Literal["sch_", "tcp_"], directories: Sequence[Path]) -> Iterator[Entry]:
    """What kernel modules add: 'sch_' qdiscs, 'tcp_' congestion controls."""
    places = [*module_directories(), *(directory.absolute() / "kmods" for directory in directories)]
    for place in dict.fromkeys(places):  # $SANDGLASS_KMODS may be given once more
        for module in sorted(place.glob(f"{prefix}*/")):
            for name in sorted(qdiscs.called(module, prefix)):
                yield name, about_module(module)


def _files(folder: str, pattern: str, directories: Iterable[Path]) -> list[Path]:
    return [
        path
        for directory in (ROOT, *directories)
        for path in sorted((directory / folder).glob(pattern))
    ]


def _called(path: Path) -> str:
    """As an experiment writes it: by its name when it is ours, else by its path."""
    return path.stem if path.parent.parent == ROOT else str(path)


def about_script(path: Path) -> str:
    """The first sentence of a Python file."""
    return first_sentence(ast.get_docstring(ast.parse(path.read_text())) or "")


def about_experiment(path: Path) -> str:
    """The first sentence of the comment at the head of a YAML file, else its title."""
    title = re.search(r"^title: *(.*)$", path.read_text(), re.M)
    return first_sentence(comment(path)) or (title[1] if title else "")


def comment(path: Path) -> str:
    """The comment at the head of a YAML file, without what it tells editors."""
    head = re.match(r"(#.*\n)+", path.read_text())
    lines = re.sub(r"^# ?", "", head[0], flags=re.M).splitlines() if head else []
    return "\n".join(line for line in lines if not line.startswith("yaml-language-server:"))


def about_module(module: Path) -> str:
    """What a kernel module's module.toml says, else its MODULE_DESCRIPTION; without its name."""
    if summary := read(module / FILE).summary:
        about = NAMES.sub("", summary)
        return about[:1].upper() + about[1:]
    text = "".join(path.read_text() for path in sorted(module.glob("*.c")))
    found = re.search(r'^MODULE_DESCRIPTION\("(.*)"\);', text, re.M)
    return found[1] if found else ""


def first_sentence(text: str) -> str:
    """Of the first paragraph, in one line, without the full stop; a question keeps its mark."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[^.])\.(?: |$)|(?<=\?) ", paragraph)[0]
