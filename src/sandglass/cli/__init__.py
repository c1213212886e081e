"""The command line. Each command imports what it needs, so that none waits for the others'."""

import typer

from sandglass.cli import (
    experiments,
    lab,
    mininet,
    offer,
    papers,
    results,
    scripting,
    setting_up,
    studies,
    traces,
    upkeep,
)
from sandglass.terminal import guarded

app = typer.Typer(
    name="sandglass",
    help="A network laboratory that runs real Linux in virtual time.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

for part in (
    setting_up,
    offer,
    experiments,
    results,
    studies,
    papers,
    mininet,
    scripting,
    traces,
    upkeep,
):
    app.add_typer(part.app)
app.add_typer(lab.app, name="lab")


def main() -> None:
    """Entry point of `sandglass` and of `python -m sandglass`."""
    guarded(lambda: app(prog_name="sandglass"))
