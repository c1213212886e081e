"""A new experiment."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.errors import UsageError
from sandglass.results.export.whole import whole_file
from sandglass.terminal import harmless, say

app = typer.Typer()


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", show_default=False)],
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="EXAMPLE",
            help="A copy of this one.",
            autocompletion=completion.example_names,
        ),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            help="One with a bottleneck.", autocompletion=completion.of_kind("topologies")
        ),
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Of the bottleneck, such as 20mbit.")] = None,
    rtt: Annotated[str | None, typer.Option(help="Base round trip, such as 50ms.")] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            help="Kind of qdisc, such as codel.", autocompletion=completion.of_kind("qdiscs")
        ),
    ] = None,
    flows: Annotated[str | None, typer.Option(help="How many.")] = None,
    cc: Annotated[
        str | None,
        typer.Option(
            help="Congestion controls, with commas.",
            autocompletion=completion.of_kind("congestion-controls"),
        ),
    ] = None,
    duration: Annotated[str | None, typer.Option(help="Such as 30s.")] = None,
) -> None:
    """Write an experiment file.

    Asks for what is not given, a line each; an empty one takes what stands in brackets. A file that
    is there is never overwritten.

    Example: ./sandglass new my.yaml --queue pie --cc cubic,bbr
    """
    from sandglass.guide import draft
    from sandglass.install import setup_lab

    if file.exists():
        raise UsageError(f"{file} is there already", "Choose another name.")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}", f"Make it first: mkdir {file.parent}")
    given = {
        "topology": topology, "rate": rate, "rtt": rtt, "queue": queue,
        "flows": flows, "cc": cc, "duration": duration,
    }  # fmt: skip
    setup_lab.lab()
    if start is not None:
        if options := [f"--{name}" for name, value in given.items() if value is not None]:
            raise UsageError(f"--from is an example as it is: leave out {', '.join(options)}")
        text = draft.example(start, file)
    else:
        for name, value in given.items():
            if value is not None and (wrong := draft.problem(name, value)):
                raise UsageError(f"--{name}: {wrong}")
        answers = {name: value or _answer(name) for name, value in given.items()}
        text = draft.written(answers, file)
    if file.exists():
        raise UsageError(f"{file} has come meanwhile", "Choose another name.")
    with whole_file(file) as opened:
        opened.write(text.encode())
    quoted = shlex.quote(str(file))
    say(f"{file} is written\nlook at it: ./sandglass check {quoted}")
    say(f"run it: ./sandglass run {quoted}")


def _answer(name: str) -> str:
    """What is answered on standard input; at its end, the default."""
    from sandglass.guide.draft import QUESTIONS, problem

    question = QUESTIONS[name]
    while True:
        print(f"{question.text} [{question.default}]: ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip() or question.default
        if not sys.stdin.isatty():
            print(harmless(answer), file=sys.stderr)
        wrong = problem(name, answer)
        if wrong is None:
            return answer
        if not sys.stdin.isatty():
            raise UsageError(f"{name}: {wrong}")
        print(f"  {harmless(wrong)}", file=sys.stderr)
