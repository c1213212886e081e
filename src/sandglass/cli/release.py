"""What is published."""

from pathlib import Path
from typing import Annotated

import typer

from sandglass.terminal import say

app = typer.Typer()


@app.command()
def wheel(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where it goes.")],
    kernel: Annotated[
        str | None,
        typer.Option(metavar="KERNEL", help="The lab of 7.2, as a package beside the first."),
    ] = None,
) -> None:
    """Write Sandglass as a Python package, with the lab in it.

    For pip, pipx and uvx, on any x86-64 Linux; nothing is compiled there. The same commit gives the
    same bytes.

    Example: ./sandglass wheel --out dist
    """
    from sandglass.install import builds, extras, setup_lab

    extras.checkout_only("wheel")
    setup_lab.packager()
    setup_lab.lab(kernel)
    from sandglass.release import wheel as package

    written = package.build(kernel or builds.DEFAULT_KERNEL, out)
    say(f"{written}: {written.stat().st_size / 1e6:.1f} MB")
    say(f"install it: pip install {written}")


@app.command()
def release(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where it goes: a new directory.")],
) -> None:
    """Write all that is published of a version.

    That is packages, labs, sources, of what all is made, and checksums.

    The checkout has to be at a commit, which gives the same bytes again (docs/maintaining.md).

    Example: ./sandglass release --out dist
    """
    from sandglass.install import extras, setup_lab

    extras.checkout_only("release")
    setup_lab.packager()
    from sandglass.release import release as releases

    releases.write(out)
    for path in sorted(out.iterdir()):
        say(f"{path.stat().st_size / 1e6:6.1f} MB  {path}")
