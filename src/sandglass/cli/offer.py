"""What there is."""

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.errors import UsageError, nearest
from sandglass.terminal import say

app = typer.Typer()


@app.command(name="list")
def list_all(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND] [NAME] [DIR]...", show_default=False, autocompletion=completion.listed
        ),
    ] = None,
) -> None:
    """List what there is to name or to run.

    Without a kind, how many there are of each.

    Kinds: topologies, workloads, qdiscs, congestion-controls, examples, studies, traces, benches,
    papers. With the name of one thing after its kind, that one in detail: the options of a qdisc,
    the picture of a topology, the keys of a workload, the runs of a figure.

    Modules and papers are ours and those of SANDGLASS_KMODS and SANDGLASS_PAPERS. A directory that
    is laid out as examples/module-repository is looked into as well.

    Example: ./sandglass list qdiscs codel
    """
    from sandglass.guide import detail, offer
    from sandglass.papers import shelf

    kinds = offer.KINDS | {"papers": shelf.listing}
    chosen = [word for word in words or [] if word in kinds]
    others = [word for word in words or [] if word not in kinds]
    directories = [Path(word) for word in others if Path(word).is_dir()]
    names = [word for word in others if not Path(word).is_dir()]
    if len(chosen) == 1 and names:
        kind = chosen[0]
        there = [each for each, _ in kinds[kind](directories)]
        for name in names:
            say("\n".join(_tell(kind)(detail.chosen(kind, name, there))))
        return
    for word in names:
        of = [
            f"./sandglass list {kind} {word}"
            for kind, find in kinds.items()
            if word in {Path(name).stem for name, _ in find([])}
        ]
        raise UsageError(
            f"{word} is neither a kind nor a directory{nearest(word, kinds)}",
            "\n".join(of) or f"kinds: {', '.join(kinds)}",
        )
    if not words:
        say("\n".join(_overview()))
        return
    for kind in chosen or kinds:
        found = list(kinds[kind](directories))
        width = max((len(name) for name, _ in found), default=0)
        say("\n".join([f"{kind}:", *(f"  {name:{width}}  {about}" for name, about in found)]))


def _overview() -> Iterator[str]:
    """How many there are of each kind, a line each."""
    from sandglass.guide import offer
    from sandglass.guide.detail import table
    from sandglass.papers import shelf

    names = {kind: [Path(name).stem for name, _ in find([])] for kind, find in offer.KINDS.items()}
    names["papers"] = shelf.papers()
    shown = {
        kind: textwrap.shorten(", ".join(each), 70, placeholder=" …")
        for kind, each in names.items()
    }
    yield from table(*((kind, f"{len(names[kind]):>3}", shown[kind]) for kind in names))
    yield "all of a kind, each in a line: ./sandglass list qdiscs"
    yield "one of them, with its options: ./sandglass list qdiscs codel"


def _tell(kind: str) -> Callable[[str], Iterator[str]]:
    """What tells of one thing of a kind in detail."""
    from sandglass.guide import detail

    if kind in detail.KINDS:
        return detail.KINDS[kind]
    from sandglass.papers.outline import outline

    return outline
