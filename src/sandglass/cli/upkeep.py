"""The laboratory itself: its store of runs, its speed, its tests."""

from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.install.upkeep import Pictures

app = typer.Typer()


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
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            show_default=False,
            autocompletion=completion.of_kind("benches"),
        ),
    ] = None,
) -> None:
    """Measure how fast the lab is.

    Runs the scripts in bench/, or those named.

    Example: ./sandglass bench
    """
    from sandglass.install import extras, setup_lab, upkeep

    extras.checkout_only("bench")
    scripts = upkeep.benchmarks(names or [])
    setup_lab.lab()
    raise typer.Exit(upkeep.bench(scripts))


@app.command(
    name="test", context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def self_test(
    context: typer.Context,
    thorough: Annotated[
        bool, typer.Option("--all", help="The long ones, too: three times as long.")
    ] = False,
) -> None:
    """Run linters, type checks and tests, on all processors.

    Everything is tested once; --all tries more of it. With words for pytest, only the tests that
    they choose, one after the other.

    Example: ./sandglass test tests/cli -k help
    """
    from sandglass.install import extras, setup_lab, upkeep

    extras.checkout_only("test")
    setup_lab.linters_and_tests()
    setup_lab.lab()
    raise typer.Exit(upkeep.test(context.args, thorough=thorough))


@app.command()
def docs(
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Instead of results/site.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show it at a local address, and what you change.")
    ] = False,
    pictures: Annotated[
        Pictures,
        typer.Option(
            help="Those of the gallery: none; figures, of papers (a minute, once); "
            "all, for which every example is run (most of an hour)."
        ),
    ] = Pictures.FIGURES,
) -> None:
    """Make the documentation a site.

    With search, a reference, and a gallery of the examples and of the papers' figures. It opens
    from the disk and loads nothing from a network. A link that leads nowhere is an error.

    Example: ./sandglass docs --pictures all --out ../site
    """
    from sandglass.install import extras, setup_lab, upkeep

    extras.checkout_only("docs")
    setup_lab.documentation()
    setup_lab.lab()
    raise typer.Exit(upkeep.serve(pictures) if serve else upkeep.site(out, pictures))
