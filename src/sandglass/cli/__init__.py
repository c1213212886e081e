"""The command line. Each command imports what it needs, so that none waits for the others'."""

import os
from typing import Annotated

import typer

from sandglass.cage.cage import REQUIRED
from sandglass.cli import (
    bisection,
    completion,
    demo,
    experiments,
    grading,
    kselftest,
    lab,
    mininet,
    new,
    offer,
    papers,
    play,
    release,
    results,
    scripting,
    setting_up,
    studies,
    suites,
    traces,
    upkeep,
)
from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.terminal import program, say

app = typer.Typer(
    name="sandglass",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

COMMANDS = (
    *(setting_up, demo, offer, new, experiments, play, results, studies, bisection),
    *(papers, mininet, grading, kselftest, scripting, traces, release, upkeep, completion),
)
for part in COMMANDS:
    app.add_typer(part.app)
app.add_typer(lab.app, name="lab")
app.add_typer(suites.app, name="characterise")


def tell_version(asked: bool) -> None:
    """Print version, commit and lab: what a report of a fault should say."""
    if not asked:
        return
    from sandglass import __version__
    from sandglass.install import checkout

    print(f"sandglass {__version__}, commit {checkout.commit() or 'unknown'}")
    try:
        print(f"lab {builds.lab().id}, Linux {builds.lab_kernel().release}")
    except SandglassError as error:
        say(f"lab: {error.message}")
    raise typer.Exit


@app.callback(no_args_is_help=True)
def every_command(
    require_sandbox: Annotated[
        bool,
        typer.Option(
            "--require-sandbox",
            help="Run nothing in a lab that this machine cannot seal (docs/security.md).",
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=tell_version, help="Tell it, and the lab's."
        ),
    ] = False,
) -> None:
    """A network laboratory that runs real Linux in virtual time."""
    if require_sandbox:
        os.environ[REQUIRED] = "1"


def main() -> None:
    """The command line, to the end of the process."""
    completion.answer_shells()
    with builds.settled():
        program(lambda: app(prog_name="sandglass"))
