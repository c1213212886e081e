"""Python, with Sandglass in it."""

import os
import sys
from typing import Annotated, NoReturn

import typer

app = typer.Typer()


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def python(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[SCRIPT [ARG]...]", show_default=False)
    ] = None,
) -> None:
    """Run a script that imports sandglass.

    Or Python's prompt, without a script; -c and -m are Python's own.

    Example: ./sandglass python evaluate.py results/runs/first
    """
    _python(*(words or []))


@app.command(context_settings={"ignore_unknown_options": True})
def notebook(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE.ipynb] [OPTION]...", show_default=False),
    ] = None,
) -> None:
    """Open a notebook that imports sandglass, in a browser.

    With JupyterLab, which is installed into Sandglass's Python environment first. Options are
    JupyterLab's, such as --no-browser.

    Example: ./sandglass notebook examples/notebook.ipynb
    """
    from sandglass.install import setup_lab

    setup_lab.notebooks()
    _python("-m", "jupyterlab", *(words or []))


def _python(*words: str) -> NoReturn:
    from sandglass.install import builds

    os.environ["PYTHONPATH"] = str(builds.ROOT / "src")
    os.execv(sys.executable, [sys.executable, *words])
