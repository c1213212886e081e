"""The command `sandglass bisect`."""

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandglass.cli.arguments import ExperimentFile, Seed, Settings
from sandglass.errors import UsageError
from sandglass.terminal import complain, say

if TYPE_CHECKING:
    from sandglass.studies.bisection import Measured

app = typer.Typer()


@app.command()
def bisect(
    experiment: ExperimentFile,
    tree: Annotated[Path, typer.Option(metavar="DIR", help="A git checkout of a kernel.")],
    good: Annotated[str, typer.Option(metavar="REV", help="A commit before the guilty one.")],
    bad: Annotated[str, typer.Option(metavar="REV", help="A commit after it, or itself.")],
    metric: Annotated[
        str, typer.Option(metavar="M", help="Of run.json, such as flows.0.goodput_mbit.")
    ],
    above: Annotated[
        float | None, typer.Option(metavar="X", help="Bad is where the metric is above.")
    ] = None,
    below: Annotated[
        float | None, typer.Option(metavar="X", help="Bad is where the metric is below.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FRAGMENT", help="Options of the tree besides the lab's."),
    ] = None,
    seed: Seed = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Instead of one below results/bisections.")
    ] = None,
) -> None:
    """Find the commit of a kernel's tree that moved a metric.

    As git bisect: a lab of a revision is built, the experiment runs in it, and its metric's value
    tells which half of the history is next. The checkout stays as it is. Every revision that was
    tried is a row of revisions.csv. Interrupted and called again, it takes labs and runs that are
    there.

    Example: ./sandglass bisect codel.yaml --tree ~/linux --good v7.2 --bad HEAD
        --metric flows.0.goodput_mbit --below 15
    """
    from sandglass.experiment import reading
    from sandglass.install import builds, extras, setup_lab
    from sandglass.studies import bisection
    from sandglass.studies import metric as metrics

    extras.checkout_only("bisect")
    if (above is None) == (below is None):
        raise UsageError("bisect: one bound is missing, or one is too many: --above or --below")
    bound = bisection.Bound(above if above is not None else below or 0.0, above is not None)
    try:
        measured = metrics.expression(metric)
    except ValueError as error:
        raise UsageError(f"--metric {metric}: {error}") from None
    wanted = reading.load(experiment, settings or [], seed)
    asked = f"{tree.resolve()} {metric} {wanted.filled()}"
    digest = hashlib.sha256(asked.encode()).hexdigest()[:8]
    home = (
        out or builds.WORK / "results" / "bisections" / f"{experiment.stem}-{digest}"
    ).absolute()
    setup_lab.packages()
    trial = bisection.Trial(tree, config, wanted, experiment, measured, bound, home)
    rows: list[Measured] = []

    def tried(commit: str) -> "Measured":
        rows.append(row := trial.measure(commit))
        bisection.write(home / bisection.TABLE, rows)
        value = "" if row.value is None else f"{row.value:.6g} "
        times = row.why or f"built in {row.build_s:.0f} s, run in {row.run_s:.0f} s"
        say(f"{commit[:12]} {row.verdict:<7} {value}({times}) {row.subject}")
        return row

    total = len(bisection.between(tree, good, bad))
    say(
        f"bad is {metric} {bound}; {total} commits, some {math.ceil(math.log2(total + 1)) + 2} runs"
    )
    found = bisection.search(tree, good, bad, tried)
    word = "guilty" if len(found.guilty) == 1 else "one of these"
    for commit in found.guilty:
        say(f"{word}: {bisection.told(tree, commit)}")
    if len(found.guilty) > 1:
        complain("revisions between could not be measured: their rows say why")
    say(f"{home / bisection.TABLE}: {len(rows)} revisions")
