"""Papers: reproduced, and put into a file."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.errors import UsageError
from sandglass.terminal import say
from sandglass.words import Words

app = typer.Typer()


class Profile(Words):
    """How much of a figure is run."""

    SMOKE = "smoke"
    QUICK = "quick"
    PAPER = "paper"


@app.command()
def reproduce(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER[/FIGURE]]...", show_default=False, autocompletion=completion.papers
        ),
    ] = None,
    profile: Annotated[Profile, typer.Option(help="How much of it.")] = Profile.QUICK,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Labs at once; all processors by default.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All papers.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A claim that fails is a failure: exit status 1.")
    ] = False,
) -> None:
    """Reproduce papers or single figures.

    Without a target it says which papers there are. Each figure comes with its verdict. A paper of
    your own is named by its folder's path, such as ../mine/papers/new or ../mine/papers/new/fig1.

    Example: ./sandglass reproduce abe/fig03 abe/fig11
    """
    from sandglass.papers import reproduce as reproduction

    if not targets and not everything:
        raise UsageError("reproduce what? Name papers or figures", reproduction.choices())
    wanted: list[str | None] = [reproduction.named(each) for each in targets or []]
    if everything:
        wanted = [None]
    raise typer.Exit(reproduction.reproduce(wanted, profile.value, cores, strict))


@app.command()
def bundle(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="PAPER[/FIGURE]|RUN_DIR...",
            show_default=False,
            autocompletion=completion.papers,
        ),
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
    from sandglass.install import extras, setup_lab

    extras.checkout_only("bundle")
    setup_lab.bundler()
    setup_lab.lab()
    from sandglass.papers.bundle import bundle as archive
    from sandglass.papers.bundle import wheels

    wanted = archive.Wanted(targets, profile.value, pythons or wheels.PYTHONS, records)
    archive.write(wanted, out)
    say(f"{out}: {out.stat().st_size / 1e6:.0f} MB")


@app.command()
def reference(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="PAPER[/FIGURE]...", show_default=False, autocompletion=completion.papers
        ),
    ],
    renew: Annotated[
        bool, typer.Option("--renew", help="Put the results in the place of what is kept.")
    ] = False,
    judge: Annotated[
        bool,
        typer.Option(
            "--judge", help="Judge what is kept again, after a change of claims; no results needed."
        ),
    ] = False,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Renew the lists of the smoke profile's runs instead.")
    ] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="BUNDLE.tar", help="Take the results of a bundle, not those here."
        ),
    ] = None,
) -> None:
    """Compare the papers' results with those kept for the record.

    What `reproduce --profile paper` left, here or in a bundle of the profile paper, with the
    paper's reference: verdicts that changed, and columns of the tables that differ by more than
    rounding. Where something does, the exit status is 1. Nothing of the bundle is run.

    Example: ./sandglass reference abe/fig03 --renew
    """
    from sandglass.papers import reference as kept
    from sandglass.papers import renewal
    from sandglass.papers.bundle import received

    if renew + judge + smoke > 1:
        raise UsageError("--renew, --judge and --smoke: take one of them")
    if bundle and (judge or smoke):
        raise UsageError("--from brings tables of figures: --judge and --smoke ask for none")
    wanted = renewal.wanted(targets)
    if smoke:
        kept.renew_smoke({paper: renewal.smoke_runs(paper) for paper in wanted})
    elif judge:
        kept.judge(wanted)
    else:
        with received.results(bundle, wanted) if bundle else nullcontext(renewal.results()) as home:
            made = {
                paper: {name: renewal.made(paper, name, home) for name in names}
                for paper, names in wanted.items()
            }
        differ = renewal.tell(made)
        if differ and not renew:
            raise typer.Exit(1)
        if renew:
            kept.renew(made)
    if renew or judge or smoke:
        say(f"{', '.join(wanted)}: the reference is renewed")
