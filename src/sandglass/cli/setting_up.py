"""What has to be there first."""

from typing import Annotated

import typer

from sandglass.errors import UsageError

app = typer.Typer()


@app.command()
def setup(
    system: Annotated[
        bool, typer.Option("--system", help="Only the Debian packages; needs root.")
    ] = False,
    python: Annotated[bool, typer.Option("--python", help="Only the Python environment.")] = False,
    kernel: Annotated[
        str | None, typer.Option(metavar="KERNEL", help="Build 7.2, or 6.12-debug.")
    ] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Also Snakemake's executors for Slurm and Kubernetes.")
    ] = False,
    host: Annotated[
        bool, typer.Option("--host", help="Only the modules for this machine's kernel; needs root.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="With --host: remove them.")] = False,
) -> None:
    """Install what is missing.

    That is what compilers need, a Python environment, the lab kernel and the lab's programs.

    Example: ./sandglass setup
    """
    from sandglass.experiment import reading
    from sandglass.install import dkms, extras, setup_lab

    if system or host or cluster or remove:
        extras.checkout_only("this option of setup")
    if remove and not host:
        raise UsageError("--remove is for the modules of --host")
    if host:
        (dkms.remove if remove else dkms.install)()
        return
    if system:
        setup_lab.packages()
    if system or python:  # the script `sandglass` has made the environment
        return
    if kernel:
        setup_lab.kernel(kernel)
    else:
        setup_lab.lab()
    reading.publish()  # it asks topologies, which import the lab's Mininet
    if cluster:
        setup_lab.executors()


@app.command()
def env() -> None:
    """Print what gives bash or zsh the programs of this checkout.

    Its sandglass, and snakemake and python as Sandglass runs them.

    Example: . <(./sandglass env)
    """
    import shlex
    import sys
    from pathlib import Path

    from sandglass.install import builds

    places = ":".join([str(Path(sys.executable).parent), str(builds.ROOT)])
    print("export PYTHONUTF8=1")
    print(f"export PATH={shlex.quote(places)}:$PATH")
    print(f"export PYTHONPATH={shlex.quote(str(builds.ROOT / 'src'))}${{PYTHONPATH:+:$PYTHONPATH}}")


@app.command()
def doctor() -> None:
    """Tell what is needed and what is missing.

    A table: each thing needed, its version or that it is missing, and what to do.

    Example: ./sandglass doctor
    """
    from sandglass.install import doctor as examination

    if not examination.report(examination.examine()):
        raise typer.Exit(1)
