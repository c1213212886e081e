"""What a panic of the lab's kernel tells the author of a module."""

from pathlib import Path

import pytest

from sandglass.lab import crash

TRACE = """\
[     1.500000] Modules linked in: sch_own(O) recorder(O)
[     1.500000] Kernel panic - not syncing: {reason}
[     1.500000] CPU: 0 UID: 0 PID: 42 Comm: web server Tainted: G           O       6.12.117 #1
[     1.500000] Stack:
[     1.500000]  6026ad7c 62d473e0 8080dafc 00000000
[     1.500000] Call Trace:
[     1.500000]  [<6026ad7c>] htb_enqueue+0x16c/0x420
[     1.500000]  [<6002b05d>] ? um_set_signals+0x2d/0x60
[     1.500000]  [<60204509>] __dev_queue_xmit+0x3a9/0xf40
"""


def read(tmp_path: Path, text: str) -> crash.Crash | None:
    console = tmp_path / "console.log"
    console.write_text(text)
    return crash.read(console, tmp_path)


def panic(tmp_path: Path, reason: str) -> crash.Crash:
    crashed = read(tmp_path, TRACE.format(reason=reason))
    assert crashed
    return crashed


def test_without_a_panic_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert read(tmp_path, "[     5.000085] reboot: Power down\n") is None


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("Kernel mode fault at addr 0x68, ip own+0x32/0xaa [sch_own]", "a NULL pointer in own"),
        ("Segfault with no mm at addr 0x10, ip own+0x3/0x9", "a NULL pointer in own"),
        (
            "Kernel tried to access user memory at addr 0xdead000, ip own+0x3/0x9",
            "a wrong pointer (0xdead000) in own",
        ),
        ("Out of memory", "Out of memory in htb_enqueue"),
    ],
)
def test_it_is_named_in_an_authors_words(tmp_path: Path, reason: str, said: str) -> None:
    error = panic(tmp_path, reason).error()
    assert error.message == f"{said}, 1.500000 s into the experiment"
    assert "called from __dev_queue_xmit" in str(error.hint)
    assert "um_set_signals" not in str(error.hint), "what the kernel is not sure of is left out"


def test_a_kernel_that_loops_is_told_from_a_program_that_does(tmp_path: Path) -> None:
    kernel = crash.hang(panic(tmp_path, "Kernel mode signal 8, ip own+0x3/0x9 [sch_own]"), 3)
    assert "its kernel loops in own" in kernel.message
    program = crash.hang(panic(tmp_path, "Kernel mode signal 8, ip 0x7f25a1b0c8d7"), 3)
    assert "kernel" not in program.message
    assert "web server may wait in a busy loop" in str(program.hint)
    assert "`memory: 2GB`" in str(program.hint)


def test_a_program_that_is_no_experiment_is_told_of_none(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    console.write_text(TRACE.format(reason="Kernel mode signal 8, ip 0x7f25a1b0c8d7"))
    error = crash.hang(crash.read(console, tmp_path, crash.PROGRAM), 3)
    assert error.message.endswith("1.500000 s after the lab's start")
    assert "--memory 2048" in str(error.hint)
    assert "experiment" not in f"{error.message}{error.hint}"


def test_a_kernel_that_looks_for_memory_has_none(tmp_path: Path) -> None:
    text = TRACE.format(reason="Kernel mode signal 8, ip super_cache_count+0x3/0x9")
    crashed = read(tmp_path, text.replace("htb_enqueue+", "shrink_slab+"))
    error = crash.hang(crashed, 3)
    assert "no memory left" in error.message
    assert "`memory: 2GB`" in str(error.hint)


@pytest.mark.parametrize(
    ("top", "caller"), [("6026ad7c", "htb_enqueue"), ("62d12000", "__dev_queue_xmit")]
)
def test_the_caller_of_a_function_without_a_frame_is_not_left_out(
    tmp_path: Path, top: str, caller: str
) -> None:
    """The kernel is never sure of it. It is on top of the stack, unless that is something else."""
    text = TRACE.format(reason="Kernel mode fault at addr 0x0, ip own+0x3/0x9")
    doubted = text.replace("] htb_enqueue", "] ? htb_enqueue").replace(
        "  6026ad7c 62", f"  {top} 62"
    )
    crashed = read(tmp_path, doubted)
    assert crashed
    assert str(crashed.error().hint).splitlines()[0] == f"called from {caller}"


def test_before_time_zero_no_time_is_given(tmp_path: Path) -> None:
    crashed = read(tmp_path, TRACE.format(reason="Oops").replace("     1.5", "   -29.9"))
    assert crashed
    assert crashed.error().message == "Oops in htb_enqueue, before the experiment began"
