"""Instructions that would tell a program of the host: its clock and its random numbers."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab.conftest import Cli

pytestmark = pytest.mark.lab
READ_NS, CALL_NS = 256, 2000  # what a read of the clock takes, and in `exec` a system call
CLOCK = r"""
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

int main(void)
{
	struct timespec pause = { 0, 10000000 };
	unsigned int processor = 7;
	unsigned long long from, to;

	from = __rdtsc();
	to = __rdtsc();
	printf("again %llu\n", to - from);
	from = __rdtsc();
	nanosleep(&pause, NULL);
	to = __rdtscp(&processor);
	printf("slept %llu on %u\n", to - from, processor);
	from = __rdtsc();
	while ((to = __rdtsc()) - from < 1000000)
		;
	printf("waited %llu\n", to - from);
	return 0;
}
"""
RANDOM = r"""
#include <cstdio>
#include <immintrin.h>
#include <random>

template <typename Number> static void draw(int (*step)(Number *), const char *name)
{
	unsigned long long together = 0;
	Number number = 0;

	for (int i = 0; i < 20; i++) {
		if (!step(&number))
			std::printf("none ");
		together = together * 31 + number;
	}
	std::printf("%s %llx %llx\n", name, together, (unsigned long long)number);
}

int main()
{
	draw<unsigned short>([](auto *to) { return _rdrand16_step(to); }, "rdrand16");
	draw<unsigned>([](auto *to) { return _rdrand32_step(to); }, "rdrand32");
	draw<unsigned long long>([](auto *to) { return _rdrand64_step(to); }, "rdrand64");
	draw<unsigned short>([](auto *to) { return _rdseed16_step(to); }, "rdseed16");
	draw<unsigned>([](auto *to) { return _rdseed32_step(to); }, "rdseed32");
	draw<unsigned long long>([](auto *to) { return _rdseed64_step(to); }, "rdseed64");
	for (const char *source : { "default", "rdrand", "rdseed" }) {
		std::random_device device(source);
		std::printf("%s %x %x\n", source, device(), device());
	}
	return 0;
}
"""
# RDRAND and jc; and a constant whose bytes look like RDRAND, with sbb behind it.
ALIKE = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#define CODE 0x48, 0x0f, 0xc7, 0xf0, 0x72, 0x01, 0x90, 0xc3
#define TEXT_(...) #__VA_ARGS__
#define TEXT(...) TEXT_(__VA_ARGS__)

asm(".text\n"
    "draw: .byte " TEXT(CODE) "\n"
    "constant: mov $0x19fdc70f, %eax\n"
    " ret\n");
unsigned long draw(void);
int constant(void);

int main(int argc, char **argv)
{
	static const unsigned char code[] = { CODE };
	static unsigned char file[1 << 20];
	size_t size = fread(file, 1, sizeof(file), fopen(argv[0], "rb"));

	printf("%lx %x ", draw(), constant());
	puts(memmem(file, size, code, sizeof(code)) ? "as it was" : "changed");
	return 0;
}
"""


def compiled(directory: Path, source: str, *options: str) -> str:
    """A program of this C or C++ source, as a command in that directory."""
    compiler = shutil.which("c++" if "<c" in source else "cc")
    if compiler is None:
        pytest.skip("no compiler on this host")
    (directory / "program.cc").write_text(source)
    language = "c++" if "<c" in source else "c"
    words = [compiler, "-x", language, "-static", *options, "-o", "program", "program.cc"]
    subprocess.run(words, cwd=directory, check=True)
    return "./program"


@pytest.fixture(params=["6.12", pytest.param("7.2", marks=pytest.mark.newer)])
def kernel(request: pytest.FixtureRequest) -> str:
    """The lab's kernel, built first where it is not."""
    if request.param != "6.12":
        return str(request.getfixturevalue("newer_kernel"))
    return str(request.param)


@pytest.mark.usefixtures("kernel")
def test_the_time_stamp_counter_is_virtual_time(sandglass: Cli, tmp_path: Path) -> None:
    """One nanosecond a step, each read as dear as another read of the clock."""
    done = sandglass("exec", compiled(tmp_path, CLOCK, "-O2"))
    assert done.returncode == 0, done.stdout + done.stderr
    again, slept, waited = done.stdout.splitlines()
    assert again == f"again {READ_NS}"
    (pause, processor) = map(int, re.findall(r"\d+", slept))
    # the call itself takes time too, and each byte that it copies a little
    assert 0 <= pause - 10_000_000 - READ_NS - CALL_NS < 20
    assert processor == 0
    assert waited == f"waited {-(-1_000_000 // READ_NS) * READ_NS}"


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_random_numbers_of_the_processor_are_the_seeds(
    sandglass: Cli, tmp_path: Path, optimised: str
) -> None:
    program = compiled(tmp_path, RANDOM, optimised, "-mrdrnd", "-mrdseed")
    first, same, other = [sandglass("exec", "--seed", seed, program) for seed in (1, 1, 2)]
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout == same.stdout
    assert "none" not in first.stdout
    for line, another in zip(first.stdout.splitlines(), other.stdout.splitlines(), strict=True):
        assert line != another


@pytest.mark.usefixtures("kernel")
def test_neither_the_file_nor_what_only_looks_alike_changes(sandglass: Cli, tmp_path: Path) -> None:
    program = compiled(tmp_path, ALIKE, "-O1")
    first, same = [sandglass("exec", program).stdout for _ in range(2)]
    assert first == same
    assert first.endswith(" 19fdc70f as it was\n")


@pytest.mark.usefixtures("kernel")
def test_the_processors_description_is_no_hosts(sandglass: Cli) -> None:
    done = sandglass("exec", "cat", "/proc/cpuinfo")
    assert "host" not in done.stdout
    assert re.search(r"^flags\s*: fpu tsc cx8 cmov mmx fxsr sse sse2 lm$", done.stdout, re.M)
