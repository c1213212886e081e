"""A bundle's description of itself for machines: RO-Crate 1.1, in ro-crate-metadata.json.

It follows the profile Process Run Crate 0.5, and with a paper Workflow Run Crate 0.5, whose
workflow is the Snakefile (https://www.researchobject.org/workflow-run-crate/).
"""

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

from sandglass import __version__
from sandglass.papers.bundle import code
from sandglass.papers.bundle.subject import Part, Subject

RO_CRATE = "1.1"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
OF_RUNS = 1
"""How many of the profiles hold without a workflow."""
TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
WORKFLOW = "code/Snakefile"
LICENSE = "https://spdx.org/licenses/GPL-2.0-only"
AUTHORS = "#authors"
KINDS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".png": "image/png",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".whl": "application/zip",
    ".yaml": "application/yaml",
}
"""IANA's media types by how a file's name ends."""


@dataclass(frozen=True)
class Described:
    """A file of the bundle."""

    sha256: str
    size: int


def metadata(
    name: str,
    about: str,
    subjects: Sequence[Subject],
    files: Mapping[str, Described],
    commit: str,
) -> str:
    """The text of ro-crate-metadata.json, the same for the same arguments."""
    crate = ROCrate(version=RO_CRATE)
    crate.metadata.extra_terms.update(TERMS)
    crate.name, crate.description = name, about
    crate.root_dataset["datePublished"] = _time(code.committed_s())
    _add(crate, LICENSE, "CreativeWork", name="GNU General Public License, version 2")
    crate.license = {"@id": LICENSE}
    _add(crate, AUTHORS, "Organization", name="The authors of Sandglass")
    crate.publisher = crate.root_dataset["author"] = {"@id": AUTHORS}
    profiles = list(PROFILES.items())
    workflow = any(subject.of_paper for subject in subjects)
    if not workflow:
        profiles = profiles[:OF_RUNS]
    for url, title in profiles:
        _add(crate, url, "CreativeWork", name=title, version=url.rpartition("/")[2])
    crate.root_dataset["conformsTo"] = [{"@id": url} for url, _ in profiles]
    entities = {path: _file(crate, path, file) for path, file in files.items() if path != WORKFLOW}
    properties = _properties(WORKFLOW, files[WORKFLOW]) | {"version": commit}
    entities[WORKFLOW] = crate.add_workflow(
        dest_path=WORKFLOW, main=workflow, lang="snakemake", properties=properties
    )
    software = _add(
        crate, "#sandglass", "SoftwareApplication", name="Sandglass", softwareVersion=__version__
    )
    for subject in subjects:
        instrument = entities[WORKFLOW] if subject.of_paper else software
        for part in subject.parts:
            crate.root_dataset.append_to("mentions", _action(crate, part, instrument, entities))
    return json.dumps(crate.metadata.generate(), indent=1) + "\n"


def _add(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> Entity:
    return crate.add(ContextEntity(crate, identifier, {"@type": kind, **properties}))


def _file(crate: ROCrate, path: str, file: Described) -> Entity:
    return crate.add_file(dest_path=path, properties=_properties(path, file))


def _properties(path: str, file: Described) -> dict[str, str]:
    found = {"name": path, "contentSize": str(file.size), "sha256": file.sha256}
    if kind := KINDS.get(PurePosixPath(path).suffix):
        found["encodingFormat"] = kind
    return found


def _action(
    crate: ROCrate, part: Part, instrument: Entity, entities: Mapping[str, Entity]
) -> Entity:
    """How a figure or a run was made: by what, of what, and what it gave."""
    action = _add(
        crate,
        f"#{part.name}",
        "CreateAction",
        name=part.title,
        description=f"./sandglass {' '.join(part.command)}",
        agent={"@id": AUTHORS},
        endTime=_time(part.ended_s),
    )
    action["instrument"] = instrument
    action["object"] = [entities[path] for path in part.experiments]
    action["result"] = [
        *(entities[f"{run}/run.json"] for run in part.runs),
        *(entities[path] for path in part.tables),
    ]
    return action


def _time(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 writes them."""
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).isoformat()
