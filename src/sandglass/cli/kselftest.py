"""Linux's own tests."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli.arguments import WhichLab
from sandglass.errors import UsageError
from sandglass.terminal import say

app = typer.Typer()


@app.command()
def kselftest(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET[:TEST]]...", show_default=False)
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Tell the targets, or the tests of some.")
    ] = False,
    kernel: Annotated[
        str | None, typer.Option(metavar="KERNEL", help="Of 7.2 instead of 6.12.")
    ] = None,
    which: WhichLab = None,
    packetdrill: Annotated[
        Path | None,
        typer.Option(metavar="DIR|ARCHIVE", help="Its source, instead of what was built last."),
    ] = None,
    tree: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A kernel's, to take the tests of.")
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="Run each so often, and compare.")
    ] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all that is known to it.")
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A list instead of kernel/selftests.yaml."),
    ] = None,
    syscall_cost: Annotated[
        int, typer.Option(min=0, metavar="NS", help="What a system call takes.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Everything random comes from it.")] = 1,
    memory: Annotated[int, typer.Option(min=128, metavar="MB", help="Of each lab.")] = 1024,
) -> None:
    """Run Linux's own tests, its selftests.

    Each in a lab of its own, in virtual time, as many at once as there are processors. They are of
    the source of the lab's kernel; without a target, all of them. What is written is TAP 14. The
    exit status is 1 when a test fails that kernel/selftests.yaml does not have, or when two runs of
    one differ.

    Example: ./sandglass kselftest packetdrill --packetdrill packetdrill.tar.gz
    """
    from sandglass.install import builds, extras, setup_lab
    from sandglass.selftests import session

    extras.checkout_only("kselftest")
    if kernel and which:
        raise UsageError("--kernel and --lab both name a lab", "Leave one of them out.")
    if kernel:
        os.environ["SANDGLASS_KERNEL"] = kernel
    if which:
        os.environ["SANDGLASS_LAB"] = builds.lab_called(which).id
    setup_lab.lab()
    if listed and not words:
        for name, about in session.listing():
            say(f"{name:12}  {about}")
        return
    opened = session.opened(
        words or [],
        tree=tree,
        packetdrill=packetdrill,
        list_file=known,
        syscall_ns=syscall_cost,
        seed=seed,
        memory_mb=memory,
    )
    if listed:
        session.say(*map(str, opened.tests))
        return
    if not session.run(opened, repeat, json_file):
        raise typer.Exit(1)
