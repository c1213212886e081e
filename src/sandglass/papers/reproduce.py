"""Papers and figures as Snakemake's targets."""

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

from sandglass.errors import SandglassError, UsageError, nearest
from sandglass.install import builds
from sandglass.papers import grid, verdicts
from sandglass.terminal import INTERRUPTED


def targets(wanted: str | None) -> list[str]:
    """The rules or files that stand for PAPER, PAPER/FIGURE, or everything.

    Raises UsageError naming the nearest paper or figure there is.
    """
    papers = grid.papers()
    if wanted is None:
        return papers
    paper, _, figure = wanted.partition("/")
    if paper not in papers:
        raise UsageError(f"there is no paper {paper!r}{nearest(paper, papers)}")
    if not figure:
        return [paper]
    known = list(grid.figures(paper).figures)
    if figure not in known:
        two_digits = re.sub(r"\d+", lambda number: number[0].zfill(2), figure)
        raise UsageError(f"{paper} has no figure {figure!r}{nearest(two_digits, known)}")
    return [f"results/{paper}/{figure}.html"]


def judged(wanted: str | None) -> str:
    """The verdicts of what has been reproduced, for the terminal, and where the page is."""
    lines = []
    for paper in grid.papers() if wanted is None else [wanted.partition("/")[0]]:
        figure = (wanted or "").partition("/")[2]
        name = f"{figure}.verdicts.csv" if figure else "verdicts.csv"
        results = builds.ROOT / "results" / paper
        lines.append(verdicts.summary(verdicts.read(results / name)))
        lines.append(f"see results/{paper}/{figure or 'report'}.html")
    return "\n".join(lines)


def snakemake(targets: list[str], profile: str, cores: int | None) -> int:
    """Run Snakemake at the top of the repository; returns its exit status.

    Raises SandglassError when another one is at work there, or it must not write there.
    """
    folder = (builds.ROOT / ".snakemake").resolve()  # below results/ in the container
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise SandglassError(
            f"cannot write to {folder.parent}: {error.strerror}",
            f"it has to belong to the user {os.getuid()}, who runs this",
        ) from None
    with (folder / "sandglass.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SandglassError(
                f"another reproduction is at work in {builds.ROOT}", "wait for its end"
            ) from None
        # Snakemake's own lock stays behind when it is killed; ours ends with the last process
        # that holds it, so what was interrupted can go on.
        command = [sys.executable, "-m", "snakemake", "--nolock", "--keep-going"]
        command += ["--rerun-incomplete", "--quiet", "reason", "host"]
        # The default scheduler solves an optimisation problem for each run; ours are all alike.
        command += ["--scheduler", "greedy"]
        command += ["--cores", str(cores or len(os.sched_getaffinity(0)))]
        command += ["--config", f"profile={profile}", "--", *targets]
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(builds.ROOT / "src"),
        }
        with subprocess.Popen(
            command, cwd=builds.ROOT, env=environment, pass_fds=[lock.fileno()]
        ) as process:
            return finish(process)


def finish(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process; an interrupt reaches it too, and it ends in its own good order."""
    interrupted = False
    while True:
        try:
            status = process.wait()
            return INTERRUPTED if interrupted else status
        except KeyboardInterrupt:
            interrupted = True
