"""A module of yours, named by its path."""

import os
from pathlib import Path
from typing import Literal

from sandglass.errors import UsageError
from sandglass.experiment import qdiscs
from sandglass.install.builds import ROOT


def only(path: Path, prefix: Literal["sch_", "tcp_"], noun: str) -> str:
    """What a module's folder brings, or a repository whose kmods/ has one of the kind.

    From here on modules are looked for there too, by this process and those that it starts. Raises
    UsageError unless there is one and no other.
    """
    if not path.is_dir():
        raise UsageError(f"{path}: no such folder", f"Name a {noun}, or the folder of a module.")
    folders = [path] if path.name.startswith(prefix) else sorted(path.glob(f"kmods/{prefix}*/"))
    folders = [each for each in folders if (each / "Kbuild").is_file()]
    names = sorted(name for each in folders for name in qdiscs.called(each, prefix))
    if not names:
        raise UsageError(
            f"{path} has no module of a {noun}",
            f"One is a folder {prefix}NAME with its Kbuild, or a repository with "
            f"kmods/{prefix}NAME.",
        )
    if len(names) > 1:
        shown = ", ".join(map(str, folders))
        raise UsageError(f"{path} has several {noun}s: {', '.join(names)}", f"Name one of {shown}.")
    home = folders[0].parent.resolve()
    if home != ROOT / "kmods":
        os.environ["SANDGLASS_KMODS"] = str(home)
    return names[0]
