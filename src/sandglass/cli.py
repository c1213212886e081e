"""The command line. Each command imports what it needs, so that none waits for the others'."""

import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sandglass import lab_cli, trace_cli
from sandglass.errors import UsageError, nearest
from sandglass.terminal import guarded, progress

app = typer.Typer(
    name="sandglass",
    help="A network laboratory that runs real Linux in virtual time.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(lab_cli.app, name="lab")

# Options that we do not have are the program's, and so is all that follows its name.
PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}

ExperimentFile = Annotated[Path, typer.Argument(metavar="EXPERIMENT.yaml", show_default=False)]
Seed = Annotated[int | None, typer.Option(min=0, help="Instead of the experiment's own.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key; may be given again."),
]


class Backend(StrEnum):
    """Where an experiment runs."""

    LAB = "lab"
    HOST = "host"


class Profile(StrEnum):
    """How much of a figure is run."""

    SMOKE = "smoke"
    QUICK = "quick"
    PAPER = "paper"


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
    from sandglass.install import dkms, setup_lab

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
    if cluster:
        setup_lab.executors()


@app.command()
def doctor() -> None:
    """Tell what is needed and what is missing.

    A table: each thing needed, its version or that it is missing, and what to do.

    Example: ./sandglass doctor
    """
    from sandglass.install import doctor as examination

    if not examination.report(examination.examine()):
        raise typer.Exit(1)


@app.command()
def run(
    experiment: ExperimentFile,
    seed: Seed = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Instead of one below results/runs.")
    ] = None,
    record: Annotated[
        str | None, typer.Option(metavar="LIST|none", help="Of packets,acks,queues,goodput.")
    ] = None,
    backend: Annotated[Backend, typer.Option(help="The lab, or this machine.")] = Backend.LAB,
    cached: Annotated[
        bool, typer.Option("--cached", help="Take the run from the cache, or keep it there.")
    ] = False,
    which: Annotated[
        str | None, typer.Option("--lab", metavar="LAB", help="Instead of this checkout's.")
    ] = None,
) -> None:
    """Run an experiment.

    Example: ./sandglass run experiment.yaml --seed 2 --set bottleneck.rate=10mbit
    """
    from sandglass.experiment import reading
    from sandglass.install import setup_lab
    from sandglass.run import runs

    changes = list(settings or [])
    if record is not None:
        changes.append(f"record=[{'' if record == 'none' else record}]")
    if which:
        os.environ["SANDGLASS_LAB"] = which
    wanted = reading.load(experiment, changes, seed)
    if backend is Backend.LAB:
        setup_lab.lab()
    elif cached:
        raise UsageError("--cached is for the lab", "Runs on a host are not equal.")
    with progress(experiment.stem) as advance:
        result = runs.run(
            wanted, experiment, out, backend=backend.value, cached=cached, progress=advance
        )
    if backend is Backend.HOST:
        print(f"{result.path}: in real time, so that no other run is equal: no digest")
        return
    if result.cached:
        print(f"{result.path}: from the cache")
    else:
        speed = result.content["virtual_s"] / result.content["wall_s"]
        print(f"{result.path}: {speed:.0f} times as fast as real time")
    print(f"digest {result.content['digest']}")


@app.command(name="list")
def list_all(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[KIND] [DIR]...", show_default=False)
    ] = None,
) -> None:
    """List what there is to name or to run.

    Kinds: topologies, workloads, qdiscs, congestion-controls, papers, examples, benches.

    Modules and papers are ours and those of SANDGLASS_KMODS and SANDGLASS_PAPERS. A directory that
    is laid out as examples/module-repository is looked into as well.

    Example: ./sandglass list workloads ../mine
    """
    from sandglass.experiment import offer
    from sandglass.papers import shelf

    kinds = offer.KINDS | {"papers": shelf.listing}
    chosen = [word for word in words or [] if word in kinds]
    directories = [Path(word) for word in words or [] if word not in kinds]
    for directory in directories:
        if not directory.is_dir():
            raise UsageError(
                f"{directory} is neither a kind nor a directory{nearest(str(directory), kinds)}",
                f"kinds: {', '.join(kinds)}",
            )
    for kind in chosen or kinds:
        found = list(kinds[kind](directories))
        width = max(len(name) for name, _ in found)
        print("\n".join([f"{kind}:", *(f"  {name:{width}}  {about}" for name, about in found)]))


