"""The reference of what `import sandglass` offers, from its docstrings."""

import inspect
import re
from typing import Any

import sandglass
from docs.site import render

PAGE = "reference/python.md"
SECTION = re.compile(r"^(Args|Raises):\n((?:[ ]{4}.*\n|\n)*)", re.MULTILINE)
ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def page() -> str:
    offered = {name: getattr(sandglass, name) for name in sorted(sandglass.OFFERED)}
    classes = {name: each for name, each in offered.items() if inspect.isclass(each)}
    return render.page(
        "python",
        functions=[described(each) for name, each in offered.items() if name not in classes],
        classes=[
            {
                "name": name,
                "about": inspect.getdoc(each) or "",
                "members": [described(member) for member in members(each)],
            }
            for name, each in classes.items()
        ],
    )


def members(offered: type) -> list[Any]:
    """The public methods and properties of a class, in the order of its file."""
    found = (each for name, each in vars(offered).items() if not name.startswith("_"))
    return [each for each in found if inspect.isfunction(each) or isinstance(each, property)]


def described(offered: Any) -> dict[str, Any]:
    """The signature and the docstring of a function, a method or a property."""
    function: Any = offered.fget if isinstance(offered, property) else offered
    about = (inspect.getdoc(function) or "") + "\n"
    sections = {found[1]: ENTRY.findall(found[2]) for found in SECTION.finditer(about)}
    signature = inspect.signature(function)
    returned = inspect.formatannotation(signature.return_annotation)
    shown = f"{function.__name__}: {returned}"
    if not isinstance(offered, property):
        shown = f"{function.__name__}({written(signature)}) -> {returned}"
    return {
        "name": function.__name__,
        "signature": re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", shown),
        "about": SECTION.sub("", about).strip(),
        "arguments": sections.get("Args", []),
        "raises": sections.get("Raises", []),
    }


def written(signature: inspect.Signature) -> str:
    """The parameters, on a line each where there are several."""
    words: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(each[0] == "*" for each in words):
            words.append("*")
        if name != "self":
            words.append(str(parameter))
    return "\n    " + ",\n    ".join(words) + ",\n" if len(words) > 1 else "".join(words)
