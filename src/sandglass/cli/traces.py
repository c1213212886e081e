"""The command that writes traces."""

from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.errors import UsageError, nearest
from sandglass.results.export.whole import whole_file
from sandglass.terminal import say

app = typer.Typer()


@app.command()
def trace(
    name: Annotated[
        str,
        typer.Argument(
            metavar="cellular|wifi|satellite",
            show_default=False,
            autocompletion=completion.of_kind("traces"),
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file that it goes to.")],
    seed: Annotated[int, typer.Option(min=0, help="Another one of the same kind.")] = 1,
    seconds: Annotated[int, typer.Option(min=1, max=3600, help="How long it is.")] = 60,
) -> None:
    """Write a synthetic trace of a link, in Mahimahi's format.

    Example: ./sandglass trace wifi --seed 2 --out my.trace
    """
    from sandglass.experiment import synthetic
    from sandglass.experiment.trace import Trace

    if name not in synthetic.TRACES:
        known = ", ".join(synthetic.TRACES)
        raise UsageError(f"no trace {name}{nearest(name, synthetic.TRACES)}", f"There are {known}.")
    made = Trace(name, synthetic.opportunities(name, seed, seconds))
    with whole_file(out) as file:
        file.write(made.text.encode())
    say(f"{out}: {len(made.ms)} opportunities in {seconds} s, {made.mean_bps / 1e6:.2f} Mb/s")
