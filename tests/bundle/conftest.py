"""Files and runs that are bundled here."""

import json
from pathlib import Path

import pytest

from sandglass.papers.bundle.subject import Part, Subject


def part(name: str, took_s: float, run: str | None = None) -> Part:
    """A figure of one run."""
    return Part(
        name=name,
        title=f"About {name}",
        command=["reproduce", name],
        runs={run or f"results/runs/{name}": took_s},
        tables=[],
        experiments=["code/experiment.yaml"],
        ended_s=1.75e9,
    )


@pytest.fixture
def laid(tmp_path: Path) -> dict[str, Path]:
    """Files of a small bundle, by their places in it."""
    texts = {
        "code/Snakefile": "rule all:\n",
        "code/experiment.yaml": "title: one\n",
        "results/runs/one/run.json": json.dumps({"digest": "0" * 64}),
        "results/runs/two+more,=1/run.json": json.dumps({"digest": "1" * 64}),
    }
    found = {}
    for place, text in texts.items():
        found[place] = tmp_path / "files" / place
        found[place].parent.mkdir(parents=True, exist_ok=True)
        found[place].write_text(text)
    return found


@pytest.fixture
def subjects() -> list[Subject]:
    """A paper of two figures."""
    parts = [
        part("one", 1.0, "results/runs/one"),
        part("two", 2.0, "results/runs/two+more,=1"),
    ]
    command = ["reproduce", "paper", "--profile", "quick"]
    return [Subject("paper", "A paper", True, parts, [command], [], {}, 2500)]
