"""The project's own state: which commit the code is of."""

import os
import subprocess

from sandglass.install.builds import ROOT, once

UNKNOWN = "unknown"


@once
def commit() -> str:
    """The commit that the checkout is at, with -dirty when a file of it was changed since.

    Where there is no git, what the file .commit says, which an image has in git's place; else
    'unknown'.
    """
    noted = ROOT / ".commit"
    if (ROOT / ".git").exists():
        # A hook of another repository has told git, by variables, to look at that one.
        environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
        command = ["git", "--no-optional-locks", "-C", str(ROOT), "describe"]
        command += ["--always", "--dirty", "--abbrev=12", "--exclude=*"]
        try:
            told = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            return UNKNOWN
        return told.stdout.strip() or UNKNOWN
    return noted.read_text().strip() if noted.is_file() else UNKNOWN
