"""What several commands take."""

from pathlib import Path
from typing import Annotated

import typer

ExperimentFile = Annotated[Path, typer.Argument(metavar="EXPERIMENT.yaml", show_default=False)]
Seed = Annotated[int | None, typer.Option(min=0, help="Instead of the experiment's own.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key; may be given again."),
]
