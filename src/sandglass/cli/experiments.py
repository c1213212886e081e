"""Experiments: run, repeated, looked into."""

import json
import os
import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandglass.cli.arguments import ExperimentFile, Seed, Settings, WhichLab
from sandglass.errors import UsageError
from sandglass.terminal import INTERRUPTED, complain, note, progress, say
from sandglass.words import Words

if TYPE_CHECKING:
    from sandglass.guide.preview import Preview
    from sandglass.studies.preview import StudyPreview

app = typer.Typer()


class Backend(Words):
    """Where an experiment runs."""

    LAB = "lab"
    HOST = "host"


@app.command()
def run(
    experiment: ExperimentFile,
    seed: Seed = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Instead of one below results/runs.")
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(metavar="LIST|none", help="Of packets,acks,queues,goodput,headers."),
    ] = None,
    backend: Annotated[Backend, typer.Option(help="The lab, or this machine.")] = Backend.LAB,
    cached: Annotated[
        bool, typer.Option("--cached", help="Take the run from the cache, or keep it there.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run of another experiment in DIR.")
    ] = False,
    which: WhichLab = None,
) -> None:
    """Run an experiment.

    Example: ./sandglass run experiment.yaml --seed 2 --set bottleneck.rate=10mbit
    """
    from sandglass.experiment import kernel, reading
    from sandglass.install import builds, setup_lab
    from sandglass.run import runs

    changes = list(settings or [])
    if record is not None:
        changes.append(f"record=[{'' if record == 'none' else record}]")
    if which:
        os.environ["SANDGLASS_LAB"] = builds.lab_called(which).id
    wanted = reading.load(experiment, changes, seed, in_lab=backend is Backend.LAB)
    if backend is Backend.LAB:
        if series := kernel.wanted(wanted):
            note(f"in the lab {'of Linux ' * builds.is_kernel(series)}{series}")
        setup_lab.lab(series, wanted.packages)
    elif cached:
        raise UsageError("--cached is for the lab", "Runs on a host are not equal.")
    try:
        with progress(experiment.stem) as advance:
            result = runs.run(
                wanted,
                experiment,
                out,
                backend=backend.value,
                cached=cached,
                progress=advance,
                force=force,
            )
    except KeyboardInterrupt:
        complain("interrupted: nothing of this run is kept")
        raise typer.Exit(INTERRUPTED) from None
    if backend is Backend.HOST:
        say(f"{result.path}: in real time, so that no other run is equal: no digest")
    elif result.cached:
        say(f"{result.path}: from the cache")
    else:
        speed = result.content["virtual_s"] / result.content["wall_s"]
        say(f"{result.path}: {speed:.0f} times as fast as real time")
    if backend is Backend.LAB:
        print(f"digest {result.content['digest']}")
    say(f"look at it: ./sandglass view {shlex.quote(str(result.path))}")


@app.command()
def check(
    experiment: ExperimentFile,
    seed: Seed = None,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Tell what would be run, without running it.

    What is wrong with the file, as run says it; else the network as a picture, links, queues and
    flows in plain numbers, what the run will take, and what is allowed but often not meant. Of a
    study, also how many runs there are, and how many of them are in the cache.

    Example: ./sandglass check experiment.yaml --set rtt=40ms
    """
    from sandglass.experiment import document, reading
    from sandglass.install import setup_lab

    found: Preview | StudyPreview
    if "experiment" in document.read(experiment).data:
        from sandglass.studies import preview as studies
        from sandglass.studies import reading as study_files

        if seed is not None:
            raise UsageError("--seed is for an experiment", "A study's runs have a seed each.")
        done = "study"
        study = study_files.load(experiment, settings or [])
        setup_lab.lab()
        found = studies.study_preview(study)
    else:
        from sandglass.guide import preview

        done = "run"
        loaded = reading.load(experiment, settings or [], seed)
        setup_lab.lab()
        found = preview.preview(loaded)
    if as_json:
        print(json.dumps(found.as_json(), indent=1))
        return
    say("\n".join(found.told()))
    again = "".join(f" --set {shlex.quote(each)}" for each in settings or [])
    again += "" if seed is None else f" --seed {seed}"
    say(f"\n{done} it: ./sandglass {done} {shlex.quote(str(experiment))}{again}")


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
    from sandglass.experiment import kernel, reading
    from sandglass.install import setup_lab
    from sandglass.run import runs

    wanted = reading.load(experiment, settings or [], seed)
    setup_lab.lab(kernel.wanted(wanted), wanted.packages)
    setup_lab.debugger()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # gdb's
    result = runs.run(wanted, experiment, out, gdb=context.args)
    say(f"{result.path}\ndigest {result.content['digest']}")


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
    from sandglass.experiment import kernel, reading
    from sandglass.install import setup_lab
    from sandglass.run import verify as verification

    wanted = reading.load(experiment, settings or [], seed)
    setup_lab.lab(kernel.wanted(wanted), wanted.packages)
    with progress(experiment.stem) as advance:
        digest = verification.verify(wanted, experiment, times, advance)
    print(f"{times} runs, one digest: {digest}")
