"""The commands `sandglass lab …`. Each imports what it needs."""

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.cli.arguments import WhichLab
from sandglass.errors import UsageError
from sandglass.terminal import progress, say

app = typer.Typer(
    help="What runs are done in: kernel, modules and programs, in one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

LabId = Annotated[
    str,
    typer.Argument(
        metavar="LAB", help="Or how it begins, or its name.", autocompletion=completion.labs
    ),
]


@app.command(name="build")
def lab_build(
    kernel: Annotated[
        str | None, typer.Option(metavar="KERNEL", help="Of 7.2 instead of 6.12.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="With a kernel that looks for faults.")] = (
        False
    ),
    packages: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="PACKAGE", help="Of Debian, in it; may be given again."),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Of a kernel of yours, from 6.6 on, instead."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FRAGMENT", help="Options of the tree besides the lab's."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the tree's lab is called.")
    ] = None,
) -> None:
    """Build the lab of this checkout, if it is not there.

    With further programs it is another lab, in which `run --lab` runs. So is that of a kernel's
    tree of yours, a git checkout or unpacked sources: the lab's patches are applied to a copy, in
    which an edit is built in seconds.

    Example: ./sandglass lab build --kernel 7.2 --with bc
    """
    from sandglass.install import builds, extras, setup_lab

    extras.checkout_only("lab build")
    os.environ.pop("SANDGLASS_LAB", None)  # which has nothing to say here
    os.environ["SANDGLASS_PACKAGES"] = " ".join(packages or [])
    if tree:
        if kernel:
            raise UsageError("--kernel is for a lab without --tree", "A tree says its version.")
        called = [] if name is None else [_name(name)]
        setup_lab.tree(tree, names=called, fragment=config, debug=debug)
        return
    if config or name:
        raise UsageError(
            "--config and --name are for a kernel of yours", "Name its tree by --tree."
        )
    os.environ["SANDGLASS_KERNEL"] = (kernel or builds.DEFAULT_KERNEL) + builds.DEBUG * debug
    setup_lab.kernel(builds.chosen_kernel())
    print(f"lab {builds.lab().id}")


def _name(text: str) -> str:
    """What somebody calls a lab; raises UsageError."""
    if not re.fullmatch(r"[A-Za-z][\w.-]{0,63}", text, re.ASCII):
        raise UsageError(
            f"--name {text}: is no name of a lab",
            "Write a letter, and up to 63 more characters of letters, digits, and _ . -",
        )
    return text


@app.command(name="list")
def lab_list() -> None:
    """Tell what labs there are.

    Example: ./sandglass lab list
    """
    from sandglass.install import builds, labs

    labs.report(builds.labs())


@app.command(name="export")
def lab_export(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    which: WhichLab = None,
) -> None:
    """Write a lab to a file.

    Example: ./sandglass lab export sandglass.lab
    """
    from sandglass.install import builds, labs

    found = builds.lab_called(which) if which else builds.lab()
    labs.export(found, file)
    say(f"{file}: lab {found.id}, {file.stat().st_size / 1e6:.0f} MB")
    say(f"SHA-256 {labs.checksum(file)}  {file}")


@app.command(name="import")
def lab_import(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
) -> None:
    """Put the lab of a file into the cache.

    Its kernel and programs run as you, on this machine: import what you trust. The checksum
    that is printed is that of the file: compare it with what its maker says.

    Example: ./sandglass lab import sandglass.lab
    """
    from sandglass.install import labs

    found = labs.take(file)
    say(f"lab {found.id} is there: Linux {found.name}")
    say(f"SHA-256 {labs.checksum(file)}  {file}")


@app.command(name="remove")
def lab_remove(which: LabId) -> None:
    """Take a lab out of the cache.

    Example: ./sandglass lab remove 0123456789ab
    """
    from sandglass.install import builds, labs

    found = builds.lab_called(which)
    labs.remove(found)
    say(f"lab {found.id} is removed")


@app.command(name="check")
def lab_check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[EXPERIMENT.yaml]...", show_default=False)
    ] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Put the digests into the list, whatever they are.")
    ] = False,
) -> None:
    """Run experiments whose digests are known, and compare.

    All of examples/digests.csv, or those of it that are named. A lab gives the same bytes
    on every machine; where it does not, the exit status is 1.

    Example: ./sandglass lab check
    """
    from sandglass.install import builds, setup_lab
    from sandglass.run import known

    wanted = known.read(names or [])
    setup_lab.lab()
    print(f"lab {builds.lab().id}")
    found = []
    for each in wanted:
        with progress(each.experiment) as advance:
            found.append(known.run(each, advance))
        said = "equal" if found[-1] == each else f"differs, {each.digest[:12]} elsewhere"
        print(f"{found[-1].digest[:12]}  {each}: {said}")
    equal = sum(map(known.Known.__eq__, wanted, found))
    print(f"{equal} of {len(wanted)} equal")
    if renew:
        known.renew(found)
    elif equal < len(wanted):
        raise typer.Exit(1)
