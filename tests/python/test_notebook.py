"""The notebook: what it shows is what a newcomer gets."""

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from sandglass.install.builds import ROOT

NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
BYTES = 100_000


def outputs(notebook: Any) -> list[Any]:
    """What each cell says, pictures by their kind alone: fonts differ between machines."""
    return [
        [
            {kind: said if kind.startswith("text/") else None for kind, said in data.items()}
            for data in (output["data"] for output in cell["outputs"])
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.lab
def test_it_shows_what_it_gives(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    monkeypatch.setitem(os.environ, "PYTHONPATH", str(clone / "src"))
    monkeypatch.setitem(os.environ, "JUPYTER_PATH", f"{sys.prefix}/share/jupyter")
    done = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(clone / "examples")}}
    NotebookClient(done, timeout=600, kernel_name="python3", resources=folder).execute()
    assert outputs(done) == outputs(stored)


def test_it_is_small_and_whole() -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    assert NOTEBOOK.stat().st_size < BYTES
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
