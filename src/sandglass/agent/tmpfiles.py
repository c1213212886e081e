"""What lies in memory when a machine has started, and who owns what, as packages declare it.

In the place of systemd-tmpfiles (tmpfiles.d(5)): directories, files, links and owners, and nothing
that takes something away.
"""

from __future__ import annotations

import contextlib
import glob
import grp
import os
import pwd
import shlex
import shutil

PLACE = "/usr/lib/tmpfiles.d"
FIELDS = 7  # type, path, mode, user, group, age, argument


def create() -> None:
    """Do what all files of PLACE say, in the order of their names."""
    for file in sorted(glob.glob(f"{PLACE}/*.conf")):
        with open(file) as lines:
            for line in lines:
                words = shlex.split(line, comments=True)
                if len(words) > 1:
                    kind, path, mode, user, group, _, argument = (words + ["-"] * FIELDS)[:FIELDS]
                    # Somebody's package may ask for what a lab lacks; its user will see it missing.
                    with contextlib.suppress(OSError, KeyError):
                        _create(kind[0], path, argument)
                        for each in _all_below(path) if kind[0] == "Z" else glob.glob(path):
                            _own(each, mode, user, group)


def _create(kind: str, path: str, argument: str) -> None:
    """Make what one line asks for, unless there is something of that name."""
    if kind in "dDvqQ":
        os.makedirs(path, exist_ok=True)
    elif kind in "fF" and not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write("" if argument == "-" else argument)
    elif kind == "L" and not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(argument if argument != "-" else f"/usr/share/factory{path}", path)
    elif kind == "C" and not os.path.exists(path):
        source = argument if argument != "-" else f"/usr/share/factory{path}"
        (shutil.copytree if os.path.isdir(source) else shutil.copyfile)(source, path)


def _all_below(path: str) -> list[str]:
    return [
        each for top in glob.glob(path) for each in [top, *glob.glob(f"{top}/**", recursive=True)]
    ]


def _own(path: str, mode: str, user: str, group: str) -> None:
    """Give a file its owners and its mode; `-` leaves what there is."""
    uid = -1 if user == "-" else int(user) if user.isdigit() else pwd.getpwnam(user).pw_uid
    gid = -1 if group == "-" else int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    os.chown(path, uid, gid)
    if mode != "-":
        os.chmod(path, int(mode.lstrip("~:"), 8))
