"""What shells complete: commands, and the names that these take. Each imports what it needs."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]

app = typer.Typer()

ASKED = "_SANDGLASS_COMPLETE"
"""The variable by which a shell asks."""
SCRIPT = """\
if [ -n "${ZSH_VERSION-}" ]; then
    _sandglass_complete() {
        local -a found
        found=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) \\
            _SANDGLASS_COMPLETE=complete_bash ${~words[1]} 2>/dev/null)}")
        if [[ -z ${found[*]} ]]; then
            _files
        else
            compadd -S '' -- ${(M)found:#*/}
            compadd -- ${found:#*/}
        fi
    }
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u; }
    compdef _sandglass_complete sandglass
else
    _sandglass_complete() {
        # bash has cut words at = and :, and wants of the last one what comes after these
        local IFS=$'\\n' line=${COMP_LINE:0:COMP_POINT} last=-1
        [[ $line != *' ' ]] || last=${#line}
        COMPREPLY=($(COMP_WORDS=$line COMP_CWORD=$last \\
            _SANDGLASS_COMPLETE=complete_bash "$1" 2>/dev/null))
        local word=${line##* }
        COMPREPLY=("${COMPREPLY[@]#"${word%"$2"}"}")
        [[ ${COMPREPLY[0]-} != */ ]] || compopt -o nospace
    }
    complete -o default -F _sandglass_complete sandglass
fi
"""

Complete = Callable[[str], list[str]]


def answer_shells() -> None:
    """Let the command line answer a shell that asks what a word may become."""
    if ASKED in os.environ:
        completion_init()


@app.command()
def completion() -> None:
    """Print what makes bash or zsh complete words at a tab.

    Commands, options, papers and figures, examples, runs and all that list tells of; of --set and
    --vary the values that have names.

    Example: . <(./sandglass completion)
    """
    print(SCRIPT, end="")


def beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Those of the names that begin so."""
    return [name for name in names if name.startswith(incomplete)]


def experiments(incomplete: str) -> list[str]:
    """YAML files, folders on the way to some, and the examples."""
    return _with_files(incomplete, ".yaml", _shown(_root().glob("examples/*.yaml")))


def studies(incomplete: str) -> list[str]:
    """The same of studies."""
    return _with_files(incomplete, ".yaml", _shown(_root().glob("examples/studies/*.yaml")))


def runs(incomplete: str) -> list[str]:
    """Directories of runs below results/runs, and folders."""
    found = _root().glob("results/runs/*/run.json")
    return _with_files(incomplete, "/", _shown(path.parent for path in found))


def example_names(incomplete: str) -> list[str]:
    """Of examples/, without the folder."""
    return beginning(incomplete, sorted(path.stem for path in _root().glob("examples/*.yaml")))


def papers(incomplete: str) -> list[str]:
    """Papers, and behind a slash a paper's figures."""
    from sandglass.papers import shelf

    paper, slash, _ = incomplete.partition("/")
    known = shelf.papers()
    if slash and paper in known:
        return beginning(incomplete, (f"{paper}/{name}" for name in shelf.paper(paper).figures))
    found = beginning(incomplete, known)
    return [f"{name}/" for name in found] if len(found) == 1 and found != [incomplete] else found


def listed(context: typer.Context, incomplete: str) -> list[str]:
    """Kinds of things; after one, what there is of it."""
    from sandglass.guide import offer

    words = context.params.get("words") or []
    kinds = [*offer.KINDS, "papers"]
    if not words:
        return beginning(incomplete, kinds)
    if words[0] == "papers":
        return papers(incomplete)
    if words[0] in offer.KINDS:
        return beginning(incomplete, (name for name, _ in offer.KINDS[words[0]]([])))
    return []


def of_kind(kind: str) -> Complete:
    """The things of a kind that `list` tells of."""

    def complete(incomplete: str) -> list[str]:
        from sandglass.guide import offer

        return beginning(incomplete, (name for name, _ in offer.KINDS[kind]([])))

    return complete


def settings(incomplete: str) -> list[str]:
    """Behind KEY= of an experiment what the key may be, where that has a name."""
    from sandglass.guide.choices import choices

    key, equals, _ = incomplete.partition("=")
    return beginning(incomplete, (f"{key}={each}" for each in choices(key) if equals))


def variations(incomplete: str) -> list[str]:
    """The same, and behind KEY=VALUE, what does not stand there yet."""
    from sandglass.guide.choices import choices

    key, equals, written = incomplete.partition("=")
    *given, _ = written.split(",")
    before = "".join(f"{each}," for each in given)
    left = (each for each in choices(key) if equals and each not in given)
    return beginning(incomplete, (f"{key}={before}{each}" for each in left))


def labs(incomplete: str) -> list[str]:
    """The labs in the cache, and what they are called."""
    from sandglass.install import builds

    return beginning(incomplete, [*(lab.id for lab in builds.labs()), *builds.names()])


def _root() -> Path:
    from sandglass.install.builds import ROOT

    return ROOT


def _shown(paths: Iterable[Path]) -> Iterator[str]:
    """Paths as they are from here, those of the checkout in short where it is the directory."""
    for path in sorted(paths):
        inside = path.is_relative_to(Path.cwd())
        yield str(path.relative_to(Path.cwd()) if inside else path)


def _with_files(incomplete: str, ending: str, ours: Iterable[str]) -> list[str]:
    """What begins so: folders and files of an ending, and ours where nothing else is meant."""
    folder = Path(incomplete).parent if not incomplete.endswith("/") else Path(incomplete)
    there = sorted(folder.glob("*")) if folder.is_dir() else []
    named = [f"{path}/" if path.is_dir() else str(path) for path in there]
    if incomplete.startswith("./"):
        named = [f"./{name}" for name in named]
    seen = [name for name in named if not Path(name).name.startswith(".")]
    files = [name for name in seen if name.endswith((ending, "/"))]
    return list(dict.fromkeys([*beginning(incomplete, ours), *beginning(incomplete, files)]))
