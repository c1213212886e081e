"""What a key of an experiment may be, where that has a name: for shells, which complete it."""

from collections.abc import Iterator

from sandglass.experiment import module_options, qdiscs, reading
from sandglass.guide import offer
from sandglass.install.builds import module_directories

NAMED = {
    "cc": "congestion-controls",
    "kind": "qdiscs",
    "tcp_congestion_control": "congestion-controls",
    "topology": "topologies",
    "trace": "traces",
    "workload": "workloads",
}
"""Keys, by the last part of their paths, and the kinds of things that they name."""
YES_OR_NO = ["true", "false"]


def choices(key: str) -> list[str]:
    """The names that values of a key have, which is a path; empty where they have none."""
    outer, _, name = key.rpartition(".")
    if kind := NAMED.get(name):
        return [each for each, _ in offer.KINDS[kind]([])]
    if outer.endswith("queue"):
        return YES_OR_NO if name in _flags() else []
    schema = reading.schema()
    for part in (schema, *schema["$defs"].values()):
        said = part.get("properties", {}).get(name, {})
        if said.get("type") == "boolean":
            return YES_OR_NO
        if "enum" in said:
            return [str(value) for value in said["enum"]]
    return []


def _flags() -> Iterator[str]:
    """Options of any qdisc that are on or off."""
    for options in qdiscs.KINDS.values():
        yield from (option for option, kind in options.items() if kind.startswith("flag"))
    for directory in module_directories():
        for module in directory.glob("sch_*/"):
            yield from module_options.flags(module)
