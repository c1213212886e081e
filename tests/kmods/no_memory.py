"""Makes qdiscs the default one of an interface each, in the lab.

Usage, as the lab's one program: python3 no_memory.py DIRECTORY

kinds.json in the directory holds {kind: its module}. made.json gets {kind: what its interface has
then}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from sandglass.agent import kernel

DEFAULT = Path("/proc/sys/net/core/default_qdisc")


def made(kind: str, module: str) -> str:
    """The kind that an interface has when this is the default, of a module."""
    kernel.run(["modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab", module])
    before = DEFAULT.read_text()
    DEFAULT.write_text(kind)
    kernel.run(["ip", "link", "add", "one", "type", "ifb"])
    kernel.run(["ip", "link", "set", "one", "up"])
    [queue] = json.loads(kernel.run(["tc", "-json", "qdisc", "show", "dev", "one"]))
    kernel.run(["ip", "link", "del", "one"])
    DEFAULT.write_text(before)
    return str(queue["kind"])


def main(directory: Path) -> None:
    kinds = json.loads((directory / "kinds.json").read_text())
    found = {kind: made(kind, module) for kind, module in kinds.items()}
    (directory / "made.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
