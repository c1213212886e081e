"""A kernel's tree with selftests that are quick, and each of another kind."""

import textwrap
from pathlib import Path

import pytest

from tests.lab import conftest

sandglass = conftest.sandglass

SELFTESTS = "tools/testing/selftests"
MAKEFILES = {
    "lib.mk": """
        OUTPUT := $(shell pwd)
        TEST_GEN_PROGS := $(patsubst %,$(OUTPUT)/%,$(TEST_GEN_PROGS))
        all: $(TEST_GEN_PROGS)
        $(OUTPUT)/%: %.c
        \t$(CC) $(CFLAGS) $< -o $@
        """,
    "net/Makefile": """
        TEST_PROGS := passes.sh fails.sh skips.sh partly.sh sleeps.sh writes.sh draws.sh spins.sh
        TEST_GEN_PROGS := built unbuilt
        include ../lib.mk
        """,
    "net/settings": "timeout=100\n",
    "net/packetdrill/Makefile": """
        TEST_PROGS := $(wildcard *.pkt)
        include ../../lib.mk
        """,
}
PROGRAMS = {
    "net/passes.sh": "echo 'TEST: one    [ OK ]'\necho 'TEST: two    [ OK ]'",
    "net/fails.sh": "echo 'it is broken # so'\nexit 1",
    "net/skips.sh": "echo 'SKIP: no such tool'\nexit 4",
    "net/partly.sh": """
        echo TAP version 13
        echo 1..3
        echo ok 1 first
        echo not ok 2 second
        echo 'ok 3 third # SKIP for want of it'
        exit 1
        """,
    "net/sleeps.sh": "sleep 3600",
    # what one test leaves no other one finds
    "net/writes.sh": "[ -e left ] && exit 1\necho left > left && ip link add dummy7 type dummy",
    "net/draws.sh": "mktemp -u\ndate +%s.%N\nsleep 2",
    "net/spins.sh": "while :; do :; done",
    "net/packetdrill/ksft_runner.sh": "echo 1..1\npacketdrill < $1 && echo ok 1 ipv4",
}
BUILT = """
    #include <stdio.h>
    #include <sys/utsname.h>
    int main(void) { struct utsname us; uname(&us); puts(us.release); return 0; }
    """
PACKETDRILL = """
    #include <stdio.h>
    int main(void) { return getchar() != 'a'; }
    """


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel's tree with tests that pass, fail, are skipped, and so on."""
    place = tmp_path / "linux"
    texts = {**MAKEFILES, "net/built.c": BUILT, "net/unbuilt.c": "#include <no_such.h>\n"}
    for name, text in texts.items():
        _write(place / SELFTESTS / name, textwrap.dedent(text).lstrip())
    for name, text in PROGRAMS.items():
        _write(place / SELFTESTS / name, f"#!/bin/sh\n{textwrap.dedent(text)}\n", mode=0o755)
    _write(place / SELFTESTS / "net/packetdrill/tcp_a.pkt", "a\n")
    _write(place / SELFTESTS / "net/packetdrill/tcp_b.pkt", "b\n")
    return place


@pytest.fixture
def packetdrill(tmp_path: Path) -> Path:
    """A directory that is laid out as packetdrill's repository is, of a program that is none."""
    own = tmp_path / "drill" / "gtests/net/packetdrill"
    _write(own / "packetdrill.c", PACKETDRILL)
    _write(own / "Makefile.Linux", "packetdrill: packetdrill.c\n\t$(CC) $(CFLAGS) $< -o $@\n")
    return tmp_path / "drill"


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
