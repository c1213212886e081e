"""kernel/cc: compiles what make asks for, with the common headers parsed before."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no compiler")

COMMON = """
#ifndef pr_fmt
#define pr_fmt(text) text
#endif
#ifdef LOUD
#define GREETING "HELLO"
#else
#define GREETING "hello"
#endif
#define SAID pr_fmt(GREETING " from " KBUILD_MODNAME)
"""
PLAIN = '#include "say.h"\nconst char said[] = SAID;\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of one header, for which the headers were parsed as kernel/build has it done."""
    shutil.copy2(builds.ROOT / "kernel" / "cc", tmp_path)
    (tmp_path / "say.h").write_text(f"#ifndef SAY\n#define SAY\n{COMMON}\n#endif\n")
    (tmp_path / "common.h").write_text('#include "say.h"\n')
    assert compiled(tmp_path, PLAIN, "--precompile") == "hello from one"
    return tmp_path


def command(*first: str, more: tuple[str, ...] = ()) -> list[str]:
    """What make runs for a file of the module `one`."""
    make = ("-D__KERNEL__", "-O1", *more, '-DKBUILD_MODNAME="one"', "-D__KBUILD_MODNAME=one")
    return ["./cc", *first, "gcc", "-Wp,-MMD,.one.o.d", *make, "-c", "-o", "one.o", "one.c"]


def compiled(tree: Path, source: str, *first: str, more: tuple[str, ...] = ()) -> str:
    """What a source's variable `said` has in the object."""
    (tree / "one.c").write_text(source)
    subprocess.run(command(*first, more=more), cwd=tree, check=True)
    values = ["objcopy", "-O", "binary", "-j", ".rodata", "one.o", "one.bin"]
    subprocess.run(values, cwd=tree, check=True)
    return (tree / "one.bin").read_bytes().rstrip(b"\0").decode()


def test_headers_are_parsed_once(tree: Path) -> None:
    """A file finds in them what was parsed before, and not what they say now."""
    (tree / "say.h").write_text("#error parsed again\n")
    assert compiled(tree, PLAIN.replace('"say.h"', "<stddef.h>")) == "hello from one"


def test_the_object_is_the_same_without_parsed_headers(tree: Path) -> None:
    compiled(tree, PLAIN)
    parsed = (tree / "one.o").read_bytes()
    (tree / ".common.h.gch").unlink()
    compiled(tree, PLAIN)
    assert (tree / "one.o").read_bytes() == parsed


def test_a_word_to_a_header_is_said_before_it(tree: Path) -> None:
    assert compiled(tree, "#define LOUD\n" + PLAIN) == "HELLO from one"


def test_a_file_has_its_own_way_of_messages(tree: Path) -> None:
    own = '#define pr_fmt(text) KBUILD_MODNAME ": " text\n'
    assert compiled(tree, own + PLAIN) == "one: hello from one"


def test_other_options_have_other_headers(tree: Path) -> None:
    assert compiled(tree, PLAIN, more=("-DLOUD",)) == "HELLO from one"
    assert not (tree / ".common-module.h").exists()
    assert compiled(tree, PLAIN, "--precompile", more=("-DMODULE", "-DLOUD")) == "HELLO from one"
    assert compiled(tree, PLAIN, more=("-DMODULE", "-DLOUD")) == "HELLO from one"
    assert compiled(tree, PLAIN) == "hello from one"


def test_a_file_that_the_headers_do_not_suit_is_compiled_without(tree: Path) -> None:
    assert compiled(tree, '#include <stddef.h>\nconst char GREETING[] = "own";\n') == "own"


def test_what_is_wrong_with_a_file_is_said_and_fails(tree: Path) -> None:
    (tree / "one.c").write_text(PLAIN + "int no = such;\n")
    failed = subprocess.run(command(), check=False, cwd=tree, capture_output=True, text=True)
    assert failed.returncode
    assert failed.stderr.count("undeclared here") == 1


def test_a_warning_is_said(tree: Path) -> None:
    (tree / "one.c").write_text(PLAIN + "#warning look\n")
    done = subprocess.run(command(), cwd=tree, capture_output=True, text=True, check=True)
    assert "look" in done.stderr
