"""The code of this checkout at its commit, as git has it."""

import os
import subprocess
from pathlib import Path

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, checkout

PARTS = ("kernel", "kmods", "pipelines", "setup", "src", "topologies", "workloads")
"""The folders that hold what a run may need: no file of them may be unknown to git."""
SHOWN = 5


def commit() -> str:
    """The commit that the checkout is at, 12 hex digits.

    Raises UsageError when there is none, or files are not as they are in it.
    """
    if not (builds.ROOT / ".git").exists():
        raise UsageError(
            f"{builds.ROOT} has no git, which has the code at its commit",
            "Do this in a clone of the repository; a container's checkout is none.",
        )
    changed = git("status", "--porcelain", "--untracked-files=no")
    changed += git("status", "--porcelain", "--", *PARTS)
    if changed:
        files = sorted({line[3:] for line in changed})
        more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        raise UsageError(
            f"the code is not that of a commit: {', '.join(files[:SHOWN])}{more}",
            "Commit these files, or put them away: what is written has the code at its commit.",
        )
    return checkout.commit()


def committed_s() -> int:
    """When the commit was made, in seconds since 1970."""
    [line] = git("show", "--no-patch", "--format=%ct", "HEAD")
    return int(line)


def tags() -> list[str]:
    """The versions that the commit is tagged as, such as v1.0."""
    return git("tag", "--points-at", "HEAD", "--list", "v*")


def archive(target: Path, prefix: str, note: Path) -> None:
    """Write the commit's files, and a note beside them, to a tar archive, below a prefix."""
    options = ["--format=tar", f"--output={target}", f"--prefix={prefix}", f"--add-file={note}"]
    git("archive", *options, "HEAD")


def write(target: Path) -> None:
    """Lay the commit's files below `target`, with the note that stands for git there."""
    git("checkout-index", "--all", f"--prefix={target}/")
    (target / ".commit").write_text(commit() + "\n")


def git(*words: str) -> list[str]:
    """The lines that git says. Raises SandglassError with its last one when it fails."""
    # A hook of another repository has told git, by variables, to look at that one.
    environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
    # Nor does a user's umask for archives enter one.
    settings = ["--no-optional-locks", "-c", "tar.umask=0022"]
    command = ["git", *settings, "-C", str(builds.ROOT), *words]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UsageError("there is no git here", "Install it: it has the commit.") from None
    if done.returncode:
        raise SandglassError(f"git {words[0]}: {done.stderr.strip().rpartition(chr(10))[2]}")
    return done.stdout.splitlines()