@app.command(context_settings={"allow_extra_args": True})
def debug(
    context: typer.Context,
    experiment: ExperimentFile,
    seed: Seed = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Instead of one below results/runs.")
    ] = None,
) -> None:
    """Run an experiment in gdb.

    With the symbols of the kernel and of all modules. Time stands still wherever it stops, so that
    the digest stays the same. Words after -- are gdb's.

    Example: ./sandglass debug experiment.yaml -- -ex "break pi2_qdisc_enqueue" -ex run
    """
    from sandglass.experiment import reading
    from sandglass.install import setup_lab
    from sandglass.run import runs

    wanted = reading.load(experiment, settings or [], seed)
    setup_lab.lab()
    setup_lab.debugger()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # gdb's
    result = runs.run(wanted, experiment, out, gdb=context.args)
    print(f"{result.path}\ndigest {result.content['digest']}")


@app.command()
def verify(
    experiment: ExperimentFile,
    times: Annotated[int, typer.Option(min=2, help="How often it is run.")] = 2,
    seed: Seed = None,
    settings: Settings = None,
) -> None:
    """Run an experiment again and compare.

    The digests of all runs must be equal; else the first difference is shown, and the exit
    status is 1.

    Example: ./sandglass verify experiment.yaml --times 10
    """
    from sandglass.experiment import reading
    from sandglass.install import setup_lab
    from sandglass.run import verify as verification

    wanted = reading.load(experiment, settings or [], seed)
    setup_lab.lab()
    with progress(experiment.stem) as advance:
        digest = verification.verify(wanted, experiment, times, advance)
    print(f"{times} runs, one digest: {digest}")


@app.command()
def reproduce(
    target: Annotated[
        str | None, typer.Argument(metavar="[PAPER[/FIGURE]]", show_default=False)
    ] = None,
    profile: Annotated[Profile, typer.Option(help="How much of it.")] = Profile.QUICK,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Labs at once; all processors by default.")
    ] = None,
) -> None:
    """Reproduce papers or single figures.

    Without a target all papers. Each figure comes with its verdict. A paper of your own is named by
    its folder's path, such as ../mine/papers/new or ../mine/papers/new/fig1.

    Example: ./sandglass reproduce abe/fig03 --profile smoke
    """
    from sandglass.install import setup_lab
    from sandglass.papers import reproduce as reproduction

    wanted = reproduction.named(target) if target else None
    targets = reproduction.targets(wanted)
    setup_lab.lab()
    free_mb = reproduction.memory_mb(wanted)
    status = reproduction.snakemake(targets, profile.value, cores, free_mb)
    if status == 0:
        print(reproduction.judged(wanted))
    raise typer.Exit(status)


