"""Experiments to touch."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.errors import UsageError
from sandglass.offered import found
from sandglass.terminal import say

app = typer.Typer()
DOOR = "open.html"
"""A page, for our eyes alone, that leads to the address: others see a browser's command line."""


@app.command()
def play(
    experiment: Annotated[
        Path | None,
        typer.Argument(
            metavar="[EXPERIMENT.yaml]",
            show_default=False,
            autocompletion=completion.experiments,
            callback=lambda path: path and found(path),
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Instead of any that is free.", show_default=False)
    ] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Leave the browser alone.")] = False,
) -> None:
    """Turn the knobs of an experiment in a browser.

    Its network and its knobs; with each turn real Linux runs again, and the curves follow. Two
    settings stand beside each other; each is a link, a file, and a command. Without an experiment,
    a gallery. It answers this machine alone, until Ctrl-C.

    Example: ./sandglass play codel
    """
    from sandglass.experiment import reading
    from sandglass.install import setup_lab

    setup_lab.player()
    setup_lab.lab()
    if experiment is not None:
        reading.load(experiment)
    from sandglass.play import server

    def opened(address: str, folder: Path) -> None:
        say(f"play: {address}\nEnd it with Ctrl-C.")
        if not no_open:
            door = folder / DOOR
            door.write_text(f'<meta http-equiv="refresh" content="0; url={address}">\n')
            webbrowser.open(door.as_uri())

    try:
        server.serve(experiment.absolute() if experiment else None, port, opened)
    except OSError as error:
        raise UsageError(f"port {port}: {error.strerror}", "Choose another one.") from None
    except KeyboardInterrupt:
        say("ended")
