"""What there is."""

from pathlib import Path
from typing import Annotated

import typer

from sandglass.errors import UsageError, nearest

app = typer.Typer()


@app.command(name="list")
def list_all(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[KIND] [DIR]...", show_default=False)
    ] = None,
) -> None:
    """List what there is to name or to run.

    Kinds: topologies, workloads, qdiscs, congestion-controls, papers, examples, benches.

    Modules and papers are ours and those of SANDGLASS_KMODS and SANDGLASS_PAPERS. A directory that
    is laid out as examples/module-repository is looked into as well.

    Example: ./sandglass list workloads ../mine
    """
    from sandglass.experiment import offer
    from sandglass.papers import shelf

    kinds = offer.KINDS | {"papers": shelf.listing}
    chosen = [word for word in words or [] if word in kinds]
    directories = [Path(word) for word in words or [] if word not in kinds]
    for directory in directories:
        if not directory.is_dir():
            raise UsageError(
                f"{directory} is neither a kind nor a directory{nearest(str(directory), kinds)}",
                f"kinds: {', '.join(kinds)}",
            )
    for kind in chosen or kinds:
        found = list(kinds[kind](directories))
        width = max(len(name) for name, _ in found)
        print("\n".join([f"{kind}:", *(f"  {name:{width}}  {about}" for name, about in found)]))