@app.command()
def bundle(
    targets: Annotated[
        list[str], typer.Argument(metavar="PAPER[/FIGURE]|RUN_DIR...", show_default=False)
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.tar", help="The archive.")],
    profile: Annotated[Profile, typer.Option(help="How much of papers.")] = Profile.QUICK,
    records: Annotated[
        bool, typer.Option("--records", help="With the runs' records, not only their digests.")
    ] = False,
    pythons: Annotated[
        list[str] | None,
        typer.Option("--python", metavar="VERSION", help="Packages for this alone."),
    ] = None,
) -> None:
    """Put all that repeats papers and runs into a file.

    Experiments, code, lab, Python packages, results and digests: who unpacks it repeats everything
    without a network, by ./reproduce. A paper is reproduced first where that is not up to date.

    Example: ./sandglass bundle abe/fig05 --out fig05.tar
    """
    from sandglass.install import setup_lab

    setup_lab.bundler()
    setup_lab.lab()
    from sandglass.papers.bundle import bundle as archive
    from sandglass.papers.bundle import wheels

    wanted = archive.Wanted(targets, profile.value, pythons or wheels.PYTHONS, records)
    archive.write(wanted, out)
    print(f"{out}: {out.stat().st_size / 1e6:.0f} MB")


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
    raise typer.Exit(runs.shell(target, settings or []))


app.command()(trace_cli.trace)


@app.command(name="exec", context_settings=PASSED_ON)
def execute(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARG]...", show_default=False)],
    seed: Annotated[int, typer.Option(min=0, help="Everything random comes from it.")] = 1,
    memory: Annotated[int, typer.Option(min=128, metavar="MB", help="Of the lab.")] = 1024,
    real_time: Annotated[bool, typer.Option("--real-time", help="For prompts.")] = False,
) -> None:
    """Run a script or another program in the lab.

    In virtual time; one that uses Mininet, or any of the lab's own. It finds the working directory,
    and what it writes below that stays. It is root there, and changes nothing else of this machine.
    Same seed, same output. A Python script need not be executable.

    Example: ./sandglass exec my_network.py --size 4
    """
    raise typer.Exit(_in_lab(command, seed=seed, memory_mb=memory, real_time=real_time))


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


@app.command()
def show(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN_DIR", show_default=False)],
) -> None:
    """Show a finished run as tables.

    Example: ./sandglass show results/runs/experiment-1a2b3c4d
    """
    from sandglass.results import show as tables

    tables.show(run_directory)


@app.command()
def plot(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN_DIR", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of results/plot.svg, .png."),
    ] = None,
) -> None:
    """Draw a finished run over time.

    Each flow's throughput and queueing delay at recorded links, congestion window and pings.

    Example: ./sandglass plot results/runs/experiment-1a2b3c4d
    """
    from sandglass.results import plot as drawing

    drawing.plot(run_directory, out)


@app.command()
def compare(
    run_directories: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of results/comparison.svg, .png, .csv."),
    ] = None,
) -> None:
    """Draw runs beside each other.

    Throughput over time and the distribution of queueing delays, such as of the lab and of a host.

    Example: ./sandglass compare results/runs/in-the-lab results/runs/in-real-time
    """
    from sandglass.results import comparison

    comparison.compare(run_directories, out)


@app.command(name="cache")
def kept_runs(
    empty: Annotated[bool, typer.Option("--empty", help="Throw them away.")] = False,
) -> None:
    """Tell how many runs are kept.

    Pipelines keep them for other checkouts, up to a limit (SANDGLASS_RUNS_LIMIT).

    Example: ./sandglass cache --empty
    """
    from sandglass.run import kept

    if empty:
        kept.empty()
    sizes = kept.sizes()
    used, most = sum(sizes) / 1e9, kept.limit() / 1e9
    print(f"{kept.directory()}: {len(sizes)} runs, {used:.2f} of {most:g} GB")


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", show_default=False)
    ] = None,
) -> None:
    """Measure how fast the lab is.

    Runs the scripts in bench/, or those named.

    Example: ./sandglass bench
    """
    from sandglass.install import setup_lab, upkeep

    scripts = upkeep.benchmarks(names or [])
    setup_lab.lab()
    raise typer.Exit(upkeep.bench(scripts))


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def test(context: typer.Context) -> None:
    """Run linters, type checks and tests, on all processors.

    With words for pytest, only the tests they choose, one after the other.

    Example: ./sandglass test tests/cli -k help
    """
    from sandglass.install import setup_lab, upkeep

    setup_lab.linters_and_tests()
    setup_lab.lab()
    raise typer.Exit(upkeep.test(context.args))


def main() -> None:
    """Entry point of `sandglass` and of `python -m sandglass`."""
    guarded(lambda: app(prog_name="sandglass"))
