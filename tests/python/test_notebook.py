"""The notebook: what it shows is what a newcomer gets."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import nbformat
import pytest
from nbclient import NotebookClient

from sandglass.cli import app
from sandglass.install import setup_lab
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


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where JupyterLab answers that `notebook` has started, without a browser."""
    if setup_lab.differing("requirements-notebook.lock"):
        pytest.skip("JupyterLab is not installed, which ./sandglass notebook would do")
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("RUNTIME", "CONFIG", "DATA")}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(ROOT / "sandglass"), "notebook", "work.ipynb", "--no-browser", f"--port={port}"]
    shutil.copy(NOTEBOOK, tmp_path / "work.ipynb")
    with subprocess.Popen(
        [*command, "--allow-root"], cwd=tmp_path, env=os.environ | own, stderr=-1, text=True
    ) as process:
        assert process.stderr
        said = (re.search(r"http://127\S+", line) for line in process.stderr)
        found = next(filter(None, said))[0]
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield found
        process.terminate()


def test_it_is_opened_and_can_be_run(address: str) -> None:
    place, token = address.split("/lab?")
    with urlopen(f"{place}/lab/tree/work.ipynb?{token}") as page:
        assert "<title>JupyterLab</title>" in page.read().decode()
    asked = json.dumps({"path": "work.ipynb", "type": "notebook", "name": "", "kernel": {}})
    wanted = Request(f"{place}/api/sessions?{token}", data=asked.encode(), method="POST")
    with urlopen(wanted) as answer:
        assert json.load(answer)["kernel"]["name"] == "python3"


def test_options_are_jupyterlabs(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(setup_lab, "notebooks", lambda: None)
    monkeypatch.setattr(os, "execv", lambda _, words: started.append(words[1:]))
    monkeypatch.setenv("PYTHONPATH", "")
    words = ["notebook", "work.ipynb", "--no-browser", "--port", "8889"]
    app(words, standalone_mode=False)
    assert started == [["-m", "jupyterlab", *words[1:]]]
    assert os.environ["PYTHONPATH"] == str(ROOT / "src")


def test_it_is_small_and_whole() -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    assert NOTEBOOK.stat().st_size < BYTES
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
