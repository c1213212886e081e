"""Pages for files and folders of the repository that other pages lead to."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from docs.site import text
from sandglass.install.builds import ROOT

LEXERS = {
    ".c": "c",
    ".h": "c",
    ".json": "json",
    ".py": "python",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
"""At the head of a page that has only code or names: who searches wants what is said of it."""
AS_THEY_ARE = (".svg", ".png", ".csv", ".parquet")


def page(path: str) -> str:
    """Where the page of a file or folder is."""
    return f"{path}.md"


def pages(written: Mapping[str, str], instead: Collection[str]) -> dict[str, str]:
    """Pages of all that `written` leads to and is no page, but for what has one `instead`."""
    made: dict[str, str] = {}
    left = [target for path, markdown in written.items() for target in text.linked(markdown, path)]
    while left:
        target = left.pop()
        path = ROOT / target
        name = target if target.endswith(".md") else page(target)
        has_page = {name, f"{target}/README.md"} & {*written, *made}
        if has_page or target in instead or target.endswith(AS_THEY_ARE) or not path.exists():
            continue
        made[name] = NOT_SEARCHED + folder(path) if path.is_dir() else file(path)
        left += text.linked(made[name], name)
    return made


def file(path: Path) -> str:
    """A file's text."""
    if path.suffix == ".md":
        return path.read_text()
    if path.suffix == ".ipynb":
        return notebook(path)
    lexer = LEXERS.get(path.suffix, "text")
    content = path.read_text().rstrip("\n")
    return f"{NOT_SEARCHED}# {path.relative_to(ROOT)}\n\n````{lexer}\n{content}\n````\n"


def notebook(path: Path) -> str:
    """A notebook's cells, with what they gave when it was written."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        content = "".join(cell["source"])
        parts.append(f"````python\n{content}\n````" if cell["cell_type"] == "code" else content)
        for output in cell.get("outputs", ()):
            given = output["data"]
            if "image/png" in given:
                image = "".join(given["image/png"].split())
                parts.append(f"![What the cell above draws](data:image/png;base64,{image})")
            else:
                parts.append(f"````text\n{''.join(given['text/plain'])}\n````")
    return "\n\n".join(parts) + "\n"


def folder(path: Path) -> str:
    """What is in a folder."""
    inside = [
        each
        for each in sorted(path.iterdir())
        if not each.name.startswith((".", "__")) and each.suffix != ".pyc"
    ]
    lines = [f"- [{each.name}{'/' * each.is_dir()}]({path.name}/{each.name})" for each in inside]
    return "\n".join([f"# {path.relative_to(ROOT)}/", "", *lines, ""])
