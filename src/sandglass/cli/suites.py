"""Suites: an algorithm through all scenarios of a document."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sandglass.errors import UsageError
from sandglass.terminal import say

app = typer.Typer(help="Put an algorithm through all scenarios of a document.")

Name = Annotated[str, typer.Argument(metavar="NAME|FOLDER", show_default=False)]
Against = Annotated[
    str | None, typer.Option(metavar="NAME,NAME", help="Rivals, instead of the suite's own.")
]
Own = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="OPTION=VALUE", help="An option of NAME; may be given again."),
]
Size = Annotated[
    str, typer.Option(metavar="quick|full", help="How long the runs are, and how many.")
]
Only = Annotated[str | None, typer.Option(metavar="SECTION,SECTION", help="These scenarios alone.")]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Instead of one below results/suites.")
]
Cores = Annotated[int | None, typer.Option(min=1, help="Labs at once; all processors by default.")]
Cluster = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A profile of Snakemake's, for a cluster.")
]


@app.command()
def qdisc(
    name: Name,
    against: Against = None,
    settings: Own = None,
    profile: Size = "quick",
    only: Only = None,
    out: Out = None,
    cores: Cores = None,
    cluster: Cluster = None,
) -> None:
    """Characterise a queue discipline as RFC 7928 has it.

    NAME is a qdisc, or the folder of a module: its own, or a repository with one in kmods/.

    Example: ./sandglass characterise qdisc pie --against codel,fq_codel
    """
    _characterise("qdisc", name, against, settings, profile, only, out, cores, cluster)


@app.command()
def cc(
    name: Name,
    against: Against = None,
    settings: Own = None,
    profile: Size = "quick",
    only: Only = None,
    out: Out = None,
    cores: Cores = None,
    cluster: Cluster = None,
) -> None:
    """Characterise a congestion control by tcpeval, ccperf, harm and RFC 9743.

    NAME is a congestion control, or the folder of a module: its own, or a repository with one in
    kmods/.

    Example: ./sandglass characterise cc abe_cubic --against cubic,reno,bbr
    """
    _characterise("cc", name, against, settings, profile, only, out, cores, cluster)


def _characterise(
    kind: str,
    name: str,
    against: str | None,
    settings: list[str] | None,
    profile: str,
    only: str | None,
    out: Path | None,
    cores: int | None,
    cluster: Path | None,
) -> None:
    from sandglass.experiment import document
    from sandglass.install import setup_lab
    from sandglass.suites import characterise

    if profile not in ("quick", "full"):
        raise UsageError(f"there is no profile {profile}", "There are quick and full.")
    own: dict[str, object] = {}
    for each in settings or []:
        option, _, value = each.partition("=")
        if not option or not value:
            raise UsageError(f"--set {each}: write OPTION=VALUE, such as target=10ms")
        own[option] = document.value(value, f"--set {each}")
    size: Literal["quick", "full"] = "full" if profile == "full" else "quick"
    rivals, sections = _listed(against), _listed(only)
    wanted = characterise.wanted(kind, name, rivals, own, size, sections, out)
    setup_lab.lab()
    status = characterise.characterise(wanted, cores, cluster)
    say(f"open {wanted.home / 'index.html'}")
    raise typer.Exit(status)


def _listed(text: str | None) -> list[str]:
    return [each for each in (text or "").split(",") if each]
