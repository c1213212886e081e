"""Mininet, by hand and by scripts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sandglass.cli.arguments import Settings
from sandglass.offered import found

app = typer.Typer()

# Options that we do not have are the program's, and so is all that follows its name.
PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@app.command()
def shell(
    target: Annotated[str, typer.Argument(metavar="TOPOLOGY|EXPERIMENT.yaml", show_default=False)],
    settings: Settings = None,
) -> None:
    """Open Mininet's prompt in the lab.

    The lab runs in real time then. A topology's parameters are given with --set.

    Example: ./sandglass shell topologies/dumbbell.py --set pairs=3
    """
    from sandglass.install import setup_lab
    from sandglass.run import runs

    setup_lab.lab()
    raise typer.Exit(runs.shell(str(found(Path(target))), settings or []))


@app.command(name="exec", context_settings=PASSED_ON)
def execute(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARG]...", show_default=False)],
    seed: Annotated[int, typer.Option(min=0, help="Everything random comes from it.")] = 1,
    memory: Annotated[int, typer.Option(min=128, metavar="MB", help="Of the lab.")] = 1024,
    real_time: Annotated[bool, typer.Option("--real-time", help="For prompts.")] = False,
    syscall_cost: Annotated[
        int, typer.Option(min=0, metavar="NS", help="What a system call takes of virtual time.")
    ] = 2000,
) -> None:
    """Run a script or another program in the lab.

    In virtual time; one that uses Mininet, or any of the lab's own. It finds the working directory,
    and what it writes below that stays. It is root there, and changes nothing else of this machine.
    Same seed, same output. A Python script need not be executable.

    Example: ./sandglass exec my_network.py --size 4
    """
    options = {"seed": seed, "memory_mb": memory, "real_time": real_time}
    raise typer.Exit(_in_lab(command, syscall_ns=syscall_cost, **options))


@app.command(context_settings=PASSED_ON)
def mn(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARG]...")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Everything random comes from it.")] = 1,
    memory: Annotated[int, typer.Option(min=128, metavar="MB", help="Of the lab.")] = 1024,
    real_time: Annotated[bool, typer.Option("--real-time", help="For its prompt.")] = False,
) -> None:
    """Run Mininet's own command in the lab.

    In virtual time; it is exec mn.

    Example: ./sandglass mn --topo tree,2 --test pingall
    """
    command = ["mn", *(arguments or [])]
    raise typer.Exit(_in_lab(command, seed=seed, memory_mb=memory, real_time=real_time))


def _in_lab(command: list[str], **options: Any) -> int:
    from sandglass.install import setup_lab
    from sandglass.run import script

    setup_lab.lab()
    return script.run(command, **options)
