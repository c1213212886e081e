"""Runs a program of somebody's in the lab. Usage: python3 script.py RUN_DIRECTORY

It finds what it would find on a machine that Mininet is installed on: Open vSwitch at work, a /etc
and a home that it may write to, sudo. What it writes below the directory that it was called from
stays; all else goes with the lab.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import select
import sys
import termios
import time
from typing import TYPE_CHECKING

CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[0:1] = [os.path.join(CODE, "src"), CODE]

from sandglass.agent import interfaces, kernel, openvswitch, tmpfiles  # noqa: E402
from sandglass.agent.failure import RunError  # noqa: E402
from sandglass.agent.netlink import Rtnetlink  # noqa: E402
from sandglass.agent.wiring import Wiring  # noqa: E402

if TYPE_CHECKING:
    from typing import NoReturn

HERE = "/run/sandglass/here"
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")
HOME = "/root"
LAYERS = "/run/sandglass/layers"
FACTORY = "/usr/share/factory/var"  # what packages have in /var (install/root.py)
CGROUPS = "/sys/fs/cgroup"
# The rest of the world, for what looks for it by way of NAT: RFC 5737's addresses for examples.
OUTSIDE = "outside"
OWN_ADDRESS, GATEWAY, GATEWAY_BITS = "203.0.113.2", "203.0.113.1", 24
OWN_MAC, GATEWAY_MAC = "02:00:00:00:00:02", "02:00:00:00:00:01"
SSHD = "UsePAM no\nSubsystem sftp /usr/lib/openssh/sftp-server\n"
SSH_KEY = "/etc/ssh/ssh_host_ed25519_key"
BEAT_S = 1.0
PIECE = 1 << 16  # what a pipe holds
# Open files, as in a session of Debian's. For each host mnexec closes as many as there may be, one
# by one; Mininet itself asks for 16384.
FILES = 1024
MESSAGES_SHOWN = 1  # of the kernel's, among what the program says: a panic's
MESSAGES_HIDDEN = 0  # such as that the power goes down
STATUS_NOT_FOUND = 127  # as of a shell


def prepare(here: str) -> dict[str, str]:
    """Lay out what a program finds; returns its environment."""
    with Rtnetlink(None) as link:
        interfaces.bring_up(link, "lo")
    os.makedirs(HERE)
    kernel.mount("hostfs", HERE, here)
    kernel.mount("tmpfs", HOME, "mode=700")
    overlay("/etc", "/etc")
    overlay(FACTORY, "/var")
    os.makedirs("/run/lock")
    tmpfiles.create()
    os.makedirs("/run/sshd", exist_ok=True)  # where systemd starts sshd, it makes this, too
    with open("/etc/ssh/sshd_config", "w") as settings:
        settings.write(SSHD)
    kernel.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", SSH_KEY])
    outside()
    # Mininet's CPULimitedHost looks for it. No process takes any time of a processor.
    kernel.mount("tmpfs", "/sys/fs", "mode=755")
    os.makedirs(CGROUPS)
    kernel.mount("tmpfs", CGROUPS, "mode=755", source="cgroup")
    openvswitch.start()
    os.chdir(HERE)
    return {
        **os.environ,
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "HOME": HOME,
        "PWD": HERE,
        "PYTHONUNBUFFERED": "1",
    }


def overlay(lower: str, place: str) -> None:
    """Have a directory of the root's be writable, in memory."""
    upper, work = (f"{LAYERS}{place}/{name}" for name in ("upper", "work"))
    for layer in (upper, work):
        os.makedirs(layer)
    kernel.mount("overlay", place, f"lowerdir={lower},upperdir={upper},workdir={work}")


def outside() -> None:
    """Connect the lab by eth0 with a machine that has all addresses, and serves nothing."""
    kernel.create_namespace(OUTSIDE)
    interfaces.add_veth(("eth0", OWN_MAC, None), ("eth0", GATEWAY_MAC, OUTSIDE))
    for where, address in ((None, OWN_ADDRESS), (OUTSIDE, GATEWAY)):
        with Rtnetlink(where) as link:
            interfaces.bring_up(link, "eth0")
            interfaces.add_address(link, "eth0", address, GATEWAY_BITS)
    with Rtnetlink(None) as link:
        interfaces.add_route(link, "default", {"via": GATEWAY})
    with Rtnetlink(OUTSIDE) as link:
        interfaces.bring_up(link, "lo")
    kernel.run(["ip", "route", "add", "local", "default", "dev", "lo"], OUTSIDE)


def plain(terminal: int) -> None:
    """Have a terminal show what is written as it is, without returns of a carriage."""
    settings = termios.tcgetattr(terminal)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


def run(command: list[str], environment: dict[str, str], directory: str, prompt: bool) -> int:
    """Run a command to its end; returns its status, 128 and more for a signal's."""
    child = os.fork()
    if child == 0:
        if not prompt:
            os.dup2(piped(f"{directory}/typed"), 0)
        become(command, environment)
    if not prompt and os.fork() == 0:
        beat(directory)
    _, status = os.waitpid(child, 0)
    return as_a_shell(status)


def become(command: list[str], environment: dict[str, str]) -> NoReturn:
    """Be a command from now on, with as many open files as in a session; end where that fails."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, most))
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        own = os.path.exists(command[0]) and error.errno == errno.ENOENT
        why = "the lab does not have what its first line names" if own else error.strerror
        print(f"{command[0]}: {why}", file=sys.stderr, flush=True)
    os._exit(STATUS_NOT_FOUND)


def as_a_shell(status: int) -> int:
    """The status of a process that was waited for as a shell has it: 128 and more for a signal."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def piped(path: str) -> int:
    """A pipe that brings what a file holds; returns its end.

    Mininet's prompt takes what is ready for the input of the command that runs, which a file always
    is, and a pipe that it has read is not.
    """
    end, begin = os.pipe()
    if os.fork() == 0:
        os.close(end)
        with contextlib.suppress(BrokenPipeError), open(path, "rb") as file:
            while piece := file.read(PIECE):
                os.write(begin, piece)
        os._exit(0)
    os.close(begin)
    return end


def beat(directory: str) -> None:
    """Tell outside that time goes on, which it does not while a program waits in a busy loop.

    And how switches are linked: a ring of them may be why it does not.
    """
    wiring, due = Wiring(), time.monotonic()
    known: list[tuple[str, str]] = []
    while True:
        if (now := time.monotonic()) >= due:
            due = now + BEAT_S
            with open(f"{directory}/beat", "w") as file:
                file.write(f"{now}\n")
        if select.select([wiring.socket], [], [], max(due - now, 0))[0]:
            wiring.take()
            if (links := wiring.links) != known:
                known = links
                with open(f"{directory}/links", "w") as file:
                    file.writelines(f"{one} {other}\n" for one, other in links)


def main(directory: str) -> int:
    kernel.sleep_exactly()
    kernel.write_sysctl("kernel.printk", MESSAGES_SHOWN, None)
    with open(f"{directory}/script.json") as file:
        wanted = json.load(file)
    if not wanted["prompt"]:
        plain(sys.stdout.fileno())
    try:
        # What was drawn before hangs on the processor: which code of a library runs, and so what an
        # interrupt finds. Neither keys nor the command depend on that.
        kernel.restart_random(wanted["seed"])
        environment = prepare(wanted["here"])
        kernel.restart_random(wanted["seed"])
        status = run(wanted["command"], environment, directory, wanted["prompt"])
    except (RunError, OSError) as error:
        print(f"sandglass: {error}", file=sys.stderr)
        status = 1
    kernel.write_sysctl("kernel.printk", MESSAGES_HIDDEN, None)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
